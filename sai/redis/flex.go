package sairedis

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
	"tamtam/swss"
)

// FlexCounters are the counters that are read at intervals into COUNTERS_DB: orchagent asks for them,
// by requests or in FLEX_COUNTER_DB itself.
type FlexCounters struct {
	db      *swss.DB      // FLEX_COUNTER_DB
	queues  []*swss.Queue // of groups, of objects
	out     *swss.DB      // COUNTERS_DB
	backend sai.API
	births  *births // the same, with since when objects count
	log     *slog.Logger

	mu      *sync.Mutex // the server's: no request comes between reading an object and writing its row
	objects *translator
	groups  counterGroups
	loaded  bool              // what an earlier run read is known
	debug   map[string]string // since when debug counters count, as told; nil: this run has not told
}

func newFlexCounters(
	r *swss.Redis, mu *sync.Mutex, objects *translator, backend *births, log *slog.Logger,
) *FlexCounters {
	db := r.DB(swss.FlexCounterDB)
	return &FlexCounters{
		db: db, queues: []*swss.Queue{swss.NewQueue(db, flexGroup), swss.NewQueue(db, flexTable)},
		out: r.DB(swss.CountersDB), backend: backend, births: backend, log: log,
		mu: mu, objects: objects, groups: counterGroups{},
	}
}

// counterGroups are the groups of counters, by name.
type counterGroups map[string]*counterGroup

type counterGroup struct {
	interval time.Duration // 0: not given
	enabled  bool
	clear    bool // counters are reset after each reading
	next     time.Time
	counters map[sai.OID]*polled // by virtual id
	leftOut  string              // what was logged last as not supported
}

// polled is what is read of one object. What the backend does not support is left out of it by the first reading.
type polled struct {
	attrs []sai.AttrID
	stats []sai.StatID
}

func (all counterGroups) group(name string) *counterGroup {
	g := all[name]
	if g == nil {
		g = &counterGroup{counters: map[sai.OID]*polled{}}
		all[name] = g
	}
	return g
}

// drop stops reading an object.
func (all counterGroups) drop(vid sai.OID) {
	for _, g := range all {
		delete(g.counters, vid)
	}
}

// keep stops reading objects that are not known.
func (all counterGroups) keep(known func(sai.OID) bool) {
	for _, g := range all {
		maps.DeleteFunc(g.counters, func(vid sai.OID, _ *polled) bool { return !known(vid) })
	}
}

// set takes the fields of a group; unknown ones are ignored.
func (all counterGroups) set(name string, fields []swss.Pair) error {
	g := all.group(name)
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
			if name == "" { // SONiC's orchagent ends the list of a router interface with a comma
				continue
			}
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

// request executes the counter requests of the ASIC queue.
func (c *FlexCounters) request(ctx context.Context, m message) (*result, error) {
	var writes []func(redis.Pipeliner)
	var err error
	switch m.op {
	case opSetGroup:
		writes, err = c.setGroup(ctx, m.key, m.fields)
	case opDelGroup:
		writes = c.delGroup(ctx, m.key)
	default:
		writes, err = c.pollRequest(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	return &result{}, c.write(ctx, writes)
}

// write writes into FLEX_COUNTER_DB.
func (c *FlexCounters) write(ctx context.Context, writes []func(redis.Pipeliner)) error {
	if len(writes) == 0 {
		return nil
	}
	_, err := c.db.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, w := range writes {
			w(p)
		}
		return nil
	})
	return err
}

func (c *FlexCounters) setGroup(ctx context.Context, name string, fields []swss.Pair) ([]func(redis.Pipeliner), error) {
	if err := c.groups.set(name, fields); err != nil {
		return nil, err
	}
	return []func(redis.Pipeliner){putFields(ctx, flexGroup+":"+name, fields)}, nil
}

func (c *FlexCounters) delGroup(ctx context.Context, name string) []func(redis.Pipeliner) {
	delete(c.groups, name)
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

// pollRequest executes start_poll and stop_poll: GROUP:oid,oid.
func (c *FlexCounters) pollRequest(ctx context.Context, m message) ([]func(redis.Pipeliner), error) {
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
		if m.op == opStartPoll && (vid == sai.NullOID || !c.objects.ids.known(vid)) {
			return nil, fmt.Errorf("%s: virtual object id %s is not known: %w", m.op, vid, sai.StatusInvalidObjectID)
		}
		vids = append(vids, vid)
	}
	var writes []func(redis.Pipeliner)
	for _, vid := range vids {
		if m.op == opStopPoll {
			writes = append(writes, c.stopPoll(ctx, group, vid))
			continue
		}
		w, err := c.startPoll(ctx, group, vid, m.fields)
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	return writes, nil
}

func (c *FlexCounters) startPoll(
	ctx context.Context, group string, vid sai.OID, fields []swss.Pair,
) (func(redis.Pipeliner), error) {
	t, ok := VIDType(vid)
	if !ok {
		return nil, fmt.Errorf("object %s: %w", vid, sai.StatusInvalidObjectID)
	}
	p, err := parsePolled(t, fields)
	if err != nil {
		return nil, err
	}
	c.groups.group(group).counters[vid] = p
	return putFields(ctx, flexTable+":"+group+":"+vid.String(), fields), nil
}

func (c *FlexCounters) stopPoll(ctx context.Context, group string, vid sai.OID) func(redis.Pipeliner) {
	if g := c.groups[group]; g != nil {
		delete(g.counters, vid)
	}
	return func(p redis.Pipeliner) { p.Del(ctx, flexTable+":"+group+":"+vid.String()) }
}

// takeRows takes what was queued in FLEX_COUNTER_DB itself, the older way to ask for counters.
// Nobody waits for an answer; errors are logged.
func (c *FlexCounters) takeRows(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		return nil // the objects of an earlier run are not known yet
	}
	for _, q := range c.queues {
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
				w, err := c.takeRow(ctx, q.Table(), e)
				if err != nil {
					c.log.Warn("syncd: refused a counter row", "table", q.Table(), "key", e.Key, "error", err)
					continue
				}
				writes = append(writes, w...)
			}
			if err := c.write(ctx, writes); err != nil {
				return err
			}
			more = len(entries) == swss.PopSize
		}
	}
	return nil
}

func (c *FlexCounters) takeRow(ctx context.Context, table string, e swss.Entry) ([]func(redis.Pipeliner), error) {
	m, err := decode(e)
	if err != nil {
		return nil, err
	}
	del := strings.HasPrefix(e.Op, "D")
	if table == flexGroup {
		if del {
			return c.delGroup(ctx, m.key), nil
		}
		return c.setGroup(ctx, m.key, m.fields)
	}
	group, text, _ := strings.Cut(m.key, ":")
	vid, err := sai.ParseOID(text)
	if err != nil {
		return nil, err
	}
	if del || !c.objects.ids.known(vid) {
		return []func(redis.Pipeliner){c.stopPoll(ctx, group, vid)}, nil
	}
	w, err := c.startPoll(ctx, group, vid, m.fields)
	return []func(redis.Pipeliner){w}, err
}

// load reads the counters of an earlier run.
func (c *FlexCounters) load(ctx context.Context) error {
	groups, err := readRows(ctx, c.db, flexGroup)
	if err != nil {
		return err
	}
	for _, r := range groups {
		if err := c.groups.set(r.Key, r.Fields); err != nil {
			c.log.Warn("syncd: row of an earlier run", "table", flexGroup, "error", err)
		}
	}
	rows, err := readRows(ctx, c.db, flexTable)
	if err != nil {
		return err
	}
	var stale []func(redis.Pipeliner)
	for _, r := range rows {
		group, text, _ := strings.Cut(r.Key, ":")
		vid, err := sai.ParseOID(text)
		if err == nil && c.objects.ids.known(vid) {
			_, err = c.startPoll(ctx, group, vid, r.Fields)
		} else {
			stale = append(stale, c.stopPoll(ctx, group, vid))
		}
		if err != nil {
			c.log.Warn("syncd: row of an earlier run", "table", flexTable, "key", r.Key, "error", err)
		}
	}
	if err := c.write(ctx, stale); err != nil {
		return err
	}
	c.loaded = true
	return nil
}
