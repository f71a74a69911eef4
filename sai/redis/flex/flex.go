package flex

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
	"tamtam/sai/redis/objectids"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// Counters polls the counters at intervals and writes them to COUNTERS_DB. orchagent selects them by requests, or in
// FLEX_COUNTER_DB itself.
type Counters struct {
	db      *swss.DB      // FLEX_COUNTER_DB
	Queues  []*swss.Queue // the queues of groups and of objects
	out     *swss.DB      // COUNTERS_DB
	backend sai.API
	births  *Births // the same backend, which records since when objects count
	log     *slog.Logger

	mu      *sync.Mutex // the server's lock: no request is executed between reading an object and writing its row
	objects *objectids.Translator
	Groups  Groups
	loaded  bool              // true if the polls of an earlier run have been loaded
	debug   map[string]string // since when debug counters count, as last written; nil if this run has not written it
	failing map[string]string // why plug-ins fail, as last logged, by group and digest

	// InView reports whether the view that is being made has an object. Its counters are read once the view is applied.
	InView func(vid sai.OID) bool
}

// New returns counters without groups. mu is the server's lock.
func New(
	r *swss.Redis, mu *sync.Mutex, objects *objectids.Translator, backend *Births, log *slog.Logger,
) *Counters {
	db := r.DB(swss.FlexCounterDB)
	return &Counters{
		db: db, Queues: []*swss.Queue{swss.NewQueue(db, groupTable), swss.NewQueue(db, Table)},
		out: r.DB(swss.CountersDB), backend: backend, births: backend, log: log,
		mu: mu, objects: objects, Groups: Groups{}, failing: map[string]string{},
		InView: func(sai.OID) bool { return false },
	}
}

// exists reports whether the ASIC or the view that is being made has an object.
func (c *Counters) exists(vid sai.OID) bool { return c.objects.IDs.Known(vid) || c.InView(vid) }

// Groups holds the groups of counters, by name.
type Groups map[string]*Group

// A Group is a set of counters that are read together.
type Group struct {
	interval time.Duration // polling interval; 0 if not set
	enabled  bool
	clear    bool // true if counters are reset after each reading
	next     time.Time
	Counters map[sai.OID]*polled // counters of each object, by virtual id
	leftOut  map[string]bool     // lists of unsupported counters that were logged

	plugins  map[string][]string // digests of the plug-ins that compute rates and peaks, by field
	readings map[sai.OID]reading // the last readings for rates
	highest  map[peakOf]uint64   // the highest watermark that was read
	raised   peaks
}

// polled lists the attributes and statistics that are read from one object. The first reading removes those that the
// backend does not support.
type polled struct {
	attrs   []sai.AttrID
	stats   []sai.StatID
	unknown []string // names of others, which only a newer SAI has; nil after the first reading
}

// Group returns the group with a name, and adds it if it is missing.
func (all Groups) Group(name string) *Group {
	g := all[name]
	if g == nil {
		g = &Group{
			Counters: map[sai.OID]*polled{}, leftOut: map[string]bool{}, plugins: map[string][]string{},
			readings: map[sai.OID]reading{}, highest: map[peakOf]uint64{}, raised: peaks{},
		}
		all[name] = g
	}
	return g
}

// Drop stops reading an object.
func (all Groups) Drop(vid sai.OID) {
	for _, g := range all {
		g.drop(vid)
	}
}

// drop stops reading an object in this group.
func (g *Group) drop(vid sai.OID) {
	delete(g.Counters, vid)
	delete(g.readings, vid)
	maps.DeleteFunc(g.highest, func(of peakOf, _ uint64) bool { return of.vid == vid })
	maps.DeleteFunc(g.raised, func(of peakOf, _ uint64) bool { return of.vid == vid })
}

// Keep stops reading the objects for which known returns false.
func (all Groups) Keep(known func(sai.OID) bool) {
	for _, g := range all {
		for vid := range g.Counters {
			if !known(vid) {
				g.drop(vid)
			}
		}
	}
}

// set sets the fields of a group. It ignores unknown fields.
func (all Groups) set(name string, fields []swss.Pair) error {
	g := all.Group(name)
	for _, p := range fields {
		if isPlugin(p.Field) {
			g.setPlugins(p.Field, p.Value)
		}
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

// parsePolled decodes which counters of an object of type t are to be polled.
func parsePolled(t sai.ObjectType, fields []swss.Pair) (*polled, error) {
	c := &polled{}
	for _, p := range fields {
		if !strings.HasSuffix(p.Field, "_ID_LIST") || isPlugin(p.Field) {
			continue
		}
		for name := range strings.SplitSeq(p.Value, ",") {
			if name == "" { // SONiC's orchagent ends the list of a router interface with a comma
				continue
			}
			if _, known := sai.LookupStat(name); !known && protocol.IsStatName(t, name) {
				c.unknown = append(c.unknown, name)
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
			id, err := protocol.ParseStat(t, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.Field, err)
			}
			c.stats = append(c.stats, id)
		}
	}
	return c, nil
}

// Request executes the counter requests of the ASIC queue.
func (c *Counters) Request(ctx context.Context, m protocol.Message) (*protocol.Result, error) {
	var writes []func(redis.Pipeliner)
	var err error
	switch m.Op {
	case protocol.OpSetGroup:
		writes, err = c.setGroup(ctx, m.Key, m.Fields)
	case protocol.OpDelGroup:
		writes = c.delGroup(ctx, m.Key)
	default:
		writes, err = c.pollRequest(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	return &protocol.Result{}, c.write(ctx, writes)
}

// write writes to FLEX_COUNTER_DB.
func (c *Counters) write(ctx context.Context, writes []func(redis.Pipeliner)) error {
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

func (c *Counters) setGroup(ctx context.Context, name string, fields []swss.Pair) ([]func(redis.Pipeliner), error) {
	if err := c.Groups.set(name, fields); err != nil {
		return nil, err
	}
	return []func(redis.Pipeliner){putFields(ctx, groupTable+":"+name, fields)}, nil
}

func (c *Counters) delGroup(ctx context.Context, name string) []func(redis.Pipeliner) {
	delete(c.Groups, name)
	return []func(redis.Pipeliner){func(p redis.Pipeliner) { p.Del(ctx, groupTable+":"+name) }}
}

func putFields(ctx context.Context, row string, fields []swss.Pair) func(redis.Pipeliner) {
	if len(fields) == 0 {
		fields = protocol.NullPair
	}
	args := make([]any, 0, 2*len(fields))
	for _, f := range fields {
		args = append(args, f.Field, f.Value)
	}
	return func(p redis.Pipeliner) { p.HSet(ctx, row, args...) }
}

// pollRequest executes start_poll and stop_poll: GROUP:oid,oid.
func (c *Counters) pollRequest(ctx context.Context, m protocol.Message) ([]func(redis.Pipeliner), error) {
	group, ids, ok := strings.Cut(m.Key, ":")
	if !ok || group == "" {
		return nil, fmt.Errorf("%s %.80q: want GROUP:oid,...: %w", m.Op, m.Key, sai.StatusInvalidParameter)
	}
	var vids []sai.OID
	for text := range strings.SplitSeq(ids, ",") {
		vid, err := sai.ParseOID(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Op, err)
		}
		if m.Op == protocol.OpStartPoll && (vid == sai.NullOID || !c.exists(vid)) {
			return nil, fmt.Errorf("%s: virtual object id %s is not known: %w", m.Op, vid, sai.StatusInvalidObjectID)
		}
		vids = append(vids, vid)
	}
	var writes []func(redis.Pipeliner)
	for _, vid := range vids {
		if m.Op == protocol.OpStopPoll {
			writes = append(writes, c.stopPoll(ctx, group, vid))
			continue
		}
		w, err := c.startPoll(ctx, group, vid, m.Fields)
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	return writes, nil
}

func (c *Counters) startPoll(
	ctx context.Context, group string, vid sai.OID, fields []swss.Pair,
) (func(redis.Pipeliner), error) {
	t, ok := protocol.VIDType(vid)
	if !ok {
		return nil, fmt.Errorf("object %s: %w", vid, sai.StatusInvalidObjectID)
	}
	p, err := parsePolled(t, fields)
	if err != nil {
		return nil, err
	}
	c.Groups.Group(group).Counters[vid] = p
	return putFields(ctx, Table+":"+group+":"+vid.String(), fields), nil
}

func (c *Counters) stopPoll(ctx context.Context, group string, vid sai.OID) func(redis.Pipeliner) {
	if g := c.Groups[group]; g != nil {
		g.drop(vid)
	}
	return func(p redis.Pipeliner) { p.Del(ctx, Table+":"+group+":"+vid.String()) }
}

// ApplyRows consumes the operations that were queued in FLEX_COUNTER_DB itself, the older way to select counters.
// There is no answer; errors are logged.
func (c *Counters) ApplyRows(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		return nil // the objects of an earlier run are not known yet
	}
	if empty, err := c.db.EmptyQueues(ctx, c.Queues...); err != nil || empty {
		return err
	}
	for _, q := range c.Queues {
		for more := true; more; {
			entries, err := q.Pop(ctx)
			if err != nil {
				return err
			}
			var writes []func(redis.Pipeliner)
			for _, e := range entries {
				w, err := c.applyRow(ctx, q.Table(), e)
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

func (c *Counters) applyRow(ctx context.Context, table string, e swss.Entry) ([]func(redis.Pipeliner), error) {
	m, err := protocol.Decode(e)
	if err != nil {
		return nil, err
	}
	del := strings.HasPrefix(e.Op, "D")
	if table == groupTable {
		if del {
			return c.delGroup(ctx, m.Key), nil
		}
		return c.setGroup(ctx, m.Key, m.Fields)
	}
	group, text, _ := strings.Cut(m.Key, ":")
	vid, err := sai.ParseOID(text)
	if err != nil {
		return nil, err
	}
	if del || !c.exists(vid) {
		return []func(redis.Pipeliner){c.stopPoll(ctx, group, vid)}, nil
	}
	w, err := c.startPoll(ctx, group, vid, m.Fields)
	return []func(redis.Pipeliner){w}, err
}

// Load reads the polls of an earlier run.
func (c *Counters) Load(ctx context.Context) error {
	groups, err := protocol.ReadRows(ctx, c.db, groupTable)
	if err != nil {
		return err
	}
	for _, r := range groups {
		if err := c.Groups.set(r.Key, r.Fields); err != nil {
			c.log.Warn("syncd: row of an earlier run", "table", groupTable, "error", err)
		}
	}
	rows, err := protocol.ReadRows(ctx, c.db, Table)
	if err != nil {
		return err
	}
	var stale []func(redis.Pipeliner)
	for _, r := range rows {
		group, text, _ := strings.Cut(r.Key, ":")
		vid, err := sai.ParseOID(text)
		if err == nil && c.objects.IDs.Known(vid) {
			_, err = c.startPoll(ctx, group, vid, r.Fields)
		} else {
			stale = append(stale, c.stopPoll(ctx, group, vid))
		}
		if err != nil {
			c.log.Warn("syncd: row of an earlier run", "table", Table, "key", r.Key, "error", err)
		}
	}
	if err := c.write(ctx, stale); err != nil {
		return err
	}
	c.loaded = true
	return nil
}
