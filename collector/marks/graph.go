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

// Graph is the monitored graph of RFC 9342: the paths of one flow group's packets between its measurement points. A
// packet enters at an initiator, a point without a link to it. It passes transits, and leaves at a terminator, a point
// without a link from it. Each packet takes one of the paths that the links form.
type Graph struct {
	Name   string
	Points []Point // points at different switches
	Links  []Link  // links without a cycle
	// Watched lists sessions of the same flow group at switches that its packets should not pass. If they count
	// packets, the graph is wrong.
	Watched []Point
	Wait    int // see [Path]
}

// Link is a link over which packets are sent from one switch to another.
type Link struct{ From, To string }

// String returns text such as leaf1>spine1.
func (l Link) String() string { return l.From + ">" + l.To }

// Cluster is a part of a graph in which the packets at the points From are those at the points To, except for losses.
// It contains no smaller such part.
type Cluster struct {
	From, To []string // sorted names of switches; a switch may be in both
	Links    []Link
}

// Ends returns the names of both sides in a result.
func (c Cluster) Ends() [2]string {
	return [2]string{strings.Join(c.From, "+"), strings.Join(c.To, "+")}
}

// Clusters returns the smallest clusters of a graph, in packet order, by the algorithm of RFC 9342, section 6.1. Links
// with the same start belong together, and so do links with the same end.
func (g Graph) Clusters() []Cluster {
	of := make([]int, len(g.Links)) // first link of the cluster of each link
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

// rank returns the distance of a cluster's begin from the entry of packets.
func (c Cluster) rank(at map[string]int) int {
	least := at[c.From[0]]
	for _, name := range c.From {
		least = min(least, at[name])
	}
	return least
}

// ranks returns the number of links of the longest path to each point, or nil if there is a cycle.
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

// ShortestPaths returns the links of the paths with the fewest links from some switches to others, as in equal-cost
// routing. Cables have no direction.
func ShortestPaths(cables []Link, from, to []string) []Link {
	beside := map[string][]string{}
	for _, c := range cables {
		beside[c.From], beside[c.To] = append(beside[c.From], c.To), append(beside[c.To], c.From)
	}
	far := map[string]int{} // number of links from each switch to the nearest of to
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

// sources and sinks return the points where packets enter and leave.
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

// before returns the points that packets may have passed on their path to the given points, excluding the given points.
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

// once reports whether no packet passes two of these points.
func (g Graph) once(points []string) bool {
	return !slices.ContainsFunc(points, func(name string) bool {
		before := g.before([]string{name})
		return slices.ContainsFunc(points, func(other string) bool { return before[other] })
	})
}

// Mesh joins the reports of a graph's points, as [Joiner] does for a path. It does so for each of the smallest
// clusters, and for the whole graph if that is not a cluster. From and To of its results are the switches of both
// sides, separated by "+". A result has a delay if a single packet of the period was marked for it.
//
// It has no clock and no lock.
type Mesh struct {
	graph    Graph
	clusters []Cluster
	points   map[string]int // points of the graph, by switch
	roles    map[string]altmark.Role
	joins    []*Joiner // join of the whole graph, followed by those of its clusters
	users    [][]meshUse
}

// meshUse is a destination of a point's reports.
type meshUse struct{ join, stage, point int }

// NewMesh returns a mesh. It returns an error if:
//
//   - the graph has no name, no links, more than 256 points or 4096 links, or an invalid Wait
//   - a point has no names, no link, the switch of another point, or a "+" in its name
//   - a link has an unknown switch or is a duplicate, or packets could pass a point twice
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
	if len(m.clusters) == 1 { // points inside add no information
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

// Limits of a graph, and of a path. Each point has 32 periods of reports in each cluster after it.
const (
	maxMeshPoints = 256
	maxMeshLinks  = 4096
)

// names returns the switches of the graph's points.
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

// join adds the join of a cluster, or of the whole graph. Its first stage is where the periods of its packets begin.
// The points between the sides are not compared, but their flags may concern the packets.
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

// roles returns the required roles of the sessions at the points.
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

// Clusters returns the clusters of the graph, in packet order. [Cluster.Ends] are From and To of their results.
func (m *Mesh) Clusters() []Cluster { return m.clusters }

// Whole returns From and To of the results of the whole graph.
func (m *Mesh) Whole() [2]string { return m.whole().Ends() }

func (m *Mesh) whole() Cluster {
	return Cluster{From: m.graph.sources(), To: m.graph.sinks()}
}

// Points returns the points of the graph, followed by the watched ones, with the current settings.
func (m *Mesh) Points() []Point { return slices.Concat(m.graph.Points, m.graph.Watched) }

// Kept returns the number of reports that are stored per period. The report of a point is stored in each cluster after
// it.
func (m *Mesh) Kept() (n int) {
	for _, users := range m.users {
		n += len(users)
	}
	return n
}

// Add adds a report of a point of [Mesh.Points], see [Joiner.Add].
func (m *Mesh) Add(point int, p altmark.Period, arrived time.Time) (out []Result) {
	showed := false
	for _, u := range m.users[point] {
		j := m.joins[u.join]
		before := j.excess(p.Number)
		out = append(out, j.add(u.stage, u.point, p, arrived)...)
		showed = showed || !slices.Equal(before, j.excess(p.Number))
	}
	for _, j := range m.joins {
		if showed { // an excess affects the whole graph
			j.revise(p.Number, &out)
		}
	}
	return sortResults(out)
}

// Advance does the same as [Joiner.Advance].
func (m *Mesh) Advance(k uint64) (out []Result) {
	for _, j := range m.joins {
		out = append(out, j.Advance(k)...)
	}
	return sortResults(out)
}

// Flush does the same as [Joiner.Flush].
func (m *Mesh) Flush() (out []Result) {
	for _, j := range m.joins {
		out = append(out, j.Flush()...)
	}
	return sortResults(out)
}

// Settings does the same as [Joiner.Settings]. All clusters start over.
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

// Interval does the same as [Joiner.Interval].
func (m *Mesh) Interval() altmark.Interval { return m.joins[0].Interval() }

// Stats returns the counters of reports, each counted once.
func (m *Mesh) Stats() Stats { return m.joins[0].Stats() }

// Notices returns the notices of all clusters, see [Joiner.Notices].
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
