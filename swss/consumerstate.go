package swss

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// A ConsumerState consumes the rows that a [ProducerState] hands over. There is one per table.
//
// Every SET carries the whole current row. The first Pops also returns the rows that a former run of the daemon has
// consumed. After Redis was away, all rows are returned again, with a DEL for each deleted row.
type ConsumerState struct {
	flag
	db    *DB
	table string
	l     *Listener
	known map[string]struct{} // rows delivered and not deleted
}

// NewConsumerState returns the consumer of a table.
func NewConsumerState(l *Listener, db *DB, table string) *ConsumerState {
	c := &ConsumerState{db: db, table: table, l: l, known: map[string]struct{}{}}
	c.stale()
	l.add(subscription{name: db.channel(table)}, c)
	return c
}

// Name returns the table's name.
func (c *ConsumerState) Name() string { return c.table }

// DB returns the table's database.
func (c *ConsumerState) DB() *DB { return c.db }

// Pops consumes all pending rows. It returns at most one entry per row, sorted by key.
func (c *ConsumerState) Pops(ctx context.Context) ([]KeyOpFieldsValues, error) {
	if c.isStale() { // missed changes are fetched once the subscriptions are active
		if err := c.l.Sync(ctx); err != nil {
			return nil, err
		}
	}
	work, resync := c.drain()
	if !work {
		return nil, nil
	}
	out, err := c.pops(ctx, resync)
	if err != nil {
		c.stale() // a script may have run although its result was lost
		return nil, err
	}
	return out, nil
}

func (c *ConsumerState) pops(ctx context.Context, resync bool) ([]KeyOpFieldsValues, error) {
	rows := map[string]KeyOpFieldsValues{}
	if resync {
		if err := resyncRows(ctx, NewTable(c.db, c.table), c.known, rows); err != nil {
			return nil, err
		}
	}
	for size := batchSize; ; size = bigBatch {
		n, err := c.popBatch(ctx, size, rows)
		if err != nil {
			return nil, err
		}
		if n < size {
			break
		}
	}
	out := make([]KeyOpFieldsValues, 0, len(rows))
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		row := rows[key]
		if row.Op == OpDel {
			delete(c.known, key)
		} else {
			c.known[key] = struct{}{}
		}
		out = append(out, row)
	}
	return out, nil
}

// KeySet returns the name of the set of keys whose rows are pending.
func (c *ConsumerState) KeySet() string { return c.table + "_KEY_SET" }

// Look makes the next Pops look for pending rows, even if no message has announced them.
func (c *ConsumerState) Look() { c.message("", "") }

// Waiting reports whether a row has been handed over and not yet consumed.
func (c *ConsumerState) Waiting(ctx context.Context, key string) (bool, error) {
	waits, err := c.db.client.SIsMember(ctx, c.KeySet(), key).Result()
	return waits, c.db.wrap(err, "look into", c.KeySet())
}

// popBatch consumes at most size rows and returns their number.
func (c *ConsumerState) popBatch(ctx context.Context, size int, rows map[string]KeyOpFieldsValues) (int, error) {
	keys := []string{c.KeySet(), c.table + c.db.sep, c.table + "_DEL_SET"}
	res, err := c.db.Run(ctx, NewScript(statePopText), keys, strconv.Itoa(size), "_")
	if err != nil {
		return 0, c.db.wrap(err, "pop", c.table)
	}
	items, ok := res.([]any)
	if !ok {
		return 0, c.db.wrap(fmt.Errorf("the script returned %T", res), "pop", c.table)
	}
	for _, item := range items {
		pair, ok := item.([]any)
		if !ok || len(pair) != 2 {
			return 0, c.db.wrap(fmt.Errorf("the script returned %v", item), "pop", c.table)
		}
		key, _ := pair[0].(string)
		fields, _ := pair[1].([]any)
		rows[key] = kfv(key, fields)
	}
	return len(items), nil
}

// kfv builds an entry from alternating fields and values.
func kfv(key string, fields []any) KeyOpFieldsValues {
	if len(fields) == 0 {
		return KeyOpFieldsValues{Key: key, Op: OpDel}
	}
	fv := make(FieldValues, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		f, _ := fields[i].(string)
		v, _ := fields[i+1].(string)
		if f != nullField {
			fv[f] = v
		}
	}
	return KeyOpFieldsValues{Key: key, Op: OpSet, Fields: Pairs(fv)}
}

// resyncRows adds a SET for every row of the table, and a DEL for every known row that no longer exists.
func resyncRows(ctx context.Context, t *Table, known map[string]struct{}, rows map[string]KeyOpFieldsValues) error {
	now, err := t.Dump(ctx)
	if err != nil {
		return err
	}
	for key := range known {
		if _, ok := now[key]; !ok {
			rows[key] = KeyOpFieldsValues{Key: key, Op: OpDel}
		}
	}
	for key, fv := range now {
		rows[key] = KeyOpFieldsValues{Key: key, Op: OpSet, Fields: Pairs(fv)}
	}
	return nil
}

// A flag remembers whether a source has something to fetch, and whether it must fetch everything.
type flag struct {
	mu           sync.Mutex
	work, resync bool
}

func (f *flag) message(_, _ string) {
	f.mu.Lock()
	f.work = true
	f.mu.Unlock()
}

func (f *flag) stale() {
	f.mu.Lock()
	f.work, f.resync = true, true
	f.mu.Unlock()
}

func (f *flag) isStale() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resync
}

// drain returns the flag and clears it.
func (f *flag) drain() (work, resync bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	work, resync = f.work, f.resync
	f.work, f.resync = false, false
	return work, resync
}
