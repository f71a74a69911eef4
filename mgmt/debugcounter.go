package mgmt

import (
	"context"
	"encoding/json"
	"slices"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// clearDebug saves the present values of one debug counter, or of all if name is empty. at is the time of the clearing.
func (s *archiver) clearDebug(ctx context.Context, name, at string) error {
	only := name
	if only == "" {
		only = tree.Wildcard
	}
	now, err := s.reader.DebugCounts(ctx, only)
	if err != nil {
		return err
	}
	if name != "" && now[name] == nil {
		return status.Errorf(codes.NotFound, "%s: %s has no counters", debugKind, name)
	}
	table := swss.NewTable(s.reader.Redis.DB(swss.CountersDB), schema.CountersDebugCleared)
	if name == "" { // drop the saved values of counters that no longer exist
		was, _, err := table.Get(ctx, "")
		if err != nil {
			return tree.Unavailable(err)
		}
		var gone []string
		for n := range was {
			if now[n] == nil {
				gone = append(gone, n)
			}
		}
		if slices.Sort(gone); len(gone) > 0 {
			if err := table.HDel(ctx, "", gone...); err != nil {
				return tree.Unavailable(err)
			}
		}
	}
	kept := swss.FieldValues{}
	for n, c := range now {
		c.At = at
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		kept[n] = string(text)
	}
	if len(kept) == 0 {
		return nil
	}
	if err := table.Set(ctx, "", kept); err != nil {
		return tree.Unavailable(err)
	}
	return nil
}

// debugKind is the name of debug counters in clear-counters.
const debugKind = "debug-counters"
