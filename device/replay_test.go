package device_test

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
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/collector/capture"
	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// noARP returns COPP_TRAP for a switch whose CPU receives no copies of ARP, which would count.
func noARP() map[string]map[string]string {
	return map[string]map[string]string{"arp": {"NULL": "NULL"}}
}

func ip6(next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: next, SrcIP: net.ParseIP("2001:db8::1"),
		DstIP: net.ParseIP("2001:db8::2")}
}

// Frames get a record according to the design's trailer section and the HLD's limits. Each row of the table is one
// rule.
func TestEligibility(t *testing.T) {
	racetest.Stepped(t)
	udp := func() *layers.UDP { return &layers.UDP{SrcPort: 5000, DstPort: 6000} }
	tcp := func() *layers.TCP { return &layers.TCP{SrcPort: 5000, DstPort: 80} }
	fragment := func(offset uint16, more bool) *layers.IPv4 {
		l := devicetest.IPv4(layers.IPProtocolUDP)
		l.Id, l.FragOffset = 7, offset
		if more {
			l.Flags = layers.IPv4MoreFragments
		}
		return l
	}
	hop := append([]byte{byte(layers.IPProtocolUDP), 0, 1, 4, 0, 0, 0, 0}, 0x13, 0x88, 0x17, 0x70, 0, 8, 0, 0)
	snap := append(append(append([]byte{}, devicetest.MacB...), devicetest.MacA...), 0, 46, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0)
	const wire = 1500 + 22 // maximum length with FCS
	for _, tt := range []struct {
		name   string
		frame  []byte
		length int    // original length of a truncated frame
		reason string // "" means stamped
	}{
		{name: "TCP over IPv4", frame: devicetest.IPv4Frame(t, layers.IPProtocolTCP, tcp(),
			devicetest.Payload(100))},
		{name: "UDP over IPv4", frame: devicetest.IPv4Frame(t, layers.IPProtocolUDP, udp(),
			devicetest.Payload(100))},
		{name: "TCP over IPv6", frame: devicetest.Frame(t, devicetest.Ethernet(layers.EthernetTypeIPv6),
			ip6(layers.IPProtocolTCP), tcp(),
			devicetest.Payload(100))},
		{name: "UDP behind an IPv6 hop-by-hop header", frame: devicetest.Frame(t,
			devicetest.Ethernet(layers.EthernetTypeIPv6),
			ip6(layers.IPProtocolIPv6HopByHop), gopacket.Payload(hop))},
		{name: "VLAN-tagged UDP", frame: devicetest.Frame(t, devicetest.Ethernet(layers.EthernetTypeDot1Q),
			&layers.Dot1Q{VLANIdentifier: 20, Type: layers.EthernetTypeIPv4}, devicetest.IPv4(layers.IPProtocolUDP), udp(),
			devicetest.Payload(50))},
		{name: "first fragment", frame: devicetest.Frame(t, devicetest.Ethernet(layers.EthernetTypeIPv4), fragment(0, true),
			udp(), devicetest.Payload(64))},
		{name: "later fragment", frame: devicetest.Frame(t, devicetest.Ethernet(layers.EthernetTypeIPv4), fragment(9, false),
			devicetest.Payload(64))},
		{name: "short frame, padded before the record", frame: devicetest.Frame(t,
			devicetest.Ethernet(layers.EthernetTypeIPv4),
			devicetest.IPv4(layers.IPProtocolUDP), udp())[:42]},
		{name: "padded frame, record behind the padding", frame: append(
			devicetest.IPv4Frame(t, layers.IPProtocolUDP, udp()), make([]byte, 18)...)[:60]},
		{name: "the longest that fits", frame: devicetest.IPv4Frame(t, layers.IPProtocolUDP, udp(),
			devicetest.Payload(wire-4-32-42))},
		{name: "one byte longer", frame: devicetest.IPv4Frame(t, layers.IPProtocolUDP, udp(),
			devicetest.Payload(wire-4-32-42+1)), reason: "mtu"},
		{name: "ICMP", frame: devicetest.IPv4Frame(t, layers.IPProtocolICMPv4, devicetest.Payload(64)),
			reason: "not_tcp_udp"},
		{name: "ARP", frame: devicetest.Frame(t, devicetest.Ethernet(layers.EthernetTypeARP), devicetest.Payload(46)),
			reason: "not_tcp_udp"},
		{name: "802.3 with SNAP", frame: append(snap, make([]byte, 38)...), reason: "not_ethernet_ii"},
		{name: "cut by the snap length", frame: devicetest.IPv4Frame(t, layers.IPProtocolUDP, udp(),
			devicetest.Payload(400))[:96], length: 442, reason: "cut"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
			length := max(tt.length, len(tt.frame))
			devicetest.WriteCapture(t, in, devicetest.Packet{At: time.Unix(1000, 0), Data: tt.frame, Length: length})
			r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
			r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
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
				if !bytes.Equal(got[0].Data, tt.frame) || got[0].Length != length {
					t.Errorf("the frame changed:\n%x\n%x", tt.frame, got[0].Data)
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

// checkStamped compares the output frame with its input: padding to 60, one record, nothing else.
func checkStamped(t *testing.T, got devicetest.Packet, in []byte) {
	t.Helper()
	want := append(bytes.Clone(in), make([]byte, max(0, 60-len(in)))...)
	if len(got.Data) != len(want)+32 || !bytes.Equal(got.Data[:len(want)], want) {
		t.Fatalf("want the frame, padding, and 32 bytes:\n%x\n%x", in, got.Data)
	}
	rec := got.Data[len(want):]
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
	if !egress.Equal(got.At) {
		t.Errorf("egress time %v, but the frame left at %v", egress, got.At)
	}
}

// Two switches in a row add two records, the first hop's first.
func TestTwoHops(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.pcap")
	f := devicetest.IPv4Frame(t, layers.IPProtocolTCP, &layers.TCP{DstPort: 80}, devicetest.Payload(10))
	devicetest.WriteCapture(t, in, devicetest.PacketAt(time.Unix(1000, 500), f))
	for i, mac := range []string{"02:00:00:00:00:11", "02:00:00:00:00:22"} {
		c := devicetest.TwoPorts()
		c["DEVICE_METADATA"]["localhost"]["mac"] = mac
		out := filepath.Join(dir, mac)
		r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
		r.Profile, r.Config = profile.Small(), c
		if _, err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		in = filepath.Join(out, "Ethernet1.pcap")
		records, _ := tailstamp.Decode(readCapture(t, in)[0].Data)
		if len(records) != i+1 || records[i].SwitchID != uint32(0x11*(i+1)) {
			t.Fatalf("after %d hops the records are %+v", i+1, records)
		}
		if l, ok := records[i].Latency(); !ok || l <= 0 {
			t.Errorf("latency of hop %d: %v", i, l)
		}
	}
}

// The same input gives the same output bytes.
func TestReplayIsDeterministic(t *testing.T) {
	var first map[string][]byte
	for range 2 {
		out := t.TempDir()
		r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", "../cmd/tamtam/demo/client.pcap", "Ethernet1",
			"../cmd/tamtam/demo/server.pcap"), Out: out}
		r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
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

// A damaged capture is rejected, and leaves nothing behind.
func TestDamagedCapture(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	f := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{}, devicetest.Payload(10))
	devicetest.WriteCapture(t, in, devicetest.PacketAt(time.Unix(1, 0), f), devicetest.PacketAt(time.Unix(2, 0), f))
	whole, _ := os.ReadFile(in)
	devicetest.NoError(t, os.WriteFile(in, whole[:len(whole)-5], 0o644))
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	_, err := r.Run(t.Context())
	var damage *capture.Error
	if !errors.As(err, &damage) || damage.Packet != 2 {
		t.Errorf("error %v, want one about packet 2", err)
	}
	if left, _ := os.ReadDir(out); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Captures without packets give a run without packets.
func TestEmptyCaptures(t *testing.T) {
	for name, ports := range map[string][]string{"one": {"Ethernet0"}, "two": {"Ethernet0", "Ethernet1"}} {
		t.Run(name, func(t *testing.T) {
			in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
			devicetest.WriteCapture(t, in)
			r := device.Replay{Out: out}
			for _, p := range ports {
				r.Inputs = append(r.Inputs, device.Input{Port: p, Path: in})
			}
			r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
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

// A capture may have a gap of a day, or a clock that was set in the middle. That costs only the work for the packets on
// both sides, whose times are kept.
func TestLongSilence(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	f := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{}, devicetest.Payload(10))
	first, last := time.Unix(100, 0), time.Unix(100, 0).Add(56*365*24*time.Hour)
	devicetest.WriteCapture(t, in, devicetest.PacketAt(first, f), devicetest.PacketAt(last, f))
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent := readCapture(t, filepath.Join(out, "Ethernet1.pcap"))
	if len(sent) != 2 || sent[1].At.Sub(sent[0].At) != last.Sub(first) {
		t.Errorf("sent %v", sent)
	}
}

// Times further apart than the chip can count are rejected, with the packet's number.
func TestTimesTooFarApart(t *testing.T) {
	dir := t.TempDir()
	early, late := filepath.Join(dir, "early.pcap"), filepath.Join(dir, "late.pcapng")
	f := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{}, devicetest.Payload(10))
	devicetest.WriteCapture(t, early, devicetest.PacketAt(time.Unix(1, 0), f))
	b := []byte{10, 13, 13, 10, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
		28, 0, 0, 0}
	u32 := binary.LittleEndian.AppendUint32
	for _, v := range []uint32{1, 20, 1, 0, 20} { // block of an interface: Ethernet, microseconds
		b = u32(b, v)
	}
	f = append(f, make([]byte, -len(f)&3)...)
	size := uint32(32 + len(f))
	for _, v := range []uint32{6, size, 0, 0x00200000, 0, uint32(len(f)), uint32(len(f))} {
		b = u32(b, v)
	}
	devicetest.NoError(t, os.WriteFile(late, u32(append(b, f...), size), 0o644))
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", early, "Ethernet1", late), Out: t.TempDir()}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(),
		"late.pcapng: packet 1: it enters at 2255-") {
		t.Error(err)
	}
}

// A capture without times, or faster than its port, waits in its file until the port can receive the frames, and
// delays no other port.
func TestInputFasterThanItsPort(t *testing.T) {
	racetest.Stepped(t)
	dir := t.TempDir()
	fast, other := filepath.Join(dir, "fast.pcap"), filepath.Join(dir, "other.pcap")
	f := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{}, devicetest.Payload(1000))
	start := time.Unix(1000, 0)
	var burst, calm []devicetest.Packet
	for i := range 2000 {
		burst = append(burst, devicetest.PacketAt(start, f))
		calm = append(calm, devicetest.PacketAt(start.Add(time.Duration(i)*time.Microsecond), f))
	}
	devicetest.WriteCapture(t, fast, burst...)
	devicetest.WriteCapture(t, other, calm...)
	c := devicetest.TwoPorts()
	c["ACL_RULE"]["TAM|all"]["IN_PORTS"] = "Ethernet1"
	s := devicetest.NewSim(t, device.SimConfig{Config: c, Start: start})
	devicetest.RunUntilIdle(t, s)
	n := 0
	s.Chip.SetOutput(func(o *saisim.Out) {
		if records, _ := tailstamp.Decode(o.Data); len(records) == 1 {
			if got, want := records[0].Ingress.Time(), calm[n].At; !got.Equal(want) {
				t.Errorf("frame %d arrived at %v, want %v", n, got, want)
			}
			n++
		}
	})
	inputs := devicetest.Inputs("Ethernet0", fast, "Ethernet1", other)
	err := s.Feed(t.Context(), inputs, func() error {
		if b := s.Chip.FrameCounts(); b.InFlight > 100 {
			return fmt.Errorf("%d frames in the chip", b.InFlight)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	devicetest.Drain(t, s)
	if n != len(calm) {
		t.Errorf("%d frames stamped, want %d", n, len(calm))
	}
}

// An input may name its port by the alias, like everything else; a port has one input.
func TestInputByAlias(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.pcap"), t.TempDir()
	f := devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{}, devicetest.Payload(10))
	devicetest.WriteCapture(t, in, devicetest.PacketAt(time.Unix(1, 0), f))
	r := device.Replay{Inputs: devicetest.Inputs("etp1", in), Out: out}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := report.Ports["Ethernet0"].Received; n != 1 {
		t.Errorf("received %d", n)
	}
	r.Inputs = append(r.Inputs, device.Input{Port: "Ethernet0", Path: in})
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the port has an input already") {
		t.Error(err)
	}
}

func TestUnknownInputPort(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.pcap")
	devicetest.WriteCapture(t, in)
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet9", in), Out: t.TempDir()}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
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

func readCapture(t *testing.T, path string) []devicetest.Packet {
	t.Helper()
	r, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list []devicetest.Packet
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, devicetest.Packet{At: p.Time.UTC(), Data: bytes.Clone(p.Data), Length: p.Len})
	}
}

// A disk that is full ends the run with an error, and leaves no files.
func TestReplayFullDisk(t *testing.T) {
	out := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(out, "Ethernet1.pcap.partial")); err != nil {
		t.Skip(err)
	}
	packets, err := io.ReadAll(newStream(t, 20_000, 60))
	in := filepath.Join(t.TempDir(), "in.pcap")
	if err := errors.Join(err, os.WriteFile(in, packets, 0o600)); err != nil {
		t.Fatal(err)
	}
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: out}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Ethernet1.pcap") ||
		!errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 0 {
		t.Errorf("%v %v are left", left, err)
	}
}
