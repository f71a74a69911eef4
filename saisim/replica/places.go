package replica

// places is a hash set of places, with open addressing and linear probing. It holds one place for each value that is
// reached.
type places struct {
	slots []place // length is a power of two; at is nil if a slot is free
	n     int
}

// add adds a place, and reports whether it is new.
func (s *places) add(p place) bool {
	if 2*(s.n+1) > len(s.slots) {
		old := s.slots
		s.slots = make([]place, max(64, 2*len(old)))
		for _, o := range old {
			if o.at != nil {
				*s.slot(o) = o
			}
		}
	}
	slot := s.slot(p)
	if slot.at != nil {
		return false
	}
	*slot = p
	s.n++
	return true
}

// slot returns the slot that holds a place, or the free slot for it.
func (s *places) slot(p place) *place {
	for i := uint64(uintptr(p.at)) * 0x9e3779b97f4a7c15 >> 20; ; i++ {
		x := &s.slots[i&uint64(len(s.slots)-1)]
		if x.at == nil || *x == p {
			return x
		}
	}
}
