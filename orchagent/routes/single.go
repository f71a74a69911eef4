package routes

import (
	"context"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// singles are the routes that lead to one of their next hops, since there was no room for a group. STATE_DB remembers
// them: while a view is made nothing lacks room, and a group more than the ASIC has room for would fail the view.
type singles struct {
	hash  swss.Hash
	lacks map[string]string // why, by the key of the row
}

func (s *singles) open(ctx context.Context, state *swss.DB) error {
	s.hash.Table, s.lacks = swss.NewTable(state, schema.StateSingleRoutes), map[string]string{}
	return s.hash.Load(ctx)
}

// former returns why a former process made no group for a route; "" if it did, or if the view is applied.
func (s *singles) former(route string, applied bool) string {
	if applied {
		return ""
	}
	return s.hash.Former(route)
}

// note notes why there is no group for a route; "" if there is one, or needs to be none.
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
