package acl

import "slices"

// An assoc is a map of very few entries, in the order in which they came: a map of Go takes hundreds of bytes for
// the first, and a rule has five.
type assoc[K comparable, V any] []assigned[K, V]

type assigned[K comparable, V any] struct {
	key   K
	value V
}

func (a assoc[K, V]) find(k K) int {
	return slices.IndexFunc(a, func(x assigned[K, V]) bool { return x.key == k })
}

// has reports whether there is a value.
func (a assoc[K, V]) has(k K) bool { return a.find(k) >= 0 }

// get returns a value, or the zero value.
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
