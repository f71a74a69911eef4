package engine

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
)

// nearlyUsual returns a frame that is usual except for small deviations: its captured part, and its length before the
// capture.
func nearlyUsual(r *rand.Rand) (data []byte, length int) {
	b := make([]byte, ethernetHeader, 256)
	for i := range 12 {
		b[i] = byte(r.Uint32())
	}
	binary.BigEndian.PutUint16(b[12:], etherIPv4)
	payload := r.IntN(30)
	total := 20 + 20 + payload
	if r.IntN(4) == 0 {
		total -= r.IntN(24) - 4
	}
	b = append(b, 0x45, byte(r.Uint32()), byte(total>>8), byte(total), byte(r.Uint32()), byte(r.Uint32()),
		[]byte{0, 0, 0, 0x40, 0x40, 0x80, 0xc0, 0x20, 0x1f}[r.IntN(9)], 0, 64,
		[]byte{6, 6, 6, 17, 17, 17, 17, 1, 33, 136}[r.IntN(10)])
	for len(b) < ethernetHeader+40+payload {
		b = append(b, byte(r.Uint32()))
	}
	for r.IntN(3) == 0 { // bytes after the packet
		if r.IntN(2) == 0 {
			b = tailstamp.V1{}.Append(b, tailstamp.Record{SwitchID: r.Uint32(), InPort: 3})
			continue
		}
		b = append(b, make([]byte, r.IntN(tailstamp.Size+2))...)
	}
	if r.IntN(4) == 0 { // changes a bit anywhere
		bit := r.IntN(8 * len(b))
		b[bit/8] ^= 1 << (bit % 8)
	}
	if r.IntN(4) == 0 { // in the bytes that decide whether it is usual
		bit := 8*12 + r.IntN(8*12)
		b[bit/8] ^= 1 << (bit % 8)
	}
	switch r.IntN(6) {
	case 0: // cut by a capture
		return b[:ethernetHeader+r.IntN(len(b)-ethernetHeader+1)], len(b)
	case 1: // cut on the wire
		b = b[:ethernetHeader+r.IntN(len(b)-ethernetHeader+1)]
	case 2:
		return b, len(b) + r.IntN(100)
	}
	return b, len(b)
}

// The parser has a shortcut for usual IPv4 packets. Its result equals that of parsing header by header, for usual
// frames and for almost usual ones.
func TestUsualFrameIsParsedAlike(t *testing.T) {
	const frames = 20_000
	randtest.Run(t, randtest.Cases{Seed: 92_000_000, Count: 4}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 14))
		short := 0
		for range frames {
			data, length := nearlyUsual(r)
			var h, want headers
			want.addresses(data)
			want.walk(data, length)
			h.parse(data, length)
			if h != want {
				t.Fatalf("%x, %d bytes long, is parsed as\n%+v, want\n%+v", data, length, h, want)
			}
			if !usualIPv4(data, length) {
				continue
			}
			short++
			if ecn := data[ethernetHeader+1]&3 != 0; ecn != want.ecn() {
				t.Fatalf("%x, %d bytes long: a codepoint of ECN: %v, want %v", data, length, ecn, want.ecn())
			}
		}
		if short < frames/8 || short > frames*7/8 {
			t.Errorf("%d of %d frames take the short way, want an eighth at least, and not nearly all", short, frames)
		}
	})
}
