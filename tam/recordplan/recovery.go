package recordplan

import "math/big"

// Recovery returns the path recovery rate of the paper's section VI-A, 0 to 1: the probability that only one path has a
// packet's record. A path is a sequence of tables. Paths of probability 0 count, because the program has them.
//
// As in [Model.Entropy], nothing is enumerated. A record determines its path if there is only one path between each two
// consecutive events.
func (m *Model) Recovery(set []Choice) float64 {
	rate := 1.0
	var w walker
	for i, v := range m.shownBy(set) {
		rate *= w.recovery(&m.segments[i], v)
	}
	return rate
}

func (w *walker) recovery(s *segment, v shown) float64 {
	end := len(s.nodes)
	good := make([]float64, 3*(end+1)) // probability of each event with a unique path so far
	n := &s.nodes[0]
	if v[0]&showsHit != 0 {
		good[didHit], good[missed] = n.hit, 1-n.hit
	} else {
		good[either] = 1
	}
	for e := range 3 * end {
		if good[e] == 0 {
			continue
		}
		paths := s.countPaths(v, e/3, e%3)
		for _, next := range w.after(s, v, e/3, e%3) {
			if paths[next.node] == 1 {
				good[3*next.node+next.outcome] += float64(good[e] * next.p)
			}
		}
	}
	return good[3*end+either]
}

// countPaths counts the paths, up to two, from an event to each node through tables of which the record shows nothing.
// Paths with the same tables count once.
func (s *segment) countPaths(v shown, from, outcome int) []uint8 {
	paths := make([]uint8, len(s.nodes)+1)
	paths[from] = 1
	s.eachNext(from, outcome, func(to int) { paths[to] = 1 })
	for i := from + 1; i < len(s.nodes); i++ {
		if paths[i] == 0 || v[i]&showsRan != 0 {
			continue
		}
		quiet := either
		if v[i] == showsHit {
			quiet = missed
		}
		s.eachNext(i, quiet, func(to int) { paths[to] = min(paths[to]+paths[i], 2) })
	}
	return paths
}

// eachNext calls f once for each direct successor that an outcome of a node leads to.
func (s *segment) eachNext(at, outcome int, f func(to int)) {
	n := &s.nodes[at]
	if outcome != either || !n.decide {
		for _, a := range n.next[outcome&1] {
			f(a.to)
		}
		return
	}
	miss, hit := n.next[missed], n.next[didHit]
	for len(miss) > 0 || len(hit) > 0 { // both are sorted
		switch {
		case len(hit) == 0 || len(miss) > 0 && miss[0].to < hit[0].to:
			f(miss[0].to)
			miss = miss[1:]
		case len(miss) == 0 || hit[0].to < miss[0].to:
			f(hit[0].to)
			hit = hit[1:]
		default:
			f(hit[0].to)
			miss, hit = miss[1:], hit[1:]
		}
	}
}

// Paths returns the number of sequences of tables that packets can run.
func (m *Model) Paths() *big.Int {
	paths := big.NewInt(1)
	for i := range m.segments {
		s := &m.segments[i]
		count := make([]big.Int, len(s.nodes)+1)
		count[0].SetInt64(1)
		for j := range s.nodes {
			s.eachNext(j, either, func(to int) { count[to].Add(&count[to], &count[j]) })
		}
		paths.Mul(paths, &count[len(s.nodes)])
	}
	return paths
}

// Walks returns the number of paths through the graph, with different actions as different paths.
func (m *Model) Walks() *big.Int { return new(big.Int).Set(m.walks) }
