package engine

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
	"tamtam/tam/ifa"
)

// digested returns the digest of a frame.
func digested(frame []byte) uint32 {
	pk := &packet{data: frame, passing: &passing{}}
	pk.length = len(frame)
	pk.h.parse(frame, len(frame))
	return pk.digest()
}

// sentIP returns an IP packet of TCP or UDP, and the offset of its transport header. A SYN has options with an MSS.
func sentIP(r *rand.Rand) (ip []byte, at int) {
	proto, transport := byte(protoUDP), 8
	if r.IntN(2) == 0 {
		proto, transport = protoTCP, 20
	}
	if at = 40; r.IntN(2) == 0 {
		at = 20 + 4*r.IntN(3)
	}
	syn := proto == protoTCP && r.IntN(2) == 0
	if syn {
		transport += 4 * (1 + r.IntN(4))
	}
	ip = make([]byte, at+transport+r.IntN(120))
	for i := range ip {
		ip[i] = byte(r.Uint32())
	}
	if at == 40 && r.IntN(2) == 0 {
		ip[0] = 6<<4 | ip[0]&15
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-40))
		ip[6], ip[7] = proto, 64
	} else {
		ip[0] = 4<<4 | byte(at/4)
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		ip[6], ip[7], ip[8], ip[9] = ip[6]&0xc0, 0, 64, proto
	}
	if proto == protoTCP {
		ip[at+12] = byte(transport/4) << 4
		if ip[at+13] &^= tcpSYN; syn {
			ip[at+13] |= tcpSYN
			for i := at + 20; i < at+transport; i++ {
				ip[i] = 1 // the IP option no-operation
			}
			mss := at + 20 + 4*r.IntN((transport-20)/4)
			ip[mss], ip[mss+1] = 2, 4
		}
	}
	return ip, at
}

// underway returns the packet as another switch may receive it: with changes and additions by switches.
func underway(r *rand.Rand, sent []byte, at int) []byte {
	ip := bytes.Clone(sent)
	proto := ip[9]
	if ip[0]>>4 == 6 {
		proto = ip[6]
		ip[0], ip[1], ip[7] = 6<<4|byte(r.IntN(16)), ip[1]&15|byte(r.IntN(16))<<4, byte(r.Uint32())
	} else {
		ip[1], ip[8], ip[6] = byte(r.Uint32()), byte(r.Uint32()), ip[6]&^0x80|byte(r.IntN(2))<<7
		ip[10], ip[11] = byte(r.Uint32()), byte(r.Uint32())
	}
	if proto == protoTCP && ip[at+13]&tcpSYN != 0 {
		ip[at+16], ip[at+17] = byte(r.Uint32()), byte(r.Uint32())
		if mss := bytes.Index(ip[at+20:], []byte{2, 4}); mss >= 0 {
			binary.BigEndian.PutUint16(ip[at+20+mss+2:], uint16(r.Uint32()))
		}
	}
	if r.IntN(2) == 0 {
		n, _ := ifa.TransportSize(proto, ip[at:])
		ip = ifa.Insert(ip, at, n, ifa.Header{GNS: ifa.PerHop, Next: proto, MaxLength: 255}, ifa.Metadata{HopLimit: 255},
			&ifa.Hop{Device: r.Uint32()})
		for range r.IntN(5) {
			p, err := ifa.Locate(ip)
			if err != nil {
				panic(err) // the packet is valid, so this cannot happen
			}
			ip = p.Push(ip, &ifa.Hop{Device: r.Uint32(), Residence: r.Uint32()})
		}
	}
	return framed(r, ip)
}

// framed puts an Ethernet header with VLAN tags before a packet, and padding and tail-stamp records after it.
func framed(r *rand.Rand, ip []byte) []byte {
	b := make([]byte, 12)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for range r.IntN(tailstamp.MaxTags + 1) {
		b = binary.BigEndian.AppendUint16(b, []uint16{etherVLAN, etherSVLAN}[r.IntN(2)])
		b = binary.BigEndian.AppendUint16(b, uint16(r.Uint32()))
	}
	b = binary.BigEndian.AppendUint16(b, map[byte]uint16{4: etherIPv4, 6: etherIPv6}[ip[0]>>4])
	b = append(b, ip...)
	b = append(b, make([]byte, max(0, minFrame-len(b)))...)
	for range r.IntN(4) {
		b = tailstamp.V1{}.Append(b, tailstamp.Record{SwitchID: r.Uint32()})
	}
	return b
}

// A packet has the same digest at every switch, even if switches inserted, appended or changed something: IFA, VLAN
// tags, tail-stamp records, marks, another MSS. Different packets have different digests, except for 32-bit collisions:
// more than 2 among a case's 126,000 pairs occur once in 10^14 cases.
func TestDigestAcrossHeaders(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 36_100, Count: 20}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 36))
		seen, alike := map[uint32]bool{}, 0
		for range 500 {
			ip, at := sentIP(r)
			want := digested(framed(r, ip))
			for range 4 {
				if frame := underway(r, ip, at); digested(frame) != want {
					t.Fatalf("%x was sent, and has another digest as %x", ip, frame)
				}
			}
			if seen[want] {
				alike++
			}
			seen[want] = true
			other := slices.Clone(ip)
			other[at+r.IntN(8)] ^= byte(1 << r.IntN(8)) // changes a bit of the ports or of the 4 bytes after them
			if digested(framed(r, other)) == want {
				alike++
			}
		}
		if alike > 2 {
			t.Errorf("%d pairs of packets have one digest", alike)
		}
	})
}
