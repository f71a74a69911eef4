package collector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/internal/randtest"
)

// A script is a source that returns frames, and then the error that ends it.
type script struct {
	packets chan capture.Packet
	err     error
	lost    uint64
}

func (s *script) Next(ctx context.Context) (capture.Packet, error) {
	select {
	case p, ok := <-s.packets:
		if !ok {
			return p, s.err
		}
		return p, nil
	case <-ctx.Done():
		return capture.Packet{}, ctx.Err()
	}
}

func (s *script) Lost() (uint64, error) {
	n := s.lost
	s.lost = 0
	return n, nil
}

// Each report covers the frames since the previous one. Frames lost before they could be read are reported, and so is
// the error that ended the source.
func TestWatchTailStamp(t *testing.T) {
	frame := stamped(web, hop(7, 0, 4, 100, 600, 0))
	s := &script{packets: make(chan capture.Packet), err: errors.New("the interface is gone"), lost: 3}
	ticks := make(chan time.Time)
	var out strings.Builder
	ended := make(chan error, 1)
	go func() { ended <- WatchTailStamp(t.Context(), &out, "eth1", s, ticks, DecodeOptions{JSON: true}) }()
	give := func(n int) {
		for range n {
			s.packets <- capture.Packet{Time: time.Unix(1000, 0), Data: frame, Len: len(frame)}
		}
	}
	give(2)
	ticks <- time.Time{}
	give(1)
	close(s.packets)
	if err := <-ended; err == nil || err.Error() != "the interface is gone" {
		t.Errorf("error %v", err)
	}
	total, missed, reports := int64(0), uint64(0), 0
	for d := json.NewDecoder(strings.NewReader(out.String())); d.More(); reports++ {
		var r Report
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		total, missed = total+r.Stamped, missed+r.Missed
		if r.File != "eth1" {
			t.Errorf("a report of %q", r.File)
		}
	}
	if total != 3 || missed != 3 || reports != 2 {
		t.Errorf("%d reports with %d stamped frames and %d lost, want 2 with 3 and 3:\n%s", reports, total, missed, &out)
	}
}

// endingScript returns frames. The context ends with the last one.
type endingScript struct {
	script
	end  context.CancelFunc
	left int
	data []byte
}

func (s *endingScript) Next(ctx context.Context) (capture.Packet, error) {
	if s.left == 0 {
		return capture.Packet{}, ctx.Err()
	}
	if s.left--; s.left == 0 {
		s.end()
	}
	return capture.Packet{Time: time.Unix(1000, 0), Data: s.data, Len: len(s.data)}, nil
}

// A context that ends during any call of the source loses no frame that was read: the last report covers all frames.
func TestWatchReportsAllThatWasRead(t *testing.T) {
	frame := stamped(web, hop(7, 0, 4, 100, 600, 0))
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 60}, func(t *testing.T, seed uint64) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 1 + rand.New(rand.NewPCG(seed, 0)).IntN(40)
		var out strings.Builder
		in := &endingScript{end: cancel, left: n, data: frame}
		if err := WatchTailStamp(ctx, &out, "eth1", in, nil, DecodeOptions{JSON: true}); err != nil {
			t.Fatal(err)
		}
		var r Report
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil || r.Stamped != int64(n) {
			t.Errorf("%d frames are reported of %d, %v", r.Stamped, n, err)
		}
	})
}

// WatchTailStamp ends with its context, and reports all frames so far.
func TestWatchTailStampEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	err := WatchTailStamp(ctx, &out, "eth1", &script{packets: make(chan capture.Packet)}, nil, DecodeOptions{})
	if err != nil || !strings.HasPrefix(out.String(), "0 frames") {
		t.Errorf("%v: %s", err, &out)
	}
}

// An announced collects output, and signals each write.
type announced struct {
	strings.Builder
	said chan struct{}
	what string
}

func (a *announced) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(a.what)) {
		select {
		case a.said <- struct{}{}:
		default:
		}
	}
	return a.Builder.Write(b)
}

// Records are reported as they arrive, in UDP or ERSPAN, new and impossible paths by a line. Each report covers all
// records so far, and losses add up. It ends after the requested number of records.
func TestWatchRecords(t *testing.T) {
	plan := recordPlan()
	c, err := NewRecords(plan)
	if err != nil {
		t.Fatal(err)
	}
	s := &lossy{script{packets: make(chan capture.Packet)}, []uint64{2, 1}}
	ticks := make(chan time.Time)
	out := announced{said: make(chan struct{}, 1), what: "; new: "}
	ended := make(chan error, 1)
	go func() {
		ended <- WatchRecords(t.Context(), &out, "eth3", s, ticks, c, WatchRecordOptions{Count: 11})
	}()
	frames := smallRun(plan)
	frames = append(frames, []byte("no record"), cat(macs, ipv4(47, 0,
		inGRE(0x1000, 0x88be, 12, recorded(plan, fdbHit, 4, 0, 7)))))
	for i, f := range frames {
		s.packets <- capture.Packet{Data: f, Len: len(f)}
		if i == len(frames)-2 {
			<-out.said // waits for a write, so that the report is not empty
			ticks <- time.Time{}
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(out.String(), "; new: "); n != 5 {
		t.Errorf("%d paths are new, want 5:\n%s", n, out.String())
	}
	wantParts(t, out.String(), "Ethernet1 > Ethernet4, 100 ns; new: ", "without\n2 more frames were lost before",
		"12 frames: 11 records, 1 without\n3 more frames were lost before they could be read")
}

// Records in fragmented datagrams are read, as from a capture. Fragments that cannot be joined are counted.
func TestWatchFragments(t *testing.T) {
	plan := recordPlan()
	c, err := NewRecords(plan)
	if err != nil {
		t.Fatal(err)
	}
	body := inUDP(recorded(plan, fdbHit, 4, 0, 7))
	s := &script{packets: make(chan capture.Packet, 3), err: errors.New("the interface is gone")}
	for _, f := range [][]byte{ipv4(17, 0x2000, body[:64]), ipv4(17, 8, body[64:]), ipv4(17, 0x2000, body[:64])} {
		f = cat(macs, f)
		s.packets <- capture.Packet{Data: f, Len: len(f)}
	}
	close(s.packets)
	var out strings.Builder
	_ = WatchRecords(t.Context(), &out, "eth3", s, nil, c, WatchRecordOptions{JSON: true})
	text := out.String()
	var r RecordReport
	if err := json.Unmarshal([]byte(text[strings.Index(text, "\n{")+1:]), &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if r.Frames != 3 || r.Records != 1 || r.Fragments != 1 || r.Other != 0 {
		t.Errorf("%d frames, %d records, %d fragments, %d without: want 3, 1, 1 and none", r.Frames, r.Records,
			r.Fragments, r.Other)
	}
}

// A source that cannot report its losses makes every later report incomplete, and its own end is an error.
func TestWatchUncertainRecords(t *testing.T) {
	c, err := NewRecords(recordPlan())
	if err != nil {
		t.Fatal(err)
	}
	s := &uncertain{script{packets: make(chan capture.Packet), err: errors.New("the interface is gone")}}
	close(s.packets)
	var out strings.Builder
	err = WatchRecords(t.Context(), &out, "eth3", s, nil, c, WatchRecordOptions{JSON: true})
	var r RecordReport
	if bad := json.Unmarshal([]byte(out.String()), &r); bad != nil || r.Error != missedUnknown || r.File != "eth3" {
		t.Errorf("%v, %+v", bad, r)
	}
	if err == nil || err.Error() != "the interface is gone" {
		t.Errorf("error %v", err)
	}
}

// A lossy is a source that reports the losses in its list, one per call.
type lossy struct {
	script
	losses []uint64
}

func (s *lossy) Lost() (uint64, error) {
	n := s.losses[0]
	s.losses = s.losses[1:]
	return n, nil
}

type uncertain struct{ script }

func (*uncertain) Lost() (uint64, error) { return 0, errors.New("it cannot be asked") }
