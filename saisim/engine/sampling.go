package engine

import (
	"net/netip"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A Sample is what the chip says of a frame that it has sampled.
type Sample struct {
	Rate   uint32 // of one in so many; 0: the frame is no sample
	Egress bool   // as it leaves by a port; else as it came in
	// Pool is how many frames there were to choose from up to this one, itself included, and Lost how many samples
	// there were that the policer of the trap has not let pass, before it.
	Pool, Lost uint64
	// Entry is the ACL entry whose sampler has chosen the frame, and Rule the label of its counter; None: a port's has.
	Entry config.ID
	Rule  string
	// Copies are how many of the frame go to ports, Port is that of the last one, or at which the egress pipe has dropped
	// the copy; 0 and CPUPort: none.
	Copies uint16
	Port   config.PortID
	VLAN   uint16 // in which it leaves; 0: none, or by a router interface of a port or LAG
	// NextHop is the neighbour that a routed frame leaves for, the host itself at a connected subnet, and Prefix the
	// length of the prefix that led there: 0 also where an ACL entry did. Not valid: the frame is not routed, or goes to
	// no port.
	NextHop netip.Addr
	Prefix  uint8
	Dropped bool // it goes nowhere, not to the CPU either, for Why
	Why     drop.Reason
}

// A sampler chooses frames.
type sampler struct {
	config.Sampler
	shared [2][2]sampling // of all its ports, and all its entries, by direction
}

// Those whose frames a sampler chooses from.
const (
	ofPorts = iota
	ofEntries
)

// A sampling is where choosing has come to. The gap between two samples is drawn from 1 to 2 Rate - 1, each as
// likely as the others, so that it is the rate on average and no pattern in the traffic keeps step with it.
type sampling struct {
	left uint64 // frames to pass over before the next that is looked at
	seen uint64 // frames when those have come
	by   *sampler
	// gap is how many frames are looked at up to the next that is chosen, itself included.
	gap    uint64
	stream uint64 // of random numbers: each has its own
	drawn  uint64 // gaps, since the rate changed
	rate   uint32 // that the gap was drawn for; 0: none was
	lost   uint64
}

// Streams of samplers that are shared, and of entries; those of a port have its number.
const (
	sharedStream = 1 << 20
	entryStream  = 1 << 31
)

// newSampler returns a sampler that has chosen nothing.
func newSampler() *sampler {
	s := &sampler{}
	for of := range s.shared {
		for stage := range s.shared[of] {
			s.shared[of][stage] = sampling{by: s, stream: sharedStream + uint64(2*of+stage)}
		}
	}
	return s
}

// chooser returns what chooses from the frames of one that has a sampling of its own: that, or the one it shares with
// others; nil: nothing does.
func (x *sampling) chooser(stage, of int) *sampling {
	if x.by != nil && x.by.Shared {
		return &x.by.shared[of][stage]
	}
	if x.by == nil {
		return nil
	}
	return x
}

// rebind has another sampler choose from the next frame on; nil: none.
func (x *sampling) rebind(s *sampler) {
	x.pause()
	x.by = s
}

// pause has the next frame looked at: the rate may be another.
func (x *sampling) pause() {
	x.seen -= x.left
	x.gap += x.left
	x.left = 0
}

// takes reports whether the next frame is chosen. Most are passed over at once.
func (x *sampling) takes() bool {
	if x.left > 0 {
		x.left--
		return false
	}
	return x.look()
}

// look is takes for a frame that is not passed over. If it is chosen, it is frame number seen less left.
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

// draw draws the next gap, by the mix of SplitMix64.
func (x *sampling) draw() {
	x.drawn++
	z := (x.stream<<32 + x.drawn) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	x.gap = 1 + (z^z>>31)%(2*uint64(x.rate)-1)
}

// A sampleDue is a sample to be, and the next one of the same frame.
type sampleDue struct {
	next     *sampleDue
	from     *sampling
	pool     uint64
	rate     uint32
	truncate int
	entry    config.ID // whose sampler has chosen the frame; None: a port's has
	rule     string    // label of its counter
}
