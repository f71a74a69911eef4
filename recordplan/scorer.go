package recordplan

// A scorer keeps the entropy of a set while bits come and go. The segments are
// independent: only that of the bit is weighed anew.
type scorer struct {
	m     *Model
	w     walker
	v     []shown
	parts []float64 // the entropy of each segment
}

func (m *Model) newScorer(set []bit) *scorer {
	s := &scorer{m: m, v: m.shownBy(choices(set)), parts: make([]float64, len(m.segments))}
	for i, v := range s.v {
		s.parts[i] = s.w.entropy(&m.segments[i], v)
	}
	return s
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

// gain is what a bit would add.
func (s *scorer) gain(b bit) float64 {
	t := &s.m.tables[b.table]
	v := s.v[t.seg]
	if v[t.at]&b.shows() != 0 {
		return 0
	}
	v[t.at] |= b.shows()
	h := s.w.entropy(&s.m.segments[t.seg], v)
	v[t.at] &^= b.shows()
	return max(h-s.parts[t.seg], 0)
}

// set records a bit, or no longer.
func (s *scorer) set(b bit, on bool) {
	t := &s.m.tables[b.table]
	v := s.v[t.seg]
	v[t.at] &^= b.shows()
	if on {
		v[t.at] |= b.shows()
	}
	s.parts[t.seg] = s.w.entropy(&s.m.segments[t.seg], v)
}
