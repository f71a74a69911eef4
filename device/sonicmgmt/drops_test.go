package sonicmgmt_test

import (
	"net"
	"slices"
	"testing"

	"tamtam/swss"
	"tamtam/tamtamtest"
)

// A dropCase is a packet that the switch must drop, and SAI's reason for it.
type dropCase struct {
	check  string // the function of sonic-mgmt
	port   string
	reason string
	rows   map[string][]string // rows that the case needs
	frame  func(t *testing.T) []byte
}

// changed returns a function that makes a frame.
func changed(change func(p *packet)) func(t *testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		return frame(t, change)
	}
}

func dropCases() []dropCase {
	src := func(ip ...byte) func(t *testing.T) []byte {
		return changed(func(p *packet) { p.ip.SrcIP = net.IP(ip) })
	}
	dst := func(ip ...byte) func(t *testing.T) []byte {
		return changed(func(p *packet) { p.ip.DstIP = net.IP(ip) })
	}
	damaged := func(at int, v byte) func(t *testing.T) []byte {
		return func(t *testing.T) []byte {
			f := frame(t)
			f[at] = v
			return f
		}
	}
	return []dropCase{
		{"test_multicast_smac_drop", "Ethernet0", "SMAC_MULTICAST", nil,
			changed(func(p *packet) { p.eth.SrcMAC = net.HardwareAddr{1, 0, 0x5e, 0, 1, 2} })},
		{"test_not_expected_vlan_tag_drop", "Ethernet4", "INGRESS_VLAN_FILTER", nil, func(t *testing.T) []byte {
			return slices.Insert(frame(t), 12, 0x81, 0, 0, 11) // a VLAN in which the port is not
		}},
		{"test_dst_ip_is_loopback_addr", "Ethernet0", "L3_ANY", nil, dst(127, 0, 0, 1)},
		{"test_src_ip_is_loopback_addr", "Ethernet0", "L3_ANY", nil, src(127, 0, 0, 1)},
		{"test_src_ip_is_multicast_addr", "Ethernet0", "L3_ANY", nil, src(224, 0, 0, 5)},
		{"test_ip_is_zero_addr", "Ethernet0", "L3_ANY", nil, src(0, 0, 0, 0)},
		{"test_broken_ip_header", "Ethernet0", "L3_ANY", nil, damaged(14+10, 0xff)}, // the checksum
		{"test_absent_ip_header", "Ethernet0", "L3_ANY", nil, func(t *testing.T) []byte { return frame(t)[:14] }},
		{"test_unicast_ip_incorrect_eth_dst", "Ethernet0", "L3_ANY", nil,
			changed(func(p *packet) { p.eth.DstMAC = net.HardwareAddr{0, 0x11, 0x22, 0x33, 0x44, 0x55} })},
		{"test_loopback_filter", "Ethernet0", "L3_LOOPBACK_FILTER",
			map[string][]string{"INTERFACE|Ethernet0": {"loopback_action", "drop"}}, dst(10, 0, 0, 2)},
		{"test_acl_drop", "Ethernet0", "ACL_ANY", map[string][]string{
			"ACL_TABLE|T":  {"type", "L3", "stage", "INGRESS", "ports@", "Ethernet0"},
			"ACL_RULE|T|r": {"PRIORITY", "10", "PACKET_ACTION", "DROP", "SRC_IP", "20.0.0.0/24"},
		}, src(20, 0, 0, 5)},
	}
}

// Each packet is dropped, for SAI's reason: no port and no CPU gets it. The port where it arrived counts it, once, as
// does a debug counter. Good packets pass before and after it, and count nowhere.
func TestDroppedPackets(t *testing.T) {
	for _, c := range dropCases() {
		t.Run(c.check, func(t *testing.T) {
			b := newBench(t)
			b.Set("DEBUG_COUNTER|d", "type", "PORT_INGRESS_DROPS")
			b.Set("DEBUG_COUNTER_DROP_REASON|d|" + c.reason)
			good := func(n int) {
				t.Helper()
				b.inject("Ethernet0", frame(t), n)
				if got := b.left(); got["Ethernet1"] != n || len(got) != 1 {
					t.Fatalf("%d good packets leave by %v", n, got)
				}
			}
			good(2)
			for _, row := range []string{"ACL_TABLE|T", "ACL_RULE|T|r", "INTERFACE|Ethernet0"} {
				if fields := c.rows[row]; fields != nil {
					b.Set(row, fields...)
				}
			}
			b.inject(c.port, c.frame(t), 7)
			if got := b.left(); len(got) != 0 {
				t.Errorf("it leaves by %v", got)
			}
			if n := b.debugged(c.port, "d"); n != 7 {
				t.Errorf("%d packets are dropped for %s, want 7", n, c.reason)
			}
			if n := b.statistic(c.port, "SAI_PORT_STAT_IF_IN_DISCARDS"); n != 7 {
				t.Errorf("the port has %d discards, want 7", n)
			}
			good(2)
			if n := b.debugged(c.port, "d"); n != 7 {
				t.Errorf("good packets count as dropped: %d", n)
			}
		})
	}
}

// Packets to a port that is down are no drops of the port where they arrive: the port where they would leave counts
// them.
func TestNoEgressDropOnDownLink(t *testing.T) {
	b := newBench(t)
	row := b.Row(swss.ConfigDB, "PORT|Ethernet1")
	b.Set("PORT|Ethernet1", "lanes", row["lanes"], "speed", row["speed"], "admin_status", "down")
	b.inject("Ethernet0", frame(t, func(p *packet) { p.ip.DstIP = net.IP{10, 1, 0, 2} }), 7)
	if got := b.left(); len(got) != 0 {
		t.Errorf("they leave by %v", got)
	}
	if in, out := b.statistic("Ethernet0", "SAI_PORT_STAT_IF_IN_DISCARDS"), b.statistic("Ethernet1",
		"SAI_PORT_STAT_IF_OUT_DISCARDS"); in != 0 || out != 7 {
		t.Errorf("%d discards where they arrive, %d where they would leave, want 0 and 7", in, out)
	}
}

// Packets whose TTL has expired go to the CPU, which answers them, and to no port. sonic-mgmt expects that the ASIC
// drops them.
func TestExpiredTTL(t *testing.T) {
	b := newBench(t)
	b.inject("Ethernet0", frame(t, func(p *packet) { p.ip.TTL = 1 }), 7)
	if got := b.left(); got[tamtamtest.CPU] != 7 || len(got) != 1 {
		t.Errorf("they leave by %v, want 7 by the CPU port", got)
	}
}

// Packets from class E are routed, as by ASICs of Broadcom, which sonic-mgmt excepts from its check.
func TestClassESource(t *testing.T) {
	b := newBench(t)
	b.inject("Ethernet0", frame(t, func(p *packet) { p.ip.SrcIP = net.IP{240, 0, 0, 1} }), 7)
	if got := b.left(); got["Ethernet1"] != 7 || len(got) != 1 {
		t.Errorf("they leave by %v, want 7 by Ethernet1", got)
	}
}
