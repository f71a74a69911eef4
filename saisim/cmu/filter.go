package cmu

import (
	"math/bits"
	"slices"

	"tamtam/flymon"
)

// A tupleSpace finds the tasks whose filters match: one hash table for each mask
// in use.
type tupleSpace struct{ tuples []tuple }

// A tuple holds the filters with one mask.
type tuple struct {
	mask  [5]uint64
	words []uint8 // where the mask is not 0
	slots []slot  // open addressing; their number is a power of two
	used  []slot  // before build
}

type slot struct {
	value [5]uint64
	tasks []*task // nil: free
}

// add enters a task's filter, each of its TCAM entries: a packet matches at most
// one of them.
func (s *tupleSpace) add(t *task) {
	for _, e := range entries(&t.layout.Filter) {
		at := slices.IndexFunc(s.tuples, func(tp tuple) bool { return tp.mask == e.mask })
		if at < 0 {
			at = len(s.tuples)
			tp := tuple{mask: e.mask}
			for w, m := range e.mask {
				if m != 0 {
					tp.words = append(tp.words, uint8(w))
				}
			}
			s.tuples = append(s.tuples, tp)
		}
		tp := &s.tuples[at]
		tp.used = append(tp.used, slot{value: e.value, tasks: []*task{t}})
	}
}

// build fills the hash tables.
func (s *tupleSpace) build() {
	for i := range s.tuples {
		tp := &s.tuples[i]
		tp.slots = make([]slot, 1<<bits.Len(uint(2*len(tp.used)-1)))
		for _, u := range tp.used {
			at := tp.slot(&u.value)
			tp.slots[at].value = u.value
			tp.slots[at].tasks = append(tp.slots[at].tasks, u.tasks...)
		}
		tp.used = nil
	}
}

// slot is where a masked value is, or belongs.
func (tp *tuple) slot(v *[5]uint64) int {
	var h uint64
	for _, w := range tp.words {
		h = (h ^ v[w]) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	low := len(tp.slots) - 1
	for i := int(h>>32) & low; ; i = (i + 1) & low {
		if s := &tp.slots[i]; s.tasks == nil || s.value == *v {
			return i
		}
	}
}

// find returns the tasks that a packet is for.
func (tp *tuple) find(k *[5]uint64) []*task {
	var v [5]uint64
	for _, w := range tp.words {
		v[w] = k[w] & tp.mask[w]
	}
	return tp.slots[tp.slot(&v)].tasks
}

// An entry is a masked value.
type entry struct{ mask, value [5]uint64 }

// entries are a filter's: one for each prefix of its ranges of ports, and for each
// IP version that it may have.
func entries(f *flymon.Filter) []entry {
	var e entry
	versions := []uint64{uint64(f.Version)}
	if f.HasProtocol {
		e.mask[4] |= 0xff << 24
		e.value[4] |= uint64(f.Protocol) << 24
		if f.Version == 0 {
			versions = []uint64{4, 6}
		}
	}
	one := flymon.Vector{}
	if f.SrcIP.IsValid() {
		v := flymon.Make(f.SrcIP.Addr(), f.SrcIP.Addr(), 0, 0, 0, 0)
		one[0], one[1] = v[0], v[1]
		e.mask[0], e.mask[1] = prefixMask(f.SrcIP.Bits())
	}
	if f.DstIP.IsValid() {
		v := flymon.Make(f.DstIP.Addr(), f.DstIP.Addr(), 0, 0, 0, 0)
		one[2], one[3] = v[2], v[3]
		e.mask[2], e.mask[3] = prefixMask(f.DstIP.Bits())
	}
	copy(e.value[:4], one[:4])
	var all []entry
	for _, version := range versions {
		for _, src := range f.SrcPort.Prefixes() {
			for _, dst := range f.DstPort.Prefixes() {
				x := e
				if version != 0 {
					x.mask[4] |= versionMask
					x.value[4] |= version << 16
				}
				x.mask[4] |= uint64(src.Mask)<<48 | uint64(dst.Mask)<<32
				x.value[4] |= uint64(src.Value)<<48 | uint64(dst.Value)<<32
				if f.SrcPort.Has || f.DstPort.Has {
					x.mask[4] |= hasPorts
					x.value[4] |= hasPorts
				}
				all = append(all, x)
			}
		}
	}
	return all
}

func prefixMask(n int) (hi, lo uint64) {
	if n > 64 {
		return ^uint64(0), ^uint64(0) << (128 - n)
	}
	if n == 0 {
		return 0, 0
	}
	return ^uint64(0) << (64 - n), 0
}
