package ipfix

// Limits of learned elements: their number, and the bytes of a name.
const (
	maxLearned = 1024
	maxLabel   = 64
)

type elementKey struct {
	enterprise uint32
	id         uint16
}

// A typeSpec holds the indexes of the fields of a template that describe elements.
type typeSpec struct{ enterprise, id, kind, name int }

// typesOf returns nil if the template's records do not describe elements (RFC 5610).
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

// learn stores the enterprise element that the current record describes, for templates that follow. Only the first
// description counts, and none of an element that the decoder knows. It needs a type of RFC 7011 and a name of letters,
// digits, "_" and "-". learn returns false if there is no space for the element.
func (d *Decoder) learn(s *typeSpec) bool {
	for _, place := range []int{s.enterprise, s.id, s.kind, s.name} {
		if d.record.Fields[place].Raw(d.record.Values[place]) {
			return true
		}
	}
	value := func(place int) uint64 {
		v, _ := Unsigned(d.record.Values[place])
		return v
	}
	key := elementKey{uint32(value(s.enterprise)), uint16(value(s.id)) &^ enterpriseBit} // the bit means nothing here
	name, kind := d.record.Values[s.name], value(s.kind)
	known := key.enterprise == d.enterprise && lookup(own, key.id) != nil
	if key.enterprise == 0 || known || kind >= uint64(numTypes) || !label(name) ||
		d.learned[key] != nil {
		return true
	}
	if len(d.learned) == maxLearned || !d.memory.take(d, learnedBytes+len(name)) {
		return false
	}
	d.learned[key] = &Element{ID: key.id, Name: string(name), Type: Type(kind)}
	return true
}

// label reports whether b is a valid element name.
func label(b []byte) bool {
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(b) > 0 && len(b) <= maxLabel
}
