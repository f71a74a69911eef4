package sonicmgmt_test

import (
	"bytes"
	"net"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/swss"
)

// everflow configures a session to 10.50.0.9, and a table whose rule mirrors packets of 20.0.0.0/24.
func (b bench) everflow() {
	b.Set("MIRROR_SESSION|s", "src_ip", "10.255.0.1", "dst_ip", "10.50.0.9", "gre_type", "0x6558", "dscp", "8", "ttl",
		"64", "queue", "0")
	b.Set("ACL_TABLE|EVERFLOW", "type", "MIRROR", "stage", "INGRESS", "ports@", "Ethernet0,Ethernet1")
	b.Set("ACL_RULE|EVERFLOW|r", "PRIORITY", "10", "MIRROR_INGRESS_ACTION", "s", "SRC_IP", "20.0.0.0/24")
}

// to routes the destination of the mirror session.
func (b bench) to(prefix string, hop string) { b.Set("STATIC_ROUTE|"+prefix, "nexthop", hop) }

// mirrored checks that a port has sent exactly one copy for each of some packets, in a GRE header to 10.50.0.9 at a
// MAC address. The copy has the whole packet as received.
func (b bench) mirrored(port string, to net.HardwareAddr, sent []byte, n int) {
	b.Helper()
	frames := b.Left(port)
	if len(frames) != n {
		b.Errorf("%d copies leave by %s, want %d", len(frames), port, n)
	}
	for _, f := range frames {
		p := gopacket.NewPacket(f, layers.LayerTypeEthernet, gopacket.Default)
		eth, _ := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		ip, _ := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		gre, _ := p.Layer(layers.LayerTypeGRE).(*layers.GRE)
		if ip == nil || gre == nil || !bytes.Equal(eth.DstMAC, to) || !ip.SrcIP.Equal(net.IP{10, 255, 0, 1}) ||
			!ip.DstIP.Equal(net.IP{10, 50, 0, 9}) || ip.TOS != 8<<2 || ip.TTL != 64 || gre.Protocol != 0x6558 {
			b.Fatalf("the copy is %v", p)
		}
		if !bytes.HasPrefix(gre.Payload, sent) {
			b.Errorf("the copy has %x, want %x", gre.Payload, sent)
		}
	}
}

// send sends packets that the rule mirrors, and others that it does not. Both are forwarded.
func (b bench) send() (sent []byte) {
	b.Helper()
	sent = frame(b.T, func(p *packet) { p.ip.SrcIP = net.IP{20, 0, 0, 5} })
	b.inject("Ethernet0", sent, 3)
	b.inject("Ethernet0", frame(b.T), 2)
	if n := len(b.Left("Ethernet1")); n != 5 {
		b.Errorf("%d packets are forwarded, want 5", n)
	}
	return sent
}

func (b bench) active(want bool) {
	b.Helper()
	if got := b.Row(swss.StateDB, "MIRROR_SESSION_TABLE|s")["status"]; (got == "active") != want {
		b.Errorf("the session is %s", got)
	}
}

// The session follows the routes of its destination: a route without a resolved next hop mirrors nothing, the longest
// prefix counts, and the session returns to the shorter one.
func TestEverflowBasicForwarding(t *testing.T) {
	b := newBench(t)
	b.everflow()
	b.active(false)
	b.send()
	b.to("10.50.0.0/16", "10.2.0.77") // not resolved
	b.active(false)
	b.send()
	b.to("10.50.0.0/16", "10.2.0.2")
	b.active(true)
	b.mirrored("Ethernet2", mac(2), b.send(), 3)
	b.to("10.50.0.0/24", "10.3.0.2")
	b.mirrored("Ethernet3", mac(3), b.send(), 3)
	b.to("10.50.0.0/28", "10.2.0.77")
	b.mirrored("Ethernet3", mac(3), b.send(), 3)
	b.Delete("STATIC_ROUTE|10.50.0.0/28")
	b.Delete("STATIC_ROUTE|10.50.0.0/24")
	b.mirrored("Ethernet2", mac(2), b.send(), 3)
	b.Delete("STATIC_ROUTE|10.50.0.0/16")
	b.active(false)
	b.send()
	if got := b.left(); len(got) != 0 {
		t.Errorf("without a route copies leave by %v", got)
	}
}

// Copies have the new MAC address of the next hop at once.
func TestEverflowNeighborMACChange(t *testing.T) {
	b := newBench(t)
	b.everflow()
	b.to("10.50.0.0/16", "10.2.0.2")
	b.mirrored("Ethernet2", mac(2), b.send(), 3)
	b.Set("NEIGH|Ethernet2|10.2.0.2", "neigh", "02:00:00:00:01:77")
	b.mirrored("Ethernet2", mac(0x77), b.send(), 3)
	b.Set("NEIGH|Ethernet2|10.2.0.2", "neigh", "02:00:00:00:01:02")
	b.mirrored("Ethernet2", mac(2), b.send(), 3)
}

// A session uses one of the next hops of its route. If another goes, nothing changes. If its own goes, it uses the
// other.
func TestEverflowRemoveECMPNextHop(t *testing.T) {
	b := newBench(t)
	b.everflow()
	b.to("10.50.0.0/16", "10.2.0.2,10.3.0.2")
	port := b.Row(swss.StateDB, "MIRROR_SESSION_TABLE|s")["monitor_port"]
	hops := map[string][3]string{"Ethernet2": {"10.2.0.2", "10.3.0.2", "Ethernet3"},
		"Ethernet3": {"10.3.0.2", "10.2.0.2", "Ethernet2"}}
	macs := map[string]net.HardwareAddr{"Ethernet2": mac(2), "Ethernet3": mac(3)}
	used, found := hops[port]
	if !found {
		t.Fatalf("the session uses %q", port)
	}
	b.mirrored(port, macs[port], b.send(), 3)
	b.to("10.50.0.0/16", used[0])
	b.mirrored(port, macs[port], b.send(), 3)
	b.to("10.50.0.0/16", used[0]+","+used[1])
	b.mirrored(port, macs[port], b.send(), 3)
	b.to("10.50.0.0/16", used[1])
	b.mirrored(used[2], macs[used[2]], b.send(), 3)
}

// A rule that names interfaces mirrors only what arrives there.
func TestEverflowPerInterface(t *testing.T) {
	b := newBench(t)
	b.everflow()
	b.to("10.50.0.0/16", "10.2.0.2")
	b.Delete("ACL_RULE|EVERFLOW|r")
	b.Set("ACL_TABLE_TYPE|BY_PORT", "MATCHES@", "SRC_IP,IN_PORTS", "ACTIONS@", "MIRROR_INGRESS_ACTION,COUNTER",
		"BIND_POINTS@", "PORT")
	b.Set("ACL_TABLE|EVERFLOW", "type", "BY_PORT", "stage", "INGRESS", "ports@", "Ethernet0,Ethernet1")
	b.Set("ACL_RULE|EVERFLOW|r", "PRIORITY", "10", "MIRROR_INGRESS_ACTION", "s", "SRC_IP", "20.0.0.0/24", "IN_PORTS",
		"Ethernet1")
	for _, p := range b.Problems() {
		t.Error(p)
	}
	b.send()
	sent := frame(t, func(p *packet) { p.ip.SrcIP, p.ip.DstIP = net.IP{20, 0, 0, 5}, net.IP{10, 3, 0, 2} })
	b.mirrored("Ethernet2", mac(2), sent, 0)
	b.inject("Ethernet1", sent, 4)
	b.mirrored("Ethernet2", mac(2), sent, 4)
	if n := len(b.Left("Ethernet3")); n != 4 {
		t.Errorf("%d packets are forwarded, want 4", n)
	}
}

// A rule of type MIRROR counts the packets that it mirrors.
func TestEverflowCounters(t *testing.T) {
	b := newBench(t)
	b.everflow()
	b.to("10.50.0.0/16", "10.2.0.2")
	b.mirrored("Ethernet2", mac(2), b.send(), 3)
	b.Poll()
	oid := b.Row(swss.CountersDB, "ACL_COUNTER_RULE_MAP")["EVERFLOW:r"]
	if n := b.Row(swss.CountersDB, "COUNTERS:"+oid)["SAI_ACL_COUNTER_ATTR_PACKETS"]; n != "3" {
		t.Errorf("the rule has counted %s packets, want 3", n)
	}
}
