package collector

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// On random graphs with splits and losses at random links an alarm comes exactly where the whole has lost more than is
// accepted. It names each cluster that lost packets, with the number to the packet, and each link that did, within its
// bounds; where the cluster is one link, it is that link and its number.
func TestAltMarkDrillRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 17))
		g := randomGraph(rnd)
		m := newMesh(t, g)
		threshold := rnd.Float64() / 10
		d, err := NewAltMarkDrill(m, threshold)
		if err != nil {
			t.Fatal(err)
		}
		lossy := map[AltMarkLink]int{}
		for range rnd.IntN(4) {
			lossy[g.Links[rnd.IntN(len(g.Links))]] = 1 + rnd.IntN(30)
		}
		walks, alarms, whole := map[uint64]walk{}, map[uint64]AltMarkAlarm{}, map[uint64]AltMarkResult{}
		silent := rnd.IntN(3*len(g.Points) + 1) // a point that says nothing in one period
		take := func(results []AltMarkResult) {
			for _, r := range results {
				if m.Whole() == [2]string{r.From, r.To} {
					whole[r.Period] = r
				}
				if a, ok := d.Add(r); ok {
					alarms[r.Period] = a
				}
			}
		}
		for k := uint64(1000); k < 1012; k++ {
			walks[k] = walkOf(rnd, g, lossy)
			for i, n := range walks[k].counted {
				p := report(k, n, 0)
				if p.Captures, p.Timestamp = 0, (altmark.Time{}); i != silent || k != 1004 {
					take(m.Add(i, p, p.ReadAt.Std()))
				}
			}
		}
		take(m.Flush())
		for k, r := range whole {
			a, alarmed := alarms[k]
			if want := r.LossValid && float64(r.Lost) > threshold*float64(r.Sent); alarmed != want {
				t.Fatalf("alarm %v, want %v: %s", alarmed, want, line(r))
			}
			if alarmed {
				checkAlarm(t, a, walks[k], g.Links)
			}
		}
	})
}

func checkAlarm(t *testing.T, a AltMarkAlarm, w walk, links []AltMarkLink) {
	t.Helper()
	for _, l := range links {
		in := slices.IndexFunc(a.Clusters, func(c AltMarkLoss) bool { return slices.Contains(c.Links, l) })
		if in < 0 {
			if w.lost[l] > 0 {
				t.Fatalf("%s: %s lost %d", a, l, w.lost[l])
			}
			continue
		}
		c, sum := a.Clusters[in], int64(0)
		for _, o := range c.Links {
			sum += w.lost[o]
		}
		least, most := c.Bounds(a)
		if sum < least || sum > most || c.LossValid && least != most {
			t.Fatalf("%s: the links of %s lost %d, want %d to %d", a, l, sum, least, most)
		}
		if least, most = c.LinkBounds(a); w.lost[l] < least || w.lost[l] > most ||
			len(c.Links) == 1 && c.LossValid && w.lost[l] != most {
			t.Fatalf("%s: %s lost %d, want %d to %d", a, l, w.lost[l], least, most)
		}
	}
}

func TestAltMarkAlarmText(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Step, "l1>s1", "l1>s2", "s1>l2", "s2>l2", "l2>l3"))
	d, err := NewAltMarkDrill(m, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for k := uint64(10); k < 13; k++ {
		for i, n := range []uint64{1000, 600, 400, 995, 980} {
			p := report(k, n, 0)
			p.Captures, p.Timestamp = 0, altmark.Time{}
			for _, r := range m.Add(i, p, p.ReadAt.Std()) {
				if a, ok := d.Add(r); ok {
					got = a.String()
				}
			}
		}
	}
	const want = "alarm: g period 10 lost 20 of 1000: l2>l3 lost 15, link l2>l3; s1+s2>l2 lost 5, 0 to 5 at each of s1>l2 s2>l2"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if _, err := NewAltMarkDrill(m, 1); err == nil || !strings.Contains(err.Error(), "want 0 to less than 1") {
		t.Error(err)
	}
}
