package routes

import (
	"maps"
	"net/netip"
	"slices"

	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
)

// A parsed is a row of APPL_DB.
type parsed[T any] struct {
	row T
	err error
}

// A store holds the rows of APPL_DB as they are now, parsed.
type store struct {
	interfaces map[string]parsed[schema.Interface]
	addresses  map[string]parsed[schema.InterfaceAddress]
	neighbors  map[string]parsed[schema.Neighbor]
	routes     map[string]parsed[schema.Route]
	// A row of routes to each prefix, and the others, where there are.
	byPrefix map[netip.Prefix]string
	others   map[netip.Prefix][]string
}

func newStore() store {
	return store{
		interfaces: map[string]parsed[schema.Interface]{},
		addresses:  map[string]parsed[schema.InterfaceAddress]{}, neighbors: map[string]parsed[schema.Neighbor]{},
		routes: map[string]parsed[schema.Route]{}, byPrefix: map[netip.Prefix]string{}, others: map[netip.Prefix][]string{},
	}
}

// keys are those of the rows of routes to a prefix, in the order in which rows win.
func (s *store) keys(p netip.Prefix) []string {
	first, ok := s.byPrefix[p]
	if !ok {
		return nil
	}
	return slices.SortedFunc(slices.Values(append([]string{first}, s.others[p]...)), schema.CompareNames)
}

func (s *store) putRoute(key string, row schema.Route, err error) {
	s.routes[key] = parsed[schema.Route]{row, err}
	if err != nil {
		return
	}
	if _, ok := s.byPrefix[row.Prefix]; ok {
		s.others[row.Prefix] = append(s.others[row.Prefix], key)
	} else {
		s.byPrefix[row.Prefix] = key
	}
}

func (s *store) removeRoute(key string) {
	row, ok := s.routes[key]
	delete(s.routes, key)
	if p := row.row.Prefix; ok && row.err == nil {
		left := slices.DeleteFunc(s.keys(p), func(k string) bool { return k == key })
		delete(s.byPrefix, p)
		delete(s.others, p)
		for i, k := range left {
			if i == 0 {
				s.byPrefix[p] = k
			} else {
				s.others[p] = append(s.others[p], k)
			}
		}
	}
}

func (s *store) put(k orch.RowKey, fields swss.FieldValues) {
	key := schema.ConfigKey(k.Key)
	switch {
	case k.Table == schema.AppInterface && !schema.IsAddressKey(key):
		put(s.interfaces, k.Key)(schema.ParseInterface(schema.AppInterface, key, fields))
	case k.Table == schema.AppInterface:
		put(s.addresses, k.Key)(schema.ParseInterfaceAddress(schema.AppInterface, key, fields))
	case k.Table == schema.AppNeigh:
		put(s.neighbors, k.Key)(schema.ParseNeighbor(key, fields))
	case k.Table == schema.AppRoute:
		row, err := schema.ParseRoute(k.Key, fields)
		s.putRoute(k.Key, row, err)
	}
}

func put[T any](to map[string]parsed[T], key string) func(T, error) {
	return func(row T, err error) { to[key] = parsed[T]{row, err} }
}

func (s *store) remove(k orch.RowKey) {
	switch k.Table {
	case schema.AppInterface:
		delete(s.interfaces, k.Key)
		delete(s.addresses, k.Key)
	case schema.AppNeigh:
		delete(s.neighbors, k.Key)
	case schema.AppRoute:
		s.removeRoute(k.Key)
	}
}

// sorted lists keys in the order in which rows win.
func sorted[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), schema.CompareNames)
}
