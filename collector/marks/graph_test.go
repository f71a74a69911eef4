package marks

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// graphOf returns a graph of links such as a>b, whose sessions have the roles that follow from their positions.
func graphOf(method altmark.Method, links ...string) Graph {
	g := Graph{Name: "g"}
	for _, text := range links {
		from, to, _ := strings.Cut(text, ">")
		g.Links = append(g.Links, Link{from, to})
		for _, name := range []string{from, to} {
			if !slices.ContainsFunc(g.Points, func(p Point) bool { return p.Switch == name }) {
				g.Points = append(g.Points, Point{Switch: name, Session: "s"})
			}
		}
	}
	roles := g.roles()
	for i := range g.Points {
		for _, p := range threePoints(method).Points {
			if p.Settings.Role == roles[g.Points[i].Switch] {
				g.Points[i].Settings = p.Settings
			}
		}
	}
	return g
}

func newMesh(t *testing.T, g Graph) *Mesh {
	t.Helper()
	m, err := NewMesh(g)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Links with the same start are in one cluster, and so are those with the same end.
func TestAltMarkClusters(t *testing.T) {
	for _, c := range []struct{ links, want string }{
		{"a>b", "a:b"},
		{"a>b b>c", "a:b b:c"},
		{"l1>s1 l1>s2 s1>l2 s2>l2", "l1:s1+s2 s1+s2:l2"},
		{"l1>s1 l1>s2 l3>s2 s1>l2 s2>l2 s2>l4", "l1+l3:s1+s2 s1+s2:l2+l4"},
		{"a>b a>c b>d c>e d>f e>f", "a:b+c b:d c:e d+e:f"},
		{"a>b a>c b>c", "a+b:b+c"}, // packets of b count on both sides of the cluster
	} {
		var got []string
		for _, k := range graphOf(altmark.Step, strings.Fields(c.links)...).Clusters() {
			got = append(got, k.Ends()[0]+":"+k.Ends()[1])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("clusters of %s: %s, want %s", c.links, got, c.want)
		}
	}
}

// In a leaf-spine network the loss of a path through one spine is meaningless. The loss of the clusters is exact.
func TestAltMarkLeafSpine(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Double, "l1>s1", "l1>s2", "s1>l2", "s2>l2"))
	var got []Result
	for k := uint64(10); k < 13; k++ {
		other := report(k, 400, 0)
		other.Captures = 0
		for i, p := range []altmark.Period{report(k, 1000, 0), report(k, 595, 3*ms), other, report(k, 990, 9*ms)} {
			got = append(got, m.Add(i, p, p.ReadAt.Std())...)
		}
	}
	wantLines(t, got, "10 l1>s1+s2 ok lost 5 delay 3ms", "10 l1>l2 ok lost 10 delay 9ms",
		"10 s1+s2>l2 ok lost 5 delay 6ms")
	if s := m.Stats(); s.Reports != 12 || s.Duplicates != 0 {
		t.Errorf("%+v", s)
	}
}

// Packets at a switch outside the graph make the whole period uncertain, and so does a missing report of that switch.
func TestAltMarkOffGraph(t *testing.T) {
	g := graphOf(altmark.Double, "l1>l2")
	g.Watched = []Point{{"s9", "s", g.Points[0].Settings}}
	m := newMesh(t, g)
	for k := uint64(10); k < 17; k++ {
		for i := range 3 {
			p := report(k, 100, 7*time.Duration(i)*ms)
			if i == 2 {
				if p.Packets, p.Captures = 0, 0; k == 11 {
					p.Packets = 3
				}
			}
			if i < 2 || k != 12 {
				m.Add(i, p, p.ReadAt.Std())
			}
		}
	}
	var got []Result
	for _, e := range m.joins[0].entries[:4] {
		got = append(got, m.joins[0].results(e)...)
	}
	wantLines(t, got, "10 l1>l2 ok lost 0 delay 7ms",
		"11 l1>l2 flagged delay 7ms jitter 0s: off-graph: s9 counted 3 packets, and is not of the graph",
		"12 l1>l2 flagged delay 7ms jitter 0s: s9: no report, which shows whether packets leave the graph",
		"13 l1>l2 ok lost 0 delay 7ms jitter 0s")
}

// A watched switch with a count of zero proves under three conditions that no packet arrived. Its counts must be
// complete, of the right time, and include late packets.
func TestAltMarkOffGraphUnknown(t *testing.T) {
	l := graphOf(altmark.Step, "l1>l2").Points[0].Settings.Interval.Duration()
	for _, c := range []struct {
		what   string
		change func(p *altmark.Period, arrived *time.Time)
		want   string
	}{
		{"nothing", func(*altmark.Period, *time.Time) {}, ""},
		{"it restarted", func(p *altmark.Period, _ *time.Time) {
			if p.Number == 12 {
				p.Flags |= altmark.CounterReset
			}
		}, "s9: counter-reset in the report that shows whether packets leave the graph"},
		{"its clock is 2L apart", func(p *altmark.Period, arrived *time.Time) {
			*arrived = arrived.Add(2 * l)
		}, "clocks-apart"},
		{"a packet came late", func(p *altmark.Period, _ *time.Time) {
			if p.Number == 14 {
				p.Flags, p.OutOfWindow = p.Flags|altmark.OutOfWindow, 1
			}
		}, "off-graph: s9 counted packets out of window in period 14, and is not of the graph"},
	} {
		g := graphOf(altmark.Step, "l1>l2")
		g.Watched = []Point{{"s9", "s", g.Points[0].Settings}}
		m := newMesh(t, g)
		var last Result
		for k := uint64(10); k < 18; k++ {
			for i := range 3 {
				p := report(k, []uint64{100, 98, 0}[i], 0)
				at := p.ReadAt.Std()
				if p.Captures = 0; i == 2 {
					c.change(&p, &at)
				}
				for _, r := range m.Add(i, p, at) {
					if r.Period == 12 {
						last = r
					}
				}
			}
		}
		reasons := strings.Join(last.Reasons, "; ")
		switch {
		case c.what == "nothing":
			if !last.LossValid || last.Lost != 2 || reasons != "" {
				t.Errorf("%s", line(last))
			}
		case last.LossValid || last.Status != Flagged || !strings.Contains(reasons, c.want):
			t.Errorf("%s: %s, want %s", c.what, line(last), c.want)
		}
	}
}

// Two initiators each mark a pulse of a muxed mark. If one pulse is lost and a late packet arrives in its place, the
// number of pulses is unchanged. So no loss is certain.
func TestAltMarkMuxedInitiators(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Muxed, "a>c", "b>d", "a>d", "b>c"))
	results := map[uint64]Result{}
	for k := uint64(10); k < 18; k++ {
		for i, p := range m.Points() {
			r := report(k, 100, 0)
			if p.Settings.Role == altmark.Terminator {
				r = report(k, 100, time.Millisecond)
			}
			if r.Digest = uint32(k)<<8 + uint32(strings.Index("abcd", p.Switch)&1); k == 13 && p.Switch == "c" {
				r.Digest = 99 // a late packet of period 12 replaces the lost pulse
			}
			if k == 12 && p.Switch == "c" {
				r.Packets--
			}
			for _, x := range m.Add(i, r, r.ReadAt.Std()) {
				results[x.Period] = x
			}
		}
	}
	if r := results[12]; r.LossValid || !strings.Contains(strings.Join(r.Reasons, "; "),
		"a+b had 2 pulses in period 13, which cannot be told apart") {
		t.Errorf("%s", line(r))
	}
}

// Invalid graphs are refused. Faults of sessions are reported in each result.
func TestAltMarkGraphRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Graph)
		want   string
	}{
		{func(g *Graph) { g.Name = "" }, `graph "" has no name`},
		{func(g *Graph) { g.Wait = 9 }, "graph g: wait is 9, want 1 to 8 periods, or 0 for 3"},
		{func(g *Graph) { g.Links = nil }, "graph g: switch a has no link, want one at least"},
		{func(g *Graph) { *g = Graph{Name: "g"} }, "graph g has no links, want one at least"},
		{func(g *Graph) { g.Points[1].Switch = "a" }, "graph g: switch a is there twice, want different switches"},
		{func(g *Graph) { g.Points[1].Switch = "a+c" },
			"graph g: switch a+c: want a name without +, which stands between names in results"},
		{func(g *Graph) { g.Points[1].Session = "" }, `graph g: point 2 has switch "b" and session "", want names`},
		{func(g *Graph) { g.Links = append(g.Links, Link{"a", "z"}) },
			"graph g: link a>z: want switches that are points of it"},
		{func(g *Graph) { g.Links = append(g.Links, Link{"a", "b"}) }, "graph g: link a>b is there twice"},
		{func(g *Graph) { g.Links = append(g.Links, Link{"c", "a"}) },
			"graph g: packets could pass a switch twice: want links without a cycle"},
		{func(g *Graph) { g.Links = append(g.Links, Link{"a", "a"}) },
			"graph g: packets could pass a switch twice: want links without a cycle"},
	} {
		g := graphOf(altmark.Step, "a>b", "b>c")
		c.change(&g)
		if _, err := NewMesh(g); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	g := graphOf(altmark.Double, "a>b", "b>c")
	g.Points[1].Settings.Role = altmark.Terminator
	m := newMesh(t, g)
	for i := range 3 {
		m.Add(i, report(10, 5, 0), time.Time{})
	}
	for _, r := range m.Flush() {
		if r.LossValid || !slices.Contains(r.Reasons, "b: role is terminator, want transit") {
			t.Errorf("%s", line(r))
		}
	}
}

// Only cables on a shortest path become links, in the direction of the packets.
func TestShortestPaths(t *testing.T) {
	var cables []Link
	for _, text := range strings.Fields("s1-l1 s1-l2 s1-l3 l1-s2 l2-s2 l3-s2 l1-l4 l4-s1") {
		a, b, _ := strings.Cut(text, "-")
		cables = append(cables, Link{a, b})
	}
	for _, c := range []struct{ from, to, want string }{
		{"l1", "l2", "[l1>s1 l1>s2 s1>l2 s2>l2]"},
		{"l1 l4", "l2", "[l1>s1 l1>s2 l4>s1 s1>l2 s2>l2]"},
		{"l4", "l1", "[l4>l1]"},
		{"l1", "l1", "[]"},
		{"l1", "nowhere", "[]"},
	} {
		if got := fmt.Sprint(ShortestPaths(cables, strings.Fields(c.from), strings.Fields(c.to))); got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

// A walk sends the packets of a period over a graph with losses. It holds the count of each point and the loss of each
// link.
type walk struct {
	counted []uint64
	lost    map[Link]int64
}

func randomGraph(rnd *rand.Rand) Graph {
	var layers [][]string
	var links []string
	for l := range 2 + rnd.IntN(3) {
		var layer []string
		for i := range 1 + rnd.IntN(3) {
			layer = append(layer, fmt.Sprintf("n%d%d", l, i))
		}
		for _, name := range layer {
			for i, k := 0, 1+rnd.IntN(3); l > 0 && i < k; i++ {
				from := layers[l-1-rnd.IntN(min(l, 2))]
				if link := from[rnd.IntN(len(from))] + ">" + name; !slices.Contains(links, link) {
					links = append(links, link)
				}
			}
		}
		layers = append(layers, layer)
	}
	return graphOf(altmark.Step, links...)
}

func walkOf(rnd *rand.Rand, g Graph, lossy map[Link]int) walk {
	w := walk{make([]uint64, len(g.Points)), map[Link]int64{}}
	for _, at := range g.sources() {
		for range rnd.IntN(200) {
			for at := at; at != ""; {
				w.counted[slices.IndexFunc(g.Points, func(p Point) bool { return p.Switch == at })]++
				var on []Link
				for _, l := range g.Links {
					if l.From == at {
						on = append(on, l)
					}
				}
				if at = ""; len(on) > 0 {
					if l := on[rnd.IntN(len(on))]; rnd.IntN(100) < lossy[l] {
						w.lost[l]++
					} else {
						at = l.To
					}
				}
			}
		}
	}
	return w
}

// On random graphs with splits and random lossy links, the loss of each cluster, and of the whole graph, is exactly the
// loss of its links. If a report is missing, no loss is reported. Every link is in one cluster, which is the smallest
// that links with common ends form.
func TestAltMarkGraphRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200, Short: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		g := randomGraph(rnd)
		m := newMesh(t, g)
		of := map[[2]string][]Link{m.Whole(): g.Links}
		for _, c := range m.Clusters() {
			of[c.Ends()] = c.Links
			if !slices.Equal(c.Links, reached(g, c.Links[0])) {
				t.Fatalf("cluster %v of %v", c, g.Links)
			}
		}
		lossy := map[Link]int{}
		for range rnd.IntN(3) {
			lossy[g.Links[rnd.IntN(len(g.Links))]] = 1 + rnd.IntN(30)
		}
		first, walks, silent := 1000+rnd.Uint64N(1<<30), map[uint64]walk{}, map[uint64]string{}
		results := map[string]Result{}
		for k := first; k < first+12; k++ {
			walks[k] = walkOf(rnd, g, lossy)
			if rnd.IntN(8) == 0 {
				silent[k] = g.Points[rnd.IntN(len(g.Points))].Switch
			}
			for i, n := range walks[k].counted {
				p := report(k, n, 0)
				if p.Captures, p.Timestamp = 0, (altmark.Time{}); g.Points[i].Switch != silent[k] {
					for _, r := range m.Add(i, p, p.ReadAt.Std()) {
						results[fmt.Sprint(r.Period, r.From, r.To)] = r
					}
				}
			}
		}
		for _, r := range m.Flush() {
			results[fmt.Sprint(r.Period, r.From, r.To)] = r
		}
		if want := 12 * len(of); len(results) != want {
			t.Fatalf("%d results, want %d", len(results), want)
		}
		sure := 0
		for _, r := range results {
			want := int64(0)
			for _, l := range of[[2]string{r.From, r.To}] {
				want += walks[r.Period].lost[l]
			}
			ends := strings.Split(r.From+"+"+r.To, "+")
			switch {
			case (r.Status == Missing) != slices.Contains(ends, silent[r.Period]):
				t.Fatalf("%s, and no report of %q", line(r), silent[r.Period])
			case r.LossValid && r.Lost != want:
				t.Fatalf("%s, want %d of links %v", line(r), want, of[[2]string{r.From, r.To}])
			case r.LossValid:
				sure++
			case len(r.Reasons) == 0:
				t.Fatalf("%s: no loss, and no reason", line(r))
			}
		}
		if len(silent) == 0 && sure < 10*len(of) { // the last two periods wait for reports that reveal late packets
			t.Fatalf("%d losses are sure of %d results", sure, len(results))
		}
	})
}

// reached returns the links of the cluster that contains a given link.
func reached(g Graph, from Link) []Link {
	all := []Link{from}
	for i := 0; i < len(all); i++ {
		for _, l := range g.Links {
			if (l.From == all[i].From || l.To == all[i].To) && !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	slices.SortFunc(all, func(a, b Link) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// A graph that is a path gives the results of the path, for any reports.
func TestAltMarkGraphIsPath(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 100, Short: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		path := threePoints(altmark.Method(1 + rnd.IntN(4)))
		path.Wait = 8
		g := Graph{Name: path.Name, Wait: 8, Points: path.Points, Links: []Link{{"mp1", "mp2"}, {"mp2", "mp3"}}}
		m := newMesh(t, g)
		reports := randomReports(rnd, 3, 20)
		want, got := lastResults(t, path, reports), map[string]Result{}
		collect := func(results []Result) {
			for _, r := range results {
				r.Revised = false
				got[fmt.Sprint(r.Period, r.From, r.To)] = r
			}
		}
		for _, r := range reports {
			collect(m.Add(r.point, r.Period, r.arrived))
		}
		collect(m.Flush())
		for key, r := range got {
			if w := want[key]; !reflect.DeepEqual(r, w) {
				t.Fatalf("%+v, and of a path %+v", r, w)
			}
		}
	})
}

// Packets bypass a spine, so more arrive at the next leaf than the spines counted. Then no loss of that period is
// valid, not even that of the cluster before the spines, which was returned earlier.
func TestAltMarkGraphBypassed(t *testing.T) {
	m := newMesh(t, graphOf(altmark.Step, "l1>s1", "l1>s2", "s1>l2", "s2>l2"))
	last := map[string]Result{}
	for k := uint64(10); k < 14; k++ {
		for i, n := range []uint64{1000, 500, 490, 990} {
			if k == 11 && i < 3 {
				n = []uint64{1000, 500, 0}[i]
			}
			p := report(k, n, 0)
			p.Captures, p.Timestamp = 0, altmark.Time{}
			if i == 3 && k == 11 {
				continue // added after the other reports
			}
			for _, r := range m.Add(i, p, p.ReadAt.Std()) {
				last[fmt.Sprint(r.Period, " ", r.From)] = r
			}
		}
	}
	p := report(11, 990, 0)
	p.Captures, p.Timestamp = 0, altmark.Time{}
	before := last["11 l1"]
	for _, r := range m.Add(3, p, p.ReadAt.Std()) {
		if r.To == "s1+s2" {
			last[fmt.Sprint(r.Period, " ", r.From)] = r
		}
	}
	if r := last["11 l1"]; !before.LossValid || r.LossValid || !r.Revised ||
		!strings.Contains(strings.Join(r.Reasons, ""), "split-or-duplicated: l2 counted 990 packets, and s1+s2 500") {
		t.Errorf("%s, then %s", line(before), line(r))
	}
}
