package ipfix

import "slices"

// A Memory bounds what several decoders hold: their templates, and the elements that they learned. It must be used by
// one goroutine only.
//
// Each decoder may hold a number of bytes, whatever the others hold. What it holds beyond comes from a shared part. If
// that is exhausted, the decoder that holds the most forgets everything. So an exporter with few templates keeps them,
// however many others send as many as they can.
type Memory struct {
	each, shared int
	used         int        // bytes of the shared part that are used
	largest      []*Decoder // decoders that use the shared part
	values       [][]byte   // buffer for the values of a record
}

// Estimated bytes of what a decoder holds, including the maps that refer to it. A domain includes what users of the
// decoder hold for it.
const (
	domainBytes   = 512
	templateBytes = 160
	fieldBytes    = 32
	learnedBytes  = 160 // without the name
)

// NewMemory returns a memory for decoders that may hold each bytes, and beyond that shared bytes together.
func NewMemory(each, shared int) *Memory { return &Memory{each: each, shared: shared} }

// NewDecoder returns a decoder like the function [NewDecoder], which is bounded by the memory, too. If it cannot hold a
// template, or had to forget it, it counts its sets as [Counts.WithoutTemplate]. It calls forget when it forgets
// everything, for users that also hold something for each domain.
func (m *Memory) NewDecoder(enterprise uint32, forget func()) *Decoder {
	d := NewDecoder(enterprise)
	d.memory, d.forget = m, forget
	return d
}

// bytes returns the estimated size of a template.
func (t *Template) bytes() int { return templateBytes + fieldBytes*len(t.Fields) }

// take reserves n bytes for a decoder, or releases them if n is negative. It returns false if there is no space for
// them, because no other decoder would hold more.
func (m *Memory) take(d *Decoder, n int) bool {
	if m == nil {
		return true
	}
	beyond := func(held int) int { return max(held-m.each, 0) }
	for {
		more := beyond(d.held+n) - beyond(d.held)
		if m.used+more <= m.shared {
			m.used += more
			break
		}
		largest := d
		for _, o := range m.largest {
			if o != d && o.held > max(largest.held, d.held+n) {
				largest = o
			}
		}
		if largest == d {
			return false
		}
		largest.forgetAll()
	}
	was := d.held > m.each
	d.held += n
	if is := d.held > m.each; is && !was {
		m.largest = append(m.largest, d)
	} else if was && !is {
		m.largest = slices.DeleteFunc(m.largest, func(o *Decoder) bool { return o == d })
	}
	return true
}

// forgetAll forgets all templates, learned elements and sequence numbers. The next message counts a record as
// undecoded, since losses before it are unknown.
func (d *Decoder) forgetAll() {
	d.domains, d.learned = map[uint32]*domain{}, map[elementKey]*Element{}
	d.templates, d.specs, d.forgot, d.unlearned = 0, 0, true, true
	d.memory.take(d, -d.held)
	d.forget()
}
