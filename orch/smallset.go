package orch

import "iter"

// A SmallSet is a set that mostly has one member, which needs no map. The zero value is empty.
type SmallSet[K comparable] struct {
	one  K
	any  bool // true if one holds a member
	more map[K]struct{}
}

// Has reports whether k is a member.
func (f SmallSet[K]) Has(k K) bool {
	_, ok := f.more[k]
	return ok || f.any && f.one == k
}

// With returns the set with a member added. It replaces the original set.
func (f SmallSet[K]) With(k K) SmallSet[K] {
	switch {
	case f.Has(k):
	case !f.any:
		f.one, f.any = k, true
	case f.more == nil:
		f.more = map[K]struct{}{k: {}}
	default:
		f.more[k] = struct{}{}
	}
	return f
}

// Without returns the set with a member removed. It replaces the original set.
func (f SmallSet[K]) Without(k K) SmallSet[K] {
	if f.any && f.one == k {
		var none K
		f.one, f.any = none, false
		return f
	}
	delete(f.more, k)
	return f
}

// Empty reports whether there is no member.
func (f SmallSet[K]) Empty() bool { return !f.any && len(f.more) == 0 }

// All iterates over the members in any order.
func (f SmallSet[K]) All() iter.Seq[K] {
	return func(yield func(K) bool) {
		if f.any && !yield(f.one) {
			return
		}
		for k := range f.more {
			if !yield(k) {
				return
			}
		}
	}
}
