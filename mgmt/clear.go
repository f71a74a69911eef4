package mgmt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A counted is one kind of counters: rows of a table, one row per name.
type counted struct {
	db    swss.DBName // the database; empty means COUNTERS_DB
	table string
	names string // the hash that maps names to row keys; empty means that the keys of the table are the names
	only  string // the prefix that names must have; users give names without it
	off   string // the prefix of names that belong to another kind
	of    string // the prefix of the fields, if others of the row belong to another kind
}

var countedKinds = map[string][]counted{
	"interfaces": {{table: schema.CountersTable, names: schema.CountersPortNameMap},
		{table: schema.CountersTable, names: schema.CountersLAGNameMap}, {db: swss.StateDB, table: schema.StateWire}},
	"queues":          {{table: schema.CountersTable, names: schema.CountersQueueNameMap}},
	"acl":             {{table: schema.CountersTable, names: schema.CountersACLRuleMap, off: schema.TAMTable + ":"}},
	"flow-groups":     {{table: schema.CountersTable, names: schema.CountersACLRuleMap, only: schema.TAMTable + ":"}},
	"priority-groups": {{table: schema.CountersTable, names: schema.CountersPGNameMap}},
	"flow-control":    {{table: schema.CountersTable, names: schema.CountersPortNameMap, of: "SAI_PORT_STAT_PFC_"}},
	"copp":            {{table: schema.CountersTable, names: schema.CountersPolicerNameMap}},
	"tail-stamping":   {{table: schema.CountersTailStamp}},
	"table-record":    {{table: schema.CountersRecord}},
}

// counts reports whether a field of a row is a counter, as opposed to a level or a size.
func counts(field string) bool {
	return !strings.Contains(field, "OCCUPANCY") && !strings.Contains(field, "WATERMARK") && field != "mtu" &&
		field != "late-ns"
}

// A countedRow is a row with counters.
type countedRow struct {
	db  *swss.DB
	key string
	of  string // the prefix of the counters, if the others of the row stay
}

// A clearInput is the input of the operation clear-counters.
type clearInput struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (s *archiver) clearCounters(ctx context.Context, _ string, in clearInput) error {
	if op := clearedTables[in.Kind]; op != "" {
		return s.clearWatermarks(ctx, op, in.Name)
	}
	kinds := []string{in.Kind}
	if in.Kind == "all" {
		kinds = slices.Sorted(maps.Keys(countedKinds))
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "flow-control" }) // parts of "interfaces"
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
				strings.Join(slices.Sorted(maps.Keys(countedKinds)), ", ")+", watermarks, persistent-watermarks or "+debugKind)
		}
		for _, c := range countedKinds[kind] {
			db := s.reader.Redis.DB(cmp.Or(c.db, swss.CountersDB))
			found, err := c.keys(ctx, db, in.Name)
			if err != nil {
				return tree.Unavailable(err)
			}
			for _, key := range found {
				keys = append(keys, countedRow{db, key, c.of})
			}
		}
	}
	if in.Name != "" && len(keys) == 0 {
		return status.Errorf(codes.NotFound, "%s: %s has no counters", in.Kind, in.Name)
	}
	db := s.reader.Redis.DB(swss.CountersDB)
	err := s.rememberCounters(ctx, db, keys, at)
	if err == nil && in.Kind == "all" && in.Name == "" {
		err = forgetOthers(ctx, db, keys)
	}
	if err != nil {
		return tree.Unavailable(err)
	}
	return nil
}

// forgetOthers deletes the saved counters of rows that no longer exist.
func forgetOthers(ctx context.Context, db *swss.DB, keys []countedRow) error {
	known := map[string]bool{fetch.ClearedRun: true}
	for _, k := range keys {
		known[k.key] = true
	}
	gone, err := db.Client().HKeys(ctx, fetch.ClearedKey).Result()
	if err != nil {
		return err
	}
	for c := range slices.Chunk(slices.DeleteFunc(gone, func(k string) bool { return known[k] }), fetch.Chunk) {
		if err := db.Client().HDel(ctx, fetch.ClearedKey, c...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the keys of the rows, either of all names (name is empty) or of one.
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

// rememberCounters saves the present values of counters and the time at.
func (s *archiver) rememberCounters(ctx context.Context, db *swss.DB, keys []countedRow, at string) error {
	marks, err := db.Client().HMGet(ctx, swss.KeyMark, fetch.CountsMark).Result()
	if err != nil {
		return err
	}
	run := fmt.Sprint(marks[0])
	before, err := db.Client().HGet(ctx, fetch.ClearedKey, fetch.ClearedRun).Result()
	if err != nil && err != redis.Nil {
		return err
	}
	if before != run { // saved for an earlier run of the chip
		if err := db.Client().Del(ctx, fetch.ClearedKey).Err(); err != nil {
			return err
		}
	}
	for c := range slices.Chunk(keys, fetch.Chunk) {
		values := []any{fetch.ClearedRun, run}
		for i := 0; i < len(c); {
			j := i
			for j < len(c) && c[j].db == c[i].db {
				j++
			}
			if values, err = s.appendCounts(ctx, values, c[i:j], at); err != nil {
				return err
			}
			i = j
		}
		if err := db.Client().HSet(ctx, fetch.ClearedKey, values...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// appendCounts reads rows of one database. For each row it appends the key, and the row's counters as JSON, which
// includes the time at.
func (s *archiver) appendCounts(ctx context.Context, values []any, of []countedRow, at string) ([]any, error) {
	keys := make([]string, len(of))
	for i, r := range of {
		keys[i] = r.key
	}
	rows, err := fetch.Hashes(ctx, of[0].db, keys)
	if err != nil {
		return nil, err
	}
	for i, r := range of {
		was := rows[i]
		maps.DeleteFunc(was, func(f, _ string) bool { return !counts(f) || !strings.HasPrefix(f, r.of) })
		if r.of != "" {
			before, err := s.reader.Redis.DB(swss.CountersDB).Client().HGet(ctx, fetch.ClearedKey, r.key).Result()
			if err != nil && err != redis.Nil {
				return nil, err
			}
			for f, v := range tree.JSONFields(before) {
				if !strings.HasPrefix(f, r.of) {
					was[f] = v // with the time of an earlier clearing, which is that of the other counters
				}
			}
		} else {
			was[fetch.ClearedAt] = at
		}
		text, err := json.Marshal(was)
		if err != nil {
			return nil, err
		}
		values = append(values, r.key, text)
	}
	return values, nil
}

// clearedTables holds the first word of the request that clears watermarks, by kind.
var clearedTables = map[string]string{"watermarks": "USER", "persistent-watermarks": "PERSISTENT"}

// clearWatermarks requests the clearing of a watermark of a table, or of all of them, as SONiC's watermarkstat does.
func (s *archiver) clearWatermarks(ctx context.Context, op, name string) error {
	words := []string{name}
	if name == "" {
		words = schema.WatermarkWords()
	} else if !slices.Contains(schema.WatermarkWords(), name) {
		return status.Errorf(codes.InvalidArgument, "name is %q, want one of %s", name,
			strings.Join(schema.WatermarkWords(), ", "))
	}
	producer := swss.NewNotificationProducer(s.reader.Redis.DB(swss.ApplDB), schema.ClearWatermarkChannel)
	for _, what := range words {
		if _, err := producer.Send(ctx, op, what, nil); err != nil {
			return tree.Unavailable(err)
		}
	}
	return nil
}
