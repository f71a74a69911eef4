package p4graph

import (
	"fmt"
	"slices"

	"tamtam/tam/record"
)

// FromPaths returns the probabilities of counted paths. Paths do not show conditions. If several paths over conditions
// lead from one table to the next, packets are distributed equally. Nodes without packets are as in [Complete]. An
// error names the path and the step that the graph does not have.
func FromPaths(g *record.Graph, paths []record.PathCount) (record.Probabilities, error) {
	x, err := record.NewIndex(g)
	if err != nil {
		return record.Probabilities{}, err
	}
	c := &pathCounter{g: g, x: x, splits: newSplits(g, x), place: make([]int, len(g.Nodes)+1), viable: map[int]bitset{}}
	for i, a := range x.Order {
		c.place[a] = i
	}
	c.place[len(g.Nodes)] = len(x.Order)
	c.came, c.hit = make([]float64, len(g.Nodes)), make([]float64, len(g.Nodes))
	hops, err := c.hops(paths)
	if err != nil {
		return record.Probabilities{}, err
	}
	for _, h := range hops {
		c.spread(h)
	}
	return Complete(g, c.shares())
}

type pathCounter struct {
	g      *record.Graph
	x      *record.Index
	splits []*split
	place  []int // position of each node in topological order
	// viable holds, for a table or the end, the conditions from which conditions alone lead there.
	viable    map[int]bitset
	came, hit []float64 // number of packets at each node, and number of these that hit
}

// A hop is the step from one table of a path to the next.
type hop struct {
	from, to int // from is -1 for the start
	hit      bool
	packets  float64
}

// hops adds up the hops of all paths, in the order of their first occurrence.
func (c *pathCounter) hops(paths []record.PathCount) ([]hop, error) {
	type key struct {
		from, to int
		hit      bool
	}
	at := map[key]int{}
	var hops []hop
	for i, p := range paths {
		k := key{from: -1}
		for j := 0; j <= len(p.Path); j++ {
			var hit bool
			k.to = len(c.g.Nodes)
			if j < len(p.Path) {
				s := p.Path[j]
				to, ok := c.x.Of[s.Table]
				if !ok || to == len(c.g.Nodes) || c.g.Nodes[to].Kind != record.Table {
					return nil, fmt.Errorf("path %d: step %d is %q, which is no table", i, j, s.Table)
				}
				k.to, hit = to, s.Hit && !c.g.Nodes[to].Keyless
			}
			if _, ok := at[k]; !ok {
				if len(c.first(k.from, k.to, k.hit)) == 0 {
					return nil, fmt.Errorf("path %d: the graph has no way over conditions from %s to %s",
						i, c.name(k.from, k.hit), c.name(k.to, false))
				}
				at[k] = len(hops)
				hops = append(hops, hop{k.from, k.to, k.hit, 0})
			}
			hops[at[k]].packets += float64(p.Packets)
			k.from, k.hit = k.to, hit
		}
	}
	return hops, nil
}

func (c *pathCounter) name(node int, hit bool) string {
	switch {
	case node < 0:
		return "the beginning"
	case node == len(c.g.Nodes):
		return "the end"
	case hit:
		return fmt.Sprintf("a hit of %q", c.g.Nodes[node].ID)
	}
	return fmt.Sprintf("%q", c.g.Nodes[node].ID)
}

// towards returns the conditions from which conditions alone lead to a node.
func (c *pathCounter) towards(to int) bitset {
	if s := c.viable[to]; s != nil {
		return s
	}
	s := newBitset(len(c.g.Nodes))
	for _, a := range slices.Backward(c.x.Order[:c.place[to]]) {
		leads := func(b int) bool { return b == to || s.has(b) }
		if c.g.Nodes[a].Kind == record.Condition && slices.ContainsFunc(c.x.Next[a], leads) {
			s.set(a)
		}
	}
	c.viable[to] = s
	return s
}

// first returns the successors of from through which a hop can begin.
func (c *pathCounter) first(from, to int, hit bool) []int {
	s := c.towards(to)
	if from < 0 {
		if c.x.Init == to || s.has(c.x.Init) {
			return []int{c.x.Init}
		}
		return nil
	}
	var first []int
	for i, b := range c.x.Next[from] {
		if (b == to || s.has(b)) && c.splits[from].edges[i].can[c.outcome(from, hit)] {
			first = append(first, b)
		}
	}
	return first
}

// outcome returns the index of the shares for packets with this hit: 1 only if the hit decides the way.
func (c *pathCounter) outcome(node int, hit bool) int {
	if hit && c.splits[node].decides {
		return 1
	}
	return 0
}

// spread distributes the packets of a hop equally over all its ways.
func (c *pathCounter) spread(h hop) {
	s := c.towards(h.to)
	at := map[int]float64{} // packets at conditions
	send := func(from int, edges []int, packets float64) {
		for _, b := range edges {
			share := packets / float64(len(edges))
			if b != h.to {
				at[b] += share
			}
			if from >= 0 {
				c.splits[from].edges[slices.Index(c.x.Next[from], b)].by[c.outcome(from, h.hit && from == h.from)] += share
			}
		}
		if from >= 0 {
			c.came[from] += packets
		}
	}
	send(h.from, c.first(h.from, h.to, h.hit), h.packets)
	if h.from >= 0 && h.hit {
		c.hit[h.from] += h.packets
	}
	begin := 0
	if h.from >= 0 {
		begin = c.place[h.from]
	}
	for _, a := range c.x.Order[begin:c.place[h.to]] {
		if at[a] == 0 {
			continue
		}
		var edges []int
		for _, b := range c.x.Next[a] {
			if b == h.to || s.has(b) {
				edges = append(edges, b)
			}
		}
		send(a, edges, at[a])
	}
}

// shares returns the probabilities of the nodes that packets reached.
func (c *pathCounter) shares() record.Probabilities {
	p := record.Probabilities{Hits: map[string]float64{}}
	for i, s := range c.splits {
		if c.came[i] == 0 {
			continue
		}
		for j := range s.edges {
			s.edges[j].by[0] /= c.came[i]
			s.edges[j].by[1] /= c.came[i]
		}
		s.hits = c.hit[i] / c.came[i]
		s.append(&p)
	}
	return p
}
