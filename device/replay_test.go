package device

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/collector/capture"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

var (
	macA = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	macB = net.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// twoPorts is a switch with Ethernet0 and Ethernet1 in VLAN 10 (untagged) and 20
// (tagged), and one session that matches every frame from Ethernet0.
func twoPorts() ConfigDB {
	c, err := ParseConfigDB([]byte(`{
	"DEVICE_METADATA": {"localhost": {"mac": "02:00:00:00:07:e4"}},
	"PORT": {
		"Ethernet0": {"lanes": "0", "speed": "10000", "alias": "etp1", "mtu": "1500", "admin_status": "up"},
		"Ethernet1": {"lanes": "1", "speed": "10000", "alias": "etp2", "mtu": "1500", "admin_status": "up"}},
	"VLAN": {"Vlan10": {"vlanid": "10"}, "Vlan20": {"vlanid": "20"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"},
		"Vlan20|Ethernet0": {"tagging_mode": "tagged"}, "Vlan20|Ethernet1": {"tagging_mode": "tagged"}},
	"TAM_FEATURES_TABLE": {"TAILSTAMPING": {"status": "ACTIVE"}},
	"TAM_FLOWGROUP_TABLE": {"all": {"id": "1"}},
	"ACL_RULE": {"TAM|all": {"IN_PORTS": "Ethernet0"}},
	"TAM_TAILSTAMPING_TABLE": {"s": {"flowgroup": "all"}}}`))
	if err != nil {
		panic(err)
	}
	return c
}

// noARP is COPP_TRAP of a switch whose CPU gets no copies of ARP, which would count.
func noARP() map[string]map[string]string {
	return map[string]map[string]string{"arp": {"NULL": "NULL"}}
}

func frame(t testing.TB, ls ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	for _, l := range ls {
		switch l := l.(type) {
		case *layers.TCP:
			l.DataOffset = 5
		case *layers.UDP:
			l.Length = 8
		}
	}
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, ls...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(buf.Bytes())
}

func eth(typ layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: macA, DstMAC: macB, EthernetType: typ}
}

func ip4(p layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: p, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
}

func ip6(next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: next, SrcIP: net.ParseIP("2001:db8::1"),
		DstIP: net.ParseIP("2001:db8::2")}
}

func payload(n int) gopacket.Payload { return bytes.Repeat([]byte{0xab}, n) }

// Which frames get a record: the trailer section of the design and the limits
// of the HLD, one row each.
func TestEligibility(t *testing.T) {
	racetest.Stepped(t)
	udp := func() *layers.UDP { return &layers.UDP{SrcPort: 5000, DstPort: 6000} }
	tcp := func() *layers.TCP { return &layers.TCP{SrcPort: 5000, DstPort: 80} }
	fragment := func(offset uint16, more bool) *layers.IPv4 {
		l := ip4(layers.IPProtocolUDP)
		l.Id, l.FragOffset = 7, offset
		if more {
			l.Flags = layers.IPv4MoreFragments
		}
		return l
	}
	hop := append([]byte{byte(layers.IPProtocolUDP), 0, 1, 4, 0, 0, 0, 0}, 0x13, 0x88, 0x17, 0x70, 0, 8, 0, 0)
	snap := append(append(append([]byte{}, macB...), macA...), 0, 46, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0)
	const wire = 1500 + 22 // the limit with FCS
	for _, tt := range []struct {
		name   string
		frame  []byte
		length int    // original length when cut
		reason string // "" means stamped
	}{
		{name: "TCP over IPv4", frame: frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolTCP), tcp(),
			payload(100))},
		{name: "UDP over IPv4", frame: frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), udp(),
			payload(100))},
		{name: "TCP over IPv6", frame: frame(t, eth(layers.EthernetTypeIPv6), ip6(layers.IPProtocolTCP), tcp(),
			payload(100))},
		{name: "UDP behind an IPv6 hop-by-hop header", frame: frame(t, eth(layers.EthernetTypeIPv6),
			ip6(layers.IPProtocolIPv6HopByHop), gopacket.Payload(hop))},
		{name: "VLAN-tagged UDP", frame: frame(t, eth(layers.EthernetTypeDot1Q),
			&layers.Dot1Q{VLANIdentifier: 20, Type: layers.EthernetTypeIPv4}, ip4(layers.IPProtocolUDP), udp(), payload(50))},
		{name: "first fragment", frame: frame(t, eth(layers.EthernetTypeIPv4), fragment(0, true), udp(), payload(64))},
		{name: "later fragment", frame: frame(t, eth(layers.EthernetTypeIPv4), fragment(9, false), payload(64))},
		{name: "short frame, padded before the record", frame: frame(t, eth(layers.EthernetTypeIPv4),
			ip4(layers.IPProtocolUDP), udp())[:42]},
		{name: "padded frame, record behind the padding", frame: append(
			frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), udp()), make([]byte, 18)...)[:60]},
		{name: "the longest that fits", frame: frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), udp(),
			payload(wire-4-32-42))},
		{name: "one byte longer", frame: frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), udp(),
			payload(wire-4-32-42+1)), reason: "mtu"},
		{name: "ICMP", frame: frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolICMPv4), payload(64)),
			reason: "not_tcp_udp"},
		{name: "ARP", frame: frame(t, eth(layers.EthernetTypeARP), payload(46)), reason: "not_tcp_udp"},
		{name: "802.3 with SNAP", frame: append(snap, make([]byte, 38)...), reason: "not_ethernet_ii"},
		{name: "cut by the snap length", frame: frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), udp(),
			payload(400))[:96], length: 442, reason: "cut"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
			length := max(tt.length, len(tt.frame))
			writeCapture(t, in, packet{time.Unix(1000, 0), tt.frame, length})
			r := Replay{Inputs: []Input{{"Ethernet0", in}}, Out: out}
			r.Profile, r.Config = profile.Small(), twoPorts()
			r.Config["COPP_TRAP"] = noARP()
			report, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := readCapture(t, filepath.Join(out, "Ethernet1.pcap"))
			if len(got) != 1 {
				t.Fatalf("%d frames came out; report %+v", len(got), report)
			}
			s := report.TailStamping["s"]
			if tt.reason != "" {
				if !bytes.Equal(got[0].data, tt.frame) || got[0].length != length {
					t.Errorf("the frame changed:\n%x\n%x", tt.frame, got[0].data)
				}
				if *s.Matched != 1 || *s.Stamped != 0 || s.NotStamped[tt.reason] != 1 {
					t.Errorf("session counts %+v, want one not stamped because of %s", s, tt.reason)
				}
				return
			}
			if *s.Matched != 1 || *s.Stamped != 1 {
				t.Errorf("session counts %+v, want 1 matched, 1 stamped", s)
			}
			checkStamped(t, got[0], tt.frame)
		})
	}
}

// checkStamped holds the output frame against its input: padding to 60, one
// record, nothing else.
func checkStamped(t *testing.T, got packet, in []byte) {
	t.Helper()
	want := append(bytes.Clone(in), make([]byte, max(0, 60-len(in)))...)
	if len(got.data) != len(want)+32 || !bytes.Equal(got.data[:len(want)], want) {
		t.Fatalf("want the frame, padding, and 32 bytes:\n%x\n%x", in, got.data)
	}
	rec := got.data[len(want):]
	if id := binary.BigEndian.Uint32(rec); id != 0x07e4 {
		t.Errorf("switch id %#x, want the last 16 bits of the MAC", id)
	}
	if sec := binary.BigEndian.Uint32(rec[6:]); sec != 1000 {
		t.Errorf("ingress second %d, want 1000", sec)
	}
	if in, out := binary.BigEndian.Uint16(rec[24:]), binary.BigEndian.Uint16(rec[26:]); in != 0 || out != 1 {
		t.Errorf("ports %d to %d, want 0 to 1", in, out)
	}
	if rec[28] != 0 || rec[29] != 0 || rec[30] != 0x5a || rec[31] != 0x10 {
		t.Errorf("record ends with % x", rec[28:])
	}
	egress := time.Unix(int64(binary.BigEndian.Uint32(rec[16:])), int64(binary.BigEndian.Uint32(rec[20:]))).UTC()
	if !egress.Equal(got.at) {
		t.Errorf("egress time %v, but the frame left at %v", egress, got.at)
	}
}

// Two switches in a row: two records, the first hop's first.
func TestTwoHops(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pcap")
	f := frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolTCP), &layers.TCP{DstPort: 80}, payload(10))
	writeCapture(t, in, packet{time.Unix(1000, 500), f, len(f)})
	for i, mac := range []string{"02:00:00:00:00:11", "02:00:00:00:00:22"} {
		c := twoPorts()
		c["DEVICE_METADATA"]["localhost"]["mac"] = mac
		out := filepath.Join(dir, mac)
		r := Replay{Inputs: []Input{{"Ethernet0", in}}, Out: out}
		r.Profile, r.Config = profile.Small(), c
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		in = filepath.Join(out, "Ethernet1.pcap")
		records, _ := tailstamp.Decode(readCapture(t, in)[0].data)
		if len(records) != i+1 || records[i].SwitchID != uint32(0x11*(i+1)) {
			t.Fatalf("after %d hops the records are %+v", i+1, records)
		}
		if l, ok := records[i].Latency(); !ok || l <= 0 {
			t.Errorf("latency of hop %d: %v", i, l)
		}
	}
}

// The same input gives the same bytes.
func TestReplayIsDeterministic(t *testing.T) {
	var first map[string][]byte
	for range 2 {
		out := t.TempDir()
		r := Replay{Inputs: []Input{{"Ethernet0", "../cmd/tamtam/demo/client.pcap"},
			{"Ethernet1", "../cmd/tamtam/demo/server.pcap"}}, Out: out}
		r.Profile, r.Config = profile.Small(), twoPorts()
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		entries, _ := os.ReadDir(out)
		for _, e := range entries {
			files[e.Name()], _ = os.ReadFile(filepath.Join(out, e.Name()))
		}
		if first == nil {
			first = files
			continue
		}
		for name := range first {
			if !bytes.Equal(first[name], files[name]) {
				t.Errorf("%s differs between two runs", name)
			}
		}
	}
}

// A damaged capture is refused, and leaves nothing behind.
func TestDamagedCapture(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	f := frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), &layers.UDP{}, payload(10))
	writeCapture(t, in, packet{time.Unix(1, 0), f, len(f)}, packet{time.Unix(2, 0), f, len(f)})
	whole, _ := os.ReadFile(in)
	if err := os.WriteFile(in, whole[:len(whole)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	r := Replay{Inputs: []Input{{"Ethernet0", in}}, Out: out}
	r.Profile, r.Config = profile.Small(), twoPorts()
	_, err := r.Run(t.Context())
	var damage *capture.Error
	if !errors.As(err, &damage) || damage.Packet != 2 {
		t.Errorf("error %v, want one about packet 2", err)
	}
	if left, _ := os.ReadDir(out); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Captures without packets are a run without packets.
func TestEmptyCaptures(t *testing.T) {
	for name, ports := range map[string][]string{"one": {"Ethernet0"}, "two": {"Ethernet0", "Ethernet1"}} {
		t.Run(name, func(t *testing.T) {
			in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
			writeCapture(t, in)
			r := Replay{Out: out}
			for _, p := range ports {
				r.Inputs = append(r.Inputs, Input{p, in})
			}
			r.Profile, r.Config = profile.Small(), twoPorts()
			report, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := report.Ports["Ethernet0"].Received; n != 0 {
				t.Errorf("received %d frames", n)
			}
			if sent := readCapture(t, filepath.Join(out, "Ethernet1.pcap")); len(sent) != 0 {
				t.Errorf("sent %v", sent)
			}
		})
	}
}

// A day, or a clock that was set in the middle of a capture, is no more work
// than the packets on both sides of it, and their times are kept.
func TestLongSilence(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	f := frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), &layers.UDP{}, payload(10))
	first, last := time.Unix(100, 0), time.Unix(100, 0).Add(56*365*24*time.Hour)
	writeCapture(t, in, packet{first, f, len(f)}, packet{last, f, len(f)})
	r := Replay{Inputs: []Input{{"Ethernet0", in}}, Out: out}
	r.Profile, r.Config = profile.Small(), twoPorts()
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := readCapture(t, filepath.Join(out, "Ethernet1.pcap"))
	if len(sent) != 2 || sent[1].at.Sub(sent[0].at) != last.Sub(first) {
		t.Errorf("sent %v", sent)
	}
}

// Times further apart than the chip can count are refused, by packet.
func TestTimesTooFarApart(t *testing.T) {
	dir := t.TempDir()
	early, late := filepath.Join(dir, "early.pcap"), filepath.Join(dir, "late.pcapng")
	f := frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), &layers.UDP{}, payload(10))
	writeCapture(t, early, packet{time.Unix(1, 0), f, len(f)})
	b := []byte{10, 13, 13, 10, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
		28, 0, 0, 0}
	u32 := binary.LittleEndian.AppendUint32
	for _, v := range []uint32{1, 20, 1, 0, 20} { // an interface: Ethernet, microseconds
		b = u32(b, v)
	}
	f = append(f, make([]byte, -len(f)&3)...)
	size := uint32(32 + len(f))
	for _, v := range []uint32{6, size, 0, 0x00200000, 0, uint32(len(f)), uint32(len(f))} {
		b = u32(b, v)
	}
	if err := os.WriteFile(late, u32(append(b, f...), size), 0o644); err != nil {
		t.Fatal(err)
	}
	r := Replay{Inputs: []Input{{"Ethernet0", early}, {"Ethernet1", late}}, Out: t.TempDir()}
	r.Profile, r.Config = profile.Small(), twoPorts()
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(),
		"late.pcapng: packet 1: it enters at 2255-") {
		t.Error(err)
	}
}

// A capture without times, or faster than its port, waits in its file until the
// port can take the frames, and delays no other port.
func TestInputFasterThanItsPort(t *testing.T) {
	racetest.Stepped(t)
	dir := t.TempDir()
	fast, other := filepath.Join(dir, "fast.pcap"), filepath.Join(dir, "other.pcap")
	f := frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), &layers.UDP{}, payload(1000))
	start := time.Unix(1000, 0)
	var burst, calm []packet
	for i := range 2000 {
		burst = append(burst, packet{start, f, len(f)})
		calm = append(calm, packet{start.Add(time.Duration(i) * time.Microsecond), f, len(f)})
	}
	writeCapture(t, fast, burst...)
	writeCapture(t, other, calm...)
	c := twoPorts()
	c["ACL_RULE"]["TAM|all"]["IN_PORTS"] = "Ethernet1"
	s := testSim(t, SimConfig{Config: c, Start: start})
	settle(t, s)
	n := 0
	s.Chip.SetOutput(func(o *saisim.Out) {
		if records, _ := tailstamp.Decode(o.Data); len(records) == 1 {
			if got, want := records[0].Ingress.Time(), calm[n].at; !got.Equal(want) {
				t.Errorf("frame %d arrived at %v, want %v", n, got, want)
			}
			n++
		}
	})
	inputs := []Input{{"Ethernet0", fast}, {"Ethernet1", other}}
	err := s.Feed(t.Context(), inputs, func() error {
		if b := s.Chip.Books(); b.InFlight > 100 {
			return fmt.Errorf("%d frames in the chip", b.InFlight)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, s)
	if n != len(calm) {
		t.Errorf("%d frames stamped, want %d", n, len(calm))
	}
}

// An input may name its port by the alias, as everything else may; a port has
// one input.
func TestInputByAlias(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	f := frame(t, eth(layers.EthernetTypeIPv4), ip4(layers.IPProtocolUDP), &layers.UDP{}, payload(10))
	writeCapture(t, in, packet{time.Unix(1, 0), f, len(f)})
	r := Replay{Inputs: []Input{{"etp1", in}}, Out: out}
	r.Profile, r.Config = profile.Small(), twoPorts()
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := report.Ports["Ethernet0"].Received; n != 1 {
		t.Errorf("received %d", n)
	}
	r.Inputs = append(r.Inputs, Input{"Ethernet0", in})
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the port has an input already") {
		t.Error(err)
	}
}

func TestUnknownInputPort(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.pcap")
	writeCapture(t, in)
	r := Replay{Inputs: []Input{{"Ethernet9", in}}, Out: t.TempDir()}
	r.Profile, r.Config = profile.Small(), twoPorts()
	if _, err := r.Run(t.Context()); err == nil || !strings.HasSuffix(err.Error(),
		`no port "Ethernet9"; it has [Ethernet0 Ethernet1]`) {
		t.Error(err)
	}
	r.Config["PORT"]["Ethernet9"] = map[string]string{"lanes": "9", "speed": "10000"}
	want := `no port "Ethernet9"; it has [Ethernet0 Ethernet1]; PORT|Ethernet9: failed: port Ethernet9: create the port ` +
		`on lanes 9`
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

type packet struct {
	at     time.Time
	data   []byte
	length int
}

func writeCapture(t *testing.T, path string, packets ...packet) {
	t.Helper()
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		if err := w.Write(p.at, p.data, p.length); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func readCapture(t *testing.T, path string) []packet {
	t.Helper()
	r, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list []packet
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, packet{p.Time.UTC(), bytes.Clone(p.Data), p.Len})
	}
}
