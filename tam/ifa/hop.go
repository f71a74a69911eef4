package ifa

import (
	"encoding/binary"
	"time"
)

// Speed is the code of an egress port's speed.
type Speed uint8

// UnknownSpeed is that of a port whose speed has no code.
const UnknownSpeed Speed = 15

var speeds = [...]uint32{10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000}

// SpeedOf returns the code of a speed in Mbit/s.
func SpeedOf(mbps uint32) Speed {
	for i, s := range speeds {
		if s == mbps {
			return Speed(i)
		}
	}
	return UnknownSpeed
}

// Mbps returns a code's speed in Mbit/s, 0 if it has none.
func (s Speed) Mbps() uint32 {
	if int(s) < len(speeds) {
		return speeds[s]
	}
	return 0
}

// MaxDevice is the greatest device id.
const MaxDevice = 1<<20 - 1

// NoPort is the ingress or egress port that is not an EthernetN.
const NoPort = 65535

// Longest is the residence time that stands for itself and all that is longer.
const Longest = 1<<32 - 1

// Trust says how far a hop's times may be trusted, in the bits of a tail-stamp record's flags.
type Trust uint8

// The bits of Trust.
const (
	NoEgress       Trust = 1 << iota // the packet's departure was not timed
	Unsynchronised                   // the switch's clock was not synchronised
	ClockSet                         // it was set while the packet was in the switch: the residence time is not known
)

// A Hop is what one node says of a packet.
type Hop struct {
	LNS             uint8 // 4 bits
	Device          uint32
	TTL             uint8
	Speed           Speed
	Congestion      uint8  // 2 bits
	Queue           uint8  // 6 bits
	Seconds         uint32 // of arrival, 20 bits
	Nanoseconds     uint32 // of arrival
	OutPort, InPort uint16
	Residence       uint32 // ns
	QueueBytes      uint32
	Trust           Trust
}

// Put writes the hop in the layout of [LNS], whatever its own.
func (h *Hop) Put(b *[HopSize]byte) {
	u := binary.BigEndian.PutUint32
	u(b[0:], LNS<<28|h.Device&MaxDevice<<8|uint32(h.TTL))
	u(b[4:], uint32(h.Speed)<<28|uint32(h.Congestion&3)<<26|uint32(h.Queue&63)<<20|h.Seconds&(1<<20-1))
	u(b[8:], uint32(h.OutPort)<<16|uint32(h.InPort))
	u(b[12:], h.Nanoseconds)
	u(b[16:], h.Residence)
	u(b[20:], h.QueueBytes)
	u(b[24:], uint32(h.Trust)<<16)
	u(b[28:], 0)
}

// ReadHop reads a hop. What only the layout of [LNS] has is zero of another.
func ReadHop(b *[HopSize]byte) Hop {
	u := binary.BigEndian.Uint32
	w, x, ports := u(b[0:]), u(b[4:]), u(b[8:])
	h := Hop{
		LNS: uint8(w >> 28), Device: w >> 8 & MaxDevice, TTL: uint8(w),
		Speed: Speed(x >> 28), Congestion: uint8(x >> 26 & 3), Queue: uint8(x >> 20 & 63), Seconds: x & (1<<20 - 1),
		OutPort: uint16(ports >> 16), InPort: uint16(ports), Nanoseconds: u(b[12:]), Residence: u(b[16:]),
	}
	if h.LNS == LNS {
		h.QueueBytes, h.Trust = u(b[20:]), Trust(b[25])&(NoEgress|Unsynchronised|ClockSet)
	}
	return h
}

// Residing returns how long the packet was in the switch, false if that was not taken or is longer than the field says.
func (h *Hop) Residing() (time.Duration, bool) {
	if h.Residence == Longest || h.Trust&(NoEgress|ClockSet) != 0 {
		return 0, false
	}
	return time.Duration(h.Residence), true
}

// period is after how many seconds the seconds of a hop begin anew.
const period = 1 << 20

// Received returns when the packet came, of the instants that the hop may mean the one that is nearest to near; false
// if its nanoseconds are none.
func (h *Hop) Received(near time.Time) (time.Time, bool) {
	if h.Nanoseconds > 999_999_999 {
		return time.Time{}, false
	}
	s := near.Unix()&^(period-1) | int64(h.Seconds)
	switch d := s - near.Unix(); {
	case d > period/2:
		s -= period
	case d < -period/2:
		s += period
	}
	return time.Unix(s, int64(h.Nanoseconds)).UTC(), true
}
