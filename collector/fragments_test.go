package collector

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/internal/randtest"
)

// A sentPacket is a UDP datagram as one frame, and as its fragments.
type sentPacket struct {
	payload []byte
	number  byte // number of the sender
	whole   []byte
	pieces  [][]byte
}

// serialized returns a frame of layers, with their lengths and checksums.
func serialized(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		all...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

// somePacket returns a packet of the given size, fragmented at random places.
func somePacket(t testing.TB, r *rand.Rand, id uint32, size int) (p sentPacket) {
	p.payload, p.number = make([]byte, size), byte(r.IntN(3))
	for i := range p.payload {
		p.payload[i] = byte(r.UintN(256))
	}
	front := []gopacket.SerializableLayer{&layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6),
		EthernetType: layers.EthernetTypeIPv4}}
	if r.IntN(3) == 0 {
		front[0].(*layers.Ethernet).EthernetType = layers.EthernetTypeDot1Q
		front = append(front, &layers.Dot1Q{VLANIdentifier: 5, Type: layers.EthernetTypeIPv4})
	}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	v6 := r.IntN(2) == 0
	ip4 := &layers.IPv4{Version: 4, TTL: 9, Id: uint16(id), Protocol: layers.IPProtocolUDP,
		SrcIP: []byte{10, 0, 0, p.number}, DstIP: []byte{10, 0, 1, 1}}
	if r.IntN(4) == 0 {
		ip4.Options = []layers.IPv4Option{{OptionType: 148, OptionLength: 4, OptionData: []byte{0, 0}}}
	}
	ip6 := &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: layers.IPProtocolUDP, SrcIP: make([]byte, 16),
		DstIP: make([]byte, 16)}
	ip6.SrcIP[0], ip6.SrcIP[15], ip6.DstIP[0] = 0xfd, p.number, 0xfd
	var network gopacket.NetworkLayer = ip4
	if v6 {
		network = ip6
		switch e := front[len(front)-1].(type) {
		case *layers.Ethernet:
			e.EthernetType = layers.EthernetTypeIPv6
		case *layers.Dot1Q:
			e.Type = layers.EthernetTypeIPv6
		}
	}
	if err := udp.SetNetworkLayerForChecksum(network); err != nil {
		t.Fatal(err)
	}
	frame := func(more ...gopacket.SerializableLayer) []byte {
		all := append(slices.Clone(front), network.(gopacket.SerializableLayer))
		return serialized(t, append(all, more...)...)
	}
	p.whole = frame(udp, gopacket.Payload(p.payload))
	d, ok := parseDatagram(p.whole)
	if !ok {
		t.Fatalf("%x", p.whole)
	}
	body := d.payload
	p.whole = p.whole[:bytes.Index(p.whole, body)+len(body)] // without padding
	cuts := []int{0, len(body)}
	for range 1 + r.IntN(5) {
		if n := len(body) / 8; n > 1 {
			cuts = append(cuts, 8*(1+r.IntN(n-1)))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i, from := range cuts[:len(cuts)-1] {
		to := cuts[i+1]
		piece := gopacket.Payload(body[from:to])
		if !v6 {
			ip4.FragOffset, ip4.Flags = uint16(from/8), 0
			if to < len(body) {
				ip4.Flags = layers.IPv4MoreFragments
			}
			p.pieces = append(p.pieces, append(frame(piece), make([]byte, r.IntN(2)*r.IntN(20))...)) // with padding
			continue
		}
		header := binary.BigEndian.AppendUint16([]byte{byte(layers.IPProtocolUDP), 0}, uint16(from))
		if to < len(body) {
			header[3] |= 1
		}
		ip6.NextHeader = layers.IPProtocolIPv6Fragment
		p.pieces = append(p.pieces, frame(gopacket.Payload(binary.BigEndian.AppendUint32(header, id)), piece))
	}
	return p
}

// Packets that are fragmented at any offsets are returned in the order in which they began, even if fragments of
// several packets arrive interleaved in any order. Incomplete packets are counted, and their beginning is returned.
func TestFragments(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 150}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 36))
		type event struct {
			packet int
			frame  []byte
		}
		var packets []sentPacket
		var events []event
		missing := map[int]bool{} // packets of which a fragment is missing
		front := map[int]int{}    // number of bytes before the first missing fragment
		var want JoinCounts
		for i := range 1 + r.IntN(30) {
			p := somePacket(t, r, uint32(i), r.IntN(3000))
			packets = append(packets, p)
			if r.IntN(3) == 0 {
				events = append(events, event{i, p.whole})
				continue
			}
			gone := -1
			if len(p.pieces) > 1 && r.IntN(5) == 0 {
				gone = r.IntN(len(p.pieces))
				missing[i] = true
				want.Incomplete++
			}
			offset := 0
			order := r.Perm(len(p.pieces))
			for k, piece := range p.pieces {
				var f fragment
				if !parseFragment(piece, &f) { // a single piece of IPv4 is not a fragment
					break
				}
				if k == gone {
					front[i] = offset
				}
				offset += len(f.data)
			}
			n := int64(0)
			for _, k := range order {
				if k == gone {
					continue
				}
				if parseFragment(p.pieces[k], new(fragment)) {
					n++
				}
				events = append(events, event{i, p.pieces[k]})
				if r.IntN(8) == 0 && k != order[len(order)-1] && gone < 0 { // duplicate
					events = append(events, event{i, p.pieces[k]})
					n++
				}
			}
			if want.Fragments += n; gone >= 0 {
				want.Unjoined += n
			} else if n > 0 {
				want.Packets++
			}
		}
		for i := range events { // create some disorder
			if k := i + r.IntN(4); k < len(events) {
				events[i], events[k] = events[k], events[i]
			}
		}
		began := map[int]int{} // packets that began, by sender and packet
		var got []Joined
		j := NewJoiner(time.Minute)
		add := func(list []Joined) {
			for _, x := range list {
				x.Frame = bytes.Clone(x.Frame)
				got = append(got, x)
			}
		}
		for at, e := range events {
			if _, ok := began[e.packet]; !ok {
				began[e.packet] = at
			}
			add(j.Add(e.frame, time.Unix(0, int64(at)*1e6)))
		}
		add(j.Flush())

		if c := j.Counts(); c != want {
			// A duplicate fragment that arrives after its packet was completed begins a packet that never ends.
			extra := c.Incomplete - want.Incomplete
			if extra < 0 || c.Fragments != want.Fragments || c.Packets != want.Packets || c.Unjoined-want.Unjoined < extra {
				t.Fatalf("%+v, want %+v", c, want)
			}
		}
		order, seen := map[netip.Addr]int{}, map[int]bool{}
		given := int64(0)
		for _, x := range got {
			if x.Incomplete {
				given++
				if x.Protocol != 17 || x.First.After(x.At) {
					t.Errorf("%+v", x)
				}
			}
			if x.Incomplete && x.Frame == nil { // without its beginning
				continue
			}
			u, ok := ParseUDP(x.Frame)
			if !ok {
				t.Fatalf("no datagram: %x", x.Frame)
			}
			i := slices.IndexFunc(packets, func(p sentPacket) bool {
				v, _ := ParseUDP(p.whole)
				return v.From == u.From && (bytes.Equal(p.payload, u.Payload) ||
					x.Incomplete && len(u.Payload) > 0 && bytes.HasPrefix(p.payload, u.Payload))
			})
			switch {
			case i < 0 && x.Incomplete && len(u.Payload) == 0:
				continue
			case i < 0:
				t.Fatalf("a datagram that was not sent: %x", x.Frame)
			case x.Incomplete != missing[i] && len(u.Payload) > 0 && !x.Incomplete:
				t.Errorf("packet %d: incomplete %v, want %v", i, x.Incomplete, missing[i])
			case x.Incomplete:
				if len(u.Payload) != front[i]-8 && missing[i] {
					t.Errorf("packet %d: %d bytes of its beginning, want %d", i, len(u.Payload), front[i]-8)
				}
				continue
			case !bytes.HasPrefix(x.Frame, packets[i].whole), len(packets[i].pieces) > 1 && len(x.Frame) > len(packets[i].whole):
				t.Errorf("packet %d: %x\nwant %x", i, x.Frame, packets[i].whole)
			}
			if len(packets[i].payload) < 8 { // the payload is too short to be unique
				seen[i] = true
				continue
			}
			if seen[i] {
				t.Errorf("packet %d twice", i)
			}
			seen[i] = true
			if before, ok := order[u.From.Addr()]; ok && began[i] < before {
				t.Errorf("packet %d, which began as event %d, behind that which began as %d", i, began[i], before)
			}
			order[u.From.Addr()] = began[i]
		}
		if given != j.Counts().Incomplete {
			t.Errorf("%d incomplete packets, and %d are counted", given, j.Counts().Incomplete)
		}
		for i := range packets {
			if !missing[i] && !seen[i] && len(packets[i].payload) >= 8 {
				t.Errorf("packet %d is not there", i)
			}
		}
		if len(j.packets)+len(j.order)+len(j.queues)+j.held != 0 {
			t.Errorf("%d packets, %d in order, %d queues, %d bytes are left", len(j.packets), len(j.order), len(j.queues),
				j.held)
		}
	})
}

// Contradictory fragments do not become a packet. They are counted.
func TestFragmentsRefused(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20}, fragmentsRefused)
}

func fragmentsRefused(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	var p sentPacket
	for len(p.pieces) < 3 || p.whole[12] != 8 { // requires IPv4 without a tag
		p = somePacket(t, r, 7, 500)
	}
	change := func(i int, do func(ip []byte)) [][]byte {
		all := slices.Clone(p.pieces)
		all[i] = bytes.Clone(all[i])
		do(all[i][14:])
		return all
	}
	middle := bytes.Clone(p.pieces[1])
	middle[14+4*int(middle[14]&15)] ^= 1 // changes the first byte after the IP header
	for name, frames := range map[string][][]byte{
		"other bytes in one place":    append([][]byte{p.pieces[0], middle}, p.pieces[1:]...),
		"two ends":                    append(change(1, func(ip []byte) { ip[6] &^= 0x20 })[1:], p.pieces[0]),
		"beyond what a packet can be": change(1, func(ip []byte) { ip[6], ip[7] = 0x3f, 0xff }),
		"a length that is no multiple": change(0, func(ip []byte) {
			binary.BigEndian.PutUint16(ip[2:], binary.BigEndian.Uint16(ip[2:])-3)
		}),
		"the last one is not there":      p.pieces[:len(p.pieces)-1],
		"the first one is not there":     p.pieces[1:],
		"all of another packet's number": change(0, func(ip []byte) { ip[5]++ }),
	} {
		j := NewJoiner(time.Second)
		whole := 0
		count := func(list []Joined) {
			for _, x := range list {
				if !x.Incomplete {
					whole++
				}
			}
		}
		for _, f := range frames {
			count(j.Add(f, time.Unix(1, 0)))
		}
		count(j.Flush())
		c := j.Counts()
		if whole != 0 || c.Packets != 0 || c.Incomplete == 0 || c.Unjoined != int64(len(frames)) || c.Text() == "" {
			t.Errorf("%s: %d whole, %+v", name, whole, c)
		}
	}
}

// Frames wait for an incomplete packet at most for the configured time, and the state is limited.
func TestFragmentsBounds(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 1}, fragmentsBounds)
}

func fragmentsBounds(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	var p sentPacket
	for len(p.pieces) < 2 || p.whole[12] != 8 {
		p = somePacket(t, r, 7, 500)
	}
	j := NewJoiner(time.Second)
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	if n := len(j.Add(p.pieces[1], at(0))) + len(j.Add(p.whole, at(10))); n != 0 {
		t.Errorf("%d frames in front of the fragment that is missing", n)
	}
	if list := j.Add(p.whole, at(1011)); len(list) != 3 || !list[0].Incomplete || list[0].Frame != nil ||
		list[0].First != at(0) || list[1].At != at(10) || list[2].At != at(1011) {
		t.Errorf("%+v after its time", list)
	}
	for i := range 3000 {
		f := bytes.Clone(p.pieces[1][:14+20+8])
		f[12], f[13] = 8, 0
		ip := f[14:]
		binary.BigEndian.PutUint16(ip[2:], 28)
		binary.BigEndian.PutUint16(ip[4:], uint16(i))
		binary.BigEndian.PutUint16(ip[6:], 0x2000|uint16(r.IntN(8000)))
		ip[0], ip[15] = 0x45, byte(i>>16)
		j.Add(f, time.Time{})
		j.Add(p.whole, time.Time{})
		if len(j.order) > maxAssemblies || j.held > maxHeld {
			t.Fatalf("%d packets, %d bytes", len(j.order), j.held)
		}
	}
	j = NewJoiner(time.Second)
	j.Add(p.whole, at(0))
	if allocs := testing.AllocsPerRun(100, func() { j.Add(p.whole, at(0)) }); allocs > 0 {
		t.Errorf("%v allocations for a frame that is no fragment", allocs)
	}
}

// After the end the joiner holds nothing, for any input.
func FuzzFragments(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	for i := range uint32(4) {
		p := somePacket(f, r, i, 100)
		f.Add(p.pieces[0], p.pieces[len(p.pieces)-1], uint8(i))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, order uint8) {
		j := NewJoiner(time.Second)
		for i := range 8 {
			frame := a
			if order>>i&1 == 1 {
				frame = b
			}
			for _, x := range j.Add(frame, time.Unix(int64(i)/3, 0)) {
				_, _ = ParseUDP(x.Frame)
			}
		}
		j.Flush()
		if c := j.Counts(); len(j.packets)+len(j.order)+len(j.queues)+j.held != 0 || c.Unjoined > c.Fragments {
			t.Errorf("%d bytes held, %+v", j.held, c)
		}
	})
}
