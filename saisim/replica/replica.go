package replica

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// Options lists types that are not copied.
type Options struct {
	// Zero lists types whose values are zero in the copy.
	Zero []reflect.Type
	// Shared lists types whose values never change. Pointers to such values are copied unchanged.
	Shared []reflect.Type
}

// Of returns a copy of the value that p points to. Reachable values must not change meanwhile. Strings and targets of
// unsafe pointers, which an atomic.Pointer contains, are shared.
func Of[T any](p *T, o Options) (*T, error) {
	c, err := newCopier(p, o)
	if err != nil {
		return nil, err
	}
	for i := range c.blocks {
		c.copy(&c.blocks[i])
		c.starts = append(c.starts, c.blocks[i].from())
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		c.each(b.to, b.of, b.n, c.mend)
	}
	return (*T)(c.moved(unsafe.Pointer(p))), nil
}

// newCopier finds all memory that is reachable from p.
func newCopier[T any](p *T, o Options) (*copier, error) {
	c := &copier{
		shapes: map[reflect.Type]*shape{}, maps: map[unsafe.Pointer]reflect.Value{},
		copies: map[unsafe.Pointer]reflect.Value{},
		zero:   o.Zero, shared: append([]reflect.Type{reflect.TypeFor[time.Location]()}, o.Shared...),
	}
	c.reach(unsafe.Pointer(p), reflect.TypeFor[T](), 1)
	for len(c.work) > 0 && c.err == nil {
		r := c.work[len(c.work)-1]
		c.work = c.work[:len(c.work)-1]
		c.each(r.at, r.of, r.n, c.look)
	}
	if c.err == nil {
		c.merge()
	}
	if c.err != nil {
		return nil, fmt.Errorf("copy of %v: %w", reflect.TypeFor[T](), c.err)
	}
	return c, nil
}

// A copier first finds all reachable memory, then copies it block by block, and redirects pointers in the copies to
// copies.
type copier struct {
	shapes       map[reflect.Type]*shape
	zero, shared []reflect.Type
	seen         places
	work         []block // blocks that were reached but not examined yet
	found        []block
	blocks       []block // merged from found, so that each byte is in one; sorted by start
	starts       []uintptr
	maps         map[unsafe.Pointer]reflect.Value // original maps
	copies       map[unsafe.Pointer]reflect.Value
	err          error
}

// A place is an address with some values of a type.
type place struct {
	at unsafe.Pointer
	of *shape
	n  int
}

// A block is a place with the address of its copy.
type block struct {
	place
	to unsafe.Pointer
}

func (b *block) from() uintptr { return uintptr(b.at) }
func (b *block) end() uintptr  { return b.from() + uintptr(b.n)*b.of.size }

// reach records that n values of a type are at an address.
func (c *copier) reach(at unsafe.Pointer, t reflect.Type, n int) {
	s := c.shape(t)
	if at == nil || n == 0 || s.size == 0 {
		return
	}
	p := place{at, s, n}
	if !c.seen.add(p) {
		return
	}
	c.found = append(c.found, block{place: p})
	if len(s.refs) > 0 {
		c.work = append(c.work, block{place: p})
	}
}

// each calls do for all references in some values.
func (c *copier) each(at unsafe.Pointer, s *shape, n int, do func(unsafe.Pointer, *ref)) {
	if len(s.refs) == 0 {
		return
	}
	for i := range n {
		base := unsafe.Add(at, uintptr(i)*s.size)
		for j := range s.refs {
			r := &s.refs[j]
			if r.kind == reflect.Array {
				c.each(unsafe.Add(base, r.at), r.array, r.n, do)
			} else {
				do(unsafe.Add(base, r.at), r)
			}
		}
	}
}

// look reaches the target of a reference.
func (c *copier) look(at unsafe.Pointer, r *ref) {
	switch r.kind {
	case reflect.Pointer:
		c.reach(*(*unsafe.Pointer)(at), r.of.Elem(), 1)
	case reflect.Slice:
		s := reflect.NewAt(r.of, at).Elem()
		c.reach(*(*unsafe.Pointer)(at), r.of.Elem(), s.Cap())
	case reflect.Chan:
		if *(*unsafe.Pointer)(at) != nil {
			c.err = fmt.Errorf("a channel, %v", r.of)
		}
	case reflect.Map:
		c.lookMap(reflect.NewAt(r.of, at).Elem())
	case reflect.Interface:
		if v := reflect.NewAt(r.of, at).Elem(); !v.IsNil() {
			c.lookAt(v.Elem())
		}
	}
}

// lookAt examines a value that has no address.
func (c *copier) lookAt(v reflect.Value) {
	if s := c.shape(v.Type()); len(s.refs) > 0 {
		x := reflect.New(v.Type())
		x.Elem().Set(v)
		c.each(x.UnsafePointer(), s, 1, c.look)
	}
}

func (c *copier) lookMap(m reflect.Value) {
	if m.IsNil() {
		return
	}
	at := m.UnsafePointer()
	if _, ok := c.maps[at]; ok {
		return
	}
	c.maps[at] = m
	if len(c.shape(m.Type().Key()).refs)+len(c.shape(m.Type().Elem()).refs) == 0 {
		return
	}
	for i := m.MapRange(); i.Next(); {
		c.lookAt(i.Key())
		c.lookAt(i.Value())
	}
}

// merge combines the found places into blocks that do not overlap: values within others, and slices of one array.
func (c *copier) merge() {
	slices.SortFunc(c.found, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.from(), b.from()), -cmp.Compare(a.end(), b.end()), len(b.of.refs)-len(a.of.refs))
	})
	for _, f := range c.found {
		last := len(c.blocks) - 1
		switch {
		case last < 0 || f.from() >= c.blocks[last].end():
			c.blocks = append(c.blocks, f)
		case f.end() <= c.blocks[last].end(): // f lies within the last block
		case f.of == c.blocks[last].of && (f.from()-c.blocks[last].from())%f.of.size == 0:
			b := &c.blocks[last]
			b.n = int((f.end() - b.from()) / f.of.size)
		case len(f.of.refs)+len(c.blocks[last].of.refs) == 0:
			b := &c.blocks[last]
			b.n, b.of = int(f.end()-b.from()), c.shape(reflect.TypeFor[byte]())
		default:
			c.err = fmt.Errorf("%v overlaps %v", f.of.of, c.blocks[last].of.of)
			return
		}
	}
}

// copy copies a block without changes.
func (c *copier) copy(b *block) {
	if len(b.of.refs) == 0 {
		size := b.end() - b.from()
		to := make([]uint64, (size+7)/8) // aligned for all types
		b.to = unsafe.Pointer(&to[0])
		copy(unsafe.Slice((*byte)(b.to), size), unsafe.Slice((*byte)(b.at), size))
		return
	}
	to := reflect.MakeSlice(reflect.SliceOf(b.of.of), b.n, b.n)
	reflect.Copy(to, reflect.SliceAt(b.of.of, b.at, b.n))
	b.to = to.UnsafePointer()
}

// moved returns the address in the copy for an original address.
func (c *copier) moved(at unsafe.Pointer) unsafe.Pointer {
	a := uintptr(at)
	i, found := slices.BinarySearch(c.starts, a)
	if !found {
		i--
	}
	b := &c.blocks[i]
	return unsafe.Add(b.to, a-b.from())
}

// mend redirects a reference in a copy to a copy.
func (c *copier) mend(at unsafe.Pointer, r *ref) {
	p := (*unsafe.Pointer)(at)
	switch r.kind {
	case reflect.Pointer:
		if *p != nil && c.shape(r.of.Elem()).size > 0 {
			*p = c.moved(*p)
		}
	case reflect.Slice:
		if reflect.NewAt(r.of, at).Elem().Cap() > 0 && c.shape(r.of.Elem()).size > 0 {
			*p = c.moved(*p)
		}
	case reflect.Map:
		if m := reflect.NewAt(r.of, at).Elem(); !m.IsNil() {
			m.Set(c.copyMap(m))
		}
	case reflect.Interface:
		if v := reflect.NewAt(r.of, at).Elem(); !v.IsNil() {
			v.Set(c.copyOf(v.Elem()))
		}
	case reflect.Func:
		*p = nil
	case reflect.Invalid:
		reflect.NewAt(r.of, at).Elem().SetZero()
	}
}

// copyOf returns the copy of a value that has no address.
func (c *copier) copyOf(v reflect.Value) reflect.Value {
	s := c.shape(v.Type())
	if len(s.refs) == 0 {
		return v
	}
	x := reflect.New(v.Type())
	x.Elem().Set(v)
	c.each(x.UnsafePointer(), s, 1, c.mend)
	return x.Elem()
}

func (c *copier) copyMap(m reflect.Value) reflect.Value {
	at := m.UnsafePointer()
	if to := c.copies[at]; to.IsValid() {
		return to
	}
	to := reflect.MakeMapWithSize(m.Type(), m.Len())
	c.copies[at] = to
	for i := m.MapRange(); i.Next(); {
		to.SetMapIndex(c.copyOf(i.Key()), c.copyOf(i.Value()))
	}
	return to
}
