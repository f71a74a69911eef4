package fpmsyncd

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tamtam/host/beside"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// batchRows is the number of rows that are written at once.
const batchRows = 1024

// load reads ROUTE_TABLE as it will be when orchagent has processed the pending changes. Rows of an earlier run that
// zebra has not sent count as sent until zebra's time to send them again has passed.
func (s *Sync) load(ctx context.Context) error {
	found, err := s.found(ctx)
	if err != nil {
		return err
	}
	for dest, r := range s.routes {
		s.has(r, nil)
		if _, ok := found[dest]; !ok && r.want != nil {
			s.dirty[dest] = true
		}
	}
	for dest, f := range found {
		r := s.routes[dest]
		if r == nil {
			r = &route{reported: s.peer != "" && s.sweep.IsZero()}
			s.routes[dest] = r
			if !r.reported {
				r.want = s.share(dest, f)
				s.before++
			}
		}
		s.has(r, s.share(dest, f))
		s.dirty[dest] = r.want != r.have || s.owes.has(dest)
	}
	maps.DeleteFunc(s.dirty, func(_ netip.Prefix, is bool) bool { return !is })
	s.loaded = true
	s.log.Info("ROUTE_TABLE was read", "routes of zebra's", len(found))
	s.report()
	return nil
}

func (s *Sync) found(ctx context.Context) (map[netip.Prefix]row, error) {
	rows, err := s.table.Found(ctx)
	if err != nil {
		return nil, err
	}
	list := map[netip.Prefix]row{}
	for key, fields := range rows {
		if dest, ok := prefixOf(key); ok && ours(fields) {
			list[dest] = rowOf(fields)
		}
	}
	return list, nil
}

// has sets the existing row, which the caller has shared; nil means that fpmsyncd has no row.
func (s *Sync) has(r *route, have *shared) {
	s.release(r.have)
	r.have = have
}

// flush writes the differences.
func (s *Sync) flush(ctx context.Context) error {
	if !s.loaded {
		if err := s.load(ctx); err != nil {
			return err
		}
	}
	s.decideGroups()
	list := slices.SortedFunc(maps.Keys(s.dirty), netip.Prefix.Compare)
	s.loaded = false // set again when everything is written
	for batch := range slices.Chunk(list, batchRows) {
		if err := s.put(ctx, batch); err != nil {
			return err
		}
	}
	s.loaded = true
	s.report()
	return nil
}

// put writes the rows of some routes, except those that are tammgrd's.
func (s *Sync) put(ctx context.Context, list []netip.Prefix) error {
	rows := make([]beside.Row, len(list))
	for i, dest := range list {
		rows[i].Key = schema.RouteKey(dest)
		if r := s.routes[dest]; r != nil && r.want != nil {
			rows[i].Fields = r.want.pairs()
		}
	}
	theirs, err := s.table.Put(ctx, rows)
	if err != nil {
		return err
	}
	for i, dest := range list {
		s.written(dest, theirs[i])
	}
	return nil
}

// written records that a row was written, or that tammgrd's exists.
func (s *Sync) written(dest netip.Prefix, tammgrs bool) {
	delete(s.dirty, dest)
	r := s.routes[dest]
	switch {
	case r == nil:
		return
	case tammgrs:
		s.has(r, nil)
		if r.want != nil {
			s.check[dest] = true
		}
	default:
		if r.want != nil {
			r.want.uses++
		}
		s.has(r, r.want)
	}
	if r.want == nil && r.group == 0 {
		s.retold(r)
		delete(s.routes, dest)
		if !s.owes.due[dest] { // nothing will report on it
			s.owes.remove(dest)
		}
	}
}

// Intervals of the check whether tammgrd's rows still block zebra's: the usual one, and the one for a while after a
// configuration change.
const (
	checkPeriod = time.Second
	hurryPeriod = 50 * time.Millisecond
	hurryTime   = 3 * time.Second
)

// recordStatic records which prefixes are configured: tammgrd may have rows for them.
func (s *Sync) recordStatic(key string, fields swss.FieldValues) {
	s.hurry = s.now().Add(hurryTime)
	if old, ok := s.static[key]; ok {
		s.check[old] = true // tammgrd's row may be deleted
		delete(s.static, key)
	}
	_, prefix, named := strings.Cut(key, "|")
	if !named {
		prefix = key
	}
	dest, err := netip.ParsePrefix(prefix)
	if err != nil {
		return // not a prefix that zebra's routes could have
	}
	s.check[dest] = true // also for a row that came and went unseen
	if fields != nil {
		s.static[key] = dest
	}
}

// checkContested checks the rows of prefixes for which tammgrd has, or may have had, a row. It writes the missing rows
// of zebra's routes.
func (s *Sync) checkContested(ctx context.Context, _ time.Time) error {
	if !s.loaded {
		return nil
	}
	list := maps.Clone(s.check)
	for _, dest := range s.static {
		list[dest] = true
	}
	maps.DeleteFunc(list, func(dest netip.Prefix, _ bool) bool {
		r := s.routes[dest]
		return r == nil || r.want == nil
	})
	clear(s.check)
	dests := slices.SortedFunc(maps.Keys(list), netip.Prefix.Compare)
	names := make([]string, len(dests))
	for i, dest := range dests {
		names[i] = schema.AppRoute + s.table.DB.Separator() + schema.RouteKey(dest)
		s.check[dest] = true
	}
	found, err := s.look(ctx, names)
	if err != nil {
		return err
	}
	for i, f := range found {
		switch r := s.routes[dests[i]]; f {
		case same:
			delete(s.check, dests[i])
		case differs:
			s.has(r, nil)
			s.dirty[dests[i]] = true
		}
	}
	return s.flush(ctx)
}
