package sonicmgmt_test

import (
	"net"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/swss"
	"tamtam/tamtamtest"
)

// offer sends packets at a rate for a second, and returns how many the CPU gets.
func (b bench) offer(port string, frame []byte, perSecond int) int {
	b.Helper()
	gap := time.Second / time.Duration(perSecond)
	for range perSecond {
		b.Send(port, frame)
		b.Advance(gap)
	}
	return len(b.Left(tamtamtest.CPU))
}

func arpRequest(t *testing.T) []byte {
	return serialized(t, &layers.Ethernet{SrcMAC: mac(0), DstMAC: net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		EthernetType: layers.EthernetTypeARP}, &layers.ARP{AddrType: layers.LinkTypeEthernet,
		Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: layers.ARPRequest,
		SourceHwAddress: mac(0), SourceProtAddress: []byte{10, 0, 0, 2}, DstHwAddress: make([]byte, 6),
		DstProtAddress: []byte{10, 0, 0, 1}}, gopacket.Payload(make([]byte, 18)))
}

// The CPU gets packets of a trap at the rate of its group, after the burst at once: with cir = cbs = n, 2n-1 in the
// first second of an overload, and n in the next. Below the rate it gets all.
func TestPolicer(t *testing.T) {
	neighbor := func(p *packet) { p.ip.DstIP = net.IP{10, 1, 0, 77} }
	for name, c := range map[string]struct {
		frame []byte
		rate  int
		limit int
	}{
		"ARP":           {arpRequest(t), 2000, 600},
		"neighbor miss": {frame(t, neighbor), 1000, 200},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if n := b.offer("Ethernet0", c.frame, c.limit/2); n != c.limit/2 {
				t.Errorf("the CPU gets %d packets of half the rate, want %d", n, c.limit/2)
			}
			b.Advance(time.Second)
			if n := b.offer("Ethernet0", c.frame, c.rate); n != 2*c.limit-1 {
				t.Errorf("the CPU gets %d packets in the first second, want %d", n, 2*c.limit-1)
			}
			if n := b.offer("Ethernet0", c.frame, c.rate); n != c.limit {
				t.Errorf("the CPU gets %d packets in the second second, want %d", n, c.limit)
			}
		})
	}
}

// A trap is installed while its feature is enabled. DHCP requests go to the CPU only then.
func TestAddAndRemoveTrap(t *testing.T) {
	b := newBench(t)
	dhcp := frame(t, func(p *packet) {
		p.eth.DstMAC = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		p.ip.SrcIP, p.ip.DstIP = net.IP{0, 0, 0, 0}, net.IP{255, 255, 255, 255}
		p.udp.SrcPort, p.udp.DstPort = 68, 67
	})
	installed := func() string { return b.Row(swss.StateDB, "COPP_TRAP_TABLE|dhcp")["hw_status"] }
	for _, state := range []string{"enabled", "disabled", "enabled"} {
		b.Set("FEATURE|dhcp_relay", "state", state)
		b.inject("Ethernet0", dhcp, 5)
		got := b.left()
		if state == "enabled" && (got[tamtamtest.CPU] != 5 || installed() != "installed") ||
			state == "disabled" && (len(got) != 0 || installed() != "") {
			t.Errorf("%s: DHCP leaves by %v, and the trap is %q", state, got, installed())
		}
	}
}

// The rate of a group follows its row.
func TestTrapConfigured(t *testing.T) {
	b := newBench(t)
	b.Set("COPP_GROUP|queue4_group2", "trap_action", "copy", "trap_priority", "4", "queue", "4", "meter_type", "packets",
		"mode", "sr_tcm", "cir", "100", "cbs", "100", "red_action", "drop")
	if n := b.offer("Ethernet0", arpRequest(t), 1000); n != 199 {
		t.Errorf("the CPU gets %d packets, want 199", n)
	}
	b.Delete("COPP_GROUP|queue4_group2")
	b.Advance(2 * time.Second)
	if n := b.offer("Ethernet0", arpRequest(t), 1000); n != 1000 {
		t.Errorf("with the default rate the CPU gets %d packets, want 1000", n)
	}
}
