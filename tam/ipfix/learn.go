package ipfix

// Bounds of what is learned of elements.
const (
	maxLearned = 1024
	maxLabel   = 64
)

type elementKey struct {
	enterprise uint32
	id         uint16
}

// A typeSpec says which fields of a template describe elements: their places.
type typeSpec struct{ enterprise, id, kind, name int }

// typesOf is nil for a template whose records do not describe elements as RFC 5610 has it.
func typesOf(t *Template) *typeSpec {
	s := typeSpec{-1, -1, -1, -1}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Enterprise != 0 {
			continue
		}
		switch f.ID {
		case 346:
			s.enterprise = i
		case 303:
			s.id = i
		case 339:
			s.kind = i
		case 341:
			s.name = i
		}
	}
	if t.Scope == 0 || min(s.enterprise, s.id, s.kind, s.name) < 0 {
		return nil
	}
	return &s
}

// learn notes the element of an enterprise that the record at hand describes, for templates that come later. The first
// description counts, and only one with a type of RFC 7011 and a name of letters, digits and the like.
func (d *Decoder) learn(s *typeSpec) {
	for _, place := range []int{s.enterprise, s.id, s.kind, s.name} {
		if d.record.Fields[place].Raw(d.record.Values[place]) {
			return
		}
	}
	value := func(place int) uint64 {
		v, _ := Unsigned(d.record.Values[place])
		return v
	}
	key := elementKey{uint32(value(s.enterprise)), uint16(value(s.id)) &^ enterpriseBit} // the bit says nothing here
	name, kind := d.record.Values[s.name], value(s.kind)
	if key.enterprise == 0 || key.enterprise == d.enterprise || kind >= uint64(numTypes) || !label(name) ||
		d.learned[key] != nil || len(d.learned) == maxLearned {
		return
	}
	d.learned[key] = &Element{ID: key.id, Name: string(name), Type: Type(kind)}
}

// label reports whether b can be the name of an element.
func label(b []byte) bool {
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(b) > 0 && len(b) <= maxLabel
}
