package fpmsyncd

import (
	"context"
	_ "embed" // the script
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"tamtam/schema"
	"tamtam/swss"
)

//go:embed put.lua
var putText string

// putBatch is how many rows one script writes.
const putBatch = 128

// load reads what is in ROUTE_TABLE, as it will be when orchagent has taken what is pending. Rows of zebra's that it
// has not told, of this daemon's former life, are as it would tell them until it has had its time.
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
			r = &route{told: s.peer != "" && s.sweep.IsZero()}
			s.routes[dest] = r
			if !r.told {
				r.want = s.share(dest, f)
				s.before++
			}
		}
		s.has(r, s.share(dest, f))
		s.dirty[dest] = r.want != r.have
	}
	maps.DeleteFunc(s.dirty, func(_ netip.Prefix, is bool) bool { return !is })
	s.loaded = true
	s.log.Info("ROUTE_TABLE was read", "routes of zebra's", len(found))
	s.tell()
	return nil
}

// found reads the rows of ROUTE_TABLE that are ours.
func (s *Sync) found(ctx context.Context) (map[netip.Prefix]row, error) {
	var sets [2][]string
	for i, name := range []string{"_KEY_SET", "_DEL_SET"} {
		list, err := s.db.Client().SMembers(ctx, schema.AppRoute+name).Result()
		if err != nil {
			return nil, &swss.Error{DB: s.db.Name(), Op: "read " + schema.AppRoute + name, Err: err}
		}
		sets[i] = list
	}
	pending, err := swss.NewTable(s.db, "_"+schema.AppRoute).Dump(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := swss.NewTable(s.db, schema.AppRoute).Dump(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range sets[1] {
		delete(rows, key)
	}
	for _, key := range sets[0] {
		if fields, ok := pending[key]; ok {
			if rows[key] == nil {
				rows[key] = swss.FieldValues{}
			}
			maps.Copy(rows[key], fields)
		}
	}
	list := map[netip.Prefix]row{}
	for key, fields := range rows {
		if dest, ok := prefixOf(key); ok && ours(fields) {
			list[dest] = rowOf(fields)
		}
	}
	return list, nil
}

// has sets the row that is there, which the caller has shared; nil: none that is ours.
func (s *Sync) has(r *route, have *shared) {
	s.release(r.have)
	r.have = have
}

// flush writes what differs.
func (s *Sync) flush(ctx context.Context) error {
	if !s.loaded {
		if err := s.load(ctx); err != nil {
			return err
		}
	}
	s.settleGroups()
	list := slices.SortedFunc(maps.Keys(s.dirty), netip.Prefix.Compare)
	s.loaded = false // until all is written
	for batch := range slices.Chunk(list, 8*putBatch) {
		if err := s.put(ctx, batch); err != nil {
			return err
		}
	}
	s.loaded = true
	s.tell()
	return nil
}

// put writes the rows of some routes, but those that are tammgrd's.
func (s *Sync) put(ctx context.Context, list []netip.Prefix) error {
	head := []string{
		fmt.Sprintf("%s_CHANNEL@%d", schema.AppRoute, s.db.ID()), schema.AppRoute + "_KEY_SET", schema.AppRoute + "_DEL_SET",
		schema.AppRoute + s.db.Separator(), "_" + schema.AppRoute + s.db.Separator(),
	}
	var calls []swss.Call
	for batch := range slices.Chunk(list, putBatch) {
		c := swss.Call{Keys: slices.Clone(head), Args: []any{"G", schema.FieldConfigKey}}
		for _, dest := range batch {
			var pairs []swss.Pair
			if r := s.routes[dest]; r != nil && r.want != nil {
				pairs = r.want.pairs()
			}
			c.Keys = append(c.Keys, schema.RouteKey(dest))
			c.Args = append(c.Args, strconv.Itoa(len(pairs)))
			for _, p := range pairs {
				c.Args = append(c.Args, p.Field, p.Value)
			}
		}
		calls = append(calls, c)
	}
	answers, err := s.db.RunMany(ctx, swss.NewScript(putText), calls)
	if err != nil {
		return &swss.Error{DB: s.db.Name(), Op: "write " + schema.AppRoute, Err: err}
	}
	for i, batch := range slices.Collect(slices.Chunk(list, putBatch)) {
		left := map[int]bool{}
		numbers, _ := answers[i].([]any)
		for _, n := range numbers {
			if n, ok := n.(int64); ok {
				left[int(n)-1] = true
			}
		}
		for j, dest := range batch {
			s.written(dest, left[j])
		}
	}
	return nil
}

// written notes that a row is there, or that tammgrd's is.
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
	}
}

// checkPeriod is how often it is looked whether tammgrd's rows are still in the way of zebra's.
const checkPeriod = time.Second

// takeStatic notes which prefixes an operator has configured: tammgrd may have rows for them.
func (s *Sync) takeStatic(key string, fields swss.FieldValues) {
	if old, ok := s.static[key]; ok {
		s.check[old] = true // tammgrd's row may go
		delete(s.static, key)
	}
	if fields == nil {
		return
	}
	if route, err := schema.ParseStaticRoute(key, fields); err == nil {
		s.static[key] = route.Prefix
	}
}

// checkContested looks at the rows of prefixes that tammgrd may have, or may have had, and writes those of zebra's that
// are not there any more.
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
		names[i] = schema.AppRoute + s.db.Separator() + schema.RouteKey(dest)
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
