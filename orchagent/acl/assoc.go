package acl

import "slices"

// An assoc is a map of a small number of entries, kept in insertion order. A Go map uses hundreds of bytes for its
// first entry, and a rule has about five entries.
type assoc[K comparable, V any] []assigned[K, V]

type assigned[K comparable, V any] struct {
	key   K
	value V
}

func (a assoc[K, V]) find(k K) int {
	return slices.IndexFunc(a, func(x assigned[K, V]) bool { return x.key == k })
}

// has reports whether the map contains k.
func (a assoc[K, V]) has(k K) bool { return a.find(k) >= 0 }

// get returns the value of k, or the zero value if the map does not contain k.
func (a assoc[K, V]) get(k K) (v V) {
	if i := a.find(k); i >= 0 {
		v = a[i].value
	}
	return v
}

func (a *assoc[K, V]) set(k K, v V) {
	if i := a.find(k); i >= 0 {
		(*a)[i].value = v
		return
	}
	*a = append(*a, assigned[K, V]{k, v})
}

func (a *assoc[K, V]) drop(k K) {
	if i := a.find(k); i >= 0 {
		*a = slices.Delete(*a, i, i+1)
	}
}
