package schema

import (
	"net/netip"
	"slices"
)

// PrefixKeys maps prefixes to the keys of their rows: usually one, but a prefix can be written in several ways. The
// zero value is empty.
type PrefixKeys struct {
	first  map[netip.Prefix]string
	others map[netip.Prefix][]string
}

// Add adds a row, which must not exist.
func (x *PrefixKeys) Add(p netip.Prefix, key string) {
	if x.first == nil {
		x.first, x.others = map[netip.Prefix]string{}, map[netip.Prefix][]string{}
	}
	if _, ok := x.first[p]; ok {
		x.others[p] = append(x.others[p], key)
	} else {
		x.first[p] = key
	}
}

// Remove removes a row.
func (x *PrefixKeys) Remove(p netip.Prefix, key string) {
	left := slices.DeleteFunc(x.Keys(p), func(k string) bool { return k == key })
	delete(x.first, p)
	delete(x.others, p)
	for _, k := range left {
		x.Add(p, k)
	}
}

// Keys returns the keys of the rows of a prefix, in order of precedence.
func (x *PrefixKeys) Keys(p netip.Prefix) []string {
	first, ok := x.first[p]
	if !ok {
		return nil
	}
	keys := append([]string{first}, x.others[p]...)
	slices.SortFunc(keys, CompareNames)
	return keys
}
