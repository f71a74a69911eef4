package routes

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// asks returns the neighbours whose resolution was requested since the last call, with "-" in front if the request has
// ended.
func (b *bench) asks() string {
	b.T.Helper()
	db := b.Redis.DB(swss.ApplDB).Client()
	keys, err := db.SMembers(b.Ctx, schema.AppNeighResolve+"_KEY_SET").Result()
	if err != nil {
		b.T.Fatal(err)
	}
	slices.Sort(keys)
	for i, key := range keys {
		fields, err := db.HGetAll(b.Ctx, "_"+schema.AppNeighResolve+":"+key).Result()
		switch {
		case err != nil:
			b.T.Fatal(err)
		case len(fields) == 0:
			keys[i] = "-" + key
		case fields["mac"] != "00:00:00:00:00:00":
			b.T.Errorf("%s: %v", key, fields)
		}
	}
	all, err := db.Keys(b.Ctx, "*"+schema.AppNeighResolve+"*").Result()
	if err != nil {
		b.T.Fatal(err)
	}
	db.Del(b.Ctx, all...)
	return strings.Join(keys, " ")
}

// want sets the addresses that a user needs routes to, and then checks which neighbours are requested.
func (b *bench) want(user, asks string, to ...string) {
	b.T.Helper()
	var list []netip.Addr
	for _, a := range to {
		list = append(list, addr(a))
	}
	if err := b.Daemon.Do(b.Ctx, func() { b.orch.Want(b.Ctx, user, list) }); err != nil {
		b.T.Fatal(err)
	}
	if got := b.asks(); got != asks {
		b.T.Errorf("%s wants %v: asked for %q, want %q", user, to, got, asks)
	}
}

// The neighbour on a route that a user needs is requested once, and again when it is lost. The route and the number of
// users do not matter. A neighbour is not requested while it is known, not needed, or without a route.
func TestWantedNeighborsAreAskedFor(t *testing.T) {
	b := newBench(t)
	step := func(asks string, lines ...string) {
		t.Helper()
		b.do(lines...)
		if got := b.asks(); got != asks {
			t.Errorf("after %v: asked for %q, want %q", lines, got, asks)
		}
	}
	b.want("records", "", "10.4.0.9")
	step("Ethernet4:10.4.0.9", routed...)
	step("", "NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:02")
	b.want("mirror", "", "10.4.0.9")
	b.want("mirror", "Ethernet4:10.4.0.8", "10.4.0.8", "10.4.0.9")
	step("-Ethernet4:10.4.0.9", "NEIGH_TABLE:Ethernet4:10.4.0.9 neigh=02:00:00:00:00:09")
	step("", "NEIGH_TABLE:Ethernet4:10.4.0.9 neigh=02:00:00:00:00:19")
	step("Ethernet4:10.4.0.9", "-NEIGH_TABLE:Ethernet4:10.4.0.9")
	step("", "NEIGH_TABLE:Ethernet4:10.4.0.7 neigh=02:00:00:00:00:07")
	step("-Ethernet4:10.4.0.8", "ROUTE_TABLE:10.4.0.8 nexthop=10.4.0.7 ifname=Ethernet4")
	b.want("mirror", "", "10.0.0.2", "10.0.0.1", "203.0.113.1")
	b.want("mirror", "")
	step("-Ethernet4:10.4.0.9", "-INTF_TABLE:Ethernet4:10.4.0.1/24", "-INTF_TABLE:Ethernet4")
}

// Requests of a previous orchagent are withdrawn if there is no need for them.
func TestAsksOfBefore(t *testing.T) {
	b := newBench(t)
	table := swss.NewTable(b.Redis.DB(swss.ApplDB), schema.AppNeighResolve)
	if err := table.Set(b.Ctx, "Ethernet4:10.4.0.9", swss.FieldValues{"mac": "00:00:00:00:00:00"}); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.orch.asks, err = newAsker(b.Ctx, b.Redis.DB(swss.ApplDB), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	b.do(routed...)
	if got := b.asks(); got != "-Ethernet4:10.4.0.9" {
		t.Errorf("asked for %q", got)
	}
}
