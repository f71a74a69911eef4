package fpmsyncd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"tamtam/host/beside"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// A finding is the state of a row in the database.
type finding uint8

const (
	same    finding = iota // the expected row, or none of ours if none is expected
	differs                // another row of ours, or none
	theirs                 // tammgrd's row
	pending                // the row is about to change
)

// look checks rows of ROUTE_TABLE by their names in the database.
func (s *Sync) look(ctx context.Context, names []string) ([]finding, error) {
	found := make([]finding, len(names))
	var failed error
	err := s.table.DB.ReadRows(ctx, names, func(i int, is swss.FieldValues, size int64) {
		_, key, _ := s.table.DB.Split(names[i])
		dest, ok := prefixOf(key)
		if !ok {
			return
		}
		var want *shared
		if r := s.routes[dest]; r != nil {
			want = r.want
		}
		switch {
		case beside.Tammgrs(is):
			found[i] = theirs
			return
		case want == nil && (is == nil || !ours(is)), want != nil && is != nil && size == 0 && rowOf(is) == want.row:
			return
		}
		waits, err := s.table.Waits(ctx, key)
		failed = errors.Join(failed, err)
		if found[i] = differs; waits || s.dirty[dest] {
			found[i] = pending
		}
	})
	if err != nil {
		return nil, err
	}
	return found, failed
}

// compare registers ROUTE_TABLE for the daemon's comparison.
func (s *Sync) compare(d *orch.Daemon) {
	prefix := schema.AppRoute + s.table.DB.Separator()
	d.Watch().Add(drift.Stage{
		Name: string(swss.ApplDB),
		List: func(ctx context.Context, keys drift.Keys) ([]string, error) {
			names, err := keys(ctx, s.table.DB)
			if err != nil {
				return nil, err
			}
			all := make(map[string]bool, len(s.routes))
			for _, name := range names {
				if strings.HasPrefix(name, prefix) {
					all[name] = true
				}
			}
			for dest := range s.routes {
				all[prefix+schema.RouteKey(dest)] = true
			}
			return slices.Sorted(maps.Keys(all)), nil
		},
		Look: func(ctx context.Context, names []string) (list []drift.Finding, err error) {
			found, err := s.look(ctx, names)
			for i, f := range found {
				if f == differs || f == pending {
					list = append(list, drift.Finding{
						Key: names[i], What: "differs from zebra's route", Sum: uint64(f), Busy: f == pending || !s.loaded,
					})
				}
			}
			return list, err
		},
		Heal: s.heal,
	})
}

func (s *Sync) heal(ctx context.Context, drifted []drift.Finding) error {
	for _, f := range drifted {
		_, key, _ := s.table.DB.Split(f.Key)
		dest, ok := prefixOf(key)
		if !ok {
			continue
		}
		if r := s.routes[dest]; r != nil {
			s.has(r, nil)
		}
		s.dirty[dest] = true
	}
	return s.flush(ctx)
}
