package fates

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"tamtam/device"
	"tamtam/swss"
)

// A fateGenerator makes configurations and the traffic for them.
type fateGenerator struct {
	*rand.Rand
	config device.ConfigDB
	macs   []string // MAC addresses of hosts
	to     []string // destination IP addresses
	good   bool     // the current frame must have no defects
}

func (g *fateGenerator) pick(s ...string) string { return s[g.IntN(len(s))] }

func (g *fateGenerator) often(n int) bool { return g.IntN(n) == 0 }

// some returns a random number below n, or 0 for good frames. rare is never true for good frames.
func (g *fateGenerator) some(n int) int {
	if i := g.IntN(n); !g.good {
		return i
	}
	return 0
}

func (g *fateGenerator) rare(n int) bool { return g.often(n) && !g.good }

const fateRouterMAC, fateOtherMAC = "02:00:00:00:07:e4", "02:00:00:00:07:aa"

// newFateTables returns the tables without rows.
func newFateTables() device.ConfigDB {
	c := device.ConfigDB{"DEVICE_METADATA": {"localhost": {"mac": fateRouterMAC}}}
	for _, table := range []string{"PORT", "VLAN", "VLAN_MEMBER", "INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL",
		"PORTCHANNEL_MEMBER",
		"PORTCHANNEL_INTERFACE", "LOOPBACK_INTERFACE", "NEIGH", "FDB", "STATIC_ROUTE", "ACL_TABLE", "ACL_RULE", "COPP_GROUP",
		"COPP_TRAP"} {
		c[table] = map[string]swss.FieldValues{}
	}
	return c
}

func newFateGenerator(rnd *rand.Rand) *fateGenerator {
	g := &fateGenerator{Rand: rnd, config: newFateTables()}
	c := g.config
	for i := range 8 {
		f := swss.FieldValues{"lanes": fmt.Sprint(i), "speed": "10000", "admin_status": "up"}
		if i < 7 && g.often(14) {
			f["admin_status"] = "down"
		}
		if i < 5 && g.often(4) {
			f["mtu"] = g.pick("300", "600", "1000")
		}
		c["PORT"][fmt.Sprint("Ethernet", i)] = f
	}
	g.bridges()
	g.routers()
	g.filters()
	return g
}

// bridges makes VLANs of Ethernet0 to 2, and a PortChannel of Ethernet5 and 6.
func (g *fateGenerator) bridges() {
	c := g.config
	c["PORTCHANNEL"]["PortChannel1"] = swss.FieldValues{"static": "true"}
	if g.often(4) {
		c["PORTCHANNEL"]["PortChannel1"]["min_links"] = "2"
	}
	c["PORTCHANNEL_MEMBER"]["PortChannel1|Ethernet5"],
		c["PORTCHANNEL_MEMBER"]["PortChannel1|Ethernet6"] = swss.FieldValues{}, swss.FieldValues{}
	places := []string{"Ethernet0", "Ethernet1", "Ethernet2"}
	if g.often(2) {
		places = append(places, "PortChannel1")
	} else {
		g.iface("PORTCHANNEL_INTERFACE", "PortChannel1", 5)
	}
	g.macs = []string{"02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03", "02:00:00:00:00:04"}
	for _, vlan := range []string{"Vlan10", "Vlan20"} {
		c["VLAN"][vlan] = swss.FieldValues{"vlanid": vlan[4:]}
		for _, p := range places {
			switch g.IntN(5) {
			case 0:
			case 1, 2:
				c["VLAN_MEMBER"][vlan+"|"+p] = swss.FieldValues{"tagging_mode": "tagged"}
			default:
				mode := "untagged"
				if c["VLAN_MEMBER"]["Vlan10|"+p]["tagging_mode"] == mode {
					mode = "tagged"
				}
				c["VLAN_MEMBER"][vlan+"|"+p] = swss.FieldValues{"tagging_mode": mode}
			}
		}
		for _, p := range places {
			if c["VLAN_MEMBER"][vlan+"|"+p] != nil && g.often(3) {
				c["FDB"][vlan+"|"+g.pick(g.macs...)] = swss.FieldValues{"port": p}
			}
		}
	}
}

// iface makes a router interface with addresses 10.N.0.1 and 2001:db8:N::1, and neighbours.
func (g *fateGenerator) iface(table, name string, n int) {
	f := swss.FieldValues{}
	if g.often(3) {
		f["mtu"] = g.pick("200", "500")
	}
	if g.often(3) {
		f["loopback_action"] = "drop"
	}
	if g.often(4) {
		f["mac_addr"] = fateOtherMAC
	}
	g.config[table][name] = f
	g.config[table][fmt.Sprintf("%s|10.%d.0.1/24", name, n)] = swss.FieldValues{}
	g.to = append(g.to, fmt.Sprintf("10.%d.0.1", n), fmt.Sprintf("10.%d.0.2", n), fmt.Sprintf("10.%d.0.3", n),
		fmt.Sprintf("10.%d.0.77", n))
	g.config["NEIGH"][fmt.Sprintf("%s|10.%d.0.2", name, n)] = swss.FieldValues{
		"neigh": fmt.Sprintf("02:00:00:00:00:%02x", 1+g.IntN(4))}
	if g.often(2) {
		g.config["NEIGH"][fmt.Sprintf("%s|10.%d.0.3", name, n)] = swss.FieldValues{
			"neigh": fmt.Sprintf("02:00:00:00:%02x:03", n)}
	}
	if !g.often(3) {
		g.config[table][fmt.Sprintf("%s|2001:db8:%d::1/64", name, n)] = swss.FieldValues{}
		g.config["NEIGH"][fmt.Sprintf("%s|2001:db8:%d::2", name, n)] = swss.FieldValues{
			"neigh": fmt.Sprintf("02:00:00:00:%02x:02", n)}
		g.to = append(g.to, fmt.Sprintf("2001:db8:%d::1", n), fmt.Sprintf("2001:db8:%d::2", n),
			fmt.Sprintf("2001:db8:%d::77", n))
	}
}

func (g *fateGenerator) routers() {
	c := g.config
	g.iface("INTERFACE", "Ethernet3", 3)
	g.iface("INTERFACE", "Ethernet4", 4)
	if !g.often(3) {
		g.iface("VLAN_INTERFACE", "Vlan10", 10)
	}
	if g.often(3) {
		g.iface("VLAN_INTERFACE", "Vlan20", 20)
	}
	c["LOOPBACK_INTERFACE"]["Loopback0"], c["LOOPBACK_INTERFACE"]["Loopback0|10.255.0.1/32"] = swss.FieldValues{},
		swss.FieldValues{}
	hop := func() string { return g.pick("10.3.0.2", "10.4.0.2", "10.5.0.2", "10.10.0.2", "10.3.0.3", "10.20.0.2") }
	for _, p := range []string{"192.0.2.0/24", "192.0.0.0/16", "198.51.0.0/16", "10.0.0.0/8", "0.0.0.0/0"} {
		switch g.IntN(6) {
		case 0:
			c["STATIC_ROUTE"][p] = swss.FieldValues{"blackhole": "true"}
		case 1, 2:
			c["STATIC_ROUTE"][p] = swss.FieldValues{"nexthop": hop()}
		case 3:
			a, b := hop(), hop()
			if a != b {
				c["STATIC_ROUTE"][p] = swss.FieldValues{"nexthop": a + "," + b}
			}
		}
	}
	for _, p := range []string{"2001:db8:100::/48", "2001:db8::/32", "::/0"} {
		switch g.IntN(4) {
		case 0:
			c["STATIC_ROUTE"][p] = swss.FieldValues{"blackhole": "true"}
		case 1:
			c["STATIC_ROUTE"][p] = swss.FieldValues{"nexthop": g.pick("2001:db8:3::2", "2001:db8:4::2", "2001:db8:10::2")}
		}
	}
	g.to = append(g.to, "192.0.2.1", "192.0.2.1", "192.0.7.1", "198.51.100.1", "203.0.113.1", "203.0.113.200",
		"203.0.113.200", "10.77.0.1", "10.255.0.1", "2001:db8:100::1", "2001:db8:77::1", "2a00::1")
	for _, trap := range []string{"ttl_error", "neighbor_miss", "ttl_error", "neighbor_miss", "l3_mtu_error", "lldp",
		"stp", "ip2me", "arp_req", "static_fdb_move"} {
		if g.often(3) {
			c["COPP_TRAP"]["x"+trap] = swss.FieldValues{"trap_ids": trap, "trap_group": "g" + trap, "always_enabled": "true"}
			c["COPP_GROUP"]["g"+trap] = swss.FieldValues{"trap_action": g.pick("trap", "drop"), "queue": "1"}
		}
	}
}

func (g *fateGenerator) filters() {
	c := g.config
	action := func() string { return g.pick("DROP", "DROP", "FORWARD") }
	for i, table := range []string{"IN4", "IN6", "OUT4"} {
		if g.often(4) {
			continue
		}
		typ, stage := "L3", "ingress"
		if table == "IN6" {
			typ = "L3V6"
		}
		ports := []string{"Ethernet0", "Ethernet3"}
		if table == "OUT4" {
			stage, ports = "egress", []string{"Ethernet1", "Ethernet4"}
		}
		if g.often(2) {
			ports = append(ports, "PortChannel1")
		}
		c["ACL_TABLE"][table] = swss.FieldValues{"type": typ, "stage": stage,
			"ports@": strings.Join(ports[i%len(ports):], ",")}
		for j := range 3 {
			r := swss.FieldValues{"PRIORITY": fmt.Sprint(10 * (j + 1)), "PACKET_ACTION": action()}
			if table == "IN6" {
				r["SRC_IPV6"] = g.pick("2001:db8::/32", "2001:db8::9/128")
			} else {
				r["SRC_IP"] = g.pick("10.0.0.0/8", "10.0.0.9/32", "192.0.2.0/24")
			}
			if stage == "ingress" && g.often(6) {
				r["PACKET_ACTION"] = "COPY"
			}
			if j < 2 {
				r["L4_DST_PORT"] = g.pick("23", "80")
			}
			c["ACL_RULE"][fmt.Sprintf("%s|r%d", table, j)] = r
		}
	}
}

// frame makes a frame, with its number in its payload.
func (g *fateGenerator) frame(i int) (in string, frame []byte) {
	in = fmt.Sprint("Ethernet", g.IntN(7))
	mac := func(s string) []byte { b, _ := hex.DecodeString(strings.ReplaceAll(s, ":", "")); return b }
	dst := fateRouterMAC
	switch g.IntN(8) {
	case 0, 1:
		dst = g.pick(g.macs...)
	case 2:
		dst = g.pick("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05", "33:33:00:00:00:01", "02:00:00:00:00:99", fateOtherMAC,
			"01:80:c2:00:00:0e", "01:80:c2:00:00:00", "01:80:c2:00:00:02", "01:80:c2:00:00:05", "01:80:c2:00:00:03")
	case 3:
		dst = fateOtherMAC
	}
	src := g.pick(g.macs...)
	if g.rare(8) {
		src = g.pick("03:00:00:00:00:01", "02:00:00:00:01:"+fmt.Sprintf("%02x", g.IntN(32)))
	}
	frame = slices.Concat(mac(dst), mac(src))
	g.good = g.often(2)
	for range []int{0, 0, 0, 0, 0, 1, 1, 2}[g.some(8)] {
		tpid := uint16(0x8100)
		if g.often(8) {
			tpid = 0x88a8
		}
		frame = binary.BigEndian.AppendUint16(frame, tpid)
		frame = binary.BigEndian.AppendUint16(frame, []uint16{10, 20, 10, 20, 0, 1, 30, 0xa00a}[g.IntN(8)])
	}
	body := binary.BigEndian.AppendUint16(nil, uint16(1000+g.IntN(100)))
	body = binary.BigEndian.AppendUint16(body, []uint16{23, 80, 443, 7777}[g.IntN(4)])
	payload := 20 + g.IntN(100)
	if g.often(4) {
		payload = 100 + g.IntN(1000)
	}
	body = binary.BigEndian.AppendUint16(body, uint16(8+payload))
	body = append(body, 0, 0)
	body = append(body, fmt.Sprintf("%08d", i)...)
	body = append(body, make([]byte, payload-8)...)
	switch {
	case g.rare(8):
		frame = append(frame, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, byte(1+g.IntN(2)))
	case g.rare(12):
		frame = append(frame, 0x12, 0x34)
	case g.often(4):
		frame = g.ip6(frame, body)
	default:
		frame = g.ip4(frame, body)
		return in, g.damage(frame)
	}
	return in, g.damage(append(frame, body...))
}

func (g *fateGenerator) address(v4 bool) netip.Addr {
	for {
		if a := netip.MustParseAddr(g.pick(g.to...)); a.Is4() == v4 {
			return a
		}
	}
}

func (g *fateGenerator) ttl() byte { return []byte{64, 64, 64, 64, 64, 255, 2, 1, 0}[g.some(9)] }

func (g *fateGenerator) ip4(frame, body []byte) []byte {
	h := make([]byte, 20)
	h[0], h[8], h[9] = 0x45, g.ttl(), 17
	binary.BigEndian.PutUint16(h[2:], uint16(20+len(body)))
	src, dst := netip.MustParseAddr(g.pick("10.0.0.9", "10.0.0.9", "10.3.0.9", "192.0.2.9", "203.0.113.9")),
		g.address(true)
	if g.rare(15) {
		src = netip.MustParseAddr(g.pick("224.0.0.1", "127.0.0.1", "255.255.255.255", "240.0.0.1", "0.0.0.0", "0.1.2.3"))
	}
	if g.rare(15) {
		dst = netip.MustParseAddr(g.pick("224.0.0.5", "127.0.0.1", "0.0.0.0", "0.1.2.3", "255.255.255.255"))
	}
	copy(h[12:], src.AsSlice())
	copy(h[16:], dst.AsSlice())
	if g.rare(10) {
		binary.BigEndian.PutUint16(h[6:], uint16(g.pick("\x20", "\x00")[0])<<8|uint16(g.IntN(3)))
	}
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(h[10:], ^uint16(sum))
	if g.rare(15) {
		h[[]int{0, 3, 10, 2, 0}[g.IntN(5)]] ^= byte(1 << g.IntN(8))
	}
	return slices.Concat(frame, []byte{8, 0}, h, body)
}

func (g *fateGenerator) ip6(frame, body []byte) []byte {
	h := make([]byte, 40)
	h[0], h[6], h[7] = 0x60, 17, g.ttl()
	if g.often(8) {
		h[6] = 58
		body[0] = byte(130 + g.IntN(10))
	}
	binary.BigEndian.PutUint16(h[4:], uint16(len(body)))
	src, dst := netip.MustParseAddr(g.pick("2001:db8::9", "2001:db8:3::9", "2a00::9")),
		netip.MustParseAddr("2001:db8:100::1")
	if !g.often(3) {
		dst = g.address(false)
	}
	if g.rare(15) {
		src = netip.MustParseAddr(g.pick("ff02::1", "::1", "::", "fe80::9"))
	}
	if g.rare(15) {
		dst = netip.MustParseAddr(g.pick("ff02::1", "::1", "::", "fe80::2"))
	}
	copy(h[8:], src.AsSlice())
	copy(h[24:], dst.AsSlice())
	if g.rare(15) {
		h[[]int{0, 4, 5}[g.IntN(3)]] ^= byte(1 << g.IntN(8))
	}
	return slices.Concat(frame, []byte{0x86, 0xdd}, h)
}

// damage sometimes truncates a frame, or pads it.
func (g *fateGenerator) damage(frame []byte) []byte {
	if len(frame) < 60 {
		frame = append(frame, make([]byte, 60-len(frame))...)
	}
	if g.rare(40) {
		frame = append(frame, make([]byte, g.IntN(10))...)
	}
	return frame
}
