package routes

import (
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A parsed is a parsed row of APPL_DB.
type parsed[T any] struct {
	row T
	err error
}

// A store holds the current rows of APPL_DB, parsed.
type store struct {
	vrfs       map[string]parsed[schema.VRF]
	interfaces map[string]parsed[schema.Interface]
	addresses  map[string]parsed[schema.InterfaceAddress]
	neighbors  map[string]parsed[schema.Neighbor]
	routes     map[string]parsed[schema.Route]
	byPrefix   schema.PrefixKeys // keys of routes by prefix
}

func newStore() store {
	return store{
		vrfs:       map[string]parsed[schema.VRF]{},
		interfaces: map[string]parsed[schema.Interface]{},
		addresses:  map[string]parsed[schema.InterfaceAddress]{}, neighbors: map[string]parsed[schema.Neighbor]{},
		routes: map[string]parsed[schema.Route]{},
	}
}

func (s *store) putRoute(key string, row schema.Route, err error) {
	s.routes[key] = parsed[schema.Route]{row, err}
	if err == nil {
		s.byPrefix.Add(row.Dest, key)
	}
}

func (s *store) removeRoute(key string) {
	if row, ok := s.routes[key]; ok && row.err == nil {
		s.byPrefix.Remove(row.row.Dest, key)
	}
	delete(s.routes, key)
}

func (s *store) put(k orch.RowKey, fields swss.FieldValues) {
	key := schema.ConfigKey(k.Key)
	switch {
	case k.Table == schema.AppVRF:
		put(s.vrfs, k.Key)(schema.ParseVRF(key, fields))
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
	case schema.AppVRF:
		delete(s.vrfs, k.Key)
	case schema.AppInterface:
		delete(s.interfaces, k.Key)
		delete(s.addresses, k.Key)
	case schema.AppNeigh:
		delete(s.neighbors, k.Key)
	case schema.AppRoute:
		s.removeRoute(k.Key)
	}
}

// sorted returns keys in order of precedence.
func sorted[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), schema.CompareNames)
}
