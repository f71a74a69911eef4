package routes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/sai"
)

// A pass over the changed rows of routes has the same result as one over all rows, after every change. This holds for
// refused rows, waiting rows, and rows that share a prefix. The statuses are the same too.
func TestIncrementalPassAsFullPass(t *testing.T) {
	fixed, slow := randtest.Cases{Seed: 93_000_000, Count: 60, Short: 10}, 0
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		few, all := newBench(t), newBench(t)
		all.orch.ledger.Incremental = nil
		quick := 0
		pass := few.orch.ledger.Incremental
		few.orch.ledger.Incremental = func(ctx context.Context) (touched []orch.RowKey, ok bool) {
			if touched, ok = pass(ctx); ok {
				quick++
			}
			return touched, ok
		}
		for range 80 {
			line := randomLine(rnd)
			if rnd.IntN(20) == 0 { // the ASIC refuses one call
				n := 1 + rnd.IntN(3)
				few.Rec.FailAt(n, sai.StatusFailure)
				all.Rec.FailAt(n, sai.StatusFailure)
			}
			few.do(line)
			all.do(line)
			if d := cmp.Diff(all.asic(), few.asic()); d != "" {
				t.Fatalf("the ASIC after %q: -all +few\n%s", line, d)
			}
			if d := cmp.Diff(all.statuses(), few.statuses()); d != "" {
				t.Fatalf("statuses after %q: -all +few\n%s", line, d)
			}
		}
		if quick == 0 { // after permanent refusals, every pass considers all rows
			slow++
		}
	})
	if (testing.Short() || run.Whole(fixed)) && slow > run.Count/100 {
		t.Errorf("in %d of %d cases no change was a few, want at most one of a hundred", slow, run.Count)
	}
}

// randomLine returns a random change, mostly of a route.
func randomLine(rnd *rand.Rand) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	name := pick("Vlan10", "Ethernet4", "Ethernet8", "Loopback0")
	host := rnd.IntN(4)
	end := pick("", "", "-")
	switch rnd.IntN(12) {
	case 0:
		return end + "INTF_TABLE:" + name
	case 1:
		return end + fmt.Sprintf("INTF_TABLE:%s:10.%d.0.%d/24", name, rnd.IntN(3), host)
	case 2, 3:
		return end + fmt.Sprintf("NEIGH_TABLE:%s:10.%d.0.%d neigh=02:00:00:00:00:0%d", name, rnd.IntN(3), host, host)
	case 4:
		return pick("-port ", "port ", "-link ", "link ") + pick("Vlan10", "Ethernet4")
	}
	key := pick("", "default:") + pick("10.9.0.0/16", "10.9.1.0/24", "10.0.0.0/24", "10.1.0.0/24", "10.0.0.1/32",
		"0.0.0.0/0", "10.9.9.9", "bad")
	hops := []string{
		"blackhole=true", "ifname=" + name, fmt.Sprintf("nexthop=10.0.0.%d ifname=%s", host, name),
		fmt.Sprintf("nexthop=10.0.0.%d,10.1.0.%d ifname=Vlan10,Ethernet4", host, rnd.IntN(4)),
		fmt.Sprintf("nexthop=10.0.0.%d,10.0.0.%d,10.1.0.2 ifname=Vlan10,Vlan10,%s weight=1,2,3", host, rnd.IntN(4), name),
		"nexthop=x ifname=" + name,
	}
	return end + "ROUTE_TABLE:" + key + " " + pick(hops...)
}
