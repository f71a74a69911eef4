package marks

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// On random graphs with splits and random lossy links, an alarm is raised exactly if the loss of the whole graph
// exceeds the threshold. If that loss is unknown, the loss of a cluster must exceed it. The alarm names each lossy
// cluster with its exact loss, and each lossy link within its bounds. For a cluster of one link, it names the link with
// the exact loss.
func TestAltMarkDrillRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 17))
		g := randomGraph(rnd)
		m := newMesh(t, g)
		threshold := rnd.Float64() / 10
		d, err := NewDrill(m, threshold)
		if err != nil {
			t.Fatal(err)
		}
		lossy := map[Link]int{}
		for range rnd.IntN(4) {
			lossy[g.Links[rnd.IntN(len(g.Links))]] = 1 + rnd.IntN(30)
		}
		walks, alarms, whole := map[uint64]walk{}, map[uint64]Alarm{}, map[uint64]Result{}
		parts := map[uint64]map[[2]string]Result{}
		silent := rnd.IntN(3*len(g.Points) + 1) // index of a point without a report in one period
		collect := func(results []Result) {
			for _, r := range results {
				if m.Whole() == [2]string{r.From, r.To} {
					whole[r.Period] = r
				} else if parts[r.Period] == nil {
					parts[r.Period] = map[[2]string]Result{{r.From, r.To}: r}
				} else {
					parts[r.Period][[2]string{r.From, r.To}] = r
				}
				if a, ok := d.Add(r); ok && a.Withdrawn {
					delete(alarms, r.Period)
				} else if ok {
					alarms[r.Period] = a
				}
			}
		}
		for k := uint64(1000); k < 1012; k++ {
			walks[k] = walkOf(rnd, g, lossy)
			for i, n := range walks[k].counted {
				p := report(k, n, 0)
				if p.Captures, p.Timestamp = 0, (altmark.Time{}); i != silent || k != 1004 {
					collect(m.Add(i, p, p.ReadAt.Std()))
				}
			}
		}
		collect(m.Flush())
		for k, r := range whole {
			a, alarmed := alarms[k]
			want := r.LossValid && float64(r.Lost) > threshold*float64(r.Sent)
			for _, c := range parts[k] {
				want = want || !r.LossValid && c.LossValid && float64(c.Lost) > threshold*float64(c.Sent)
			}
			if alarmed != want {
				t.Fatalf("alarm %v, want %v: %s", alarmed, want, line(r))
			}
			if alarmed {
				checkAlarm(t, a, walks[k], g.Links)
			}
		}
	})
}

func checkAlarm(t *testing.T, a Alarm, w walk, links []Link) {
	t.Helper()
	for _, l := range links {
		in := slices.IndexFunc(a.Clusters, func(c Loss) bool { return slices.Contains(c.Links, l) })
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
		b := c.Bounds(a)
		if sum < b.Least || sum > b.Most || c.LossValid && b.Least != b.Most {
			t.Fatalf("%s: the links of %s lost %d, want %s", a, l, sum, b)
		}
		if b = c.LinkBounds(a); w.lost[l] < b.Least || w.lost[l] > b.Most ||
			len(c.Links) == 1 && c.LossValid && w.lost[l] != b.Most {
			t.Fatalf("%s: %s lost %d, want %s", a, l, w.lost[l], b)
		}
	}
}

func TestAltMarkAlarmText(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Step, "l1>s1", "l1>s2", "s1>l2", "s2>l2", "l2>l3"))
	d, err := NewDrill(m, 0.01)
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
	const want = "alarm: g period 10 lost 20 of 1000: l2>l3 lost 15, link l2>l3; s1+s2>l2 lost 5, 0 to 5 at each of " +
		"s1>l2 s2>l2"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if _, err := NewDrill(m, 1); err == nil || !strings.Contains(err.Error(), "want 0 to less than 1") {
		t.Error(err)
	}
}

// If packets bypassed a spine, the loss of the whole graph is an alarm. No cluster is named, because the loss of each
// is unknown.
func TestAltMarkAlarmBypassed(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Step, "l1>s1", "s1>l2"))
	d, err := NewDrill(m, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]string{}
	for k := uint64(10); k < 14; k++ {
		for i, n := range []uint64{1000, 500, 900 + 100*(k&1)} {
			p := report(k, n, 0)
			p.Captures, p.Timestamp = 0, altmark.Time{}
			for _, r := range m.Add(i, p, p.ReadAt.Std()) {
				if a, ok := d.Add(r); ok {
					got[r.Period] = a.String()
				}
			}
		}
	}
	const why = "(split-or-duplicated: l2 counted 900 packets, and s1 500)"
	const want = "alarm: g period 10 lost 100 or more " + why + ": l1>s1 lost 0 or more " + why +
		", link l1>s1; s1>l2 lost 0 or more " +
		why + ", link s1>l2"
	if got[10] != want || got[11] != "" {
		t.Errorf("%s, and %s\nwant %s", got[10], got[11], want)
	}
}

// A missing report hides the loss of the whole graph, but not that of a cluster that it does not concern.
func TestAltMarkAlarmOfClusters(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Step, "l1>s1", "l1>s2", "s1>l2", "s2>l2", "l2>l3"))
	d, err := NewDrill(m, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]string{}
	collect := func(results []Result) {
		for _, r := range results {
			if a, ok := d.Add(r); ok {
				got[r.Period] = a.String()
			}
		}
	}
	for k := uint64(10); k < 14; k++ {
		for i, n := range []uint64{1000, 600, 400, 980, 980} {
			p := report(k, n, 0)
			if p.Captures, p.Timestamp = 0, (altmark.Time{}); i < 4 || k > 11 {
				collect(m.Add(i, p, p.ReadAt.Std()))
			}
		}
	}
	collect(m.Flush())
	const want = "alarm: g period 10 lost 20 or more (l3: no report): l2>l3 lost 0 or more (l3: no report), link l2>l3; " +
		"s1+s2>l2 lost 20, 0 to 20 at each of s1>l2 s2>l2"
	if got[10] != want {
		t.Errorf("%s\nwant %s", got[10], want)
	}
}

// An alarm that a later report refutes is withdrawn, once.
func TestAltMarkAlarmWithdrawn(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Step, "l1>s1", "s1>l2"))
	d, err := NewDrill(m, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	collect := func(i int, p altmark.Period) {
		for _, a := range d.AddAll(m.Add(i, p, p.ReadAt.Std())...) {
			got = append(got, a.String())
		}
	}
	for k := uint64(10); k < 13; k++ {
		for i, n := range []uint64{1000, 1000, 900} {
			p := report(k, n, 0)
			if p.Captures, p.Timestamp = 0, (altmark.Time{}); k > 10 {
				p.Packets = 1000
			}
			collect(i, p)
		}
	}
	late := report(10, 900, 0)
	late.Captures, late.Timestamp, late.Flags = 0, altmark.Time{}, altmark.LateFrames
	collect(2, late)
	collect(2, late)
	want := []string{"alarm: g period 10 lost 100 of 1000: s1>l2 lost 100, link s1>l2",
		"no alarm: g period 10 lost 0 or more (l2: late-frames): s1>l2 lost 0 or more (l2: late-frames), link s1>l2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
