package collector

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/tam/altmark"
)

// AltMarkGraph is where the packets of one flow group go between its measurement points: the monitored graph of
// RFC 9342. A packet enters at a point without a link to it, an initiator, passes transits, and leaves at a point
// without a link from it, a terminator. Each packet takes one of the ways that the links make.
type AltMarkGraph struct {
	Name   string
	Points []AltMarkPoint // of different switches
	Links  []AltMarkLink  // without a cycle
	// Watched are sessions of the same flow group at switches that its packets do not pass by the graph. What they count
	// says that it is wrong.
	Watched []AltMarkPoint
	Wait    int // see [AltMarkPath]
}

// AltMarkLink is a link that packets pass from one switch to another.
type AltMarkLink struct{ From, To string }

// String is as leaf1>spine1.
func (l AltMarkLink) String() string { return l.From + ">" + l.To }

// AltMarkCluster is a part of a graph where the packets that pass the points From are those that pass the points To,
// but for losses, and that has no such part itself.
type AltMarkCluster struct {
	From, To []string // switches, sorted; one that has both is in both
	Links    []AltMarkLink
}

// Ends are the names of both sides in a result.
func (c AltMarkCluster) Ends() [2]string {
	return [2]string{strings.Join(c.From, "+"), strings.Join(c.To, "+")}
}

// Clusters are the smallest clusters of a graph, by the algorithm of RFC 9342, section 6.1: links with the same start
// belong together, and so do links with the same end. They are in the order of the packets.
func (g AltMarkGraph) Clusters() []AltMarkCluster {
	of := make([]int, len(g.Links)) // link to the first link of its cluster
	for i := range of {
		of[i] = i
	}
	var root func(int) int
	root = func(i int) int {
		if of[i] != i {
			of[i] = root(of[i])
		}
		return of[i]
	}
	starts, ends := map[string]int{}, map[string]int{}
	join := func(first map[string]int, name string, i int) {
		if j, ok := first[name]; ok {
			a, b := root(i), root(j)
			of[max(a, b)] = min(a, b)
		} else {
			first[name] = i
		}
	}
	for i, l := range g.Links {
		join(starts, l.From, i)
		join(ends, l.To, i)
	}
	clusters := map[int]*AltMarkCluster{}
	for i, l := range g.Links {
		c := clusters[root(i)]
		if c == nil {
			c = &AltMarkCluster{}
			clusters[root(i)] = c
		}
		c.Links = append(c.Links, l)
		c.From, c.To = append(c.From, l.From), append(c.To, l.To)
	}
	at := g.ranks()
	var all []AltMarkCluster
	for _, c := range clusters {
		c.From, c.To = unique(c.From), unique(c.To)
		slices.SortFunc(c.Links, func(a, b AltMarkLink) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b AltMarkCluster) int {
		return cmp.Or(a.rank(at)-b.rank(at), slices.Compare(a.From, b.From))
	})
	return all
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// rank is how far from where packets enter a cluster begins.
func (c AltMarkCluster) rank(at map[string]int) int {
	least := at[c.From[0]]
	for _, name := range c.From {
		least = min(least, at[name])
	}
	return least
}

// ranks are how many links the longest way to each point has; nil: there is a cycle.
func (g AltMarkGraph) ranks() map[string]int {
	at := map[string]int{}
	for range g.Points {
		changed := false
		for _, l := range g.Links {
			if n := at[l.From] + 1; n > at[l.To] {
				at[l.To], changed = n, true
			}
		}
		if !changed {
			return at
		}
	}
	return nil
}

// sources and sinks are the points where packets enter, and leave.
func (g AltMarkGraph) sources() []string { return g.ends(func(l AltMarkLink) string { return l.To }) }
func (g AltMarkGraph) sinks() []string   { return g.ends(func(l AltMarkLink) string { return l.From }) }

func (g AltMarkGraph) ends(far func(AltMarkLink) string) (names []string) {
	for _, p := range g.Points {
		if !slices.ContainsFunc(g.Links, func(l AltMarkLink) bool { return far(l) == p.Switch }) {
			names = append(names, p.Switch)
		}
	}
	return unique(names)
}

// before are the points that packets may have passed when they come to some points, which are not among them.
func (g AltMarkGraph) before(points []string) []string {
	seen := map[string]bool{}
	for next := points; len(next) > 0; {
		var far []string
		for _, l := range g.Links {
			if slices.Contains(next, l.To) && !seen[l.From] {
				seen[l.From] = true
				far = append(far, l.From)
			}
		}
		next = far
	}
	for _, name := range points {
		delete(seen, name)
	}
	return slices.Sorted(maps.Keys(seen))
}

// AltMarkMesh joins the reports of the points of a graph: for each of its smallest clusters, and for the whole of it, if
// that is not a cluster, as [AltMark] does for a path. From and To of its results are the switches of both sides, with a
// + between them. It has a delay where a single packet of the period was marked for it.
//
// It has no clock and no lock.
type AltMarkMesh struct {
	graph    AltMarkGraph
	clusters []AltMarkCluster
	joins    []*AltMark // the whole, then clusters
	users    [][]meshUse
}

// meshUse is where a report of a point goes.
type meshUse struct{ join, stage, point int }

// NewAltMarkMesh returns an error if the graph has no name or no links, if its points are without names or have the
// same switch, if a link is of other switches or is there twice, if packets could pass a point twice, if a point has
// no link, or if Wait is out of its range.
func NewAltMarkMesh(g AltMarkGraph) (*AltMarkMesh, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	g.Wait = cmp.Or(g.Wait, DefaultAltMarkWait)
	m := &AltMarkMesh{graph: g, clusters: g.Clusters(), users: make([][]meshUse, len(g.Points)+len(g.Watched))}
	m.join(m.whole(), g.before(g.sinks()))
	if len(m.clusters) == 1 { // of which points inside say nothing more
		m.clusters[0].From, m.clusters[0].To = g.sources(), g.sinks()
		return m, nil
	}
	for _, c := range m.clusters {
		m.join(c, g.before(c.From))
	}
	return m, nil
}

func (g AltMarkGraph) check() error {
	if g.Name == "" {
		return fmt.Errorf("graph %q has no name", g.Name)
	}
	if g.Wait < 0 || g.Wait > 8 {
		return fmt.Errorf("graph %s: wait is %d, want 1 to 8 periods, or 0 for %d", g.Name, g.Wait, DefaultAltMarkWait)
	}
	linked, known, links := map[string]bool{}, map[string]bool{}, map[AltMarkLink]bool{}
	for i, p := range slices.Concat(g.Points, g.Watched) {
		if p.Switch == "" || p.Session == "" {
			return fmt.Errorf("graph %s: point %d has switch %q and session %q, want names", g.Name, i+1, p.Switch, p.Session)
		}
		if known[p.Switch] {
			return fmt.Errorf("graph %s: switch %s is there twice, want different switches", g.Name, p.Switch)
		}
		known[p.Switch] = true
	}
	for _, p := range g.Watched {
		delete(known, p.Switch)
	}
	for _, l := range g.Links {
		for _, name := range []string{l.From, l.To} {
			if linked[name] = true; !known[name] {
				return fmt.Errorf("graph %s: link %s: want switches that are points of it", g.Name, l)
			}
		}
		if links[l] {
			return fmt.Errorf("graph %s: link %s is there twice", g.Name, l)
		}
		links[l] = true
	}
	for _, p := range g.Points {
		if !linked[p.Switch] {
			return fmt.Errorf("graph %s: switch %s has no link, want one at least", g.Name, p.Switch)
		}
	}
	if len(g.Links) == 0 {
		return fmt.Errorf("graph %s has no links, want one at least", g.Name)
	}
	if g.ranks() == nil {
		return fmt.Errorf("graph %s: packets could pass a switch twice: want links without a cycle", g.Name)
	}
	return nil
}

// join adds the join of a cluster, or of the whole. Its first stage is where the periods of its packets begin; the
// points that its packets may have passed since are not compared, but what they flag may concern the packets.
func (m *AltMarkMesh) join(c AltMarkCluster, before []string) {
	var sources, between []string
	for _, p := range m.graph.Points {
		switch name := p.Switch; {
		case !slices.Contains(before, name) && !slices.Contains(c.From, name):
		case m.graph.role(name) == altmark.Initiator:
			sources = append(sources, name)
		case !slices.Contains(c.From, name):
			between = append(between, name)
		}
	}
	slices.Sort(sources)
	names := [][]string{sources}
	if len(between) > 0 {
		names = append(names, between)
	}
	cluster, watched := [2]int{}, 0
	if !slices.Equal(sources, c.From) {
		cluster[0] = len(names)
		names = append(names, c.From)
	}
	cluster[1] = len(names)
	names = append(names, c.To)
	stages := make([]altMarkStage, len(names))
	for s, stage := range names {
		for _, name := range stage {
			i := slices.IndexFunc(m.graph.Points, func(p AltMarkPoint) bool { return p.Switch == name })
			m.users[i] = append(m.users[i], meshUse{len(m.joins), s, len(stages[s])})
			stages[s] = append(stages[s], altMarkMember{m.graph.Points[i], m.graph.role(name)})
		}
	}
	if len(m.graph.Watched) > 0 {
		watched = len(stages) + 1
		stages = append(stages, nil)
		for n, p := range m.graph.Watched {
			i := len(m.graph.Points) + n
			m.users[i] = append(m.users[i], meshUse{len(m.joins), len(stages) - 1, n})
			stages[len(stages)-1] = append(stages[len(stages)-1], altMarkMember{p, 0})
		}
	}
	join := newAltMarkStages(AltMarkPath{Name: m.graph.Name, Wait: m.graph.Wait}, stages)
	join.graph, join.cluster, join.watched = true, cluster, watched
	m.joins = append(m.joins, join)
}

// role is what the session at a point is to have.
func (g AltMarkGraph) role(name string) altmark.Role {
	switch {
	case slices.Contains(g.sources(), name):
		return altmark.Initiator
	case slices.Contains(g.sinks(), name):
		return altmark.Terminator
	}
	return altmark.Transit
}

// Clusters are those of the graph, in the order of the packets; [AltMarkCluster.Ends] are From and To of their results.
func (m *AltMarkMesh) Clusters() []AltMarkCluster { return m.clusters }

// Whole are From and To of the results of the whole graph.
func (m *AltMarkMesh) Whole() [2]string { return m.whole().Ends() }

func (m *AltMarkMesh) whole() AltMarkCluster {
	return AltMarkCluster{From: m.graph.sources(), To: m.graph.sinks()}
}

// Points are those of the graph and, behind them, those that are watched, with the current settings.
func (m *AltMarkMesh) Points() []AltMarkPoint { return slices.Concat(m.graph.Points, m.graph.Watched) }

// Add takes a report of a point of [AltMarkMesh.Points], see [AltMark.Add].
func (m *AltMarkMesh) Add(point int, p altmark.Period, arrived time.Time) (out []AltMarkResult) {
	for _, u := range m.users[point] {
		out = append(out, m.joins[u.join].add(u.stage, u.point, p, arrived)...)
	}
	return sortAltMark(out)
}

// Advance is [AltMark.Advance].
func (m *AltMarkMesh) Advance(k uint64) (out []AltMarkResult) {
	for _, j := range m.joins {
		out = append(out, j.Advance(k)...)
	}
	return sortAltMark(out)
}

// Flush is [AltMark.Flush].
func (m *AltMarkMesh) Flush() (out []AltMarkResult) {
	for _, j := range m.joins {
		out = append(out, j.Flush()...)
	}
	return sortAltMark(out)
}

// Settings is [AltMark.Settings].
func (m *AltMarkMesh) Settings(point int, s altmark.Session) (out []AltMarkResult) {
	for _, u := range m.users[point] {
		out = append(out, m.joins[u.join].settings(u.stage, u.point, s)...)
	}
	if n := len(m.graph.Points); point < n {
		m.graph.Points[point].Settings = s
	} else {
		m.graph.Watched[point-n].Settings = s
	}
	return sortAltMark(out)
}

// Stats counts the reports, each once.
func (m *AltMarkMesh) Stats() AltMarkStats { return m.joins[0].Stats() }

// Notices is [AltMark.Notices].
func (m *AltMarkMesh) Notices() (all []string) {
	for _, j := range m.joins {
		for _, notice := range j.Notices() {
			if !slices.Contains(all, notice) {
				all = append(all, notice)
			}
		}
	}
	return all
}
