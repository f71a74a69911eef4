package interp

import (
	"math/big"

	"tamtam/saisim/p4"
)

// A header is the state of one header instance in a packet.
type header struct {
	valid  bool
	fields []*big.Int
	width  int // of the variable field in bits
}

// A vector holds the headers and metadata of a packet.
type vector struct {
	headers []header
	next    []int // for each stack, the number of extracted elements
	unions  []int // for each stack of unions, the same
}

// newVector returns a vector with zero metadata and no valid header.
func newVector(p *p4.Program) *vector {
	v := &vector{
		headers: make([]header, len(p.Headers)), next: make([]int, len(p.Stacks)),
		unions: make([]int, len(p.UnionStacks)),
	}
	for i, h := range p.Headers {
		v.headers[i].valid = h.Metadata
		v.clear(h)
	}
	return v
}

// clear sets all fields of a header to 0.
func (v *vector) clear(h *p4.Header) {
	s := &v.headers[h.Index]
	s.fields, s.width = make([]*big.Int, len(h.Type.Fields)), 0
	for i := range s.fields {
		s.fields[i] = zero
	}
}

// clearMetadata sets all metadata to 0.
func (v *vector) clearMetadata(p *p4.Program) {
	for _, h := range p.Headers {
		if h.Metadata {
			v.clear(h)
		}
	}
}

// clone returns a copy of the vector.
func (v *vector) clone() *vector {
	c := &vector{
		headers: append([]header(nil), v.headers...), next: append([]int(nil), v.next...),
		unions: append([]int(nil), v.unions...),
	}
	for i := range c.headers {
		c.headers[i].fields = append([]*big.Int(nil), c.headers[i].fields...)
	}
	return c
}

// get returns the value of a field. A field of a header that is not valid is 0.
func (v *vector) get(f p4.FieldRef) *big.Int { return v.field(f.Header, f.Index) }

func (v *vector) field(h *p4.Header, index int) *big.Int {
	s := &v.headers[h.Index]
	switch {
	case index == p4.Valid && s.valid:
		return one
	case index == p4.Valid, !s.valid:
		return zero
	}
	return s.fields[index]
}

// width returns the current width of a field in bits.
func (v *vector) width(h *p4.Header, index int) int {
	if index != p4.Valid && index == h.Type.Var {
		return v.headers[h.Index].width
	}
	return p4.FieldRef{Header: h, Index: index}.Width()
}

// raw returns the bits of a field as a number that is not negative.
func (v *vector) raw(h *p4.Header, index int) *big.Int {
	value := v.field(h, index)
	if value.Sign() < 0 {
		return new(big.Int).And(value, mask(v.width(h, index)))
	}
	return value
}

// set writes a field. The write has no effect if the header is not valid or the field does not exist.
func (v *vector) set(f p4.FieldRef, value *big.Int) {
	if f.Exists() {
		v.write(f.Header, f.Index, value)
	}
}

func (v *vector) write(h *p4.Header, index int, value *big.Int) {
	if s := &v.headers[h.Index]; s.valid && index != p4.Valid {
		s.fields[index] = store(h.Type.Fields[index], v.width(h, index), value)
	}
}

// setValid makes a header valid, and the other members of its union invalid.
func (v *vector) setValid(h *p4.Header) {
	v.headers[h.Index].valid = true
	if h.Union != nil {
		for _, other := range h.Union.Headers {
			if other != h {
				v.headers[other.Index].valid = false
			}
		}
	}
}

// add makes a header valid with all fields 0. A valid header keeps its fields.
func (v *vector) add(h *p4.Header) {
	if !v.headers[h.Index].valid {
		v.clear(h)
		v.setValid(h)
	}
}

// size returns the bytes that a header has, or would have, in a packet.
func (v *vector) size(h *p4.Header) int { return (h.Type.Bits + v.headers[h.Index].width) / 8 }

// assign copies a header, or makes the destination invalid if the source is.
func (v *vector) assign(to, from *p4.Header) {
	source := v.headers[from.Index]
	if !source.valid {
		v.headers[to.Index].valid = false
		return
	}
	v.setValid(to)
	s := &v.headers[to.Index]
	s.fields, s.width = append([]*big.Int(nil), source.fields...), source.width
}

// equal compares two headers: false if one is not valid.
func (v *vector) equal(a, b *p4.Header) bool {
	x, y := &v.headers[a.Index], &v.headers[b.Index]
	if a.Type != b.Type || !x.valid || !y.valid || x.width != y.width {
		return false
	}
	for i := range x.fields {
		if x.fields[i].Cmp(y.fields[i]) != 0 {
			return false
		}
	}
	return true
}

// unionEqual compares two unions: true if the same member is valid in both and equal.
func (v *vector) unionEqual(a, b *p4.Union) bool {
	for i := range a.Headers {
		if v.headers[a.Headers[i].Index].valid {
			return v.equal(a.Headers[i], b.Headers[i])
		}
	}
	return false
}

// unionValid reports whether a member of the union is valid.
func (v *vector) unionValid(u *p4.Union) bool {
	for _, h := range u.Headers {
		if v.headers[h.Index].valid {
			return true
		}
	}
	return false
}

// shift moves the elements of a stack by a number of places, and makes the new ones invalid. A positive number pushes
// to the front, a negative one pops. Each element is the list of headers at one place.
func (v *vector) shift(elements [][]*p4.Header, next *int, by int) {
	size := len(elements)
	by = min(max(by, -size), size)
	old := make([][]header, size)
	for i, e := range elements {
		for _, h := range e {
			old[i] = append(old[i], v.headers[h.Index])
		}
	}
	for i, e := range elements {
		for j, h := range e {
			if from := i - by; from >= 0 && from < size {
				v.headers[h.Index] = old[from][j]
			} else {
				v.headers[h.Index].valid = false
				v.clear(h)
			}
		}
	}
	*next = min(max(*next+by, 0), size)
}

// extract fills a header from the front of data, which is long enough.
func (v *vector) extract(h *p4.Header, data []byte, variable int) int {
	v.clear(h)
	s := &v.headers[h.Index]
	s.width = variable
	v.setValid(h)
	at := 0
	for i := range h.Type.Fields {
		width := v.width(h, i)
		s.fields[i] = store(h.Type.Fields[i], width, readBits(data, at, width))
		at += width
	}
	return at / 8
}

// emit appends a header to a packet.
func (v *vector) emit(w *bitWriter, h *p4.Header) {
	for i := range h.Type.Fields {
		w.write(v.raw(h, i), v.width(h, i))
	}
}
