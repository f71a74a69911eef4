package replica

import (
	"reflect"
	"slices"
)

// A shape holds the positions of references in a value.
type shape struct {
	of   reflect.Type
	size uintptr
	refs []ref
}

// A ref is a reference at an offset: a pointer, slice, map, interface, function or channel. reflect.Invalid marks a
// value that is zero in the copy. reflect.Array marks n values of the shape array.
type ref struct {
	at    uintptr
	kind  reflect.Kind
	of    reflect.Type
	array *shape
	n     int
}

func (c *copier) shape(t reflect.Type) *shape {
	if s := c.shapes[t]; s != nil {
		return s
	}
	s := &shape{of: t, size: t.Size()}
	c.shapes[t] = s // before its parts, which may refer back to it
	s.refs = c.refs(t)
	return s
}

// refs returns the references in a value of a type.
func (c *copier) refs(t reflect.Type) []ref {
	if slices.Contains(c.zero, t) {
		return []ref{{kind: reflect.Invalid, of: t}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		if slices.Contains(c.shared, t.Elem()) {
			return nil
		}
		return []ref{{kind: reflect.Pointer, of: t}}
	case reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
		return []ref{{kind: t.Kind(), of: t}}
	case reflect.Array:
		if s := c.shape(t.Elem()); len(s.refs) > 0 && t.Len() > 0 {
			return []ref{{kind: reflect.Array, array: s, n: t.Len()}}
		}
	case reflect.Struct:
		if t.PkgPath() == "unique" { // a handle is a pointer that represents a value
			return nil
		}
		var all []ref
		for i := range t.NumField() {
			f := t.Field(i)
			for _, r := range c.refs(f.Type) {
				r.at += f.Offset
				all = append(all, r)
			}
		}
		return all
	}
	return nil
}
