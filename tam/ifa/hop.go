package ifa

import (
	"encoding/binary"
	"time"
)

// Speed is the code of an egress port's speed.
type Speed uint8

// UnknownSpeed is the code of a speed without a code of its own.
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

// Mbps returns the speed of a code in Mbit/s, or 0 if the code stands for no speed.
func (s Speed) Mbps() uint32 {
	if int(s) < len(speeds) {
		return speeds[s]
	}
	return 0
}

// MaxDevice is the greatest device id.
const MaxDevice = 1<<20 - 1

// NoPort stands for an ingress or egress port that is not an EthernetN.
const NoPort = 65535

// Longest is the residence time, in nanoseconds, that stands for itself and all longer ones.
const Longest = 1<<32 - 1

// Trust holds the flags that restrict how far a hop's times can be trusted, in the bits of a tail-stamp record's flags.
type Trust uint8

// The bits of Trust.
const (
	NoEgress       Trust = 1 << iota // the departure has no timestamp
	Unsynchronised                   // the switch's clock was not synchronised
	// the clock was set while the packet was in the switch, so the residence time is unknown
	ClockSet
)

// A Hop is the record of one node about a packet.
type Hop struct {
	LNS             uint8 // layout of the hop (local name space), 4 bits
	Device          uint32
	TTL             uint8
	Speed           Speed
	Congestion      uint8  // 2 bits
	Queue           uint8  // 6 bits
	Seconds         uint32 // time of arrival: the low 20 bits of the Unix time in seconds
	Nanoseconds     uint32 // nanoseconds of the time of arrival
	OutPort, InPort uint16
	Residence       uint32 // time in the switch, in ns
	QueueBytes      uint32
	Trust           Trust
}

// Put writes the hop in the layout of [LNS], regardless of its own LNS.
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

// ReadHop decodes a hop. Fields that only the layout of [LNS] has are zero for other layouts.
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

// Residing returns the time that the packet spent in the switch. It returns false if the time is unknown or exceeds the
// field.
func (h *Hop) Residing() (time.Duration, bool) {
	if h.Residence == Longest || h.Trust&(NoEgress|ClockSet) != 0 {
		return 0, false
	}
	return time.Duration(h.Residence), true
}

// period is the period, in seconds, after which the Seconds of a hop repeat.
const period = 1 << 20

// Received returns the time of arrival. If several times match the hop, it returns the one nearest to near. It returns
// false if Nanoseconds is out of range.
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
