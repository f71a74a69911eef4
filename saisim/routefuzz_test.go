package saisim_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tamtam/saisim"
)

// Whatever the router receives, the chip does not fail. Packets leave as received, except for MAC addresses, one hop
// and a correct checksum.
func FuzzRoute(f *testing.F) {
	f.Add(packet(0, at4(0, 9), at4(1, 20), 64, 100))
	f.Add(packet(0, at6(0, 9), at6(1, 20), 64, 100))
	v4 := packet(0, at4(0, 9), at4(1, 20), 2, 64)
	f.Add(eth(v4[:6], v4[6:12], tag(0x8100, 0xe000), v4[12:]))
	options := bytes.Clone(v4)
	options[14] = 0x46
	f.Add(options)
	r := newRouter(f)
	r.neighbor(1, at4(1, 20), 20)
	r.neighbor(1, at6(1, 20), 20)
	r.route("0.0.0.0/0", r.hop(1, at4(1, 20)))
	r.route("::/0", r.hop(1, at6(1, 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r.TB = t
		if len(data) < 14 || len(data) > 9000 {
			return
		}
		mac := rifMAC(0)
		data = append(append([]byte{}, mac[:]...), data[6:]...)
		outs := r.sendAt(0, r.Now(), saisim.Frame{Data: data})
		if b := r.FrameCounts(); !b.Balanced() || b.InFlight != 0 {
			t.Fatalf("books %+v", b)
		}
		for _, o := range outs {
			if o.port == saisim.CPUPort {
				if !bytes.Equal(o.data, data) {
					t.Fatalf("%x came to the CPU as %v", data, o)
				}
				continue
			}
			in := data
			if in[12] == 0x81 {
				in = append(bytes.Clone(in[:12]), in[16:]...)
			}
			checkRouted(t, in, o)
		}
	})
}

func checkRouted(t *testing.T, in []byte, o sent) {
	t.Helper()
	want := bytes.Clone(in)
	mac := rifMAC(1)
	copy(want, host(20))
	copy(want[6:], mac[:])
	if want[12] == 8 {
		want[22]--
		head := want[14 : 14+int(want[14]&15)*4]
		head[10], head[11] = 0, 0
		sum := uint32(0)
		for i := 0; i < len(head); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(head[i:]))
		}
		for sum > 0xffff {
			sum = sum>>16 + sum&0xffff
		}
		binary.BigEndian.PutUint16(head[10:], ^uint16(sum))
	} else {
		want[21]--
	}
	if o.port != 1 || !bytes.Equal(o.data, want) {
		t.Fatalf("%x\nleft as %v\nwant    %x", in, o, want)
	}
}
