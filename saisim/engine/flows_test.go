package engine

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"tamtam/internal/randtest"
)

// Of the first bytes of a frame it is said that it is of a flow, that it is not, or that it may be: never otherwise than
// of the whole frame.
func TestFlowOfFirstBytes(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	cases, known, unclear := 0, 0, 0
	randtest.Run(t, randtest.Cases{Seed: 914500001, Count: 3000, Short: 1000}, func(t *testing.T, seed uint64) {
		cases++
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(of ...uint8) uint8 { return of[r.IntN(len(of))] }
		payload := make([]byte, 8+r.IntN(60))
		binary.BigEndian.PutUint16(payload, uint16(r.IntN(2)))
		binary.BigEndian.PutUint16(payload[2:], uint16(r.IntN(2)))
		next := pick(protoTCP, protoUDP, protoICMPv6, 4, 200)
		for range r.IntN(4) {
			kind := pick(hopByHop, routing, fragment, authenticated, destOptions)
			size, words := 8*(1+r.IntN(8)), 8
			if kind == authenticated {
				words = 4
			}
			if kind == fragment {
				size = 8
			}
			x := make([]byte, size)
			x[0], x[1] = next, uint8(size/words-1)
			switch kind {
			case authenticated:
				x[1]--
			case fragment:
				x[1], x[3] = 0, pick(0, 1, 8) // whole, the first, a later one
			}
			payload, next = append(x, payload...), kind
		}
		frame := make([]byte, ethernetHeader+40, ethernetHeader+40+len(payload))
		binary.BigEndian.PutUint16(frame[12:], etherIPv6)
		ip := frame[ethernetHeader:]
		ip[0], ip[6], ip[7] = 0x60, next, 64
		binary.BigEndian.PutUint16(ip[4:], uint16(len(payload)))
		copy(ip[8:], a.AsSlice())
		copy(ip[24:], b.AsSlice())
		frame = append(frame, payload...)

		f := Flow{Src: a, Dst: b}
		if r.IntN(8) == 0 {
			f.Dst = a
		}
		if r.IntN(3) > 0 {
			p := pick(protoTCP, protoUDP, protoICMPv6, 4)
			f.Proto = &p
		}
		if r.IntN(2) == 0 {
			p := uint16(r.IntN(2))
			f.SrcPort = &p
		}
		if r.IntN(2) == 0 {
			p := uint16(r.IntN(2))
			f.DstPort = &p
		}
		first := frame[:min(len(frame), keptHead)]
		is, says, may := f.Has(frame, len(frame)), f.Has(first, len(frame)), f.May(first, len(frame))
		if may && says || !may && is != says {
			t.Errorf("%x of %d bytes: is of %+v %v; by its first bytes %v, may be %v", frame, len(frame), f, is, says, may)
		}
		if flow, _ := FlowOf(first, len(frame)); flow.Proto != nil {
			if whole, _ := FlowOf(frame, len(frame)); *whole.Proto != *flow.Proto {
				t.Errorf("%x: protocol %d by its first bytes, want %d", frame, *flow.Proto, *whole.Proto)
			}
		}
		if may {
			unclear++
		} else if is {
			known++
		}
	})
	if cases >= 1000 && (known < 50 || unclear < 50) {
		t.Errorf("%d known to be of the flow, %d unclear: want 50 of both", known, unclear)
	}
}
