package recordplan

// A scorer maintains the entropy of a set while bits are added and removed. Segments are independent, so only the
// segment of the bit is evaluated again.
type scorer struct {
	m     *Model
	w     walker
	v     []shown
	parts []float64 // entropy of each segment
	spend *uint64   // number of visited arcs; nil means that they are not counted
}

func (m *Model) newScorer(set []bit) *scorer {
	s := &scorer{m: m, v: m.shownBy(choices(set)), parts: make([]float64, len(m.segments))}
	for i := range s.v {
		s.parts[i] = s.weigh(i)
	}
	return s
}

// newScorer returns a scorer whose work counts in the search's budget.
func (x *search) newScorer(set []bit) *scorer {
	s := x.m.newScorer(set)
	s.spend = &x.arcs
	return s
}

// weigh returns the entropy of a segment.
func (s *scorer) weigh(seg int) float64 {
	s.w.arcs = 0
	h := s.w.entropy(&s.m.segments[seg], s.v[seg])
	if s.spend != nil {
		*s.spend += s.w.arcs
	}
	return h
}

// alone returns the entropy of a set with a single bit.
func (m *Model) alone(b bit) float64 {
	p := m.tables[b.table].ran
	if l := m.tables[b.table].layer; l != nil {
		for _, o := range l.also {
			p += m.tables[o].ran
		}
		p = min(p, 1)
	}
	if b.hit {
		p *= m.tables[b.table].hit
	}
	return surprise(p) + surprise(1-p)
}

func (s *scorer) entropy() float64 {
	h := 0.0
	for _, p := range s.parts {
		h += p
	}
	return h
}

func (b bit) shows() uint8 {
	if b.hit {
		return showsHit
	}
	return showsRan
}

// gain returns the entropy that a bit would add.
func (s *scorer) gain(b bit) float64 {
	t := &s.m.tables[b.table]
	v := s.v[t.seg]
	if v[t.at]&b.shows() != 0 {
		return 0
	}
	s.m.nodesOf(b.table, func(at int) { v[at] |= b.shows() })
	h := s.weigh(t.seg)
	s.m.nodesOf(b.table, func(at int) { v[at] &^= b.shows() })
	return max(h-s.parts[t.seg], 0)
}

// set adds a bit to the set, or removes it, and updates the entropy of the bit's segment.
func (s *scorer) set(b bit, on bool) {
	t := &s.m.tables[b.table]
	v := s.v[t.seg]
	s.m.nodesOf(b.table, func(at int) {
		v[at] &^= b.shows()
		if on {
			v[at] |= b.shows()
		}
	})
	s.parts[t.seg] = s.weigh(t.seg)
}

// all returns the entropy that all enabled bits of a segment add together.
func (s *scorer) all(seg int, bits []bit, on []bool) float64 {
	was := append(shown(nil), s.v[seg]...)
	for i, b := range bits {
		if on[i] {
			s.v[seg][s.m.tables[b.table].at] |= b.shows()
		}
	}
	h := s.weigh(seg)
	copy(s.v[seg], was)
	return h - s.parts[seg]
}
