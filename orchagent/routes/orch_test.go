package routes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

var routed = []string{
	"INTF_TABLE:Vlan10", "INTF_TABLE:Vlan10:10.0.0.1/24", "INTF_TABLE:Ethernet4 mtu=1500",
	"INTF_TABLE:Ethernet4:10.4.0.1/24",
}

// The calls are those of SONiC's orchagent, and routes move before the objects that they used are removed.
func TestCalls(t *testing.T) {
	b := newBench(t)
	b.Rec.Reset()
	b.do("INTF_TABLE:Ethernet4", "INTF_TABLE:Ethernet4:10.4.0.1/24",
		"NEIGH_TABLE:Ethernet4:10.4.0.2 neigh=02:00:00:00:00:02",
		"NEIGH_TABLE:Ethernet4:10.4.0.3 neigh=02:00:00:00:00:03",
		"ROUTE_TABLE:10.9.0.0/16 nexthop=10.4.0.2,10.4.0.3 ifname=Ethernet4,Ethernet4")
	b.do("-NEIGH_TABLE:Ethernet4:10.4.0.3")
	var got []string
	for _, l := range b.Rec.Lines() {
		op, rest, _ := strings.Cut(l, "|")
		typ, _, _ := strings.Cut(rest, ":")
		got = append(got, op+" "+strings.TrimPrefix(typ, "SAI_OBJECT_TYPE_"))
	}
	want := []string{
		"c ROUTER_INTERFACE", "C ROUTE_ENTRY", "C ROUTE_ENTRY",
		"C NEIGHBOR_ENTRY", "C NEIGHBOR_ENTRY", "C NEXT_HOP", "C NEXT_HOP",
		"c NEXT_HOP_GROUP", "C NEXT_HOP_GROUP_MEMBER", "C NEXT_HOP_GROUP_MEMBER", "C ROUTE_ENTRY",
		"S ROUTE_ENTRY", "r NEXT_HOP_GROUP_MEMBER", "r NEXT_HOP_GROUP_MEMBER", "r NEXT_HOP_GROUP", "R NEXT_HOP",
		"R NEIGHBOR_ENTRY",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	const first = "C|SAI_OBJECT_TYPE_ROUTE_ENTRY:{\"dest\":\"10.4.0.0/24\",\"switch_id\":\"oid:0x2100000000\"," +
		"\"vr\":\"oid:0x300000000\"}|SAI_ROUTE_ENTRY_ATTR_PACKET_ACTION=SAI_PACKET_ACTION_FORWARD|" +
		"SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID=oid:0x600000001"
	if !slices.Contains(b.Rec.Lines(), first) {
		t.Errorf("no\n%s\nin\n%s", first, b.Rec.Text())
	}
}

// Whichever call fails, the steps before it are undone, and the status of the row contains the reason. Once the row is
// written again, the state is as if nothing had failed.
func TestEveryCallFails(t *testing.T) {
	rows := append(slices.Clone(routed), "NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:02",
		"NEIGH_TABLE:Ethernet4:10.4.0.2 neigh=02:00:00:00:00:04",
		"ROUTE_TABLE:10.9.0.0/16 nexthop=10.0.0.2,10.4.0.2 ifname=Vlan10,Ethernet4",
		"ROUTE_TABLE:10.8.0.0/16 nexthop=10.0.0.2 ifname=Vlan10",
		"VRF_TABLE:Vrf1", "INTF_TABLE:Ethernet8 vrf_name=Vrf1", "INTF_TABLE:Ethernet8:10.4.0.1/24",
		"NEIGH_TABLE:Ethernet8:10.4.0.2 neigh=02:00:00:00:00:08",
		"ROUTE_TABLE:Vrf1:10.8.0.0/16 nexthop=10.4.0.2 ifname=Ethernet8")
	changed := []string{"INTF_TABLE:Ethernet8", "NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:09",
		"ROUTE_TABLE:10.8.0.0/16 blackhole=true",
		"ROUTE_TABLE:10.9.0.0/16 nexthop=10.4.0.2 ifname=Ethernet4", "INTF_TABLE:Ethernet4 mtu=1400"}
	once := newBench(t)
	once.do(rows...)
	wantFirst := once.asic()
	once.do(changed...)
	wantThen := once.asic()
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusTableFull} {
		for n := 1; ; n++ {
			b := newBench(t)
			b.Rec.FailAt(n, status)
			b.do(rows...)
			reported := slices.ContainsFunc(b.statuses(), func(s string) bool { return strings.Contains(s, "SAI_STATUS") })
			if b.Rec.Changes() < n {
				b.do(changed...)
				reported = slices.ContainsFunc(b.statuses(), func(s string) bool { return strings.Contains(s, "SAI_STATUS") })
			}
			if b.Rec.Changes() < n {
				break
			}
			i := slices.IndexFunc(b.Rec.Lines(), func(l string) bool { return strings.HasPrefix(l, "E|") })
			if call := b.Rec.Lines()[i-1]; !reported && status == sai.StatusFailure && strings.ToLower(call[:1]) != "r" {
				t.Errorf("nobody says that this failed: %s", call)
			}
			b.do(rows...) // written again
			if d := cmp.Diff(wantFirst, b.asic()); d != "" {
				t.Errorf("%s at call %d, then written anew: %s", status, n, d)
			}
			b.do(changed...)
			if d := cmp.Diff(wantThen, b.asic()); d != "" {
				t.Errorf("%s at call %d, then changed: %s", status, n, d)
			}
			var gone []string
			for _, r := range rows {
				row, _, _ := strings.Cut(r, " ")
				gone = append(gone, "-"+row)
			}
			b.do(gone...)
			if left := b.asic(); len(left) > 0 || len(b.orch.routes) != 4 ||
				len(b.orch.hops)+len(b.orch.groups)+len(b.orch.rifs) > 0 {
				t.Errorf("%s at call %d: left over: %v", status, n, left)
			}
			if s := b.statuses(); len(s) > 0 {
				t.Errorf("statuses of rows that are gone: %v", s)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	b := newBench(t)
	reported := 0
	b.orch.Changes().Subscribe(func(context.Context, struct{}) { reported++ })
	b.do(append(slices.Clone(routed), "NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:02",
		"NEIGH_TABLE:Ethernet4:10.4.0.2 neigh=02:00:00:00:00:04",
		"ROUTE_TABLE:10.9.0.0/16 nexthop=10.0.0.2,10.4.0.2 ifname=Vlan10,Ethernet4",
		"ROUTE_TABLE:10.9.9.0/24 nexthop=10.0.0.2 ifname=Vlan10", "ROUTE_TABLE:10.9.9.9 blackhole=true")...)
	for _, tt := range []struct{ to, want string }{
		{"10.9.0.1", "{Ethernet4 10.4.0.2 02:00:00:00:00:04 02:00:00:00:00:01 10.4.0.1} <nil>"},
		{"10.9.9.1", "{Vlan10 10.0.0.2 02:00:00:00:00:02 02:00:00:00:00:01 10.0.0.1} <nil>"},
		{"10.9.9.9", "{ invalid IP 00:00:00:00:00:00 00:00:00:00:00:00 invalid IP} no route to 10.9.9.9"},
		{"10.0.0.2", "{Vlan10 10.0.0.2 02:00:00:00:00:02 02:00:00:00:00:01 10.0.0.1} <nil>"},
		{"10.0.0.3", "{ invalid IP 00:00:00:00:00:00 00:00:00:00:00:00 invalid IP} no neighbour 10.0.0.3 on Vlan10"},
		{"10.0.0.1", "{ invalid IP 00:00:00:00:00:00 00:00:00:00:00:00 invalid IP} 10.0.0.1 is the switch's own address"},
		{"2001:db8::1", "{ invalid IP 00:00:00:00:00:00 00:00:00:00:00:00 invalid IP} no route to 2001:db8::1"},
	} {
		p, err := b.orch.Lookup(addr(tt.to))
		if got := fmt.Sprint(p, err); !strings.EqualFold(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.to, got, tt.want)
		}
	}
	if _, ok := b.orch.NextHop("Vlan10", addr("10.0.0.2")); !ok || reported == 0 {
		t.Errorf("next hop found: %v; told %d times", ok, reported)
	}
	if u := b.orch.Used(); u[sai.SwitchAttrAvailableIPv4RouteEntry] != 8 ||
		u[sai.SwitchAttrAvailableNextHopGroupMemberEntry] != 2 || u[sai.SwitchAttrAvailableIPv4NeighborEntry] != 2 {
		t.Errorf("used %v", u)
	}
}

// The switch's own packets have the source address of a loopback, else of the outgoing interface, else of any other
// interface.
func TestOwnAddress(t *testing.T) {
	b := newBench(t)
	want := func(to, name, want string) {
		t.Helper()
		got, ok := b.orch.Address(addr(to), name)
		if ok != (want != "") || ok && got != addr(want) {
			t.Errorf("to %s by %s from %s, want %s", to, name, got, want)
		}
	}
	want("10.9.0.1", "Ethernet4", "")
	b.do(slices.Clone(routed)...)
	want("10.9.0.1", "Ethernet4", "10.4.0.1")
	want("10.9.0.1", "Vlan10", "10.0.0.1")
	want("10.9.0.1", "Ethernet8", "10.4.0.1")
	want("2001:db8::9", "Ethernet4", "")
	b.do("INTF_TABLE:Loopback1 NULL=NULL", "INTF_TABLE:Loopback1:10.255.0.1/32 scope=global",
		"INTF_TABLE:Loopback1:2001:db8::1/128 scope=global")
	want("10.9.0.1", "Ethernet4", "10.255.0.1")
	want("2001:db8::9", "Ethernet4", "2001:db8::1")
}

// Ten thousand routes need only a small number of requests.
func TestRoutesGoInBulk(t *testing.T) {
	const routes = 10_000
	b := newBench(t)
	b.do(append(slices.Clone(routed), "NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:02",
		"NEIGH_TABLE:Ethernet4:10.4.0.2 neigh=02:00:00:00:00:04")...)
	var rows, moved []swss.Row
	var gone []string
	for i := range routes {
		key := fmt.Sprintf("20.%d.%d.0/24", i>>8, i&255)
		row := func(hops, ifs string) swss.Row {
			return swss.Row{Key: key, Fields: []swss.Pair{{Field: "nexthop", Value: hops}, {Field: "ifname", Value: ifs}}}
		}
		rows, gone = append(rows, row("10.0.0.2", "Vlan10")), append(gone, key)
		moved = append(moved, row("10.0.0.2,10.4.0.2", "Vlan10,Ethernet4"))
	}
	p := swss.NewProducerState(b.Redis.DB(swss.ApplDB), schema.AppRoute)
	for i, write := range []func() error{
		func() error { return p.SetMany(b.Ctx, rows) },
		func() error { return p.SetMany(b.Ctx, moved) },
		func() error { return p.DelMany(b.Ctx, gone) },
	} {
		b.Rec.Reset()
		if err := write(); err != nil {
			t.Fatal(err)
		}
		b.Step()
		single := slices.DeleteFunc(b.Rec.Lines(), func(l string) bool { return strings.Contains("CRS", l[:1]) })
		if len(single) > 4 {
			t.Errorf("%d calls for one object each, such as %s", len(single), single[0])
		}
		want := 4 + 4 // permanent routes, and routes of two addresses
		if i < 2 {
			want += routes
		}
		if n := len(b.orch.routes); n != want {
			t.Errorf("%d routes, want %d", n, want)
		}
	}
}

// Whatever the order of changes, the ASIC and the statuses depend only on the last rows and ports.
func TestConvergence(t *testing.T) {
	lines := []string{
		"INTF_TABLE:Vlan10", "INTF_TABLE:Vlan10 mtu=1500", "INTF_TABLE:Vlan10 loopback_action=drop",
		"INTF_TABLE:Vlan10 mtu=x", "-INTF_TABLE:Vlan10",
		"INTF_TABLE:Vlan10:10.0.0.1/24", "-INTF_TABLE:Vlan10:10.0.0.1/24", "INTF_TABLE:Ethernet4",
		"INTF_TABLE:Ethernet4 mac_addr=02:00:00:00:00:77", "-INTF_TABLE:Ethernet4",
		"INTF_TABLE:Ethernet4:10.4.0.1/24", "-INTF_TABLE:Ethernet4:10.4.0.1/24", "INTF_TABLE:Ethernet8",
		"-INTF_TABLE:Ethernet8", "INTF_TABLE:Ethernet8:10.0.0.1/24", "-INTF_TABLE:Ethernet8:10.0.0.1/24",
		"INTF_TABLE:Loopback0", "INTF_TABLE:Loopback0:10.0.0.2/32", "-INTF_TABLE:Loopback0",
		"NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:02", "NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:09",
		"-NEIGH_TABLE:Vlan10:10.0.0.2",
		"NEIGH_TABLE:Ethernet4:10.4.0.2 neigh=02:00:00:00:00:04", "-NEIGH_TABLE:Ethernet4:10.4.0.2",
		"NEIGH_TABLE:Ethernet8:fe80::2 neigh=02:00:00:00:00:04",
		"ROUTE_TABLE:10.9.0.0/16 nexthop=10.0.0.2,10.4.0.2 ifname=Vlan10,Ethernet4",
		"ROUTE_TABLE:10.9.0.0/16 nexthop=10.0.0.2 ifname=Vlan10", "ROUTE_TABLE:10.9.0.0/16 blackhole=true",
		"-ROUTE_TABLE:10.9.0.0/16",
		"ROUTE_TABLE:0.0.0.0/0 nexthop=10.0.0.2,10.4.0.2 ifname=Vlan10,Ethernet4",
		"ROUTE_TABLE:0.0.0.0/0 nexthop=10.4.0.2 ifname=Ethernet4", "-ROUTE_TABLE:0.0.0.0/0",
		"ROUTE_TABLE:::/0 nexthop=fe80::2,:: ifname=Ethernet8,Ethernet8", "-ROUTE_TABLE:::/0",
		"ROUTE_TABLE:10.0.0.0/24 ifname=Ethernet4 nexthop=0.0.0.0", "ROUTE_TABLE:10.0.0.0/24 ifname=Vlan10",
		"-ROUTE_TABLE:10.0.0.0/24",
		"VRF_TABLE:Vrf1", "-VRF_TABLE:Vrf1", "VRF_TABLE:Vrf2", "-VRF_TABLE:Vrf2", "INTF_TABLE:Ethernet8 vrf_name=Vrf1",
		"INTF_TABLE:Ethernet4 vrf_name=Vrf2", "INTF_TABLE:Vlan10 vrf_name=Vrf1",
		"ROUTE_TABLE:Vrf1:10.9.0.0/16 nexthop=10.4.0.2 ifname=Ethernet4", "-ROUTE_TABLE:Vrf1:10.9.0.0/16",
		"ROUTE_TABLE:Vrf2:0.0.0.0/0 nexthop=10.0.0.2 ifname=Vlan10", "-ROUTE_TABLE:Vrf2:0.0.0.0/0",
		"-port Vlan10", "port Vlan10", "-port Ethernet4", "port Ethernet4", "-link Ethernet4", "link Ethernet4",
		"-link Vlan10", "link Vlan10", "step", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 100}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		b, once := newBench(t), newBench(t)
		last := map[string]string{}
		for range 60 {
			line := lines[rnd.IntN(len(lines))]
			b.write(line)
			name := strings.TrimPrefix(line, "-")
			if row, _, _ := strings.Cut(name, " "); row != "port" && row != "link" {
				name = row
			}
			last[name] = line
		}
		b.Step()
		var final []string
		for _, l := range last {
			final = append(final, l)
		}
		slices.Sort(final)
		once.do(final...)
		if d := cmp.Diff(once.asic(), b.asic()); d != "" {
			t.Errorf("the ASIC: -once +sequence\n%s\n%s", d, strings.Join(final, "\n"))
		}
		if d := cmp.Diff(once.statuses(), b.statuses()); d != "" {
			t.Errorf("statuses: -once +sequence\n%s\n%s", d, strings.Join(final, "\n"))
		}
	})
}

// COUNTERS_DB names the router interfaces with their types, and their counters are polled as long as they exist.
func TestCounters(t *testing.T) {
	b := newBench(t)
	names := func(table string) swss.FieldValues { return b.Row(swss.CountersDB, table, "") }
	b.Write("INTF_TABLE:Ethernet0 NULL=NULL")
	b.Write("INTF_TABLE:Vlan10 NULL=NULL")
	b.Step()
	got := map[string]string{}
	for name, oid := range names("COUNTERS_RIF_NAME_MAP") {
		got[name] = names("COUNTERS_RIF_TYPE_MAP")[oid]
	}
	want := map[string]string{
		"Ethernet0": "SAI_ROUTER_INTERFACE_TYPE_PORT", "Vlan10": "SAI_ROUTER_INTERFACE_TYPE_VLAN",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := b.Poller.Count("RIF_STAT_COUNTER"); n != 2 {
		t.Errorf("%d router interfaces are polled", n)
	}
	b.Write("-INTF_TABLE:Ethernet0")
	b.Step()
	if n, rows := b.Poller.Count("RIF_STAT_COUNTER"), names("COUNTERS_RIF_NAME_MAP"); n != 1 || rows["Ethernet0"] != "" {
		t.Errorf("%d router interfaces are polled, named %v", n, rows)
	}
}
