package marks

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// Random networks have one or two lossy links, and flow groups that use some of the paths. Guilty links have lost
// packets, and each lossy cluster contains a lossy link. If one link lost all packets, it is among the links that
// explain all losses by themselves. It is the only one if no other link is in all lossy clusters.
func TestAltMarkBlameRandom(t *testing.T) {
	found, guilty := 0, 0
	fixed := randtest.Cases{Seed: 914230000, Count: 200, Short: 60}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		network := randomGraph(rnd)
		lossy := map[Link]int{}
		for range 1 + rnd.IntN(5)/4 {
			lossy[network.Links[rnd.IntN(len(network.Links))]] = 1 + rnd.IntN(30)
		}
		flows := randomFlows(t, rnd, network)
		b := NewBlame(slices.Collect(maps.Values(flows))...)
		lost := map[uint64]map[Link]bool{}
		sets := map[uint64][][]Link{} // links of each lossy cluster, by period
		said := map[uint64]Suspects{}
		for _, name := range slices.Sorted(maps.Keys(flows)) {
			m := flows[name]
			blame(b, said, m, func(k uint64) []uint64 {
				w := walkOf(rnd, m.graph, lossy)
				for _, c := range m.Clusters() {
					if slices.ContainsFunc(c.Links, func(l Link) bool { return w.lost[l] > 0 }) {
						sets[k] = append(sets[k], c.Links)
					}
				}
				for l, n := range w.lost {
					if n > 0 && lost[k] == nil {
						lost[k] = map[Link]bool{}
					}
					if n > 0 {
						lost[k][l] = true
					}
				}
				return w.counted
			})
		}
		for k, s := range said {
			checkSuspects(t, s, lost[k], sets[k])
			if guilty += len(s.Guilty); len(s.Alone) == 1 && len(s.Guilty) == 0 {
				found++
			}
		}
	})
	if (found == 0 || guilty == 0) && (testing.Short() || run.Whole(fixed)) {
		t.Errorf("%d links were found by several flow groups together, %d by one: want some of both", found, guilty)
	}
}

// randomFlows returns graphs of flow groups, each of some links of a network.
func randomFlows(t *testing.T, rnd *rand.Rand, network Graph) map[string]*Mesh {
	t.Helper()
	flows := map[string]*Mesh{}
	for i := range 2 + rnd.IntN(4) {
		var links []string
		for _, l := range network.Links {
			if rnd.IntN(3) > 0 {
				links = append(links, l.String())
			}
		}
		if len(links) == 0 {
			links = []string{network.Links[0].String()}
		}
		g := graphOf(altmark.Step, links...)
		g.Name = fmt.Sprintf("f%d", i)
		flows[g.Name] = newMesh(t, g)
	}
	return flows
}

// blame makes the points of a graph report four periods, all of which have alarms.
func blame(b *Blame, said map[uint64]Suspects, m *Mesh, counted func(k uint64) []uint64) {
	collect := func(results []Result) {
		for _, r := range results {
			b.Add(r)
			b.Alarm(Alarm{Whole: r})
		}
		for _, s := range b.Suspects() {
			said[s.Period] = s
		}
	}
	for k := uint64(1000); k < 1004; k++ {
		for i, n := range counted(k) {
			p := report(k, n, 0)
			p.Captures, p.Timestamp = 0, altmark.Time{}
			collect(m.Add(i, p, p.ReadAt.Std()))
		}
	}
	collect(m.Flush())
}

// checkSuspects compares the suspects of a period with the lossy links and clusters.
func checkSuspects(t *testing.T, s Suspects, lost map[Link]bool, sets [][]Link) {
	t.Helper()
	all := slices.Clone(sets[0])
	for _, links := range sets {
		all = slices.DeleteFunc(all, func(l Link) bool { return !slices.Contains(links, l) })
		if only := len(links) == 1; only && !slices.Contains(s.Guilty, links[0]) {
			t.Fatalf("%s: %s is the only link of a cluster that lost packets, and not guilty", s, links[0])
		}
	}
	if len(all) != len(s.Alone) ||
		slices.ContainsFunc(all, func(l Link) bool { return !slices.Contains(s.Alone, l) }) {
		t.Fatalf("%s: want that %v are in all clusters that lost packets", s, all)
	}
	for _, l := range s.Guilty {
		if !lost[l] {
			t.Fatalf("%s: %s lost nothing", s, l)
		}
	}
	for l := range lost {
		if len(lost) == 1 && !slices.Contains(s.Alone, l) {
			t.Fatalf("%s: only %s lost packets, and is not among those that explain all", s, l)
		}
	}
	if len(lost) < 2 && len(s.Alone) == 0 {
		t.Fatalf("%s: one link lost packets", s)
	}
	for _, links := range s.Open {
		if !slices.ContainsFunc(links, func(l Link) bool { return lost[l] }) {
			t.Fatalf("%s: none of %v lost packets", s, links)
		}
	}
}

func TestAltMarkSuspectsText(t *testing.T) {
	flows := map[string]*Mesh{}
	for name, links := range map[string][]string{"web": {"l1>s1", "l1>s2", "s1>l2", "s2>l2"},
		"voice": {"l3>s1", "s1>l2", "s1>l4"}} {
		g := graphOf(altmark.Step, links...)
		g.Name = name
		flows[name] = newMesh(t, g)
	}
	b, said := NewBlame(flows["web"], flows["voice"]), map[uint64]Suspects{}
	blame(b, said, flows["web"], func(uint64) []uint64 { return []uint64{100, 60, 40, 95} })
	if len(said) > 0 {
		t.Errorf("of one flow group alone it is said %v", said)
	}
	blame(b, said, flows["voice"], func(uint64) []uint64 { return []uint64{50, 50, 30, 18} })
	if got, want := said[1000].String(), "suspects: period 1000, by the losses of voice web; s1>l2 alone explains all; "+
		"lost at one or more of s1>l2 s1>l4; lost at one or more of s1>l2 s2>l2"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	// A revised result replaces the blame that the earlier one added.
	for _, c := range flows["voice"].Clusters() {
		b.Add(Result{Path: "voice", From: c.Ends()[0], To: c.Ends()[1], Period: 1000, Start: altmark.Time{Seconds: 1000},
			LossValid: true})
	}
	if all := b.Suspects(); len(all) != 1 || all[0].String() !=
		"suspects: period 1000, by the losses of web; each alone explains all: s1>l2 s2>l2; lost at one or more of s1>l2 "+
			"s2>l2" {
		t.Errorf("%v", all)
	}
}
