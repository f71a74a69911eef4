package marks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/tam/altmark"
)

// Graph is where the packets of one flow group go between its measurement points: the monitored graph of
// RFC 9342. A packet enters at a point without a link to it, an initiator, passes transits, and leaves at a point
// without a link from it, a terminator. Each packet takes one of the ways that the links make.
type Graph struct {
	Name   string
	Points []Point // of different switches
	Links  []Link  // without a cycle
	// Watched are sessions of the same flow group at switches that its packets do not pass by the graph. What they count
	// says that it is wrong.
	Watched []Point
	Wait    int // see [Path]
}

// Link is a link that packets pass from one switch to another.
type Link struct{ From, To string }

// String is as leaf1>spine1.
func (l Link) String() string { return l.From + ">" + l.To }

// Cluster is a part of a graph where the packets that pass the points From are those that pass the points To,
// but for losses, and that has no such part itself.
type Cluster struct {
	From, To []string // switches, sorted; one that has both is in both
	Links    []Link
}

// Ends are the names of both sides in a result.
func (c Cluster) Ends() [2]string {
	return [2]string{strings.Join(c.From, "+"), strings.Join(c.To, "+")}
}

// Clusters are the smallest clusters of a graph, by the algorithm of RFC 9342, section 6.1: links with the same start
// belong together, and so do links with the same end. They are in the order of the packets.
func (g Graph) Clusters() []Cluster {
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
	clusters := map[int]*Cluster{}
	for i, l := range g.Links {
		c := clusters[root(i)]
		if c == nil {
			c = &Cluster{}
			clusters[root(i)] = c
		}
		c.Links = append(c.Links, l)
		c.From, c.To = append(c.From, l.From), append(c.To, l.To)
	}
	at := g.ranks()
	var all []Cluster
	for _, c := range clusters {
		c.From, c.To = unique(c.From), unique(c.To)
		slices.SortFunc(c.Links, func(a, b Link) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		})
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Cluster) int {
		return cmp.Or(a.rank(at)-b.rank(at), slices.Compare(a.From, b.From))
	})
	return all
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// rank is how far from where packets enter a cluster begins.
func (c Cluster) rank(at map[string]int) int {
	least := at[c.From[0]]
	for _, name := range c.From {
		least = min(least, at[name])
	}
	return least
}

// ranks are how many links the longest way to each point has; nil: there is a cycle.
func (g Graph) ranks() map[string]int {
	on, waits, at := map[string][]string{}, map[string]int{}, map[string]int{}
	for _, l := range g.Links {
		on[l.From] = append(on[l.From], l.To)
		waits[l.To]++
	}
	ready := g.sources()
	for i := 0; i < len(ready); i++ {
		for _, name := range on[ready[i]] {
			at[name] = max(at[name], at[ready[i]]+1)
			if waits[name]--; waits[name] == 0 {
				ready = append(ready, name)
			}
		}
	}
	if len(ready) < len(g.Points) {
		return nil
	}
	return at
}

// ShortestWays are the links that packets pass from some switches to others if they take a way of the fewest links, as
// equal-cost routes have it. Cables have no direction.
func ShortestWays(cables []Link, from, to []string) []Link {
	beside := map[string][]string{}
	for _, c := range cables {
		beside[c.From], beside[c.To] = append(beside[c.From], c.To), append(beside[c.To], c.From)
	}
	far := map[string]int{} // from a switch to the nearest of to, in links
	next := slices.Clone(to)
	for _, name := range to {
		far[name] = 0
	}
	for i := 0; i < len(next); i++ {
		for _, other := range beside[next[i]] {
			if _, ok := far[other]; !ok {
				far[other] = far[next[i]] + 1
				next = append(next, other)
			}
		}
	}
	var links []Link
	next, seen := unique(slices.Clone(from)), map[string]bool{}
	for _, name := range next {
		seen[name] = true
	}
	for i := 0; i < len(next); i++ {
		name := next[i]
		d, ok := far[name]
		for _, other := range unique(beside[name]) {
			if !ok || far[other] != d-1 {
				continue
			}
			if links = append(links, Link{name, other}); !seen[other] {
				seen[other] = true
				next = append(next, other)
			}
		}
	}
	return links
}

// sources and sinks are the points where packets enter, and leave.
func (g Graph) sources() []string { return g.ends(func(l Link) string { return l.To }) }
func (g Graph) sinks() []string   { return g.ends(func(l Link) string { return l.From }) }

func (g Graph) ends(far func(Link) string) (names []string) {
	linked := map[string]bool{}
	for _, l := range g.Links {
		linked[far(l)] = true
	}
	for _, p := range g.Points {
		if !linked[p.Switch] {
			names = append(names, p.Switch)
		}
	}
	return unique(names)
}

// before are the points that packets may have passed when they come to some points, which are not among them.
func (g Graph) before(points []string) map[string]bool {
	back := map[string][]string{}
	for _, l := range g.Links {
		back[l.To] = append(back[l.To], l.From)
	}
	seen := map[string]bool{}
	for next := slices.Clone(points); len(next) > 0; next = next[1:] {
		for _, name := range back[next[0]] {
			if !seen[name] {
				seen[name] = true
				next = append(next, name)
			}
		}
	}
	for _, name := range points {
		delete(seen, name)
	}
	return seen
}

// once reports whether no packet passes two of some points.
func (g Graph) once(points []string) bool {
	return !slices.ContainsFunc(points, func(name string) bool {
		before := g.before([]string{name})
		return slices.ContainsFunc(points, func(other string) bool { return before[other] })
	})
}

// Mesh joins the reports of the points of a graph: for each of its smallest clusters, and for the whole of it,
// if that is not a cluster, as [Joiner] does for a path. From and To of its results are the switches of both sides,
// with a + between them. It has a delay where a single packet of the period was marked for it.
//
// It has no clock and no lock.
type Mesh struct {
	graph    Graph
	clusters []Cluster
	points   map[string]int // of the graph, by switch
	roles    map[string]altmark.Role
	joins    []*Joiner // the whole, then clusters
	users    [][]meshUse
}

// meshUse is where a report of a point goes.
type meshUse struct{ join, stage, point int }

// NewMesh returns an error if the graph has no name or no links, if its points are without names or have the
// same switch or a + in its name, if a link is of other switches or is there twice, if packets could pass a point
// twice, if a point has no link, if Wait is out of its range, or if there are more than 256 points or 4096 links.
func NewMesh(g Graph) (*Mesh, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	g.Wait = cmp.Or(g.Wait, DefaultWait)
	g.Points, g.Watched = slices.Clone(g.Points), slices.Clone(g.Watched)
	m := &Mesh{
		graph: g, clusters: g.Clusters(), points: map[string]int{}, roles: g.roles(),
		users: make([][]meshUse, len(g.Points)+len(g.Watched)),
	}
	for i, p := range g.Points {
		m.points[p.Switch] = i
	}
	m.join(m.whole(), g.before(g.sinks()))
	if len(m.clusters) == 1 { // of which points inside say nothing more
		m.clusters[0].From, m.clusters[0].To = g.sources(), g.sinks()
		return m, nil
	}
	for _, c := range m.clusters {
		m.join(c, g.before(c.From))
	}
	for _, j := range m.joins {
		j.beside = slices.Concat(m.joins[1:], m.joins[:1])
	}
	return m, nil
}

// Bounds of a graph, and of a path: each point has 32 periods of reports in each cluster behind it.
const (
	maxMeshPoints = 256
	maxMeshLinks  = 4096
)

// names are the switches of the graph's points.
func (g Graph) names() (map[string]bool, error) {
	known := map[string]bool{}
	for i, p := range slices.Concat(g.Points, g.Watched) {
		if p.Switch == "" || p.Session == "" {
			return nil, fmt.Errorf("graph %s: point %d has switch %q and session %q, want names", g.Name, i+1, p.Switch,
				p.Session)
		}
		if strings.Contains(p.Switch, "+") {
			return nil, fmt.Errorf("graph %s: switch %s: want a name without +, which stands between names in results", g.Name,
				p.Switch)
		}
		if known[p.Switch] {
			return nil, fmt.Errorf("graph %s: switch %s is there twice, want different switches", g.Name, p.Switch)
		}
		known[p.Switch] = true
	}
	for _, p := range g.Watched {
		delete(known, p.Switch)
	}
	return known, nil
}

func (g Graph) check() error {
	if g.Name == "" {
		return fmt.Errorf("graph %q has no name", g.Name)
	}
	if g.Wait < 0 || g.Wait > 8 {
		return fmt.Errorf("graph %s: wait is %d, want 1 to 8 periods, or 0 for %d", g.Name, g.Wait, DefaultWait)
	}
	if n, links := len(g.Points)+len(g.Watched), len(g.Links); n > maxMeshPoints || links > maxMeshLinks {
		return fmt.Errorf("graph %s: %d points and %d links, want at most %d and %d", g.Name, n, links, maxMeshPoints,
			maxMeshLinks)
	}
	known, err := g.names()
	if err != nil {
		return err
	}
	linked, links := map[string]bool{}, map[Link]bool{}
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
func (m *Mesh) join(c Cluster, before map[string]bool) {
	var sources, between []string
	for _, name := range slices.Sorted(maps.Keys(m.points)) {
		_, begins := slices.BinarySearch(c.From, name)
		switch {
		case !before[name] && !begins:
		case m.roles[name] == altmark.Initiator:
			sources = append(sources, name)
		case !begins:
			between = append(between, name)
		}
	}
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
	stages := make([]pointStage, len(names))
	for s, stage := range names {
		for n, name := range stage {
			i := m.points[name]
			m.users[i] = append(m.users[i], meshUse{len(m.joins), s, n})
			stages[s] = append(stages[s], stageMember{m.graph.Points[i], m.roles[name]})
		}
	}
	if len(m.graph.Watched) > 0 {
		watched = len(stages) + 1
		stages = append(stages, nil)
		for n, p := range m.graph.Watched {
			i := len(m.graph.Points) + n
			m.users[i] = append(m.users[i], meshUse{len(m.joins), watched - 1, n})
			stages[watched-1] = append(stages[watched-1], stageMember{p, 0})
		}
	}
	join := newJoiner(Path{Name: m.graph.Name, Wait: m.graph.Wait}, stages)
	join.graph, join.cluster, join.watched = true, cluster, watched
	join.once = [2]bool{m.graph.once(c.From), m.graph.once(c.To)}
	m.joins = append(m.joins, join)
}

// roles are what the sessions at the points are to have.
func (g Graph) roles() map[string]altmark.Role {
	roles := map[string]altmark.Role{}
	for _, p := range g.Points {
		roles[p.Switch] = altmark.Transit
	}
	for _, name := range g.sinks() {
		roles[name] = altmark.Terminator
	}
	for _, name := range g.sources() {
		roles[name] = altmark.Initiator
	}
	return roles
}

// Clusters are those of the graph, in the order of the packets; [Cluster.Ends] are From and To of their results.
func (m *Mesh) Clusters() []Cluster { return m.clusters }

// Whole are From and To of the results of the whole graph.
func (m *Mesh) Whole() [2]string { return m.whole().Ends() }

func (m *Mesh) whole() Cluster {
	return Cluster{From: m.graph.sources(), To: m.graph.sinks()}
}

// Points are those of the graph and, behind them, those that are watched, with the current settings.
func (m *Mesh) Points() []Point { return slices.Concat(m.graph.Points, m.graph.Watched) }

// Kept is how many reports of a period are kept: that of a point in each cluster behind it.
func (m *Mesh) Kept() (n int) {
	for _, users := range m.users {
		n += len(users)
	}
	return n
}

// Add takes a report of a point of [Mesh.Points], see [Joiner.Add].
func (m *Mesh) Add(point int, p altmark.Period, arrived time.Time) (out []Result) {
	showed := false
	for _, u := range m.users[point] {
		j := m.joins[u.join]
		before := j.excess(p.Number)
		out = append(out, j.add(u.stage, u.point, p, arrived)...)
		showed = showed || !slices.Equal(before, j.excess(p.Number))
	}
	for _, j := range m.joins {
		if showed { // which all of the graph concerns
			j.revise(p.Number, &out)
		}
	}
	return sortResults(out)
}

// Advance is [Joiner.Advance].
func (m *Mesh) Advance(k uint64) (out []Result) {
	for _, j := range m.joins {
		out = append(out, j.Advance(k)...)
	}
	return sortResults(out)
}

// Flush is [Joiner.Flush].
func (m *Mesh) Flush() (out []Result) {
	for _, j := range m.joins {
		out = append(out, j.Flush()...)
	}
	return sortResults(out)
}

// Settings is [Joiner.Settings]: all clusters start over.
func (m *Mesh) Settings(point int, s altmark.Session) (out []Result) {
	var p *Point
	if n := len(m.graph.Points); point < n {
		p = &m.graph.Points[point]
	} else {
		p = &m.graph.Watched[point-n]
	}
	if p.Settings == s {
		return nil
	}
	out, p.Settings = m.Flush(), s
	for _, u := range m.users[point] {
		m.joins[u.join].stages[u.stage][u.point].Settings = s
	}
	for _, j := range m.joins {
		j.restart()
	}
	return out
}

// Interval is [Joiner.Interval].
func (m *Mesh) Interval() altmark.Interval { return m.joins[0].Interval() }

// Stats counts the reports, each once.
func (m *Mesh) Stats() Stats { return m.joins[0].Stats() }

// Notices is [Joiner.Notices].
func (m *Mesh) Notices() (all []string) {
	for _, j := range m.joins {
		for _, notice := range j.Notices() {
			if !slices.Contains(all, notice) {
				all = append(all, notice)
			}
		}
	}
	return all
}
