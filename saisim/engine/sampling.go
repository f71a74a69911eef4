package engine

import (
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A Sample describes a sampled frame.
type Sample struct {
	Rate   uint32 // sampling rate of one in Rate frames; zero if the frame is no sample
	Egress bool   // true if it is as it leaves by a port, false if as received
	// Pool is the number of frames that the sampler has considered, this frame included. Lost is the number of earlier
	// samples that the policer of the trap dropped.
	Pool, Lost uint64
	// Entry is the ACL entry whose sampler has chosen the frame, and Rule the label of its counter. Entry is None if a
	// port's sampler has chosen it.
	Entry config.ID
	Rule  string
	// Copies is the number of the frame's copies for ports. Port is the port of the last one, or the one where the
	// egress pipe has dropped the copy. They are 0 and CPUPort if there is none.
	Copies uint16
	Port   config.PortID
	VLAN   uint16 // VLAN in which it leaves; zero if there is none, or by a router interface of a port or LAG
	// NextHop is the neighbour to which a routed frame leaves, the host itself in a connected subnet. It is not valid
	// if the frame is not routed, or leaves by no port. Prefix is the length of the route's prefix. It is also 0 if an
	// ACL entry redirected the frame.
	NextHop netip.Addr
	Prefix  uint8
	Dropped bool // true if neither a port nor the CPU receives it, for the reason Why
	Why     drop.Reason
}

// A sampler chooses frames.
type sampler struct {
	config.Sampler
	shared [2][2]sampling // for all its ports, and all its entries, by direction
}

// Sources of frames for a sampler.
const (
	ofPorts = iota
	ofEntries
)

// A sampling is the state of choosing. The gap between two samples is drawn from 1 to 2 Rate - 1 with equal
// probability. So its average is the rate, and no pattern in the traffic can be synchronous with it.
type sampling struct {
	left uint64 // number of frames to skip before the sampler looks at one
	seen uint64 // number of frames seen once left frames were skipped
	by   *sampler
	// gap is the number of frames that are still looked at until the next sample, including the sampled frame.
	gap    uint64
	stream uint64 // number of its own stream of random numbers
	drawn  uint64 // number of gaps drawn since the rate changed
	rate   uint32 // rate for which the gap was drawn; zero if none was
	lost   uint64
}

// Streams of shared samplers and of entries. The streams of a port have its number.
const (
	sharedStream = 1 << 20
	entryStream  = 1 << 31
)

// newSampler returns a sampler that has chosen no frame.
func newSampler() *sampler {
	s := &sampler{}
	for of := range s.shared {
		for stage := range s.shared[of] {
			s.shared[of][stage] = sampling{by: s, stream: sharedStream + uint64(2*of+stage)}
		}
	}
	return s
}

// chooser returns the sampling for a port or entry: its own, or the shared one of its sampler. It returns nil if there
// is no sampler.
func (x *sampling) chooser(stage, of int) *sampling {
	if x.by != nil && x.by.Shared {
		return &x.by.shared[of][stage]
	}
	if x.by == nil {
		return nil
	}
	return x
}

// rebind sets the sampler from the next frame on. nil means none.
func (x *sampling) rebind(s *sampler) {
	x.pause()
	x.by = s
}

// pause stops skipping, so that the next frame is looked at. The rate may have changed.
func (x *sampling) pause() {
	x.seen -= x.left
	x.gap += x.left
	x.left = 0
}

// chooses reports whether the next frame is chosen. Most frames are skipped immediately.
func (x *sampling) chooses() bool {
	if x.left > 0 {
		x.left--
		return false
	}
	return x.look()
}

// look does takes for a frame that is not skipped. If the frame is chosen, its number is seen less left.
func (x *sampling) look() (taken bool) {
	x.seen++
	if x.rate != x.by.Rate {
		x.rate, x.drawn = x.by.Rate, 0
		x.draw()
	}
	if x.gap--; x.gap == 0 {
		taken = true
		x.draw()
	}
	x.left, x.gap = x.gap-1, 1
	x.seen += x.left
	return taken
}

// draw draws the next gap, with the mix of SplitMix64.
func (x *sampling) draw() {
	x.drawn++
	z := (x.stream<<32 + x.drawn) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	x.gap = 1 + (z^z>>31)%(2*uint64(x.rate)-1)
}

// A sampleDue is a pending sample for the CPU. next is the next pending sample of the same frame.
type sampleDue struct {
	next     *sampleDue
	from     *sampling
	pool     uint64
	rate     uint32
	truncate int
	entry    config.ID // entry whose sampler has chosen the frame; None if a port's sampler has
	rule     string    // label of the entry's counter
}
