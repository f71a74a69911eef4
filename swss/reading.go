package swss

import (
	"context"
	"time"
)

// A Reading reads rows of a switch's databases until one cannot be read. From then on it returns nothing, and Err
// returns the error. So a caller needs to check for an error only once.
type Reading struct {
	ctx   context.Context
	redis *Redis
	err   error
}

// Reading returns a reading that is limited by ctx.
func (r *Redis) Reading(ctx context.Context) *Reading { return &Reading{ctx: ctx, redis: r} }

// Err returns the error of the first row that could not be read, or nil.
func (t *Reading) Err() error { return t.err }

// Dump returns all rows of a table, by key.
func (t *Reading) Dump(db DBName, table string) (rows map[string]FieldValues) {
	if t.err == nil {
		rows, t.err = NewTable(t.redis.DB(db), table).Dump(t.ctx)
	}
	return rows
}

// Keys returns the keys of all rows of a table, sorted.
func (t *Reading) Keys(db DBName, table string) (keys []string) {
	if t.err == nil {
		keys, t.err = NewTable(t.redis.DB(db), table).Keys(t.ctx)
	}
	return keys
}

// Row returns a row, or nil if it does not exist. For a table that is a single hash, key is empty.
func (t *Reading) Row(db DBName, table, key string) (row FieldValues) {
	if t.err == nil {
		row, _, t.err = NewTable(t.redis.DB(db), table).Get(t.ctx, key)
	}
	return row
}

// RowFor returns a row with a time to live, see [Table.GetFor].
func (t *Reading) RowFor(db DBName, table, key string) (row FieldValues, left time.Duration) {
	if t.err == nil {
		row, left, t.err = NewTable(t.redis.DB(db), table).GetFor(t.ctx, key)
	}
	return row, left
}

// Rows returns rows of a table, in the order of keys; see [DB.ReadRows].
func (t *Reading) Rows(db DBName, table string, keys []string) []FieldValues {
	rows, names := make([]FieldValues, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		names[i] = t.redis.DB(db).rowKey(table, key)
	}
	if t.err == nil {
		t.err = t.redis.DB(db).ReadRows(t.ctx, names, func(i int, row FieldValues, _ int64) { rows[i] = row })
	}
	return rows
}
