package recordplan

import "fmt"

// maxDFS is the maximum number of paths of one segment that the depth-first search visits.
const maxDFS = 2_000_000

// entropyDFS returns the entropy by Algorithm 1 of the paper. A depth-first search through all paths of each segment
// adds up those with the same record. It is for comparison with [Model.Entropy]. A segment with more than maxDFS paths
// is refused.
func (m *Model) entropyDFS(set []Choice) (float64, error) {
	h := 0.0
	for i, v := range m.shownBy(set) {
		d := dfs{s: &m.segments[i], v: v, paths: map[string]float64{}}
		d.visit(0, 1)
		if d.seen > maxDFS {
			return 0, fmt.Errorf("more than %d paths between two cuts, which is too many for depth-first search", maxDFS)
		}
		for _, p := range d.paths {
			h += surprise(p)
		}
	}
	return h, nil
}

type dfs struct {
	s        *segment
	v        shown
	recorded []byte
	paths    map[string]float64 // probability of each record
	seen     int
}

func (d *dfs) visit(at int, p float64) {
	if d.seen > maxDFS {
		return
	}
	if at == len(d.s.nodes) {
		d.seen++
		d.paths[string(d.recorded)] += p
		return
	}
	n := &d.s.nodes[at]
	long := len(d.recorded)
	if d.v[at]&showsRan != 0 {
		d.write(at, 'r')
	}
	if d.v[at]&showsHit == 0 && !n.decide {
		d.follow(n.next[missed], p)
	} else {
		d.follow(n.next[missed], p*(1-n.hit))
		if d.v[at]&showsHit != 0 {
			d.write(at, 'h')
		}
		d.follow(n.next[didHit], p*n.hit)
	}
	d.recorded = d.recorded[:long]
}

func (d *dfs) follow(next []arc, p float64) {
	for _, a := range next {
		d.visit(a.to, p*a.p)
	}
}

func (d *dfs) write(at int, what byte) {
	d.recorded = append(d.recorded, byte(at), byte(at>>8), what)
}
