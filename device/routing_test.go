package device_test

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A routed is a switch with devicetest.RoutedConfig, and the frames that left it.
type routed struct {
	*testing.T
	*device.Sim
	outs []devicetest.SentFrame
}

func newRouted(t *testing.T) *routed {
	c, err := device.ParseConfigDB([]byte(devicetest.RoutedConfig))
	if err != nil {
		t.Fatal(err)
	}
	r := &routed{T: t, Sim: devicetest.NewSim(t, device.SimConfig{Config: c})}
	devicetest.RunUntilIdle(t, r.Sim)
	r.output()
	return r
}

func (r *routed) output() {
	r.Chip.SetOutput(func(o *saisim.Out) {
		r.outs = append(r.outs,
			devicetest.SentFrame{Port: o.Port, Data: bytes.Clone(o.Data)})
	})
}

// send makes a host send a frame and returns the frames that left the switch.
func (r *routed) send(port saisim.PortID, data []byte) []devicetest.SentFrame {
	r.Helper()
	r.outs = nil
	devicetest.NoError(r.T, r.Chip.Receive(port, r.Chip.Now(), saisim.Frame{Data: data}))
	devicetest.NoError(r.T, r.Advance(r.Context(), r.Chip.Now()+saisim.Cycle(r.Chip.Profile().ClockHz/1000)))
	devicetest.RunUntilIdle(r.T, r.Sim)
	return r.outs
}

func (r *routed) state(table, key string) swss.FieldValues {
	r.Helper()
	f := devicetest.Row(r.T, r.Redis, swss.StateDB, table, key)
	return f
}

func (r *routed) config(key string, f swss.FieldValues) {
	r.Helper()
	db := r.Redis.DB(swss.ConfigDB).Client()
	db.Del(r.Context(), key)
	if f != nil {
		db.HSet(r.Context(), key, f)
	}
	devicetest.RunUntilIdle(r.T, r.Sim)
}

// ipFrame returns a UDP datagram to the router.
func ipFrame(t *testing.T, from net.HardwareAddr, src, dst string, ttl uint8, sport uint16) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: from, DstMAC: devicetest.RouterMAC, EthernetType: layers.EthernetTypeIPv4}
	udp := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: 4791}
	list := []gopacket.SerializableLayer{eth}
	if s := net.ParseIP(src); s.To4() != nil {
		ip := &layers.IPv4{Version: 4, IHL: 5, TTL: ttl, Protocol: layers.IPProtocolUDP, SrcIP: s, DstIP: net.ParseIP(dst)}
		list = append(list, ip)
		_ = udp.SetNetworkLayerForChecksum(ip)
	} else {
		eth.EthernetType = layers.EthernetTypeIPv6
		ip := &layers.IPv6{Version: 6, HopLimit: ttl, NextHeader: layers.IPProtocolUDP, SrcIP: s, DstIP: net.ParseIP(dst)}
		list = append(list, ip)
		_ = udp.SetNetworkLayerForChecksum(ip)
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		append(list, udp, gopacket.Payload(make([]byte, 40)))...); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// describe returns the port by which a frame left and the content of its headers. It notes a wrong checksum.
func describe(f devicetest.SentFrame) string {
	p := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default)
	eth := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
	s := fmt.Sprintf("port %d %s > %s", f.Port, eth.SrcMAC, eth.DstMAC)
	if ip, ok := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4); ok {
		sum := uint32(0)
		for i := 14; i < 34; i += 2 {
			sum += uint32(f.Data[i])<<8 | uint32(f.Data[i+1])
		}
		if sum = sum>>16 + sum&0xffff; sum>>16+sum&0xffff != 0xffff {
			s += " wrong checksum"
		}
		return fmt.Sprintf("%s %s > %s ttl %d", s, ip.SrcIP, ip.DstIP, ip.TTL)
	}
	if ip, ok := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6); ok {
		return fmt.Sprintf("%s %s > %s hop limit %d", s, ip.SrcIP, ip.DstIP, ip.HopLimit)
	}
	return s
}

// A route that another daemon has written may lead IPv4 packets to a next hop of IPv6 (RFC 8950).
func TestIPv4ByIPv6NextHop(t *testing.T) {
	r := newRouted(t)
	row := []swss.Pair{{Field: "protocol", Value: "bgp"}, {Field: "nexthop", Value: "2001:db8:2::2"},
		{Field: "ifname", Value: "Ethernet2"}, {Field: "weight", Value: "1"}}
	if err := swss.NewProducerState(r.Redis.DB(swss.ApplDB), schema.AppRoute).Set(t.Context(), "10.5.0.0/16",
		row); err != nil {
		t.Fatal(err)
	}
	devicetest.RunUntilIdle(t, r.Sim)
	got := r.send(0, ipFrame(t, devicetest.HostMAC(5), "10.0.0.5", "10.5.1.1", 64, 1))
	const want = "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:22 10.0.0.5 > 10.5.1.1 ttl 63"
	if len(got) != 1 || describe(got[0]) != want {
		t.Errorf("%d copies, the first %s, want %s", len(got), describe(append(got,
			devicetest.SentFrame{Data: make([]byte, 60)})[0]),
			want)
	}
}

// From config_db.json to frames: a switch routes between a VLAN and ports.
func TestRoutedSwitch(t *testing.T) {
	r := newRouted(t)
	const cpu = saisim.CPUPort
	for _, tt := range []struct {
		name     string
		port     saisim.PortID
		src, dst string
		ttl      uint8
		want     string // "" means dropped
		drop     drop.Reason
	}{
		{name: "a static route", src: "10.0.0.5", dst: "10.9.1.1", ttl: 64,
			want: "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:22 10.0.0.5 > 10.9.1.1 ttl 63"},
		{name: "IPv6", src: "2001:db8::5", dst: "2001:db8:9::1", ttl: 64,
			want: "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:22 2001:db8::5 > 2001:db8:9::1 hop limit 63"},
		{name: "a neighbour in the VLAN, by its static FDB entry", port: 2, src: "10.9.1.1", dst: "10.0.0.9", ttl: 2,
			want: "port 1 02:00:00:00:07:e4 > 02:00:00:00:00:09 10.9.1.1 > 10.0.0.9 ttl 1"},
		{name: "between routed ports", port: 2, src: "10.2.0.2", dst: "10.3.0.2", ttl: 9,
			want: "port 3 02:00:00:00:07:e4 > 02:00:00:00:00:33 10.2.0.2 > 10.3.0.2 ttl 8"},
		{name: "the switch's own address", src: "10.0.0.5", dst: "10.3.0.1", ttl: 64,
			want: fmt.Sprintf("port %d 02:00:00:00:00:05 > 02:00:00:00:07:e4 10.0.0.5 > 10.3.0.1 ttl 64", cpu)},
		{name: "a loopback", src: "10.0.0.5", dst: "10.255.0.1", ttl: 64,
			want: fmt.Sprintf("port %d 02:00:00:00:00:05 > 02:00:00:00:07:e4 10.0.0.5 > 10.255.0.1 ttl 64", cpu)},
		{name: "a neighbour nobody knows", src: "10.0.0.5", dst: "10.2.0.77", ttl: 64,
			want: fmt.Sprintf("port %d 02:00:00:00:00:05 > 02:00:00:00:07:e4 10.0.0.5 > 10.2.0.77 ttl 64", cpu)},
		{name: "no route: the default one drops", src: "10.0.0.5", dst: "10.6.0.1", ttl: 64, drop: drop.NoRoute},
		{name: "a blackhole", src: "10.0.0.5", dst: "10.7.0.1", ttl: 64, drop: drop.Blackhole},
	} {
		before := r.Chip.FrameCounts().Dropped
		got := r.send(tt.port, ipFrame(t, devicetest.HostMAC(5+byte(tt.port)), tt.src, tt.dst, tt.ttl, 1))
		if tt.want == "" {
			if len(got) > 0 || r.Chip.FrameCounts().Dropped[tt.drop] != before[tt.drop]+1 {
				t.Errorf("%s: %d copies left; dropped %v, before %v", tt.name, len(got), r.Chip.FrameCounts().Dropped, before)
			}
			continue
		}
		if len(got) != 1 || describe(got[0]) != tt.want {
			t.Errorf("%s: %d copies", tt.name, len(got))
			for _, f := range got {
				t.Errorf(" got %s", describe(f))
			}
			t.Errorf("want %s", tt.want)
		}
	}
	if d := cmp.Diff(swss.FieldValues{"port": "Ethernet0", "type": "dynamic"},
		r.state("FDB_TABLE", "Vlan10:02:00:00:00:00:05")); d != "" {
		t.Errorf("the host's address: %s", d)
	}
	if d := cmp.Diff(swss.FieldValues{"port": "Ethernet1", "type": "static"},
		r.state("FDB_TABLE", "Vlan10:02:00:00:00:00:09")); d != "" {
		t.Errorf("the static address: %s", d)
	}
	devicetest.NoError(t, r.Advance(t.Context(), r.Chip.Now()+saisim.Cycle(r.Chip.Profile().ClockHz)*301))
	crm := devicetest.Row(t, r.Redis, swss.CountersDB, "CRM", "STATS")
	for res, want := range map[string]string{
		// one default route, four of addresses, three of subnets, three static routes; the fourth has no neighbour
		"ipv4_route": "11", "ipv4_neighbor": "3", "ipv6_nexthop": "1", "nexthop_group": "1", "nexthop_group_member": "2",
	} {
		if got := crm["crm_stats_"+res+"_used"]; got != want || crm["crm_stats_"+res+"_available"] == "" {
			t.Errorf("CRM: %s: %s used, want %s; %s available", res, got, want, crm["crm_stats_"+res+"_available"])
		}
	}
	if got := r.state("STATIC_ROUTE_TABLE", "10.6.0.0/16"); got["status"] != "pending" ||
		got["reason"] != "no neighbour 10.3.0.7 on Ethernet3: there is no row NEIGH|Ethernet3|10.3.0.7" {
		t.Errorf("a route without a neighbour: %v", got)
	}
}

// spread sends flows to a destination and counts the egress ports.
func (r *routed) spread(dst string) map[saisim.PortID]int {
	r.Helper()
	n := map[saisim.PortID]int{}
	for sport := range uint16(200) {
		for _, f := range r.send(0, ipFrame(r.T, devicetest.HostMAC(5), "10.0.0.5", dst, 64, 1000+sport)) {
			n[f.Port]++
		}
	}
	return n
}

// Flows spread over the next hops of a route. If a neighbour disappears, its flows use the other next hop. A restart of
// a daemon moves no flow.
func TestECMP(t *testing.T) {
	r := newRouted(t)
	if n := r.spread("10.8.0.1"); n[2] < 60 || n[3] < 60 || n[2]+n[3] != 200 {
		t.Errorf("200 flows leave by %v", n)
	}
	devicetest.NoError(t, r.RestartOrchagent(t.Context()))
	devicetest.RunUntilIdle(t, r.Sim)
	if n := r.spread("10.8.0.1"); n[2] < 60 || n[3] < 60 || n[2]+n[3] != 200 {
		t.Errorf("200 flows leave by %v after a restart", n)
	}
	r.config("NEIGH|Ethernet2|10.2.0.2", nil)
	if n := r.spread("10.8.0.1"); n[3] != 200 {
		t.Errorf("200 flows leave by %v without the neighbour on Ethernet2", n)
	}
	const why = "no neighbour 10.2.0.2 on Ethernet2: there is no row NEIGH|Ethernet2|10.2.0.2"
	for key, want := range map[string]string{"10.8.0.0/16": "active", "10.9.0.0/16": "pending"} {
		if got := r.state("STATIC_ROUTE_TABLE", key); got["status"] != want || got["reason"] != why ||
			got["by"] != "orchagent" {
			t.Errorf("%s: %v", key, got)
		}
	}
	r.config("NEIGH|Ethernet2|10.2.0.2", swss.FieldValues{"neigh": "02:00:00:00:00:44"})
	got := r.send(0, ipFrame(t, devicetest.HostMAC(5), "10.0.0.5", "10.9.0.1", 64, 1))
	if want := "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:44 10.0.0.5 > 10.9.0.1 ttl 63"; len(got) != 1 ||
		describe(got[0]) != want {
		t.Errorf("%d copies, want %s", len(got), want)
	}
}

// The flows of a next hop whose link is down use the other next hops, and return with the link.
func TestECMPLinkDown(t *testing.T) {
	r := newRouted(t)
	link := func(up bool) {
		r.Chip.SetLink(2, up)
		devicetest.RunUntilIdle(t, r.Sim)
	}
	link(false)
	if n := r.spread("10.8.0.1"); n[3] != 200 {
		t.Errorf("200 flows leave by %v without the link of Ethernet2", n)
	}
	const why = "10.2.0.2 on Ethernet2 is left out: Ethernet2 is down"
	if got := r.state("STATIC_ROUTE_TABLE", "10.8.0.0/16"); got["status"] != "active" || got["reason"] != why {
		t.Errorf("status %v", got)
	}
	devicetest.NoError(t, r.RestartOrchagent(t.Context()))
	devicetest.RunUntilIdle(t, r.Sim)
	if n := r.spread("10.8.0.1"); n[3] != 200 {
		t.Errorf("200 flows leave by %v after a restart without the link", n)
	}
	link(true)
	if n := r.spread("10.8.0.1"); n[2] < 60 || n[3] < 60 || n[2]+n[3] != 200 {
		t.Errorf("200 flows leave by %v when the link is back", n)
	}
}

// A routed port becomes a member of a VLAN, and the reverse, in one configuration change.
func TestRoutedPortBecomesMember(t *testing.T) {
	r := newRouted(t)
	r.config("VLAN_MEMBER|Vlan10|Ethernet2", swss.FieldValues{"tagging_mode": "untagged"})
	if got := r.state("INTERFACE_TABLE", "Ethernet2"); got["status"] != "pending" ||
		got["reason"] != `"Ethernet2" is a member of VLAN "Vlan10", and a port either bridges or routes` {
		t.Errorf("the interface: %v", got)
	}
	if got := r.state("VLAN_MEMBER_TABLE", "Vlan10|Ethernet2"); got["status"] != "active" {
		t.Errorf("the member: %v", got)
	}
	if got := r.send(0, ipFrame(t, devicetest.HostMAC(5), "10.0.0.5", "10.9.0.1", 64, 1)); len(got) != 0 {
		t.Errorf("%d frames are routed to a port that does not route", len(got))
	}
	r.config("VLAN_MEMBER|Vlan10|Ethernet2", nil)
	if got := r.send(0, ipFrame(t, devicetest.HostMAC(5), "10.0.0.5", "10.9.0.1", 64, 1)); len(got) != 1 ||
		got[0].Port != 2 {
		t.Errorf("%d frames are routed to a port that routes again", len(got))
	}
}

// Learned addresses are removed when they age, and when the link of their port is down.
func TestLearnedAddresses(t *testing.T) {
	r := newRouted(t)
	learn := func() swss.FieldValues {
		r.send(0, ipFrame(t, devicetest.HostMAC(5), "10.0.0.5", "10.9.0.1", 64, 1))
		return r.state("FDB_TABLE", "Vlan10:02:00:00:00:00:05")
	}
	gone := func() bool { return len(r.state("FDB_TABLE", "Vlan10:02:00:00:00:00:05")) == 0 }
	pass := func(d time.Duration) {
		if err := r.Advance(t.Context(), r.Chip.Now()+saisim.Cycle(r.Chip.Profile().ClockHz)*saisim.Cycle(
			d/time.Second)); err != nil {
			t.Fatal(err)
		}
		devicetest.RunUntilIdle(t, r.Sim)
	}
	if f := learn(); f["port"] != "Ethernet0" {
		t.Fatalf("learned: %v", f)
	}
	if pass(599 * time.Second); gone() {
		t.Error("the address aged within 600 s")
	}
	if pass(2 * time.Second); !gone() {
		t.Error("the address did not age after 600 s")
	}
	r.config("SWITCH|switch", swss.FieldValues{"fdb_aging_time": "10"})
	learn()
	if pass(11 * time.Second); !gone() {
		t.Error("the address did not age after 10 s")
	}
	learn()
	r.Chip.SetLink(0, false)
	if pass(time.Second); !gone() {
		t.Error("the address stays at a port that is down")
	}
	r.Chip.SetLink(0, true)
	pass(time.Second)
	learn()
	if r.config("VLAN_MEMBER|Vlan10|Ethernet0", nil); !gone() {
		t.Error("the address stays in a VLAN that its port has left")
	}
	if f := r.state("FDB_TABLE", "Vlan10:02:00:00:00:00:09"); f["type"] != "static" {
		t.Errorf("the static address: %v", f)
	}
}

// The route of a row with bits behind the prefix's length is that of the prefix, as in SONiC. Addresses of interfaces
// keep these bits.
func TestRouteWithHostBits(t *testing.T) {
	r := newRouted(t)
	r.config("STATIC_ROUTE|10.9.0.0/16", nil)
	r.config("STATIC_ROUTE|10.9.3.1/16", swss.FieldValues{"nexthop": "10.2.0.2"})
	const want = "port 2 02:00:00:00:07:e4 > 02:00:00:00:00:22 10.0.0.5 > "
	to := func(dst string) {
		t.Helper()
		got := r.send(0, ipFrame(t, devicetest.HostMAC(5), "10.0.0.5", dst, 64, 1))
		if len(got) != 1 || describe(got[0]) != want+dst+" ttl 63" {
			t.Errorf("%d frames to %s", len(got), dst)
		}
	}
	to("10.9.0.1")
	row := []swss.Pair{{Field: "nexthop", Value: "10.2.0.2"}, {Field: "ifname", Value: "Ethernet2"}}
	devicetest.NoError(t, swss.NewProducerState(r.Redis.DB(swss.ApplDB), schema.AppRoute).Set(t.Context(), "10.5.0.1/24",
		row))
	devicetest.RunUntilIdle(t, r.Sim)
	to("10.5.0.9")
	keys := r.Redis.DB(swss.ApplDB).Client().Keys(t.Context(), "INTF_TABLE:Vlan10:*").Val()
	if !slices.Contains(keys, "INTF_TABLE:Vlan10:10.0.0.1/24") {
		t.Errorf("addresses: %v", keys)
	}
}
