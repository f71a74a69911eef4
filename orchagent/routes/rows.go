package routes

import (
	"maps"
	"slices"

	"tamtam/schema"
	"tamtam/swss"
)

// A rowKey names one row of APPL_DB.
type rowKey struct{ table, key string }

// A stateKey names one row of STATE_DB; none for rows of others.
type stateKey struct{ table, key string }

// A parsed is a row of APPL_DB.
type parsed[T any] struct {
	row T
	err error
}

// A store holds the rows of APPL_DB as they are now.
type store struct {
	all        map[rowKey]stateKey
	interfaces map[string]parsed[schema.Interface]
	addresses  map[string]parsed[schema.InterfaceAddress]
	neighbors  map[string]parsed[schema.Neighbor]
	routes     map[string]parsed[schema.Route]
}

func newStore() store {
	return store{
		all: map[rowKey]stateKey{}, interfaces: map[string]parsed[schema.Interface]{},
		addresses: map[string]parsed[schema.InterfaceAddress]{}, neighbors: map[string]parsed[schema.Neighbor]{},
		routes: map[string]parsed[schema.Route]{},
	}
}

func (s *store) put(k rowKey, fields swss.FieldValues) {
	s.all[k] = stateKey{}
	if key := fields[schema.FieldConfigKey]; key != "" {
		s.all[k] = stateKey{stateTables[k.table], key}
	}
	key := schema.ConfigKey(k.key)
	switch {
	case k.table == schema.AppInterface && !schema.IsAddressKey(key):
		put(s.interfaces, k.key)(schema.ParseInterface(schema.AppInterface, key, fields))
	case k.table == schema.AppInterface:
		put(s.addresses, k.key)(schema.ParseInterfaceAddress(schema.AppInterface, key, fields))
	case k.table == schema.AppNeigh:
		put(s.neighbors, k.key)(schema.ParseNeighbor(key, fields))
	case k.table == schema.AppRoute:
		put(s.routes, k.key)(schema.ParseRoute(k.key, fields))
	}
}

func put[T any](to map[string]parsed[T], key string) func(T, error) {
	return func(row T, err error) { to[key] = parsed[T]{row, err} }
}

func (s *store) remove(k rowKey) {
	delete(s.all, k)
	switch k.table {
	case schema.AppInterface:
		delete(s.interfaces, k.key)
		delete(s.addresses, k.key)
	case schema.AppNeigh:
		delete(s.neighbors, k.key)
	case schema.AppRoute:
		delete(s.routes, k.key)
	}
}

// state is where the outcome of a row is told.
func (s *store) state(k rowKey) stateKey { return s.all[k] }

// sorted lists keys in the order in which rows win.
func sorted[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), schema.CompareNames)
}
