package routes

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/sai"
)

const twoHops = "ROUTE_TABLE:10.9.0.0/16 nexthop=10.0.0.2,10.4.0.2 ifname=Vlan10,Ethernet4"

var twoNeighbors = append(slices.Clone(routed), "NEIGH_TABLE:Vlan10:10.0.0.2 neigh=02:00:00:00:00:02",
	"NEIGH_TABLE:Ethernet4:10.4.0.2 neigh=02:00:00:00:00:04")

// leads returns the addresses of the next hops that the route leads to.
func (b *bench) leads(prefix string) string {
	var to []string
	for _, line := range b.asic() {
		if strings.HasPrefix(line, "route "+prefix+" ") {
			for _, a := range []string{"10.0.0.2", "10.4.0.2"} {
				if strings.Contains(line, "hop "+a) {
					to = append(to, a)
				}
			}
		}
	}
	return strings.Join(to, " ")
}

// A next hop whose port is down is not a member of a group while another next hop is up.
func TestPortDown(t *testing.T) {
	const (
		both = "10.0.0.2 10.4.0.2"
		all  = "active: the ports of all next hops are down, and none is left out"
	)
	b := newBench(t)
	b.do(append(slices.Clone(twoNeighbors), twoHops, "ROUTE_TABLE:10.8.0.0/16 nexthop=10.4.0.2 ifname=Ethernet4")...)
	for _, step := range []struct{ do, leads, status string }{
		{"link Ethernet4", both, "active"},
		{"-link Ethernet4", "10.0.0.2", "active: 10.4.0.2 on Ethernet4 is left out: Ethernet4 is down"},
		{"-link Vlan10", both, all},
		{"link Ethernet4", "10.4.0.2", "active: 10.0.0.2 on Vlan10 is left out: Vlan10 is down"},
		{"link Vlan10", both, "active"},
		{"-link Ethernet8", both, "active"},
	} {
		b.do(step.do)
		if got := b.leads("10.9.0.0/16"); got != step.leads {
			t.Errorf("%s: leads to %q, want %q", step.do, got, step.leads)
		}
		if got := b.Status("STATIC_ROUTE_TABLE|10.9.0.0/16"); got != step.status {
			t.Errorf("%s: got %q, want %q", step.do, got, step.status)
		}
		if got, status := b.leads("10.8.0.0/16"),
			b.Status("STATIC_ROUTE_TABLE|10.8.0.0/16"); got != "10.4.0.2" || status != "active" {
			t.Errorf("%s: the route with one next hop leads to %q: %s", step.do, got, status)
		}
	}
}

// Whichever call fails while the link of a port changes, the route leads to both next hops once its row is written
// again. Nothing is left over.
func TestEveryCallOfPortDownFails(t *testing.T) {
	once := newBench(t)
	once.do(append(slices.Clone(twoNeighbors), twoHops)...)
	want := once.asic()
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusTableFull} {
		for n := 1; ; n++ {
			b := newBench(t)
			b.do(append(slices.Clone(twoNeighbors), twoHops)...)
			b.Rec.FailAt(n, status)
			b.do("-link Ethernet4")
			b.do("link Ethernet4")
			if b.Rec.Changes() < n {
				if n < 5 {
					t.Errorf("only %d calls", n-1)
				}
				break
			}
			b.do(twoHops)
			if d := cmp.Diff(want, b.asic()); d != "" {
				t.Errorf("%s at call %d: %s", status, n, d)
			}
			if got := b.Status("STATIC_ROUTE_TABLE|10.9.0.0/16"); got != "active" {
				t.Errorf("%s at call %d: %s", status, n, got)
			}
		}
	}
}
