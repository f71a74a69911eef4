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
	// Copies are how many of the frame go to ports, Port is that of the last one; 0 and CPUPort: none.
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
	shared [2]sampling // of all its ports, by direction
}

// A sampling is where choosing has come to. The gap between two samples is drawn from 1 to 2 Rate - 1, each as
// likely as the others, so that it is the rate on average and no pattern in the traffic keeps step with it.
type sampling struct {
	stream     uint64 // of random numbers: each has its own
	drawn      uint64 // gaps, since the rate changed
	gap        uint64 // frames up to the next that is chosen, itself included
	rate       uint32 // that the gap was drawn for; 0: none was
	pool, lost uint64
}

// sharedStream are the streams of samplers that are shared; those of a port have its number.
const sharedStream = 1 << 20

// takes reports whether the next frame is chosen.
func (s *sampling) takes(rate uint32) bool {
	s.pool++
	if s.rate != rate {
		s.rate, s.drawn = rate, 0
		s.draw()
	}
	if s.gap--; s.gap > 0 {
		return false
	}
	s.draw()
	return true
}

// draw draws the next gap, by the mix of SplitMix64.
func (s *sampling) draw() {
	s.drawn++
	x := (s.stream<<32 + s.drawn) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	s.gap = 1 + (x^x>>31)%(2*uint64(s.rate)-1)
}

// A sampleDue is a sample to be.
type sampleDue struct {
	from     *sampling // nil: the frame is not chosen
	pool     uint64
	rate     uint32
	truncate int
}

// choose chooses the frame that comes next at a port, whose own sampling is own, or not; a nil sampler chooses none.
func (s *sampler) choose(stage int, own *sampling) sampleDue {
	if s == nil {
		return sampleDue{}
	}
	x := own
	if s.Shared {
		x = &s.shared[stage]
	}
	if !x.takes(s.Rate) {
		return sampleDue{}
	}
	return sampleDue{x, x.pool, s.Rate, s.Truncate}
}
