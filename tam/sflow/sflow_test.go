package sflow

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/internal/randtest"
)

var agent = netip.MustParseAddr("192.0.2.1")

// The bytes of a datagram are those of the specification.
func TestDatagram(t *testing.T) {
	depth := uint32(5000)
	d := Datagram{Agent: agent, SubAgent: 1, Sequence: 2, Uptime: 3, Samples: []Sample{
		&FlowSample{Sequence: 4, Source: Source{0, 5}, Rate: 256, Pool: 1024, Drops: 6, Input: Interface{Value: 5},
			Output: Interface{Discard, uint32(TTLExceeded)},
			Packet: Packet{Header: &Header{EthernetHeader, 64, 4, []byte{1, 2, 3, 4, 5}}, Switch: &Switch{10, 0, 20, 7}}},
		&Discarded{Sequence: 1, Source: Source{0, 5}, Drops: 9, Input: 5, Output: 8, Reason: NoBufferSpace,
			Packet: Packet{Queue: &Queue{3, &depth}, Trap: &Trap{"buffer_drops", "tail_drop"}}},
	}}
	want := "00000005 00000001 c0000201 00000001 00000002 00000003 00000002" +
		"00000001 00000058 00000004 00000005 00000100 00000400 00000006 00000005 40000101 00000002" +
		"00000001 00000018 00000001 00000040 00000004 00000005 0102030405000000" +
		"000003e9 00000010 0000000a 00000000 00000014 00000007" +
		"00000005 00000060 00000001 00000000 00000005 00000009 00000005 00000008 00000103 00000003" +
		"0000040c 00000004 00000003" + "00000410 00000004 00001388" +
		"00000411 00000020 0000000c 6275666665725f64726f7073 00000009 7461696c5f64726f70000000"
	if got := hex.EncodeToString(d.Append(nil)); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got  %s\nwant %s", got, strings.ReplaceAll(want, " ", ""))
	}
}

func randomPacket(r *rand.Rand) (p Packet) {
	if r.IntN(8) > 0 {
		b := make([]byte, r.IntN(MaxHeader+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		p.Header = &Header{EthernetHeader, r.Uint32(), 4, b}
	}
	if r.IntN(2) == 0 {
		p.Switch = &Switch{r.Uint32N(4096), r.Uint32N(8), r.Uint32N(4096), r.Uint32N(8)}
	}
	if r.IntN(2) == 0 {
		p.Router = &Router{randomAddr(r), r.Uint32N(129), r.Uint32N(129)}
	}
	if r.IntN(2) == 0 {
		p.Queue = &Queue{Number: r.Uint32N(8)}
		if d := r.Uint32(); d%2 == 0 {
			p.Queue.Depth = &d
		}
	}
	if r.IntN(3) == 0 {
		p.Trap = &Trap{"l3_drops", fmt.Sprint(r.Uint32())}
	}
	if r.IntN(4) == 0 {
		p.Others = []Other{{r.Uint32N(1 << 20), 2000, make([]byte, 4*r.IntN(5))}}
	}
	return p
}

func randomAddr(r *rand.Rand) netip.Addr {
	b := make([]byte, []int{0, 4, 16}[r.IntN(3)])
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func randomInterface(r *rand.Rand) Interface {
	return Interface{InterfaceFormat(r.IntN(3)), r.Uint32() >> (2 + r.IntN(20))}
}

func randomSample(r *rand.Rand) Sample {
	source := Source{0, r.Uint32() >> r.IntN(24)}
	switch r.IntN(4) {
	case 0:
		return &FlowSample{r.Uint32(), source, r.Uint32(), r.Uint32(), r.Uint32(), randomInterface(r), randomInterface(r),
			randomPacket(r)}
	case 1:
		c := &CounterSample{Sequence: r.Uint32(), Source: source}
		if r.IntN(4) > 0 {
			c.Generic = &Generic{Index: source.Index, Type: TypeEthernet, Speed: r.Uint64(), InOctets: r.Uint64(),
				OutOctets: Unknown64, OutErrors: r.Uint32(), Promiscuous: Unknown32, InErrors: r.Uint32()}
		}
		if r.IntN(2) == 0 {
			c.Ethernet = &Ethernet{TooLong: r.Uint32(), Symbol: r.Uint32()}
		}
		return c
	case 2:
		return &Discarded{r.Uint32(), source, r.Uint32(), r.Uint32(), r.Uint32(), Reason(r.Uint32N(400)), randomPacket(r)}
	}
	return &Other{r.Uint32N(1 << 20), 100 + r.Uint32N(3000), make([]byte, 4*r.IntN(9))}
}

// Decoded samples equal the encoded ones, and the numbers of their datagrams have no gap.
func TestThere(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 100}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := Packer{Agent: randomAddr(r), SubAgent: r.Uint32(), Most: 500 + r.IntN(1000)}
		var want, got []Sample
		n := uint32(0)
		read := func(b []byte) {
			d, err := Decode(bytes.Clone(b))
			if err != nil {
				t.Fatal(err)
			}
			if n++; d.Sequence != n || d.Agent != p.Agent || d.SubAgent != p.SubAgent || d.Uptime != 77 || len(b) > p.Most {
				t.Fatalf("datagram %d of %d bytes: %+v", n, len(b), d)
			}
			got = append(got, d.Samples...)
		}
		for range r.IntN(30) {
			want = append(want, randomSample(r))
			if err := p.Add(want[len(want)-1], 77, read); err != nil {
				t.Fatal(err)
			}
		}
		p.Flush(77, read)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
}

// A sample that is too long for a datagram is refused, without harm to the samples beside it.
func TestTooLong(t *testing.T) {
	p := Packer{Agent: agent, Most: 200}
	none := func([]byte) { t.Error("sent") }
	if err := p.Add(&Other{0, 99, make([]byte, 40)}, 0, none); err != nil {
		t.Fatal(err)
	}
	if err := p.Add(&Other{0, 99, make([]byte, 200)}, 0, none); err == nil {
		t.Error("no error")
	}
	sent := 0
	p.Flush(0, func(b []byte) {
		if d, err := Decode(b); err != nil || len(d.Samples) != 1 {
			t.Errorf("%v %v", d, err)
		}
		sent++
	})
	if sent != 1 {
		t.Errorf("%d sent", sent)
	}
}

// Each error names its cause.
func TestRefused(t *testing.T) {
	good := (&Datagram{Agent: agent, Samples: []Sample{
		&FlowSample{Packet: Packet{Header: &Header{Bytes: make([]byte, 9)}}}, &CounterSample{Generic: &Generic{}},
	}}).Append(nil)
	for _, tt := range []struct {
		at   int
		b    byte
		want string
	}{
		{3, 4, "byte 4: version: 4, want 5"}, {7, 3, "agent address type: 3, want 0 to 2"},
		{27, 200, "samples: 200 in"}, {27, 1, "behind the last sample"}, {34, 0xff, "sample length: 65"},
		{67, 99, "flow records: 99 in"}, {91, 60, "header length: 60"},
	} {
		bad := bytes.Clone(good)
		bad[tt.at] = tt.b
		if _, err := Decode(bad); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("byte %d %d: %v, want %q", tt.at, tt.b, err, tt.want)
		}
	}
	for n := range good {
		if _, err := Decode(good[:n]); err == nil {
			t.Errorf("%d bytes of %d are read", n, len(good))
		}
	}
}

// The intact samples of a damaged datagram are decoded, and the others counted. The datagram may be truncated anywhere,
// have trailing bytes, or contain a sample of a wrong length.
func TestDamaged(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 100}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 35))
		d := Datagram{Agent: agent, Sequence: 1}
		head := len(d.Append(nil))
		ends := []int{head} // ends[n] is the end of n samples
		for range 1 + r.IntN(6) {
			d.Samples = append(d.Samples, randomSample(r))
			ends = append(ends, len(d.Append(nil)))
		}
		whole := d.Append(nil)
		intact, err := Decode(whole)
		if err != nil || intact.Unread+intact.Behind != 0 {
			t.Fatal(err, intact.Unread, intact.Behind)
		}
		n := len(d.Samples)
		judge := func(what string, b []byte, samples []Sample, behind int) {
			t.Helper()
			got, err := Decode(b)
			if err == nil || got == nil || !reflect.DeepEqual(got.Samples, samples) && len(got.Samples)+len(samples) > 0 ||
				got.Unread != n-len(samples) || got.Behind != behind || got.Sequence != 1 {
				t.Fatalf("%s: %+v, %v; want %d samples of %d", what, got, err, len(samples), n)
			}
		}
		for at := range whole {
			if at < head {
				if got, err := Decode(whole[:at]); got != nil || err == nil {
					t.Fatalf("cut at %d: %+v, %v", at, got, err)
				}
				continue
			}
			left := 0
			for ends[left+1] <= at {
				left++
			}
			judge(fmt.Sprint("cut at ", at), bytes.Clone(whole[:at]), intact.Samples[:left], 0)
		}
		more := make([]byte, 1+r.IntN(64))
		for i := range more {
			more[i] = byte(r.UintN(256))
		}
		judge("longer", append(bytes.Clone(whole), more...), intact.Samples, len(more))

		// The inside of one sample ends too early.
		i := r.IntN(n)
		b, size := bytes.Clone(whole), ends[i+1]-ends[i]-8
		switch d.Samples[i].(type) {
		case *Other: // any bytes are valid
		default:
			short := r.IntN(size) &^ 3 % 20 // somewhere in its fixed fields
			b = append(b[:ends[i]+8+short], b[ends[i+1]:]...)
			b[ends[i]+4], b[ends[i]+5], b[ends[i]+6], b[ends[i]+7] = 0, 0, 0, byte(short)
			samples := append(append([]Sample{}, intact.Samples[:i]...), intact.Samples[i+1:]...)
			judge("one is damaged inside", b, samples, 0)
			judge("and the last is cut", b[:len(b)-1], samples[:i], 0)
		}
	})
}

// Another decoder decodes the same values.
func TestOtherDecoder(t *testing.T) {
	d := Datagram{Agent: agent, SubAgent: 1, Sequence: 2, Uptime: 3, Samples: []Sample{
		&FlowSample{Sequence: 4, Source: Source{0, 5}, Rate: 256, Pool: 1024, Drops: 6, Input: Interface{Value: 5},
			Output: Interface{Value: 9}, Packet: Packet{Switch: &Switch{10, 1, 20, 2},
				Router: &Router{NextHop: agent, DestMask: 24}}},
		&CounterSample{Sequence: 7, Source: Source{0, 5}, Generic: &Generic{Index: 5, Speed: 1e11, InOctets: 1 << 40,
			OutErrors: 3, Promiscuous: Unknown32}},
	}}
	p := gopacket.NewPacket(d.Append(nil), layers.LayerTypeSFlow, gopacket.Default)
	s, ok := p.ApplicationLayer().(*layers.SFlowDatagram)
	if !ok || p.ErrorLayer() != nil {
		t.Fatalf("%v", p)
	}
	f, c := s.FlowSamples[0], s.CounterSamples[0]
	g := c.Records[0].(layers.SFlowGenericInterfaceCounters)
	r := f.Records[1].(layers.SFlowExtendedRouterFlowRecord)
	if !r.NextHop.Equal(agent.AsSlice()) || r.NextHopSourceMask != 0 || r.NextHopDestinationMask != 24 {
		t.Errorf("%+v", r)
	}
	if s.SequenceNumber != 2 || f.SequenceNumber != 4 || f.SamplePool != 1024 || f.Dropped != 6 || f.InputInterface != 5 ||
		f.Records[0].(layers.SFlowExtendedSwitchFlowRecord).OutgoingVLAN != 20 || c.SequenceNumber != 7 ||
		g.IfSpeed != 1e11 || g.IfInOctets != 1<<40 || g.IfOutErrors != 3 {
		t.Errorf("%+v", s)
	}
}

func TestReasons(t *testing.T) {
	for r, want := range map[Reason]string{0: "net_unreachable", 15: "precedence_cutoff", 16: "16",
		UnknownReason:     "unknown",
		IngressVLANFilter: "ingress_vlan_filter", UnresolvedNeighbor: "unresolved_neigh", NonRoutable: "non_routable_packet",
		UnknownL2: "unknown_l2", BlackholeARP: "blackhole_arp_neigh", DestMACFilter: "dmac_filter", LockedPort: "locked_port",
		BlackholeNextHop: "blackhole_nexthop", PacketTooSmall: "pkt_too_small", 336: "icmp_parsing", 9999: "9999"} {
		if r.String() != want {
			t.Errorf("%d is %s, want %s", uint32(r), r, want)
		}
	}
}

// Any input is either refused, or decoded to a value that encodes to the same content again.
func FuzzDecode(f *testing.F) {
	d := Datagram{Agent: agent}
	depth := uint32(1)
	d.Samples = append(d.Samples,
		&FlowSample{Packet: Packet{Header: &Header{1, 60, 4, make([]byte, 9)}, Switch: &Switch{},
			Router: &Router{NextHop: agent}}},
		&CounterSample{Source: Source{0, fewest}, Generic: &Generic{}, Ethernet: &Ethernet{}},
		&Discarded{Packet: Packet{Queue: &Queue{3, &depth}, Trap: &Trap{"a", "b"},
			Others: []Other{{0, 1012, make([]byte, 4)}}}},
		&FlowSample{Output: Interface{Multiple, 1 << 31}}, &Other{1, 9, make([]byte, 8)})
	f.Add(d.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Decode(b)
		if (err != nil) != (d == nil || d.Unread+d.Behind > 0) {
			t.Errorf("%+v, %v", d, err)
		}
		if d == nil {
			return
		}
		again, err := Decode(d.Append(nil))
		if err != nil || len(again.Samples) != len(d.Samples) || again.Agent != d.Agent {
			t.Errorf("%+v\nagain %+v, %v", d, again, err)
		}
	})
}
