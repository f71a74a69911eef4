package recordplan

import (
	"strings"

	"tamtam/tam/libm"
	"tamtam/tam/record"
)

// improbable is the cost of a step that the graph allows but has probability zero. It exceeds the cost of any other
// step.
const improbable = 1e4

// cost returns the cost of a probability, which is small for likely steps.
func cost(p float64) float64 {
	if p <= 0 {
		return improbable
	}
	return -libm.Log(p)
}

// A tailPath is a path from a table to the end: its first edge, and the rank of the remaining path among the paths from
// the edge's target.
type tailPath struct {
	cost       float64
	edge, rank int32
}

// best returns the k cheapest paths, each as its edges from the start, and their costs. price returns the cost of an
// edge, and false if the edge cannot be taken.
func (c *chain) best(k int, price func(from int, e *chainEdge) (float64, bool)) (paths [][]int32, costs []float64) {
	end := len(c.tables)
	on := make([][]tailPath, end+2)
	on[end] = []tailPath{{edge: -1}}
	for from := end - 1; from >= -1; from-- {
		var list []tailPath
		edges := c.edges(from)
		for i := range edges {
			tails := on[edges[i].to]
			if len(tails) == 0 {
				continue
			}
			own, ok := price(from, &edges[i])
			if !ok {
				continue
			}
			for rank, w := range tails {
				if list, ok = insertTail(list, tailPath{own + w.cost, int32(i), int32(rank)}, k); !ok {
					break
				}
			}
		}
		if from < 0 {
			on[end+1] = list
		} else {
			on[from] = list
		}
	}
	for _, w := range on[end+1] {
		var path []int32
		costs = append(costs, w.cost)
		for from := -1; ; {
			path = append(path, w.edge)
			to := c.edges(from)[w.edge].to
			if int(to) == end {
				break
			}
			from, w = int(to), on[to][w.rank]
		}
		paths = append(paths, path)
	}
	return paths, costs
}

// insertTail inserts w in order and keeps the k cheapest. It returns false if w is not among them.
func insertTail(list []tailPath, w tailPath, k int) ([]tailPath, bool) {
	if len(list) == k {
		if w.cost >= list[k-1].cost {
			return list, false
		}
		list = list[:k-1]
	}
	list = append(list, w)
	for i := len(list) - 1; i > 0 && list[i].cost < list[i-1].cost; i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
	return list, true
}

// likely returns the most likely paths of the counted record.
func (r *reader) likely() []Likely {
	paths, costs := r.chain.best(MaxLikely, func(from int, e *chainEdge) (float64, bool) {
		p, ok := r.w.step(from, e)
		return cost(p), ok
	})
	all := r.w.sums[len(r.w.sums)-1]
	list := make([]Likely, len(paths))
	for i, edges := range paths {
		list[i] = r.path(edges)
		switch {
		case len(paths) == 1:
			list[i].P = 1
		case all > 0:
			list[i].P = min(1, libm.Exp(-costs[i])/all)
		case r.w.over: // P stays 0, because this is one of very many improbable paths
		default:
			list[i].P = 1 / float64(r.w.paths[len(r.w.paths)-1])
		}
	}
	return list
}

// path returns the path of these edges, with the hits that follow from it and the record.
func (r *reader) path(edges []int32) Likely {
	l := Likely{Path: []record.Step{}, HitKnown: []bool{}, Actions: [][]string{}}
	from := -1
	for _, i := range edges {
		e := &r.chain.edges(from)[i]
		if from >= 0 && r.chain.tables[from].id != "" {
			s := record.Step{Table: r.chain.tables[from].id}
			known := true
			switch says := r.w.evidence[from].hit; {
			case r.chain.tables[from].keyless:
				known = false // a hit has no meaning here
			case !e.canHit || says == no && e.canMiss:
			case !e.canMiss || says == yes:
				s.Hit = true
			default:
				known = false
			}
			var acts []string
			if known && s.Hit {
				acts = r.silent(from)
			}
			l.Path, l.HitKnown, l.Actions = append(l.Path, s), append(l.HitKnown, known), append(l.Actions, acts)
			l.act(acts)
		} else if from >= 0 && r.chain.tables[from].aside != nil {
			last := len(l.Path) - 1
			l.Actions[last] = r.chain.tables[from].aside.actions
			l.Path[last].Hit, l.HitKnown[last] = true, true
			l.act(l.Actions[last])
		}
		from = int(e.to)
	}
	return l
}

// impossible returns the path that differs least from a record that no path has.
func (r *reader) impossible(b []byte) Answer {
	r.observe(b)
	w := &r.w
	for i, s := range w.evidence {
		w.must[i+1] = w.must[i]
		if s.ran == yes || s.hit == yes {
			w.must[i+1]++
		}
	}
	paths, _ := r.chain.best(1, func(from int, e *chainEdge) (float64, bool) {
		differs := int(w.must[e.to] - w.must[from+1])
		if to := int(e.to); to < len(w.evidence) && w.evidence[to].ran == no {
			differs++
		}
		if from >= 0 && r.hitDiffers(from, e) {
			differs++
		}
		if int(e.to) == r.otherwise {
			differs++ // a wrong end counts twice as much as a wrong table
		}
		const apart = 1e7 // so large that probability only decides between paths with the same differences
		return float64(float64(differs)*apart) + cost(e.hit+e.miss), true
	})
	a := Answer{Impossible: true, Total: "0"}
	if len(paths) == 0 {
		a.Why = "the graph has no path"
		return a
	}
	nearest := r.path(paths[0])
	a.Paths = []Likely{nearest}
	a.Why = r.differences(paths[0])
	return a
}

// hitDiffers reports whether the hit of an edge from a table contradicts the record.
func (r *reader) hitDiffers(from int, e *chainEdge) bool {
	switch r.w.evidence[from].hit {
	case yes:
		return !e.canHit
	case no:
		return !e.canMiss
	}
	return false
}

// endWords returns a text for the end of a packet.
func endWords(end string) string {
	switch end {
	case record.EndSent:
		return "was sent by a port"
	case record.EndCPU:
		return "went to the CPU"
	}
	return "was dropped: " + end
}

// differences returns a text of the differences between a record and a path.
func (r *reader) differences(edges []int32) string {
	var list []string
	from := -1
	says := r.w.evidence
	for _, i := range edges {
		e := &r.chain.edges(from)[i]
		if from >= 0 {
			switch t := r.chain.tables[from].id; {
			case r.chain.tables[from].aside != nil:
				if a := r.chain.tables[from].aside; says[from].ran == no {
					list = append(list, a.table+" did not run "+actionWords(a.actions))
				}
			case from == r.otherwise:
				list = append(list, "the packet "+endWords(r.end))
			case says[from].ran == no:
				list = append(list, t+" did not run")
			case says[from].hit == yes && r.hitDiffers(from, e):
				list = append(list, t+" hit")
			case r.hitDiffers(from, e):
				list = append(list, t+" did not hit")
			}
		}
		for over := from + 1; over < int(e.to); over++ {
			a := r.chain.tables[over].aside
			switch {
			case says[over].ran != yes && says[over].hit != yes:
			case a != nil:
				list = append(list, a.table+" ran "+actionWords(a.actions))
			default:
				list = append(list, r.chain.tables[over].id+" ran")
			}
		}
		from = int(e.to)
	}
	if r.oddActions >= 0 {
		list = append(list, "no action of "+r.chain.tables[r.oddActions].id+" sets its bits so")
	}
	return "no path of the graph has this record; the closest has it but that " + strings.Join(list, ", ")
}

// String returns the path as "a hit > b > c miss", with the known hits.
func (l Likely) String() string {
	if len(l.Path) == 0 {
		return "(no table)"
	}
	return strings.Join(l.Steps(), " > ")
}

// Steps returns each step of a path, as "a hit", "b", "c miss" or "d hit (deny)".
func (l Likely) Steps() []string {
	list := make([]string, len(l.Path))
	for i, s := range l.Path {
		list[i] = s.Table
		switch {
		case !l.HitKnown[i]:
		case s.Hit:
			list[i] += " hit"
			if i < len(l.Actions) && l.Actions[i] != nil {
				list[i] += " (" + actionWords(l.Actions[i]) + ")"
			}
		default:
			list[i] += " miss"
		}
	}
	return list
}
