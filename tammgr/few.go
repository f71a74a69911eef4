package tammgr

import "iter"

// A few is a set that mostly has one member: that alone takes no map. The zero value is empty.
type few[K comparable] struct {
	one  K
	any  bool // one is a member
	more map[K]struct{}
}

func (f few[K]) has(k K) bool {
	_, ok := f.more[k]
	return ok || f.any && f.one == k
}

// with returns the set with a member, in place of the set.
func (f few[K]) with(k K) few[K] {
	switch {
	case f.has(k):
	case !f.any:
		f.one, f.any = k, true
	case f.more == nil:
		f.more = map[K]struct{}{k: {}}
	default:
		f.more[k] = struct{}{}
	}
	return f
}

// without returns the set without a member, in place of the set.
func (f few[K]) without(k K) few[K] {
	if f.any && f.one == k {
		var none K
		f.one, f.any = none, false
		return f
	}
	delete(f.more, k)
	return f
}

func (f few[K]) empty() bool { return !f.any && len(f.more) == 0 }

// all yields the members in any order.
func (f few[K]) all() iter.Seq[K] {
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
