package routes

import (
	"context"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// singles are the routes that lead to only one of their next hops, because there was no capacity for a group. They are
// stored in STATE_DB. While a view is being made, the ASIC refuses nothing, and a group beyond the capacity would make
// the view fail.
type singles struct {
	hash  swss.Hash
	lacks map[string]string // reasons, by the key of the row
}

func (s *singles) open(ctx context.Context, state *swss.DB) error {
	s.hash.Table, s.lacks = swss.NewTable(state, schema.StateSingleRoutes), map[string]string{}
	return s.hash.Load(ctx)
}

// former returns why a former process made no group for a route. It returns "" if it made one, or if the view is
// applied.
func (s *singles) former(route string, applied bool) string {
	if applied {
		return ""
	}
	return s.hash.Former(route)
}

// note records why there is no group for a route. lack is "" if there is one, or none is needed.
func (s *singles) note(route, lack string) {
	switch {
	case s.lacks[route] == lack:
	case lack == "":
		delete(s.lacks, route)
		s.hash.Remove(route)
	default:
		s.lacks[route] = lack
		s.hash.Put(route, lack)
	}
}
