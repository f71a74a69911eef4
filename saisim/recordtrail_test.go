package saisim_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/pipe"
	"tamtam/tam/record"
)

// watch observes frames and copies. ends returns the outcome of each, and the tables that it ran: their names without
// "chip.", with a star if they hit.
func (r *rig) watch() (ends func() []string) {
	var seen []saisim.Moment
	r.SetObserver(func(m saisim.Moment) {
		if m.What == saisim.MomentSent || m.What == saisim.MomentPunted || m.What == saisim.MomentDropped {
			seen = append(seen, m)
		}
	})
	return func() []string {
		r.Helper()
		var list []string
		for _, m := range seen {
			what := m.What.String()
			switch m.What {
			case saisim.MomentSent:
				what = fmt.Sprint(m.Port)
			case saisim.MomentDropped:
				what = m.Why.String()
			}
			list = append(list, strings.TrimSuffix(what+": "+ranWords(r.Path(m.Trail)), " "))
		}
		seen = nil
		slices.Sort(list)
		return list
	}
}

func ranWords(path []record.Step) string {
	var words []string
	for _, s := range path {
		word := strings.TrimPrefix(s.Table, "chip.")
		if s.Hit {
			word += "*"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Fixed functions run and hit, by packet.
func TestTrails(t *testing.T) {
	everybody := []byte{255, 255, 255, 255, 255, 255}
	lldp := eth([]byte{1, 0x80, 0xc2, 0, 0, 14}, host(9), u16(0x88cc), make([]byte, 46))
	on6 := func(r *router) { r.send(6, udpFrame(1, 99, 60)); r.send(7, udpFrame(2, 99, 60)) }
	near := func(r *router) { r.neighbor(1, at4(1, 20), 20); r.neighbor(2, at4(2, 20), 20) }
	far := netip.MustParseAddr("192.0.2.7")
	to := func(i int) []byte { return packet(0, at4(0, 9), at4(i, 20), 64, 100) }
	toFar := packet(0, at4(0, 9), far, 64, 100)
	acl := func(stage, attr sai.AttrID, pairs ...any) func(r *router) {
		return func(r *router) {
			on6(r)
			table := r.acl(sai.Enum(stage), sai.ACLTableAttrFieldEtherType, sai.Bool(true))
			r.entry(table, 1, append([]any{sai.ACLEntryAttrFieldEtherType, sai.Match(sai.Uint(0x800), sai.Uint(0xffff))},
				pairs...)...)
			r.set(sai.ObjectTypeSwitch, r.sw, attr, table)
		}
	}
	in := func(pairs ...any) func(r *router) {
		return acl(sai.AttrID(sai.ACLStageIngress), sai.SwitchAttrIngressACL, pairs...)
	}
	out := func(pairs ...any) func(r *router) {
		return acl(sai.AttrID(sai.ACLStageEgress), sai.SwitchAttrEgressACL, pairs...)
	}
	v6 := eth(host(2), host(1), ip6(1, 2, 17, udp(1, 2, 20)))
	for _, tt := range []struct {
		name  string
		setup func(r *router)
		port  saisim.PortID
		frame []byte
		want  string // the outcomes, separated by commas
	}{
		{"to nobody known", nil, 6, udpFrame(1, 2, 60), "7: port* trap learning router_mac fdb mtu*"},
		{"to and from known ones", on6, 6, udpFrame(1, 2, 60), "7: port* trap learning* router_mac fdb* mtu*"},
		{"to itself", on6, 6, udpFrame(9, 1, 60), "same-port: port* trap learning router_mac fdb*"},
		{"to everybody", on6, 6, eth(everybody, host(1), u16(0x88b5), make([]byte, 46)),
			"7: port* trap learning* router_mac mtu*"},
		{"from a group", nil, 6, eth(host(2), []byte{3, 0, 0, 0, 0, 1}, u16(0x88b5), make([]byte, 46)),
			"source-address: port"},
		{"of a VLAN that is not there", nil, 6, eth(host(2), host(1), tag(0x8100, 55), u16(0x88b5), make([]byte, 46)),
			"no-vlan: port trap"},
		{"a trap", nil, 6, lldp, "punted: port* trap* learning"},
		{"a trap where it may not go", nil, 6, eth(lldp[:6], host(9), tag(0x8100, 55), lldp[12:]), "punted: port trap*"},
		{"a trap that does nothing", nil, 6, eth(everybody, arp(1)[6:12], arp(1)[12:]),
			"7: port* trap learning router_mac mtu*"},
		{"learning off", func(r *router) {
			r.set(sai.ObjectTypeBridgePort, r.bp(6), sai.BridgePortAttrFDBLearningMode, sai.BridgePortFDBLearningModeDisable)
		}, 6, udpFrame(1, 2, 60), "7: port* trap router_mac fdb mtu*"},
		{"unknown where that is to be dropped", func(r *router) {
			r.set(sai.ObjectTypeBridgePort, r.bp(6), sai.BridgePortAttrFDBLearningMode, sai.BridgePortFDBLearningModeDrop)
		}, 6, udpFrame(1, 2, 60), "learning: port* trap learning"},

		{"routed", near, 0, to(1), "1: port* trap router_mac* ipv4_route* next_hop* mtu*"},
		{"routed into a VLAN, where the FDB does not know the neighbour", near, 0, to(2),
			"2: port* trap router_mac* ipv4_route* next_hop* fdb mtu*, 3: port* trap router_mac* ipv4_route* next_hop* fdb " +
				"mtu*"},
		{"routed by IPv6", func(r *router) { r.neighbor(1, at6(1, 20), 20) }, 0, packet(0, at6(0, 9), at6(1, 20), 64, 100),
			"1: port* trap router_mac* ipv6_route* next_hop* mtu*"},
		{"no route", nil, 0, toFar, "no-route: port* trap router_mac* ipv4_route"},
		{"no neighbour", nil, 0, to(1), "punted: port* trap router_mac* ipv4_route* next_hop"},
		{"a group that is empty", func(r *router) {
			r.route("192.0.2.0/24", r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType,
				sai.NextHopGroupTypeDynamicUnorderedEcmp))
		}, 0, toFar, "no-next-hop: port* trap router_mac* ipv4_route* next_hop"},
		{"a route that drops", func(r *router) {
			r.route("192.0.2.0/24", sai.NullOID, sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)
		}, 0, toFar, "blackhole: port* trap router_mac* ipv4_route*"},
		{"to the switch", nil, 0, packet(0, at4(0, 9), at4(1, 1), 64, 100), "punted: port* trap router_mac* ipv4_route*"},
		{"TTL", near, 0, packet(0, at4(0, 9), at4(1, 20), 1, 100), "punted: port* trap router_mac* ipv4_route*"},
		{"not fit to be routed", nil, 0, packet(0, netip.MustParseAddr("224.1.2.3"), far, 64, 100),
			"ip-header: port* trap router_mac*"},
		{"not to the router", nil, 0, udpFrame(1, 2, 60), "not-router: port* trap router_mac"},

		{"an ACL table, no entry of which matches", in(), 6, v6, "7: port* trap acl learning* router_mac fdb* mtu*"},
		{"an entry", in(), 6, udpFrame(1, 2, 60), "7: port* trap acl* learning* router_mac fdb* mtu*"},
		{"an entry that drops", in(action(sai.PacketActionDrop)...), 6, udpFrame(1, 2, 60), "acl: port* trap acl* learning*"},
		{"an entry that forbids learning", in(sai.ACLEntryAttrActionSetDoNotLearn, sai.Do(sai.Uint(0))), 6,
			udpFrame(1, 2, 60),
			"7: port* trap acl* router_mac fdb* mtu*"},
		{"an entry that redirects", func(r *router) {
			in(sai.ACLEntryAttrActionRedirect, sai.Do(r.oid(1)))(r)
		}, 6, udpFrame(1, 2, 60), "1: port* trap acl* learning* mtu*"},
		{"to a next hop without neighbour", func(r *router) {
			hop := r.hop(1, at4(1, 20))
			in(sai.ACLEntryAttrActionRedirect, sai.Do(hop))(r)
		}, 6, withChecksum(udpFrame(1, 2, 60)), "punted: port* trap acl* learning* next_hop"},
		{"what is not fit for the next hop goes on", func(r *router) {
			hop := r.hop(1, at4(1, 20))
			in(sai.ACLEntryAttrActionRedirect, sai.Do(hop))(r)
		}, 6, udpFrame(1, 2, 60), "7: port* trap acl* learning* router_mac fdb* mtu*"},
		{"an egress ACL table", out(), 6, v6, "7: port* trap learning* router_mac fdb* mtu* egress_acl"},
		{"that drops", out(action(sai.PacketActionDrop)...), 6, udpFrame(1, 2, 60),
			"egress-acl: port* trap learning* router_mac fdb* mtu* egress_acl*"},
		{"too long", func(r *router) { on6(r); r.set(sai.ObjectTypePort, r.oid(7), sai.PortAttrMTU, sai.Uint(100)) }, 6,
			udpFrame(1, 2, 200),
			"egress-mtu: port* trap learning* router_mac fdb* mtu"},
		{"a port that is down", func(r *router) {
			on6(r)
			r.set(sai.ObjectTypePort, r.oid(7), sai.PortAttrAdminState,
				sai.Bool(false))
		}, 6, udpFrame(1, 2, 60),
			"egress-port-down: port* trap learning* router_mac fdb*"},
		{"before the pipe", func(r *router) { r.set(sai.ObjectTypePort, r.oid(6), sai.PortAttrAdminState, sai.Bool(false)) },
			6, udpFrame(1, 2, 60),
			"port-down:"},
		{"a mirror copy has none", func(r *router) {
			on6(r)
			r.set(sai.ObjectTypePort, r.oid(6), sai.PortAttrIngressMirrorSession, sai.OIDs{r.local(1)})
		}, 6, udpFrame(1, 2, 60), "1:, 7: port* trap learning* router_mac fdb* mtu*"},
		{"a stamp", func(r *router) { in(r.stampAction(7)...)(r) }, 6, udpFrame(1, 2, 60),
			"7: port* trap acl* learning* router_mac fdb* mtu* tail_stamp*"},
		{"none for what is no TCP or UDP", func(r *router) { in(r.stampAction(7)...)(r) }, 6,
			eth(host(2), host(1), ip4(1, 2, 1, 0, make([]byte, 30))),
			"7: port* trap acl* learning* router_mac fdb* mtu* tail_stamp"},
		{"sketches", func(r *router) {
			on6(r)
			s := sketcher{r.rig}
			s.task(counting(r, "t", "src-ip", 0, 0, 0, 64))
		}, 6, udpFrame(1, 2, 60), "7: port* trap learning* router_mac fdb* flymon mtu*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t)
			if tt.setup != nil {
				tt.setup(r)
			}
			ends := r.watch()
			r.send(tt.port, tt.frame)
			got := ends()
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("%s\nwant %s", s, tt.want)
			}
		})
	}
}

// Tables of a program run and hit, and a drop's trail has the tables that ran until then. A frame that the CPU injects
// runs only those in the egress pipe.
func TestTrailsOfPrograms(t *testing.T) {
	lookup := pipe.Table{Name: "proto", Stage: 1, Match: "exact", Key: []pipe.Input{{Field: "ip.proto"}}, Size: 4,
		Entries: []pipe.Entry{{ID: 1, Key: []pipe.Match{{Value: 17}}}}}
	gated := does("ttl", 1, op("set", "ip.ttl", constant(9)))
	gated.Gate = [][]pipe.Term{{{Table: "proto", Is: "hit"}}}
	filter := does("filter", 2, op("set", "ctl.drop", field("is.arp")))
	punt := does("punt", 3, op("set", "ctl.punt", constant(1)))
	egress := does("big", 3, op("set", "ctl.drop", constant(1)))
	egress.Gate = [][]pipe.Term{{{Field: "pkt.length", Is: "gt", Value: 200}}}
	p := &pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: []pipe.Table{
		does("first", 0, op("set", "ip.ecn", constant(1))), lookup, gated, filter, punt}},
		Egress: pipe.Pipe{Tables: []pipe.Table{does("out", 0, op("set", "ip.dscp", constant(1))), egress}}}
	r := newRouter(t)
	r.load(p)
	ends := r.watch()
	for _, tt := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"UDP", udpFrame(1, 2, 60),
			"7: port* trap ingress.first ingress.proto* ingress.ttl ingress.filter learning router_mac fdb ingress.punt " +
				"egress.out mtu*, " +
				"punted: port* trap ingress.first ingress.proto* ingress.ttl ingress.filter learning router_mac fdb ingress.punt"},
		{"another protocol", eth(host(2), host(1), ip4(1, 2, 1, 0, make([]byte, 30))),
			"7: port* trap ingress.first ingress.proto ingress.filter learning* router_mac fdb ingress.punt egress.out mtu*, " +
				"punted: port* trap ingress.first ingress.proto ingress.filter learning* router_mac fdb ingress.punt"},
		{"what the ingress pipe drops", arp(1), "program: port* trap ingress.first ingress.proto ingress.filter"},
		{"what the egress pipe drops", udpFrame(1, 2, 300),
			"egress-program: port* trap ingress.first ingress.proto* ingress.ttl ingress.filter learning* router_mac fdb " +
				"ingress.punt egress.out mtu* egress.big, " +
				"punted: port* trap ingress.first ingress.proto* ingress.ttl ingress.filter learning* router_mac fdb ingress.punt"},
		{"what admission drops", eth(host(2), []byte{3, 0, 0, 0, 0, 1}, u16(0x88b5), make([]byte, 46)),
			"source-address: port"},
	} {
		r.send(6, tt.frame)
		if s := strings.Join(ends(), ", "); s != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, s, tt.want)
		}
	}
	noError(t, r.Inject(7, saisim.Frame{Data: udpFrame(1, 2, 60)}))
	r.drain()
	if s := strings.Join(ends(), ", "); s != "7: egress.out mtu*" {
		t.Errorf("injected: %s", s)
	}
}

// A packet in flight has the trail of the graph at its entry. A packet that entered before there was an observer has
// none.
func TestTrailsInFlight(t *testing.T) {
	r := newRouter(t)
	var trails []saisim.Trail
	watch := func() {
		r.SetObserver(func(m saisim.Moment) {
			if m.What == saisim.MomentSent {
				trails = append(trails, m.Trail)
			}
		})
	}
	halfway := func() {
		t.Helper()
		noError(t, r.Receive(6, r.Now(), saisim.Frame{Data: udpFrame(1, 2, 60)}))
		r.Advance(r.Now() + 64 + 5)
	}
	halfway()
	watch()
	r.drain()
	halfway()
	before := r.Describe().Version
	r.load(&pipe.Program{Name: "p", Egress: pipe.Pipe{Tables: []pipe.Table{
		does("out", 0, op("set", "ip.dscp", constant(1)))}}})
	r.drain()
	r.send(6, udpFrame(1, 2, 60))
	after := r.Describe().Version
	if len(trails) != 3 || trails[0] != (saisim.Trail{}) || trails[1].Graph != before || trails[2].Graph != after ||
		before == after {
		t.Fatalf("%+v, graphs %d and %d", trails, before, after)
	}
	for i, want := range []string{"", "", "port* trap learning* router_mac fdb egress.out mtu*"} {
		if got := ranWords(r.Path(trails[i])); got != want {
			t.Errorf("packet %d: %s, want %s", i, got, want)
		}
	}
	if r.Path(trails[1]) != nil {
		t.Error("a path in another graph")
	}
}

// A chip with faults runs fewer functions, and continues as if nothing were found.
func TestFaultsOfFixedFunctions(t *testing.T) {
	near := func(r *router) { r.neighbor(1, at4(1, 20), 20) }
	for _, tt := range []struct {
		table string
		setup func(r *router)
		port  saisim.PortID
		frame []byte
		want  string
	}{
		{"chip.trap", nil, 6, eth([]byte{1, 0x80, 0xc2, 0, 0, 14}, host(9), u16(0x88cc), make([]byte, 46)),
			"7: port* learning router_mac mtu*"},
		{"chip.learning", nil, 6, udpFrame(1, 2, 60), "7: port* trap router_mac fdb mtu*"},
		{"chip.fdb", func(r *router) { r.send(6, udpFrame(2, 9, 60)) }, 6, udpFrame(1, 2, 60),
			"7: port* trap learning router_mac mtu*"},
		{"chip.ipv4_route", near, 0, packet(0, at4(0, 9), at4(1, 20), 64, 100), "no-route: port* trap router_mac*"},
		{"chip.ipv4_route", near, 0, packet(0, at4(0, 9), at4(1, 20), 1, 100), "punted: port* trap router_mac*"},
		{"chip.ipv6_route", near, 0, packet(0, at6(0, 9), at6(1, 20), 64, 100), "no-route: port* trap router_mac*"},
		{"chip.acl", func(r *router) {
			table := r.acl(sai.ACLStageIngress, sai.ACLTableAttrFieldEtherType, sai.Bool(true))
			r.entry(table, 1, action(sai.PacketActionDrop)...)
			r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrIngressACL, table)
		}, 6, udpFrame(1, 2, 60), "7: port* trap learning router_mac fdb mtu*"},
	} {
		r := newRouter(t)
		if tt.setup != nil {
			tt.setup(r)
		}
		ends := r.watch()
		r.control(r.Now(), pipe.Batch{Faults: []pipe.Fault{{Do: "skip", Table: tt.table}}})
		r.send(tt.port, tt.frame)
		if s := strings.Join(ends(), ", "); s != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.table, s, tt.want)
		}
		r.control(r.Now(), pipe.Batch{Faults: []pipe.Fault{{Do: "heal"}}})
		r.send(tt.port, tt.frame)
		if s := strings.Join(ends(), ", "); !strings.Contains(s, strings.TrimPrefix(tt.table, "chip.")) {
			t.Errorf("%s healed: %s", tt.table, s)
		}
	}
	r := newRouter(t)
	for _, name := range []string{"chip.port", "chip.mtu", "chip.x"} {
		err := r.Control(r.Now(), saisim.Batch{Batch: pipe.Batch{Faults: []pipe.Fault{{Do: "skip", Table: name}}}})
		if err == nil || !strings.Contains(err.Error(), name+`" cannot be skipped`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
