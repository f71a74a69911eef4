package cmu

import (
	"math/bits"
	"net/netip"
	"slices"

	"tamtam/tam/flymon"
)

// words is the part of a packet that filters match: the vector without the time, with two bits in its free bytes.
type words [flymon.Words - 1]uint64

const (
	hasPorts = 1 << iota
	hasIP
)

func wordsOf(v *flymon.Vector, ports bool) words {
	w := words{v[0], v[1], v[2], v[3], v[4] &^ 0xffff}
	if ports {
		w[4] |= hasPorts
	}
	if v.Version() != 0 {
		w[4] |= hasIP
	}
	return w
}

// ternary returns a filter as a mask and the value under it. It omits ranges of ports.
func ternary(f *flymon.Filter) (mask, value words) {
	prefix := func(p netip.Prefix, at int) {
		if !p.IsValid() {
			return
		}
		a := flymon.Make(p.Addr(), netip.Addr{}, 0, 0, 0, 0)
		value[at], value[at+1] = a[0], a[1]
		n := p.Bits()
		mask[at], mask[at+1] = ^(^uint64(0) >> n), ^(^uint64(0) >> max(0, n-64))
	}
	port := func(p flymon.Ports, shift int) {
		if !p.Has {
			return
		}
		mask[4] |= hasPorts
		value[4] |= hasPorts
		if p.Lo == p.Hi {
			mask[4] |= 0xffff << shift
			value[4] |= uint64(p.Lo) << shift
		}
	}
	prefix(f.SrcIP, 0)
	prefix(f.DstIP, 2)
	port(f.SrcPort, 48)
	port(f.DstPort, 32)
	if f.HasProtocol {
		mask[4] |= 0xff<<24 | hasIP
		value[4] |= uint64(f.Protocol)<<24 | hasIP
	}
	if f.Version != 0 {
		mask[4] |= 0xff << 16
		value[4] |= uint64(f.Version) << 16
	}
	return mask, value
}

// A member is a task in a cell, with its ranges of ports. Each range is the lowest port and the number of further
// ports.
type member struct {
	src, srcMore, dst, dstMore uint16
	task                       *task
}

func newMember(t *task) member {
	m := member{srcMore: 0xffff, dstMore: 0xffff, task: t}
	if p := t.layout.Filter.SrcPort; p.Has {
		m.src, m.srcMore = p.Lo, p.Hi-p.Lo
	}
	if p := t.layout.Filter.DstPort; p.Has {
		m.dst, m.dstMore = p.Lo, p.Hi-p.Lo
	}
	return m
}

func (m *member) has(src, dst uint16) bool { return src-m.src <= m.srcMore && dst-m.dst <= m.dstMore }

// A classifier finds the tasks whose filters match a packet. It has a hash table for each mask of the filters.
type classifier struct {
	tasks  int
	all    []*task // tasks whose filters match everything
	tuples []*tuple
}

type tuple struct {
	mask  words
	tasks []*task
	cells []cell // open addressing, at most half full
	shift uint8
}

type cell struct {
	value   words
	members []member // empty if the cell is free
}

func (c *classifier) add(t *task) {
	c.tasks++
	mask, _ := ternary(&t.layout.Filter)
	if mask == (words{}) {
		c.all = append(c.all, t)
		return
	}
	i := slices.IndexFunc(c.tuples, func(x *tuple) bool { return x.mask == mask })
	if i < 0 {
		i = len(c.tuples)
		c.tuples = append(c.tuples, &tuple{mask: mask})
	}
	c.tuples[i].tasks = append(c.tuples[i].tasks, t)
	c.tuples[i].build()
}

func (c *classifier) remove(t *task) {
	c.tasks--
	is := func(x *task) bool { return x == t }
	c.all = slices.DeleteFunc(c.all, is)
	for i, x := range c.tuples {
		n := len(x.tasks)
		if x.tasks = slices.DeleteFunc(x.tasks, is); len(x.tasks) == n {
			continue
		}
		if n == 1 {
			c.tuples = slices.Delete(c.tuples, i, i+1)
		} else {
			x.build()
		}
		return
	}
}

// build fills the table from the tasks.
func (x *tuple) build() {
	log := bits.Len(uint(2*len(x.tasks) - 1))
	x.cells, x.shift = make([]cell, 1<<log), uint8(64-log)
	for _, t := range x.tasks {
		_, v := ternary(&t.layout.Filter)
		c := x.cell(&v)
		c.value, c.members = v, append(c.members, newMember(t))
	}
}

// is does the same as ==, which would call a function to compare memory.
func (w *words) is(v *words) bool {
	return (w[0]^v[0])|(w[1]^v[1])|(w[2]^v[2])|(w[3]^v[3])|(w[4]^v[4]) == 0
}

// find returns the members of a packet's cell.
func (x *tuple) find(w *words) []member {
	m := &x.mask
	v := words{w[0] & m[0], w[1] & m[1], w[2] & m[2], w[3] & m[3], w[4] & m[4]}
	return x.cell(&v).members
}

// cell returns the cell of a value, or the free cell where it would be.
func (x *tuple) cell(v *words) *cell {
	h := v[0]*0x9e3779b97f4a7c15 ^ v[1]*0xbf58476d1ce4e5b9 ^ v[2]*0x94d049bb133111eb ^
		v[3]*0xd6e8feb86659fd93 ^ v[4]*0xff51afd7ed558ccd
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	for i := h >> x.shift; ; i++ {
		if c := &x.cells[int(i)&(len(x.cells)-1)]; len(c.members) == 0 || c.value.is(v) {
			return c
		}
	}
}
