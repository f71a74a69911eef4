package schema

import "slices"

// PrefixKeys maps prefixes in VRFs to the keys of their rows: usually one, but a prefix can be written in several ways.
// The zero value is empty.
type PrefixKeys struct {
	first  map[Dest]string
	others map[Dest][]string
}

// Add adds a row, which must not exist.
func (x *PrefixKeys) Add(p Dest, key string) {
	if x.first == nil {
		x.first, x.others = map[Dest]string{}, map[Dest][]string{}
	}
	if _, ok := x.first[p]; ok {
		x.others[p] = append(x.others[p], key)
	} else {
		x.first[p] = key
	}
}

// Remove removes a row.
func (x *PrefixKeys) Remove(p Dest, key string) {
	left := slices.DeleteFunc(x.Keys(p), func(k string) bool { return k == key })
	delete(x.first, p)
	delete(x.others, p)
	for _, k := range left {
		x.Add(p, k)
	}
}

// Keys returns the keys of the rows of a prefix, in order of precedence.
func (x *PrefixKeys) Keys(p Dest) []string {
	first, ok := x.first[p]
	if !ok {
		return nil
	}
	keys := append([]string{first}, x.others[p]...)
	slices.SortFunc(keys, CompareNames)
	return keys
}
