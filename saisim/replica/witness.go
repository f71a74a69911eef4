package replica

import (
	"fmt"
	"reflect"
	"unsafe"
)

// A Witness holds every byte that is reachable from a value.
type Witness struct {
	blocks []block
	bytes  [][]byte
	maps   []reflect.Value
	were   []reflect.Value
}

// Watch returns a witness of the current value that p points to.
func Watch[T any](p *T) (*Witness, error) {
	c, err := newCopier(p, Options{})
	if err != nil {
		return nil, err
	}
	w := &Witness{blocks: c.blocks}
	for i := range c.blocks {
		w.bytes = append(w.bytes, append([]byte(nil), c.blocks[i].raw()...))
	}
	for _, m := range c.maps {
		was := reflect.MakeMapWithSize(m.Type(), m.Len())
		for i := m.MapRange(); i.Next(); {
			was.SetMapIndex(i.Key(), i.Value())
		}
		w.maps, w.were = append(w.maps, m), append(w.were, was)
	}
	return w, nil
}

func (b *block) raw() []byte { return unsafe.Slice((*byte)(b.at), b.end()-b.from()) }

// Changed returns a description of a change, or "" if nothing has changed.
func (w *Witness) Changed() string {
	for i := range w.blocks {
		b := &w.blocks[i]
		for at, x := range b.raw() {
			if x != w.bytes[i][at] {
				return fmt.Sprintf("byte %d of %d %v", at, b.n, b.of.of)
			}
		}
	}
	for i, was := range w.were {
		if is := w.maps[i]; is.Len() != was.Len() {
			return fmt.Sprintf("%d members of a %v, had %d", is.Len(), is.Type(), was.Len())
		}
		for j := was.MapRange(); j.Next(); {
			if v := w.maps[i].MapIndex(j.Key()); !v.IsValid() || !equal(v, j.Value()) {
				return fmt.Sprintf("a member of a %v", was.Type())
			}
		}
	}
	return ""
}

// equal compares two values bit by bit, without the values that they refer to.
func equal(a, b reflect.Value) bool {
	raw := func(v reflect.Value) string {
		x := reflect.New(v.Type())
		x.Elem().Set(v)
		return string(unsafe.Slice((*byte)(x.UnsafePointer()), v.Type().Size()))
	}
	return raw(a) == raw(b)
}
