package engine

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"tamtam/internal/randtest"
)

// From the first bytes of a frame, a flow is reported as matching, not matching or possible, never in contradiction to
// the whole frame.
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
				x[1], x[3] = 0, pick(0, 1, 8) // no fragment, the first fragment, or a later one
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

// A frame that is cut after its IP header belongs to the flow of that header. The flow of a frame with a damaged header
// is unknown.
func TestFlowOfDamagedFrames(t *testing.T) {
	src, dst, port := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), uint16(9)
	whole := []byte{13: 0, 12: 8}
	ip := []byte{0x45, 0, 1, 0, 0, 0, 0, 0, 64, protoUDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}
	binary.BigEndian.PutUint16(ip[10:], checksum(ip))
	whole = append(append(whole, ip...), 0, 7, 0, 9, 0, 8, 0, 0)
	six := append([]byte{12: 0x86, 13: 0xdd, 14: 0x60, 18: 9, 20: protoUDP, 53: 1}, 0, 7)
	flow := func(f Flow, ports bool) Flow {
		if ports {
			f.DstPort = &port
		}
		return f
	}
	with := func(at int, to byte) []byte {
		b := append([]byte{}, whole...)
		b[at] = to
		return b
	}
	v4, v6 := Flow{Src: src, Dst: dst}, Flow{Src: netip.IPv6Unspecified(), Dst: netip.MustParseAddr("::1")}
	other := Flow{Src: dst, Dst: src}
	for name, tt := range map[string]struct {
		flow              Flow
		frame             []byte
		has, may, damaged bool
	}{
		"cut":                     {flow(v4, false), whole, true, false, false},
		"cut, with its ports":     {flow(v4, true), whole, true, false, false},
		"cut before its ports":    {flow(v4, true), whole[:36], false, true, false},
		"cut in its header":       {flow(v4, false), whole[:33], false, false, true},
		"of another flow":         {other, whole, false, false, false},
		"another checksum":        {other, with(24, 0), false, false, true},
		"another version":         {flow(v4, false), with(14, 0x65), false, false, true},
		"of IPv6, cut":            {flow(v6, false), six, true, false, false},
		"of IPv6, without a port": {flow(v6, true), six, false, true, false},
		"no IPv6":                 {flow(v6, false), with(24, 0), false, false, false},
	} {
		n := len(tt.frame)
		has, may, damaged := tt.flow.Has(tt.frame, n), tt.flow.May(tt.frame, n), tt.flow.Damaged(tt.frame, n)
		if has != tt.has || may != tt.may || damaged != tt.damaged {
			t.Errorf("%s: has %v, may have %v, damaged %v; want %+v", name, has, may, damaged, tt)
		}
	}
}
