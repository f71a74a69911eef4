package reference_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/reference"
	"tamtam/saisim/tailstamp"
)

// engines holds both engines of one chip that only clamps. Its ports are up and in the same VLAN.
type engines struct {
	*testing.T
	chip *saisim.Chip
	ref  *reference.Chip
	out  [2][]sent
}

func newEngines(t *testing.T, mtu uint64, clamps ...tailstamp.Clamp) *engines {
	t.Helper()
	e := &engines{T: t}
	chip, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: start})
	if err != nil {
		t.Fatal(err)
	}
	e.chip, e.ref = chip, reference.New(profile.Small(), start)
	chip.SetOutput(func(o *saisim.Out) { e.out[0] = append(e.out[0], sent{*o, bytes.Clone(o.Data)}) })
	e.ref.Output = func(o saisim.Out) { e.out[1] = append(e.out[1], sent{o, bytes.Clone(o.Data)}) }
	ctx := context.Background()
	if _, err := chip.Create(ctx, sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true),
		sai.SwitchAttrSrcMACAddress, ownMAC)); err != nil {
		t.Fatal(err)
	}
	for _, p := range chip.Tables().Ports {
		for _, a := range attrs(sai.PortAttrMTU, sai.Uint(mtu), sai.PortAttrAdminState, sai.Bool(true)) {
			if err := chip.Set(ctx, sai.Obj(sai.ObjectTypePort, sai.OID(p.ID)), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range clamps {
		text, err := entryWith(tailstamp.AttrClamp, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chip.Create(ctx, sai.ObjectTypeGenericProgrammable, attrs(
			sai.GenericProgrammableAttrObjectName, sai.Bytes(tailstamp.ObjectClamp), sai.GenericProgrammableAttrEntry,
			text)); err != nil {
			t.Fatal(err)
		}
	}
	e.ref.Configure(chip.Tables(), chip.State())
	return e
}

// send sends a frame through both engines, and returns its bytes at the first port that it leaves by, or nil if it
// leaves by none. The engines must agree in everything.
func (e *engines) send(f saisim.Frame) []byte {
	e.Helper()
	e.out = [2][]sent{}
	at := e.chip.Now()
	if fast, ref := e.chip.Receive(0, at, f), e.ref.Receive(0, at, f); fast != nil || ref != nil {
		e.Fatalf("%x: fast %v, reference %v", f.Data, fast, ref)
	}
	e.chip.Advance(at + 50_000)
	e.ref.Run(at + 50_000)
	if len(e.out[0]) != len(e.out[1]) {
		e.Fatalf("%x: fast %d copies, reference %d", f.Data, len(e.out[0]), len(e.out[1]))
	}
	var first []byte
	for i, o := range e.out[0] {
		if r := e.out[1][i]; o.Port != r.Port || o.At != r.At || o.Len != r.Len || !bytes.Equal(o.bytes, r.bytes) {
			e.Fatalf("%x became\nfast      %d at %d %x\nreference %d at %d %x", f.Data, o.Port, o.At, o.bytes, r.Port, r.At,
				r.bytes)
		}
		if o.Port != saisim.CPUPort && first == nil {
			first = o.bytes
		}
	}
	if fast, ref := fmt.Sprint(e.chip.State().SYNs), fmt.Sprint(e.ref.SYNCounts()); fast != ref {
		e.Fatalf("%x: counted\nfast      %s\nreference %s", f.Data, fast, ref)
	}
	return first
}

// A hostile makes segments with SYN, most of them malformed.
type hostile struct{ *rand.Rand }

func (g hostile) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// options returns the options of a TCP header. It has no, one or several MSS options, complete or truncated. Lengths
// are 0, 1, 255 or random, and end markers come before other options.
func (g hostile) options() (b []byte) {
	for range g.IntN(6) {
		switch g.IntN(9) {
		case 0:
			b = append(b, 1)
		case 1:
			b = append(b, byte(g.IntN(12)), []byte{0, 1, 2, 3, 4, 40, 255}[g.IntN(7)])
		case 2:
			b = append(b, 2, 4, byte(g.IntN(9))) // truncated
		case 3:
			b = append(b, g.bytes(g.IntN(5))...)
		case 4:
			n := 2 + g.IntN(10)
			b = append(append(b, 8+byte(g.IntN(200)), byte(n)), g.bytes(n-2)...)
		case 5:
			b = append(b, 0)
		default:
			b = binary.BigEndian.AppendUint16(append(b, 2, 4), uint16([]int{0, 1, 216, 536, 1460, 8960, 65535,
				g.IntN(65536)}[g.IntN(8)]))
		}
	}
	if g.IntN(5) > 0 { // otherwise the header ends within a word, at an undefined offset
		for len(b)%4 != 0 {
			b = append(b, byte(g.IntN(2)))
		}
	}
	return b[:min(len(b), 40)]
}

// segment returns a segment with SYN.
func (g hostile) segment() []byte {
	b := append(g.bytes(20), g.options()...)
	b[12] = byte(len(b)/4)<<4 | b[12]&15
	if g.IntN(8) == 0 {
		b[12] = byte(g.Uint32())
	}
	b[13] = b[13] | 2
	return append(b, g.bytes(g.IntN(60))...)
}

// extended puts IPv6 extension headers in front of a segment: well-formed ones, fragments, and garbage.
func (g hostile) extended(segment []byte) (next byte, b []byte, l4 int) {
	next, b = 6, segment
	for range g.IntN(4) {
		var h []byte
		switch kind := []byte{0, 43, 60, 51, 44, 135, 59}[g.IntN(7)]; kind {
		case 44:
			h = []byte{next, byte(g.Uint32()), 0, byte([]int{0, 0, 1, 8}[g.IntN(4)]), 0, 0, 0, 9}
			next, b = kind, append(h, b...)
		case 51:
			n := 1 + g.IntN(3)
			h = append([]byte{next, byte(n)}, g.bytes((n+2)*4-2)...)
			next, b = kind, append(h, b...)
		default:
			n := g.IntN(3)
			h = append([]byte{next, byte(n)}, g.bytes((n+1)*8-2)...)
			if g.IntN(12) == 0 {
				h[1] = 255
			}
			next, b = kind, append(h, b...)
		}
	}
	return next, b, len(b) - len(segment)
}

// frame returns a segment in a frame, with the offsets of IP and TCP. right reports whether its checksum is right.
func (g hostile) frame() (f []byte, l3, l4 int, right bool) {
	f = []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	for range []int{0, 0, 0, 1, 2}[g.IntN(5)] {
		f = append(f, 0x81, 0, 0, 1)
	}
	segment := g.segment()
	l3 = len(f) + 2
	if g.IntN(2) == 0 {
		words := 5 + []int{0, 0, 0, 1, 10}[g.IntN(5)]
		h := make([]byte, words*4)
		h[0], h[8], h[9] = 0x40|byte(words), 64, 6
		binary.BigEndian.PutUint16(h[2:], uint16(len(h)+len(segment)))
		copy(h[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
		if g.IntN(6) == 0 {
			binary.BigEndian.PutUint16(h[6:], []uint16{0x2000, 1, 0x4000, 0x2001}[g.IntN(4)])
		}
		l4 = l3 + len(h)
		f = append(append(append(f, 8, 0), h...), segment...)
	} else {
		next, payload, at := g.extended(segment)
		h := make([]byte, 40)
		h[0], h[6], h[7] = 0x60, next, 64
		binary.BigEndian.PutUint16(h[4:], uint16(len(payload)))
		copy(h[8:], append(bytes.Repeat([]byte{0x20}, 16), bytes.Repeat([]byte{0x21}, 16)...))
		l4 = l3 + 40 + at
		f = append(append(append(f, 0x86, 0xdd), h...), payload...)
	}
	if right = g.IntN(3) > 0; right {
		f[l4+16], f[l4+17] = 0, 0
		binary.BigEndian.PutUint16(f[l4+16:], ^folded(f, l3, l4))
	}
	switch g.IntN(12) {
	case 0:
		f = f[:l3+g.IntN(len(f)-l3)]
	case 1:
		f = append(f, g.bytes(g.IntN(40))...) // padding
	}
	return f, l3, l4, right
}

// folded returns the folded sum of a segment up to the end of the frame, with its pseudo header (RFC 9293, section
// 3.1). It is 0xffff if the checksum is right.
func folded(f []byte, l3, l4 int) uint16 {
	sum := uint32(6 + len(f) - l4)
	addresses := f[l3+12 : l3+20]
	if f[l3]>>4 == 6 {
		addresses = f[l3+8 : l3+40]
	}
	for _, part := range [][]byte{addresses, f[l4:]} {
		for i, x := range part {
			sum += uint32(x) << (8 * (1 - i%2))
		}
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// Both engines do the same to any segment with SYN. Only an MSS, which decreases, and the checksum change. A right
// checksum stays right, and a wrong one stays wrong by the same difference.
func TestHostileSYNs(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 6, Short: 3}, func(t *testing.T, seed uint64) {
		g := hostile{rand.New(rand.NewPCG(seed, 1))}
		e := newEngines(t, uint64([]int{300, 600, 1522, 9100}[g.IntN(4)]),
			tailstamp.Clamp{Label: "a", Records: 1 + g.IntN(8), Filter: "any"},
			tailstamp.Clamp{Label: "a", Records: 1 + g.IntN(8), Filter: "ip=6"}, // one flow, two sessions
			tailstamp.Clamp{Label: "b", Records: 1 + g.IntN(8), Filter: "protocol=6"})
		for i := range 150 {
			f, l3, l4, right := g.frame()
			whole := len(f)
			frame := saisim.Frame{ID: uint64(i), Data: bytes.Clone(f)}
			if g.IntN(20) == 0 { // as if a capture had truncated it
				frame.Len = len(f) + 4
			}
			got := e.send(frame)
			if got == nil {
				continue
			}
			shift := 0 // length of tags that an untagged port removes
			if len(got) < len(f) {
				shift = len(f) - len(got)
			}
			f = append(f[:12], f[12+shift:]...)
			l3, l4 = l3-shift, l4-shift
			if bytes.Equal(got, f) {
				continue
			}
			if right && len(f) == whole-shift && folded(f, l3, l4) == 0xffff && folded(got, l3, l4) != 0xffff {
				t.Errorf("%x\nbecame %x, whose checksum is wrong", f, got)
			}
			if a, b := folded(f, l3, l4)%0xffff, folded(got, l3, l4)%0xffff; a != b {
				t.Errorf("%x\nbecame %x, with a sum of %#x, not %#x", f, got, b, a)
			}
			if err := onlyMSS(f, got, l4); err != nil {
				t.Errorf("%x\nbecame %x: %v", f, got, err)
			}
		}
	})
}

// onlyMSS returns an error if two frames differ in more than a decreased MSS and the checksum of TCP.
func onlyMSS(f, got []byte, l4 int) error {
	at := -1
	for i := range f {
		switch {
		case f[i] == got[i], i == l4+16, i == l4+17:
		case at < 0:
			at = i
		case i > at+1:
			return fmt.Errorf("bytes %d and %d are others", at, i)
		}
	}
	for _, from := range []int{at, at - 1} { // if only the lower byte changes, the difference begins in the middle
		if at < 0 || from < l4+22 || f[from-2] != 2 || f[from-1] != 4 {
			continue
		}
		was, is := binary.BigEndian.Uint16(f[from:]), binary.BigEndian.Uint16(got[from:])
		if is < was && is >= tailstamp.MinMSS {
			return nil
		}
	}
	return fmt.Errorf("byte %d is of no MSS that became less", at)
}
