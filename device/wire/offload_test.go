package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/internal/randtest"
)

// A sample is a TCP or UDP frame that another implementation than ours has built and checked.
type sample struct {
	v6, udp bool
	tags    int
	id      uint16
	seq     uint32
	fin     bool
	psh     bool
	options []layers.TCPOption
	payload []byte
}

func (s sample) frame(t testing.TB) []byte {
	t.Helper()
	kind, proto := layers.EthernetTypeIPv4, layers.IPProtocolTCP
	if s.v6 {
		kind = layers.EthernetTypeIPv6
	}
	if s.udp {
		proto = layers.IPProtocolUDP
	}
	outer := kind
	if s.tags > 0 {
		outer = layers.EthernetTypeDot1Q
	}
	all := []gopacket.SerializableLayer{
		&layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2},
			EthernetType: outer},
	}
	for i := range s.tags {
		next := layers.EthernetTypeDot1Q
		if i == s.tags-1 {
			next = kind
		}
		all = append(all, &layers.Dot1Q{VLANIdentifier: uint16(10 + i), Type: next})
	}
	var ip gopacket.NetworkLayer
	if s.v6 {
		v6 := &layers.IPv6{Version: 6, NextHeader: proto, HopLimit: 9, SrcIP: net.ParseIP("fd00::1"),
			DstIP: net.ParseIP("fd00::2")}
		ip, all = v6, append(all, v6)
	} else {
		v4 := &layers.IPv4{Version: 4, IHL: 5, Id: s.id, TTL: 9, Protocol: proto, SrcIP: net.IP{10, 0, 0, 1},
			DstIP: net.IP{10, 0, 0, 2}}
		ip, all = v4, append(all, v4)
	}
	if s.udp {
		udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
		_ = udp.SetNetworkLayerForChecksum(ip)
		all = append(all, udp)
	} else {
		tcp := &layers.TCP{
			SrcPort: 1000, DstPort: 2000, Seq: s.seq, Ack: 77, ACK: true, PSH: s.psh, FIN: s.fin, Window: 500,
			Options: s.options,
		}
		_ = tcp.SetNetworkLayerForChecksum(ip)
		all = append(all, tcp)
	}
	all = append(all, gopacket.Payload(s.payload))
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		all...); err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(buf.Bytes())
	h, err := parseHeaders(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:h.end] // without padding, as between virtual interfaces
}

func randomSample(r *rand.Rand) sample {
	s := sample{
		v6: r.IntN(2) == 0, udp: r.IntN(3) == 0, tags: r.IntN(3), id: uint16(r.Uint32()), seq: r.Uint32(),
		fin: r.IntN(4) == 0, psh: r.IntN(2) == 0, payload: make([]byte, 1+r.IntN(20_000)),
	}
	if r.IntN(2) == 0 {
		s.options = []layers.TCPOption{{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10,
			OptionData: make([]byte, 8)}}
	}
	for i := range s.payload {
		s.payload[i] = byte(r.Uint32())
	}
	return s
}

// uncut returns the kernel's offload header for a frame that must be cut. The checksum covers the pseudo-header.
func uncut(t testing.TB, frame []byte, size int) offload {
	t.Helper()
	h, err := parseHeaders(frame)
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint16(frame[h.sumAt():], fold(h.pseudo(frame, len(frame)-h.l4)))
	o := offload{
		flags: needsSum, gso: gsoTCP4, size: uint16(size), sumStart: uint16(h.l4), sumOffset: uint16(h.sumAt() - h.l4),
	}
	switch {
	case h.proto == protoUDP:
		o.gso = gsoUDP
	case h.v6:
		o.gso = gsoTCP6
	}
	return o
}

func split(t testing.TB, o offload, frame []byte) (frames [][]byte) {
	t.Helper()
	all, lengths, err := o.cut(frame, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range lengths {
		frames, all = append(frames, all[:n:n]), all[n:]
	}
	return frames
}

// Cutting an uncut frame gives the frames that its sender would have built one by one. Joining them gives the uncut
// frame again.
func TestCutAndJoin(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		whole, size := randomSample(r), 8+r.IntN(1500)
		long := whole.frame(t)
		offload := uncut(t, long, size)
		pieces := split(t, offload, bytes.Clone(long))
		for i, piece := range pieces {
			want := whole
			last := i == len(pieces)-1
			want.payload = whole.payload[i*size : min(len(whole.payload), (i+1)*size)]
			want.seq, want.id = whole.seq+uint32(i*size), whole.id+uint16(i)
			want.fin, want.psh = whole.fin && last, whole.psh && last
			if !bytes.Equal(piece, want.frame(t)) {
				t.Fatalf("piece %d of %d:\n%x\nwant\n%x", i, len(pieces), piece, want.frame(t))
			}
		}
		if whole.udp {
			return
		}
		sent := joinedAndCut(t, pieces)
		if n := len(pieces); n > 2 && n*size < 60_000 && sent > 2 { // one more frame if the last has FIN
			t.Errorf("%d pieces became %d frames", n, sent)
		}
	})
}

// joinedAndCut joins frames and cuts them again, as the kernel does: that gives the same frames. It returns the
// number of joined frames.
func joinedAndCut(t *testing.T, frames [][]byte) int {
	t.Helper()
	sent, loads := joinAll(frames)
	var again [][]byte
	for i, frame := range sent {
		if loads[i].gso == gsoNone {
			again = append(again, frame)
		} else {
			again = append(again, split(t, loads[i], frame)...)
		}
	}
	if !equalFrames(again, frames) {
		t.Fatal("what was joined is not cut into the same frames again")
	}
	return len(sent)
}

func equalFrames(a, b [][]byte) bool {
	return bytes.Equal(bytes.Join(a, []byte("|")), bytes.Join(b, []byte("|"))) && len(a) == len(b)
}

// wrappings put a packet into another, or add a header before its payload, as the sender of the pieces would have
// built it.
var wrappings = map[string]func(t testing.TB, outer, inner sample) []byte{
	"vxlan": func(t testing.TB, outer, inner sample) []byte {
		outer.payload = append([]byte{8, 0, 0, 0, 0, 0, 7, 0}, inner.frame(t)...)
		return outer.frame(t)
	},
	"vxlan without checksum": func(t testing.TB, outer, inner sample) []byte {
		outer.payload = append([]byte{8, 0, 0, 0, 0, 0, 7, 0}, inner.frame(t)...)
		b := outer.frame(t)
		at := len(b) - len(outer.payload) - 2
		b[at], b[at+1] = 0, 0
		return b
	},
	"ip in ip": func(t testing.TB, outer, inner sample) []byte {
		h, kind := ipOf(t, inner)
		return inIP4(t, outer, map[uint16]layers.IPProtocol{0x0800: protoIP4, 0x86dd: protoIP6}[kind], h)
	},
	"gre": func(t testing.TB, outer, inner sample) []byte {
		h, kind := ipOf(t, inner)
		return inIP4(t, outer, protoGRE, append(binary.BigEndian.AppendUint16([]byte{0, 0}, kind), h...))
	},
	"options": func(t testing.TB, _, inner sample) []byte {
		inner.v6 = true
		b := inner.frame(t)
		h, err := parseHeaders(b)
		if err != nil {
			t.Fatal(err)
		}
		options := []byte{b[h.ip+6], 0, 1, 4, 0, 0, 0, 0} // PadN
		b[h.ip+6] = destinationOptions
		binary.BigEndian.PutUint16(b[h.ip+4:], uint16(h.end-h.l4+len(options)))
		return slices.Insert(b, h.l4, options...)
	},
}

// ipOf returns a sample from its IP header on, and its EtherType.
func ipOf(t testing.TB, s sample) ([]byte, uint16) {
	t.Helper()
	b := s.frame(t)
	at := 14 + 4*s.tags
	return b[at:], binary.BigEndian.Uint16(b[at-2:])
}

func inIP4(t testing.TB, outer sample, proto layers.IPProtocol, payload []byte) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2},
			EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, IHL: 5, Id: outer.id, TTL: 9, Protocol: proto, SrcIP: net.IP{10, 1, 0, 1},
			DstIP: net.IP{10, 1, 0, 2}},
		gopacket.Payload(payload))
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// The pieces of a packet in a tunnel, or with IPv6 options, are the frames that the sender would have built one by
// one.
func TestCutInside(t *testing.T) {
	for name, wrap := range wrappings {
		t.Run(name, func(t *testing.T) {
			randtest.Run(t, randtest.Cases{Seed: 1, Count: 40}, func(t *testing.T, seed uint64) {
				r := rand.New(rand.NewPCG(seed, 4))
				outer, inner, size := randomSample(r), randomSample(r), 8+r.IntN(1500)
				outer.udp, inner.v6 = true, inner.v6 || name == "options"
				long := wrap(t, outer, inner)
				bare := inner.frame(t) // the part from TCP or UDP on is at the end
				o := uncut(t, bare, size)
				o.sumStart += uint16(len(long) - len(bare))
				copy(long[o.sumStart:], bare[len(bare)-len(long)+int(o.sumStart):])
				pieces := split(t, o, long)
				for i, piece := range pieces {
					want, around := inner, outer
					last := i == len(pieces)-1
					want.payload = inner.payload[i*size : min(len(inner.payload), (i+1)*size)]
					want.seq, want.id = inner.seq+uint32(i*size), inner.id+uint16(i)
					want.fin, want.psh = inner.fin && last, inner.psh && last
					around.id = outer.id + uint16(i)
					if b := wrap(t, around, want); !bytes.Equal(piece, b) {
						t.Fatalf("piece %d of %d:\n%x\nwant\n%x", i, len(pieces), piece, b)
					}
				}
			})
		})
	}
}

// joinAll joins frames as the sender does.
func joinAll(frames [][]byte) (sent [][]byte, loads []offload) {
	var j joiner
	var now []byte
	for _, f := range frames {
		if now != nil {
			if more, ok := j.join(now, f); ok {
				now = append(now, more...)
				continue
			}
			loads = append(loads, j.finish(now))
			sent = append(sent, now)
		}
		j.begin(f)
		now = bytes.Clone(f)
	}
	if now != nil {
		loads = append(loads, j.finish(now))
		sent = append(sent, now)
	}
	return sent, loads
}

// Frames are joined only if the kernel would cut them into the same bytes again. If consecutive frames differ in
// anything that this would not reproduce, they are sent unchanged.
func TestJoinChangesNothing(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := randomSample(r)
		s.udp, s.payload = false, s.payload[:min(len(s.payload), 9000)]
		long := s.frame(t)
		pieces := split(t, uncut(t, long, 500+r.IntN(1000)), long)
		for range r.IntN(4) { // some pieces differ from the rest
			p := pieces[r.IntN(len(pieces))]
			if i := r.IntN(len(pieces)); r.IntN(4) == 0 {
				pieces[i] = append(pieces[i], make([]byte, 1+r.IntN(40))...) // a trailer
			} else {
				p[r.IntN(min(len(p), 80))] ^= 1 << r.IntN(8)
			}
		}
		joinedAndCut(t, pieces)
	})
}

// A checksum that the kernel left undone is completed.
func TestChecksumIsCompleted(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 100}, func(t *testing.T, seed uint64) {
		s := randomSample(rand.New(rand.NewPCG(seed, 3)))
		want := s.frame(t)
		got := bytes.Clone(want)
		o := uncut(t, got, 100)
		if err := o.complete(got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v\n%x\nwant\n%x", err, got[:80], want[:80])
		}
	})
}

// The kernel leaves the checksum of SCTP undone, too. This checksum is not one of RFC 1071.
func TestChecksumOfSCTP(t *testing.T) {
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2},
			EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, IHL: 5, TTL: 9, Protocol: layers.IPProtocolSCTP, SrcIP: net.IP{10, 0, 0, 1},
			DstIP: net.IP{10, 0, 0, 2}},
		&layers.SCTP{SrcPort: 1000, DstPort: 2000, VerificationTag: 0x12345678},
		gopacket.Payload([]byte{11, 0, 0, 4})) // COOKIE ACK
	if err != nil {
		t.Fatal(err)
	}
	want := buf.Bytes()[:50] // without padding
	got := bytes.Clone(want)
	clear(got[34+sctpSum:][:4])
	o := offload{flags: needsSum, sumStart: 34, sumOffset: sctpSum}
	if err := o.complete(got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v\n%x\nwant\n%x", err, got, want)
	}
	if o.complete(got[:34+sctpSum+3]) == nil {
		t.Error("a frame that ends within the checksum was taken")
	}
}

// Inconsistent offload headers are rejected, and nothing is written outside the frame.
func TestHostileOffloads(t *testing.T) {
	frame := sample{payload: make([]byte, 100)}.frame(t)
	for name, o := range map[string]offload{
		"no size":           {gso: gsoTCP4},
		"other protocol":    {gso: gsoUDP, size: 10},
		"other family":      {gso: gsoTCP6, size: 10},
		"unknown":           {gso: 3, size: 10},
		"checksum at end":   {flags: needsSum, sumStart: uint16(len(frame)) - 1, sumOffset: 0},
		"checksum outside":  {flags: needsSum, sumStart: 60000, sumOffset: 60000},
		"checksum far away": {flags: needsSum, sumStart: 34, sumOffset: 65535},
	} {
		b := bytes.Clone(frame)
		err := o.complete(b)
		if o.gso != gsoNone {
			_, _, err = o.cut(b, nil, nil)
		}
		if err == nil || !bytes.Equal(b, frame) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []sample{{}, {v6: true}, {udp: true, tags: 1}, {tags: 2, psh: true}} {
		s.payload = make([]byte, 300)
		frame := s.frame(f)
		var b [offloadBytes]byte
		uncut(f, frame, 100).put(b[:])
		f.Add(b[:], frame)
	}
	for name, w := range wrappings {
		frame := w(f, sample{udp: true}, sample{payload: make([]byte, 300), v6: name == "options"})
		f.Add([]byte{needsSum, gsoTCP4, 0, 0, 100, 0, byte(len(frame) - 320), 0, tcpSum, 0}, frame)
	}
	f.Fuzz(func(t *testing.T, load, frame []byte) {
		if len(load) < offloadBytes || len(frame) > longest {
			return
		}
		o := parseOffload(load)
		all, lengths, err := o.cut(frame, nil, nil)
		if err != nil {
			return
		}
		_, h, _ := o.parse(frame)
		total := 0
		for _, n := range lengths {
			piece := all[:n]
			_, ph, err := o.parse(piece)
			if err != nil || !ph.sumsRight(piece) {
				t.Fatalf("a piece of %x is wrong (%v): %x", frame, err, piece)
			}
			all, total = all[n:], total+ph.end-ph.payload
		}
		if total != h.end-h.payload {
			t.Fatalf("%d bytes of payload became %d", h.end-h.payload, total)
		}
	})
}

func FuzzJoin(f *testing.F) {
	a := sample{payload: make([]byte, 50), id: 1}.frame(f)
	b := sample{payload: make([]byte, 50), id: 2, seq: 50}.frame(f)
	f.Add(a, b)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) > longest || len(b) > longest {
			return
		}
		sent, loads := joinAll([][]byte{a, b})
		if len(sent) == 1 && !equalFrames(split(t, loads[0], sent[0]), [][]byte{a, b}) {
			t.Fatalf("%x and %x are cut differently", a, b)
		}
	})
}
