package sairedis

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// flexCounters are the counters that are read at intervals into COUNTERS_DB.
type flexCounters struct{ groups map[string]*counterGroup }

type counterGroup struct {
	interval time.Duration // 0: not given
	enabled  bool
	clear    bool // counters start anew after each reading
	next     time.Time
	counters map[sai.OID]*polled // by virtual id
}

// polled is what is read of one object.
type polled struct {
	attrs []sai.AttrID
	stats []sai.StatID
}

func newFlexCounters() *flexCounters { return &flexCounters{groups: map[string]*counterGroup{}} }

func (f *flexCounters) group(name string) *counterGroup {
	g := f.groups[name]
	if g == nil {
		g = &counterGroup{counters: map[sai.OID]*polled{}}
		f.groups[name] = g
	}
	return g
}

// drop ends the reading of an object.
func (f *flexCounters) drop(vid sai.OID) {
	for _, g := range f.groups {
		delete(g.counters, vid)
	}
}

// keep ends the reading of objects that are not known.
func (f *flexCounters) keep(known func(sai.OID) bool) {
	for _, g := range f.groups {
		maps.DeleteFunc(g.counters, func(vid sai.OID, _ *polled) bool { return !known(vid) })
	}
}

// setGroup takes the fields of a group; unknown ones mean nothing here.
func (f *flexCounters) setGroup(name string, fields []swss.Pair) error {
	g := f.group(name)
	for _, p := range fields {
		switch p.Field {
		case FieldPollInterval:
			ms, err := strconv.ParseUint(p.Value, 10, 31)
			if err != nil || ms == 0 {
				return fmt.Errorf("%s %s=%.40q: want milliseconds: %w", name, p.Field, p.Value, sai.StatusInvalidParameter)
			}
			g.interval = time.Duration(ms) * time.Millisecond
			g.next = time.Time{}
		case FieldStatus:
			if p.Value != "enable" && p.Value != "disable" {
				return fmt.Errorf("%s %s=%.40q: want enable or disable: %w", name, p.Field, p.Value, sai.StatusInvalidParameter)
			}
			g.enabled = p.Value == "enable"
			g.next = time.Time{}
		case FieldStatsMode:
			if p.Value != StatsModeRead && p.Value != StatsModeReadAndClear {
				return fmt.Errorf("%s %s=%.40q: want %s or %s: %w",
					name, p.Field, p.Value, StatsModeRead, StatsModeReadAndClear, sai.StatusInvalidParameter)
			}
			g.clear = p.Value == StatsModeReadAndClear
		}
	}
	return nil
}

// parsePolled reads which counters of an object of type t are wanted.
func parsePolled(t sai.ObjectType, fields []swss.Pair) (*polled, error) {
	c := &polled{}
	for _, p := range fields {
		if !strings.HasSuffix(p.Field, "_ID_LIST") || strings.HasSuffix(p.Field, "_PLUGIN_LIST") {
			continue
		}
		for name := range strings.SplitSeq(p.Value, ",") {
			if strings.HasSuffix(p.Field, "_ATTR_ID_LIST") {
				id, ok := sai.LookupAttr(name)
				if !ok || id.ObjectType() != t {
					return nil, fmt.Errorf("%s: %.80q is no attribute of %s: %w", p.Field, name, t, sai.StatusInvalidParameter)
				}
				c.attrs = append(c.attrs, id)
				continue
			}
			id, ok := sai.LookupStat(name)
			if !ok || id.ObjectType() != t {
				return nil, fmt.Errorf("%s: %.80q is no statistic of %s: %w", p.Field, name, t, sai.StatusInvalidParameter)
			}
			c.stats = append(c.stats, id)
		}
	}
	return c, nil
}

// counterRequest does the counter requests of the ASIC queue.
func (s *Server) counterRequest(ctx context.Context, m message) (*result, error) {
	var writes []func(redis.Pipeliner)
	var err error
	switch m.op {
	case opSetGroup:
		writes, err = s.setGroup(ctx, m.key, m.fields)
	case opDelGroup:
		writes = s.delGroup(ctx, m.key)
	default:
		writes, err = s.pollRequest(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	return &result{}, s.writeFlex(ctx, writes)
}

// writeFlex writes into FLEX_COUNTER_DB.
func (s *Server) writeFlex(ctx context.Context, writes []func(redis.Pipeliner)) error {
	if len(writes) == 0 {
		return nil
	}
	_, err := s.redis.DB(swss.FlexCounterDB).Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, w := range writes {
			w(p)
		}
		return nil
	})
	return err
}

func (s *Server) setGroup(ctx context.Context, name string, fields []swss.Pair) ([]func(redis.Pipeliner), error) {
	if err := s.flex.setGroup(name, fields); err != nil {
		return nil, err
	}
	return []func(redis.Pipeliner){putFields(ctx, flexGroup+":"+name, fields)}, nil
}

func (s *Server) delGroup(ctx context.Context, name string) []func(redis.Pipeliner) {
	delete(s.flex.groups, name)
	return []func(redis.Pipeliner){func(p redis.Pipeliner) { p.Del(ctx, flexGroup+":"+name) }}
}

func putFields(ctx context.Context, row string, fields []swss.Pair) func(redis.Pipeliner) {
	if len(fields) == 0 {
		fields = nullPair
	}
	args := make([]any, 0, 2*len(fields))
	for _, f := range fields {
		args = append(args, f.Field, f.Value)
	}
	return func(p redis.Pipeliner) { p.HSet(ctx, row, args...) }
}

// pollRequest does start_poll and stop_poll: GROUP:oid,oid.
func (s *Server) pollRequest(ctx context.Context, m message) ([]func(redis.Pipeliner), error) {
	group, ids, ok := strings.Cut(m.key, ":")
	if !ok || group == "" {
		return nil, fmt.Errorf("%s %.80q: want GROUP:oid,...: %w", m.op, m.key, sai.StatusInvalidParameter)
	}
	var vids []sai.OID
	for text := range strings.SplitSeq(ids, ",") {
		vid, err := sai.ParseOID(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.op, err)
		}
		if m.op == opStartPoll && (vid == sai.NullOID || !s.ids.known(vid)) {
			return nil, fmt.Errorf("%s: virtual object id %s is not known: %w", m.op, vid, sai.StatusInvalidObjectID)
		}
		vids = append(vids, vid)
	}
	var writes []func(redis.Pipeliner)
	for _, vid := range vids {
		if m.op == opStopPoll {
			writes = append(writes, s.stopPoll(ctx, group, vid))
			continue
		}
		w, err := s.startPoll(ctx, group, vid, m.fields)
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	return writes, nil
}

func (s *Server) startPoll(
	ctx context.Context, group string, vid sai.OID, fields []swss.Pair,
) (func(redis.Pipeliner), error) {
	t, ok := VIDType(vid)
	if !ok {
		return nil, fmt.Errorf("object %s: %w", vid, sai.StatusInvalidObjectID)
	}
	c, err := parsePolled(t, fields)
	if err != nil {
		return nil, err
	}
	s.flex.group(group).counters[vid] = c
	return putFields(ctx, flexTable+":"+group+":"+vid.String(), fields), nil
}

func (s *Server) stopPoll(ctx context.Context, group string, vid sai.OID) func(redis.Pipeliner) {
	if g := s.flex.groups[group]; g != nil {
		delete(g.counters, vid)
	}
	return func(p redis.Pipeliner) { p.Del(ctx, flexTable+":"+group+":"+vid.String()) }
}

// popFlex takes what was queued in FLEX_COUNTER_DB itself, the older way to
// ask for counters. Nobody waits for an answer; what is wrong is logged.
func (s *Server) popFlex(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		return nil // the objects of an earlier run are not known yet
	}
	for _, q := range s.counters {
		if n, err := q.Len(ctx); err != nil || n == 0 {
			if err != nil {
				return err
			}
			continue
		}
		for more := true; more; {
			entries, err := q.Pop(ctx)
			if err != nil {
				return err
			}
			var writes []func(redis.Pipeliner)
			for _, e := range entries {
				w, err := s.flexRow(ctx, q.Table(), e)
				if err != nil {
					s.log.Warn("syncd: refused a counter row", "table", q.Table(), "key", e.Key, "error", err)
					continue
				}
				writes = append(writes, w...)
			}
			if err := s.writeFlex(ctx, writes); err != nil {
				return err
			}
			more = len(entries) == swss.PopSize
		}
	}
	return nil
}

func (s *Server) flexRow(ctx context.Context, table string, e swss.Entry) ([]func(redis.Pipeliner), error) {
	m, err := decode(e)
	if err != nil {
		return nil, err
	}
	del := strings.HasPrefix(e.Op, "D")
	if table == flexGroup {
		if del {
			return s.delGroup(ctx, m.key), nil
		}
		return s.setGroup(ctx, m.key, m.fields)
	}
	group, text, _ := strings.Cut(m.key, ":")
	vid, err := sai.ParseOID(text)
	if err != nil {
		return nil, err
	}
	if del || !s.ids.known(vid) {
		return []func(redis.Pipeliner){s.stopPoll(ctx, group, vid)}, nil
	}
	w, err := s.startPoll(ctx, group, vid, m.fields)
	return []func(redis.Pipeliner){w}, err
}

// loadFlex reads the counters of an earlier run.
func (s *Server) loadFlex(ctx context.Context) error {
	db := s.redis.DB(swss.FlexCounterDB)
	groups, err := readRows(ctx, db, flexGroup)
	if err != nil {
		return err
	}
	for _, r := range groups {
		if err := s.flex.setGroup(r.Key, r.Fields); err != nil {
			s.log.Warn("syncd: row of an earlier run", "table", flexGroup, "error", err)
		}
	}
	rows, err := readRows(ctx, db, flexTable)
	if err != nil {
		return err
	}
	var stale []func(redis.Pipeliner)
	for _, r := range rows {
		group, text, _ := strings.Cut(r.Key, ":")
		vid, err := sai.ParseOID(text)
		if err == nil && s.ids.known(vid) {
			_, err = s.startPoll(ctx, group, vid, r.Fields)
		} else {
			stale = append(stale, s.stopPoll(ctx, group, vid))
		}
		if err != nil {
			s.log.Warn("syncd: row of an earlier run", "table", flexTable, "key", r.Key, "error", err)
		}
	}
	return s.writeFlex(ctx, stale)
}
