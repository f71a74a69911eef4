package mgmt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Cleared counters go on in the chip and in COUNTERS_DB, where others read them too: what they were when they were
// cleared is kept in COUNTERS_DB, and whatever this server says of them is the difference. It holds for the chip
// that counted: when syncd has another, which counts anew, nothing is subtracted, and nothing from a statistic that is
// below what it was.

const (
	clearedKey  = schema.CountersCleared
	clearedAt   = "at"    // the field of a row with when it was cleared
	clearedLife = "life"  // the field with the mark of the syncd that counted
	countsMark  = "syncd" // whose mark in COUNTERS_DB it is
)

// A counted is a kind of counters: rows of a table, of one name each.
type counted struct {
	db    swss.DBName // "": COUNTERS_DB
	table string
	names string // the hash with their names; "": the names are the keys of the table
	only  string // names begin with it, which is not told
	off   string // names that begin with it are of another kind
}

var countedKinds = map[string][]counted{
	"interfaces": {{table: schema.CountersTable, names: schema.CountersPortNameMap},
		{table: schema.CountersTable, names: schema.CountersLAGNameMap}, {db: swss.StateDB, table: schema.StateWire}},
	"queues":        {{table: schema.CountersTable, names: schema.CountersQueueNameMap}},
	"acl":           {{table: schema.CountersTable, names: schema.CountersACLRuleMap, off: schema.TAMTable + ":"}},
	"flow-groups":   {{table: schema.CountersTable, names: schema.CountersACLRuleMap, only: schema.TAMTable + ":"}},
	"copp":          {{table: schema.CountersTable, names: schema.CountersPolicerNameMap}},
	"tail-stamping": {{table: schema.CountersTailStamp}},
	"table-record":  {{table: schema.CountersRecord}},
}

// counts reports whether a field of a row is a counter, and no level or size.
func counts(field string) bool {
	return !strings.Contains(field, "OCCUPANCY") && !strings.Contains(field, "WATERMARK") && field != "mtu" &&
		field != "late-ns"
}

// A countedRow is a row with counters.
type countedRow struct {
	db  *swss.DB
	key string
}

// A clearInput is that of the operation clear-counters.
type clearInput struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (s *keeping) clearCounters(ctx context.Context, _ string, in clearInput) error {
	kinds := []string{in.Kind}
	if in.Kind == "all" {
		kinds = slices.Sorted(maps.Keys(countedKinds))
	}
	at := s.now().UTC().Format(time.RFC3339Nano)
	if in.Kind == debugKind || in.Kind == "all" && in.Name == "" {
		if err := s.clearDebug(ctx, in.Name, at); err != nil || in.Kind == debugKind {
			return err
		}
	}
	var keys []countedRow
	for _, kind := range kinds {
		if countedKinds[kind] == nil {
			return status.Errorf(codes.InvalidArgument, "kind is %q, want all or one of %s", kind,
				strings.Join(slices.Sorted(maps.Keys(countedKinds)), ", ")+" or "+debugKind)
		}
		for _, c := range countedKinds[kind] {
			db := s.reader.redis.DB(cmp.Or(c.db, swss.CountersDB))
			found, err := c.keys(ctx, db, in.Name)
			if err != nil {
				return tree.Unavailable(err)
			}
			for _, key := range found {
				keys = append(keys, countedRow{db, key})
			}
		}
	}
	if in.Name != "" && len(keys) == 0 {
		return status.Errorf(codes.NotFound, "%s: %s has no counters", in.Kind, in.Name)
	}
	db := s.reader.redis.DB(swss.CountersDB)
	err := s.rememberCounters(ctx, db, keys, at)
	if err == nil && in.Kind == "all" && in.Name == "" {
		err = forgetOthers(ctx, db, keys)
	}
	if err != nil {
		return tree.Unavailable(err)
	}
	return nil
}

// forgetOthers drops what was remembered of rows that are no more.
func forgetOthers(ctx context.Context, db *swss.DB, keys []countedRow) error {
	known := map[string]bool{clearedLife: true}
	for _, k := range keys {
		known[k.key] = true
	}
	gone, err := db.Client().HKeys(ctx, clearedKey).Result()
	if err != nil {
		return err
	}
	for c := range slices.Chunk(slices.DeleteFunc(gone, func(k string) bool { return known[k] }), chunk) {
		if err := db.Client().HDel(ctx, clearedKey, c...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the keys of the rows, of all names or of one.
func (c counted) keys(ctx context.Context, db *swss.DB, name string) (out []string, err error) {
	if c.names == "" {
		names, err := swss.NewTable(db, c.table).Keys(ctx)
		for _, n := range names {
			if name == "" || n == name {
				out = append(out, c.table+db.Separator()+n)
			}
		}
		return out, err
	}
	names, err := db.Client().HGetAll(ctx, c.names).Result()
	for _, n := range slices.Sorted(maps.Keys(names)) {
		short, of := strings.CutPrefix(n, c.only)
		others := c.off != "" && strings.HasPrefix(n, c.off)
		if of && !others && (name == "" || short == name || strings.HasPrefix(short, name+":")) {
			out = append(out, c.table+db.Separator()+names[n])
		}
	}
	return out, err
}

// rememberCounters keeps what counters are, and when that was.
func (s *keeping) rememberCounters(ctx context.Context, db *swss.DB, keys []countedRow, at string) error {
	marks, err := db.Client().HMGet(ctx, swss.KeyMark, countsMark).Result()
	if err != nil {
		return err
	}
	life := fmt.Sprint(marks[0])
	before, err := db.Client().HGet(ctx, clearedKey, clearedLife).Result()
	if err != nil && err != redis.Nil {
		return err
	}
	if before != life { // of another chip
		if err := db.Client().Del(ctx, clearedKey).Err(); err != nil {
			return err
		}
	}
	for c := range slices.Chunk(keys, chunk) {
		values := []any{clearedLife, life}
		for i := 0; i < len(c); {
			j := i
			for j < len(c) && c[j].db == c[i].db {
				j++
			}
			if values, err = appendCounts(ctx, values, c[i:j], at); err != nil {
				return err
			}
			i = j
		}
		if err := db.Client().HSet(ctx, clearedKey, values...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// appendCounts reads rows of one database, and appends the key and the counters of each, and at when it was.
func appendCounts(ctx context.Context, values []any, of []countedRow, at string) ([]any, error) {
	rows := make([]*redis.MapStringStringCmd, len(of))
	err := pipelined(ctx, of[0].db, func(p redis.Pipeliner) error {
		for i, r := range of {
			rows[i] = p.HGetAll(ctx, r.key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, r := range of {
		was := rows[i].Val()
		maps.DeleteFunc(was, func(f, _ string) bool { return !counts(f) })
		was[clearedAt] = at
		text, err := json.Marshal(was)
		if err != nil {
			return nil, err
		}
		values = append(values, r.key, text)
	}
	return values, nil
}

// fetchCleared finds what counters were when they were cleared, where they were, and takes it from what they are.
func (r reader) fetchCleared(ctx context.Context, db *swss.DB, g *tree.List, wants []*want) error {
	of := slices.DeleteFunc(slices.Clone(wants), func(w *want) bool {
		row := g.Rows[w.row]
		return !row.Counter || w.cmd == nil || len(w.e.Rows[w.row]) == 0 ||
			db.Name() != swss.CountersDB && row.Table != schema.StateWire
	})
	if len(of) == 0 {
		return nil
	}
	separator := db.Separator()
	db = r.redis.DB(swss.CountersDB)
	life, err := db.Client().HGet(ctx, clearedKey, clearedLife).Result()
	if err == redis.Nil {
		return nil
	}
	if err != nil {
		return tree.Unavailable(err)
	}
	bases := make([]*redis.StringCmd, len(of))
	var mark *redis.StringCmd
	err = pipelined(ctx, db, func(p redis.Pipeliner) error {
		mark = p.HGet(ctx, swss.KeyMark, countsMark)
		for i, w := range of {
			bases[i] = p.HGet(ctx, clearedKey, g.Rows[w.row].Hash(separator, w.key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	now := mark.Val()
	if mark.Err() == redis.Nil {
		now = fmt.Sprint(nil)
	}
	if now != life {
		return nil
	}
	for i, w := range of {
		w.e.Rows[w.row] = since(bases[i].Val(), w.e.Rows[w.row])
	}
	return nil
}

// later is the later of two times; where one is not known, neither is that.
func later(a, b string) string {
	at, err := time.Parse(time.RFC3339Nano, a)
	bt, errB := time.Parse(time.RFC3339Nano, b)
	switch {
	case err != nil || errB != nil:
		return ""
	case at.After(bt):
		return a
	}
	return b
}

// since returns a row of counters less what they were. What was kept of a statistic counts for that statistic: one that
// is below it counts anew, and the others of the object go on. Those of a group that counts since another time than it
// did all count anew.
func since(was string, is map[string]string) map[string]string {
	var base map[string]string
	if was == "" || json.Unmarshal([]byte(was), &base) != nil {
		return is
	}
	out := maps.Clone(is)
	anew := map[bool]bool{} // by isDebug
	for f, v := range base {
		group, ok := strings.CutPrefix(f, schema.FieldCountedSince)
		switch {
		case !ok:
		case is[f] != v:
			anew[group == schema.FlexDebugCounter] = true
		default:
			out[f] = base[clearedAt]
		}
	}
	for f, v := range base {
		from, err := strconv.ParseUint(v, 10, 64)
		now, errNow := strconv.ParseUint(is[f], 10, 64)
		if err != nil || errNow != nil || anew[isDebug(f)] {
			continue
		}
		if now >= from {
			out[f] = strconv.FormatUint(now-from, 10)
			continue
		}
		group := schema.GroupPort
		if isDebug(f) {
			group = schema.FlexDebugCounter
		}
		delete(out, schema.FieldCountedSince+group) // others of the group go on: there is no one time
	}
	return out
}

// isDebug reports whether a statistic is that of a debug counter.
func isDebug(stat string) bool { return strings.Contains(stat, "DROP_REASON") }
