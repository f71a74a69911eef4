package routes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// zebras writes a row of ROUTE_TABLE without a row of CONFIG_DB, as fpmsyncd does. Without fields it deletes the row.
func (b *bench) zebras(key string, fields ...string) {
	b.T.Helper()
	if len(fields) == 0 {
		b.Del(schema.AppRoute, key)
		return
	}
	b.Set(schema.AppRoute, key, append([]string{"protocol", "bgp"}, fields...)...)
}

// listed returns the rows of STATE_DB's ROUTE_TABLE as "key status: reason".
func (b *bench) listed() (list []string) {
	b.T.Helper()
	rows, err := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateRoute).Dump(b.Ctx)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, key+" "+rows[key]["status"]+": "+rows[key]["reason"])
	}
	return list
}

// A route of FRR whose next hop does not answer is pending until the neighbour is known. The reason is the same as for
// a row of STATIC_ROUTE. An invalid route has failed.
func TestZebrasRoutesHaveAStatus(t *testing.T) {
	b := newBench(t)
	b.do(routed...)
	b.do("ROUTE_TABLE:10.8.0.0/16 nexthop=10.0.0.9 ifname=Vlan10")
	b.zebras("10.9.0.0/16", "nexthop", "10.0.0.9", "ifname", "Vlan10")
	b.zebras("2001:db8::/32", "nexthop", "fe80::9", "ifname", "Ethernet4")
	b.zebras("10.10.0.0/16", "nexthop", "x", "ifname", "Vlan10")
	b.Step()
	static := b.Row(swss.StateDB, schema.StateStaticRoute, "10.8.0.0/16")
	got := b.listed()
	want := []string{
		"10.9.0.0/16 pending: " + static["reason"],
		"2001:db8::/32 pending: no neighbour fe80::9 on Ethernet4: there is no row NEIGH|Ethernet4|fe80::9",
	}
	if static["status"] != "pending" || len(got) != 3 || !strings.HasPrefix(got[0], "10.10.0.0/16 failed: ") ||
		!slices.Equal(got[1:], want) {
		t.Fatalf("the static route: %v; listed are %q, want a failed one and %q", static, got, want)
	}
	b.do("NEIGH_TABLE:Vlan10:10.0.0.9 neigh=02:00:00:00:00:09")
	b.zebras("10.10.0.0/16")
	b.Step()
	if d := cmp.Diff(want[1:], b.listed()); d != "" {
		t.Errorf("after one neighbour answered: -want +got\n%s", d)
	}
	b.do("-NEIGH_TABLE:Vlan10:10.0.0.9")
	if got := b.listed(); len(got) != 2 {
		t.Errorf("after the neighbour has gone: %q, want it listed again", got)
	}
	b.do("ROUTE_TABLE:10.9.0.0/16 nexthop=10.0.0.9 ifname=Vlan10") // the route gets a row of CONFIG_DB
	if d := cmp.Diff(want[1:], b.listed()); d != "" {
		t.Errorf("after an operator configured it: -want +got\n%s", d)
	}
}

// The list has a limit, and counts the routes that it omits. A new process removes the entries of a former one.
func TestListOfZebrasRoutesIsLimited(t *testing.T) {
	b := newBench(t)
	b.do(routed...)
	state := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateRoute)
	const limit, above = 1000, 234
	for i := range limit + above {
		b.zebras(fmt.Sprintf("20.0.%d.%d", i>>8, i&255), "nexthop", "10.0.0.9", "ifname", "Vlan10")
	}
	b.Step()
	more := b.Row(swss.StateDB, schema.StateRoute, schema.MoreRows)
	if n := len(b.listed()); n != limit+1 || schema.MoreCount(more["reason"]) != above {
		t.Fatalf("%d rows, and %v; want %d, and one for %d more", n, more, limit, above)
	}
	for i := range above {
		b.zebras(fmt.Sprintf("20.0.%d.%d", i>>8, i&255))
	}
	b.Step()
	if keys, err := state.Keys(b.Ctx); err != nil || len(keys) != limit || slices.Contains(keys, schema.MoreRows) {
		t.Fatalf("%d rows, %v; want the %d that are left", len(keys), err, limit)
	}
	b.do("NEIGH_TABLE:Vlan10:10.0.0.9 neigh=02:00:00:00:00:09")
	if got := b.listed(); len(got) != 0 {
		t.Errorf("%d rows are left, want none", len(got))
	}
}

// After any changes, the list contains exactly the routes of other programs that are not in the ASIC.
func TestListedAreThoseThatLack(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 94_000_000, Count: 30, Short: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		b := newBench(t)
		pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
		for range 60 {
			line := randomLine(rnd)
			if key, is := strings.CutPrefix(line, "ROUTE_TABLE:"); is && rnd.IntN(2) == 0 {
				key, _, _ = strings.Cut(key, " ")
				b.zebras(key, "nexthop", pick("10.0.0.1,10.1.0.2", "10.0.0.2,10.1.0.3", "fe80::1,x"), "ifname", "Vlan10,Ethernet4")
				b.Step()
			} else {
				b.do(line)
			}
			var want []string
			for k := range b.orch.ledger.Rows {
				if _, static := b.orch.ledger.Rows[k][schema.FieldConfigKey]; k.Table == schema.AppRoute && !static {
					if err := firstOf(b.orch.ledger.Failed[k], b.orch.ledger.Why[k]); err != nil {
						want = append(want, k.Key)
					}
				}
			}
			slices.Sort(want)
			var got []string
			for _, row := range b.listed() {
				key, _, _ := strings.Cut(row, " ")
				got = append(got, key)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("after %q listed are %q, want %q", line, got, want)
			}
			for _, key := range got {
				if p, ok := prefixOf(key); ok && b.leadsByOthers(p, key) {
					t.Fatalf("after %q %s is listed, and in the ASIC", line, key)
				}
			}
		}
	})
}

// leadsByOthers reports whether the route to a prefix in the ASIC belongs to a row.
func (b *bench) leadsByOthers(p string, key string) bool {
	for prefix, spec := range b.orch.plan.routes {
		if prefix.String() == p && spec.row == orch.Row(schema.AppRoute, key) {
			t, in := b.orch.routes[prefix]
			return in && !t.drop
		}
	}
	return false
}

func prefixOf(key string) (string, bool) {
	row, err := schema.ParseRoute(key, map[string]string{"blackhole": "true"})
	return row.Prefix.String(), err == nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A new process continues the list of a former one.
func TestListOfAFormerProcess(t *testing.T) {
	b := newBench(t)
	state := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateRoute)
	for _, key := range []string{"10.7.0.0/16", "10.9.0.0/16", schema.MoreRows} {
		row := swss.FieldValues{"status": "pending", "reason": "old", "since": "2026-01-02T03:04:05Z", "by": orch.Orchagent}
		if err := state.Set(context.Background(), key, row); err != nil {
			t.Fatal(err)
		}
	}
	b.begin()
	b.do(routed...)
	b.zebras("10.9.0.0/16", "nexthop", "10.0.0.9", "ifname", "Vlan10")
	b.Step()
	if got := b.listed(); len(got) != 1 || !strings.HasPrefix(got[0], "10.9.0.0/16 pending: no neighbour 10.0.0.9") {
		t.Errorf("listed are %q, want only what is pending now", got)
	}
}

// Routes in the ASIC are published as in SONiC's orchagent, with the row's fields. A route that waits or was removed is
// published as unavailable, and one that is written once more is published again. Rows of STATIC_ROUTE are not
// published.
func TestRoutesInTheASICArePublished(t *testing.T) {
	b := newBench(t)
	l := swss.NewListener(b.Redis)
	t.Cleanup(func() { l.Close() })
	channel := swss.NewNotificationConsumer(l, b.Redis.DB(swss.ApplDB), "APPL_DB_ROUTE_TABLE_RESPONSE_CHANNEL")
	if err := l.Sync(b.Ctx); err != nil {
		t.Fatal(err)
	}
	want := func(what string, lines ...string) {
		t.Helper()
		if err := l.Sync(b.Ctx); err != nil {
			t.Fatal(err)
		}
		var got []string
		messages, _ := channel.Pops(b.Ctx)
		for _, m := range messages {
			line := m.Op + " " + m.Key
			for _, f := range m.Fields {
				line += " " + f.Field + "=" + f.Value
			}
			got = append(got, line)
		}
		slices.Sort(got)
		if d := cmp.Diff(lines, got); d != "" {
			t.Errorf("%s: -want +got\n%s", what, d)
		}
	}
	const (
		near = "SWSS_RC_SUCCESS 10.9.0.0/16 err_str=SWSS_RC_SUCCESS ifname=Vlan10 nexthop=10.0.0.9 protocol=bgp"
		hole = "SWSS_RC_SUCCESS 10.10.0.0/16 err_str=SWSS_RC_SUCCESS blackhole=true protocol=bgp"
		away = "SWSS_RC_UNAVAIL 10.9.0.0/16 err_str=SWSS_RC_UNAVAIL ifname=Vlan10 nexthop=10.0.0.9 protocol=bgp"
	)
	b.do(routed...)
	b.do("ROUTE_TABLE:10.8.0.0/16 blackhole=true")
	b.zebras("10.9.0.0/16", "nexthop", "10.0.0.9", "ifname", "Vlan10")
	b.zebras("10.10.0.0/16", "blackhole", "true")
	b.Step()
	want("one waits", hole, away)
	b.do("NEIGH_TABLE:Vlan10:10.0.0.9 neigh=02:00:00:00:00:09")
	want("its neighbour is there", near)
	b.zebras("10.9.0.0/16", "nexthop", "10.0.0.9", "ifname", "Vlan10")
	b.Step()
	want("written once more", near)
	b.do("NEIGH_TABLE:Vlan10:10.0.0.9")
	want("its neighbour goes", away)
	b.Rec.FailAt(1, sai.StatusFailure)
	b.zebras("10.11.0.0/16", "blackhole", "true")
	b.Step()
	want("refused by the ASIC", "SWSS_RC_UNAVAIL 10.11.0.0/16 err_str=SWSS_RC_UNAVAIL blackhole=true protocol=bgp")
}

// gone simulates a syncd that has ended, so no route can be created or removed.
type gone struct {
	sai.API
	is *bool
}

func (g gone) BulkCreateEntries(ctx context.Context, entries []sai.Entry, attrs [][]sai.Attr) []error {
	if !*g.is {
		return g.API.BulkCreateEntries(ctx, entries, attrs)
	}
	return slices.Repeat([]error{errors.New("no answer from syncd")}, len(entries))
}

func (g gone) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	if !*g.is {
		return g.API.BulkRemove(ctx, keys)
	}
	return slices.Repeat([]error{errors.New("no answer from syncd")}, len(keys))
}

// If syncd ends while it handles many routes, the number of log lines is small, whatever the number of routes.
func TestErrorsOfManyRoutesAreBounded(t *testing.T) {
	b := newBench(t)
	ended := false
	b.Layer = func(api sai.API) sai.API { return gone{api, &ended} }
	b.begin()
	b.do(routed...)
	const many, limit = 500, 40
	key := func(block, i int) string { return fmt.Sprintf("20.%d.%d.%d", block, i>>8, i&255) }
	for i := range many {
		b.zebras(key(0, i), "blackhole", "true")
	}
	b.Step()
	b.Logged, ended = nil, true
	for i := range many {
		b.zebras(key(0, i))
		b.zebras(key(1, i), "blackhole", "true")
	}
	b.Step()
	text := strings.Join(b.Logged, "\n")
	if n := len(b.Logged); n == 0 || n > limit {
		t.Errorf("%d lines, want 1 to %d; the first: %q", n, limit, b.Logged[:min(n, 3)])
	}
	if !strings.Contains(text, "more errors of the same pass are left out of the log") {
		t.Errorf("the log does not say how many errors there were:\n%s", text)
	}
	b.Logged, ended = nil, false
	b.zebras("20.2.0.0", "blackhole", "true")
	b.Step()
	if got := b.listed(); len(got) != many {
		t.Errorf("%d routes have failed, want %d: what was refused stays so until its row changes", len(got), many)
	}
}
