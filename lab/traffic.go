package lab

import (
	"errors"
	"fmt"
	"io"

	"tamtam/collector/capture"
	"tamtam/lab/chance"
)

// A source generates the frames of one Traffic, one after the other.
type source struct {
	flow   uint64 // number of the flow group, from 1
	t      *Traffic
	header header
	shares []uint64 // shares of the flows; nil if there is one flow
	file   *replay  // capture to replay, for kind pcap

	gaps, sizes, flows chance.Source
	stop               Time
	bits               uint64 // number of bits of the frames so far, as on the wire; so their time at Rate is exact
	active             Time   // for onoff and poisson: time without the gaps
	burstEnd, paused   Time   // for onoff: end of the burst as a value of active, and sum of the gaps so far

	made uint64
	// The next frame: when its preamble may begin, and its length without FCS.
	at   Time
	size int

	sent, bytes uint64 // number of frames and of bytes with FCS that were sent
}

func newSource(flow int, t *Traffic, h header, seed uint64, end Time, path string) (*source, error) {
	s := &source{
		flow: uint64(flow), t: t, header: h, stop: end,
		gaps:  chance.New(seed, "traffic/"+t.Name+"/gaps"),
		sizes: chance.New(seed, "traffic/"+t.Name+"/sizes"),
		flows: chance.New(seed, "traffic/"+t.Name+"/flows"),
	}
	if t.Stop > 0 {
		s.stop = min(end, t.Stop)
	}
	if t.Flows.Count > 1 {
		s.shares = chance.Zipf(t.Flows.Count, uint64(t.Flows.Zipf))
	}
	if t.Kind == "pcap" {
		s.file = &replay{path: path}
	}
	return s, s.prepare()
}

// prepare decides on the next frame. at is forever if there is none.
func (s *source) prepare() error {
	if s.t.Count > 0 && s.made >= s.t.Count {
		s.at = forever
		return nil
	}
	if s.file != nil {
		return s.prepareReplay()
	}
	s.size = s.pickSize() - fcsLen
	bits := 8 * wireBytes(s.size)
	var offset Time
	switch {
	case s.t.Kind == "poisson":
		mean := s.span(bits, 1)
		s.active += Time(s.gaps.Exponential(mean))
		offset = s.active
	case s.t.PPS > 0:
		offset = Time(s.span(0, s.made))
	default:
		offset = Time(s.span(s.bits, 0)) + Time(s.made)*s.t.Gap // only spaced has a Gap
	}
	if s.t.Kind == "onoff" {
		offset = s.burst(offset)
	}
	s.bits += bits
	s.made++
	if s.at = s.t.Start + offset; s.at >= s.stop {
		s.at = forever
	}
	return nil
}

// span returns the time that the bits need at the configured rate; with PPS, the time that the frames need.
func (s *source) span(bits, frames uint64) uint64 {
	n, per := bits, uint64(s.t.Rate)
	if s.t.PPS > 0 {
		n, per = frames, s.t.PPS
	}
	q, _ := mulDiv(n, uint64(Second), per)
	return q
}

// burst converts a time without gaps between bursts to a time with them.
func (s *source) burst(active Time) Time {
	b := &s.t.Burst
	for active >= s.burstEnd {
		if s.burstEnd > 0 {
			s.paused += s.length(b.Off)
		}
		s.burstEnd += max(1, s.length(b.On))
	}
	return active + s.paused
}

func (s *source) length(mean Time) Time {
	if s.t.Burst.Random {
		return Time(s.gaps.Exponential(uint64(mean)))
	}
	return mean
}

func (s *source) pickSize() int {
	z := &s.t.Size
	switch {
	case z.Uniform[1] > 0:
		return int(z.Uniform[0]) + int(s.sizes.Below(uint64(z.Uniform[1]-z.Uniform[0])+1))
	case len(z.List) == 0:
		return minFrame
	case len(z.List) == 1:
		return int(z.List[0])
	case len(z.Weights) == 0:
		return int(z.List[s.sizes.Below(uint64(len(z.List)))])
	}
	var sum uint64
	for _, w := range z.Weights {
		sum += uint64(w)
	}
	x := s.sizes.Below(sum)
	for i, w := range z.Weights {
		if x < uint64(w) {
			return int(z.List[i])
		}
		x -= uint64(w)
	}
	return minFrame
}

// frame writes the prepared frame into b.
func (s *source) frame(b []byte) (data []byte, length int) {
	if s.file != nil {
		return s.file.head.Data, s.file.head.Len
	}
	flow := 0
	if s.shares != nil {
		flow = s.flows.Pick(s.shares)
	}
	return s.header.frame(b, flow, s.size, uint32(s.sent)), s.size
}

// A replay sends a capture.
type replay struct {
	path   string
	reader *capture.Reader
	sorted *capture.Sorted
	head   capture.Packet
	rounds uint32
	origin Time // time of the capture, in nanoseconds since 1970 converted to Time
	base   Time // start of this round, relative to Start
	last   Time
}

func (s *source) prepareReplay() error {
	r := s.file
	for {
		if r.reader == nil {
			if err := r.open(); err != nil {
				return err
			}
		}
		p, err := r.sorted.Next()
		if errors.Is(err, io.EOF) {
			r.close()
			if r.rounds++; r.rounds >= max(1, s.t.Loop) || r.last < 0 {
				s.at = forever
				return nil
			}
			r.base = r.last + 1
			continue
		}
		if err != nil {
			return fmt.Errorf("traffic %q: %w", s.t.Name, err)
		}
		ns := p.Time.UnixNano()
		if r.last < r.base { // the first packet of this round
			r.origin = Time(ns)
		}
		after := ns - int64(r.origin)
		if after > int64(maxTime/Nanosecond) {
			return fmt.Errorf("traffic %q: %s: packet %d is %d s after the first, want at most 30 days", s.t.Name, r.path,
				p.Number, after/1e9)
		}
		r.head, s.size = p, p.Len
		r.last = r.base + Time(max(0, after))*Nanosecond
		s.made++
		if s.at = s.t.Start + r.last; s.at >= s.stop {
			s.at = forever
		}
		return nil
	}
}

func (r *replay) open() error {
	reader, err := capture.Open(r.path)
	if err != nil {
		return err
	}
	r.reader, r.sorted = reader, capture.NewSorted(reader)
	if r.rounds == 0 {
		r.last = -1
	}
	return nil
}

func (r *replay) close() {
	if r.reader != nil {
		r.reader.Close()
		r.reader = nil
	}
}
