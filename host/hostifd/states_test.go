package hostifd

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

func (b *bench) hostNeighbors() (list []string) {
	b.t.Helper()
	rows, err := swss.NewTable(b.r.DB(swss.StateDB), schema.StateHostNeigh).Dump(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, key+" "+rows[key]["state"]+" "+rows[key]["neigh"])
	}
	return list
}

func stateful(name, addr, mac, state string) Neighbor {
	n := neighbor(name, addr, mac)
	n.State = state
	return n
}

// Neighbours of Linux have rows with their states in hostd's table; those of an earlier process are removed if Linux
// does not report them in time.
func TestNeighborStates(t *testing.T) {
	const mac = "02:00:00:00:00:11"
	b := newBench(t)
	b.ports()
	b.learned(stateful("Ethernet0", "10.0.0.2", mac, "REACHABLE"), stateful("Ethernet0", "10.0.0.3", "", "FAILED"),
		stateful("Ethernet0", "2001:db8::2", mac, "STALE"))
	want := func(what string, lines ...string) {
		t.Helper()
		if d := cmp.Diff(lines, b.hostNeighbors()); d != "" {
			t.Errorf("%s: -want +got\n%s", what, d)
		}
	}
	want("reported", "Ethernet0|10.0.0.2 REACHABLE "+mac, "Ethernet0|10.0.0.3 FAILED ", "Ethernet0|2001:db8::2 STALE "+mac)
	b.learned(stateful("Ethernet0", "10.0.0.2", mac, "STALE"), stateful("Ethernet0", "10.0.0.3", "", ""))
	want("changed", "Ethernet0|10.0.0.2 STALE "+mac, "Ethernet0|2001:db8::2 STALE "+mac)
	b.d.Close()
	b.begin()
	b.step()
	b.learned(stateful("Ethernet0", "10.0.0.2", mac, "REACHABLE"))
	want("another process begins", "Ethernet0|10.0.0.2 REACHABLE "+mac, "Ethernet0|2001:db8::2 STALE "+mac)
	b.pass(retryAfter)
	b.pass(neighborTime)
	b.pass(retryAfter)
	want("Linux has had its time", "Ethernet0|10.0.0.2 REACHABLE "+mac)
}

// A neighbour is probed every 300 seconds; a configured or permanent one is not.
func TestNeighborsAreAskedAgain(t *testing.T) {
	const mac = "02:00:00:00:00:11"
	b := newBench(t)
	b.ports()
	b.set("NEIGH_TABLE:Ethernet0:10.0.0.9 neigh=" + mac + " family=IPv4 config_key=Ethernet0|10.0.0.9")
	zebras := neighbor("Ethernet0", "169.254.0.1", mac)
	zebras.Permanent = true
	b.learned(neighbor("Ethernet0", "10.0.0.2", mac), neighbor("Ethernet0", "10.0.0.9", mac), zebras)
	b.pass(retryAfter)
	for round := range 3 {
		for passed := time.Duration(0); passed < refreshTime-retryAfter; passed += retryAfter {
			b.pass(retryAfter)
			if len(b.k.wanted) > 0 {
				t.Fatalf("round %d: asked after %s: %v", round, passed, b.k.wanted)
			}
		}
		b.pass(retryAfter)
		if d := cmp.Diff([]string{"Ethernet0:10.0.0.2"}, b.k.wanted); d != "" {
			t.Fatalf("round %d: asked after %s: -want +got\n%s", round, refreshTime, d)
		}
		b.k.wanted = nil
	}
	b.learned(neighbor("Ethernet0", "10.0.0.2", ""))
	b.pass(2 * refreshTime)
	if len(b.k.wanted) > 0 || len(b.s.next) > 1 {
		t.Errorf("after it has gone %v are asked, and %v remembered", b.k.wanted, b.s.next)
	}
}

// While the state of a PortChannel is unknown, as syncd is restarted, syncd receives the carrier that it had before.
// That of a port is the HOSTIF object's.
func TestCarrierWhileUnknown(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20, Short: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		b := newBench(t)
		b.set("PORT_TABLE:PortConfigDone count=2")
		carrier := map[string]bool{}
		for range 30 {
			name := []string{"PortChannel1", "PortChannel2", "PortChannel3"}[rnd.IntN(3)]
			status := []string{schema.OperUp, schema.OperDown, schema.OperUnknown, schema.OperUnknown}[rnd.IntN(4)]
			b.set("LAG_TABLE:" + name + " admin_status=up mtu=9100 oper_status=" + status)
			if status != schema.OperUnknown {
				carrier[name] = status == schema.OperUp
			}
			for of, want := range carrier {
				if asked, is := b.k.beside[of]; !is || asked.Up != want {
					t.Fatalf("%s is %s now: %s has %+v, want a carrier: %v", name, status, of, asked, want)
				}
			}
		}
	})
}
