package swss

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/swss/glob"

	"github.com/redis/go-redis/v9"
)

// pipelineSize bounds the commands sent in one round trip.
const pipelineSize = 1000

// A Table is a table whose rows are written and read as plain hashes.
type Table struct {
	db   *DB
	name string
}

// NewTable returns the table of that name.
func NewTable(db *DB, name string) *Table { return &Table{db: db, name: name} }

// Name returns the table's name.
func (t *Table) Name() string { return t.name }

// Set merges fields into a row with one HSET. A new row without fields is
// stored as NULL/NULL.
func (t *Table) Set(ctx context.Context, key string, fv FieldValues) error {
	k := t.db.rowKey(t.name, key)
	return t.db.wrap(t.db.client.HSet(ctx, k, appendPairs(nil, OrNull(Pairs(fv)))...).Err(), "set", k)
}

// SetFor does Set for a row that expires after ttl, unless it is set again.
func (t *Table) SetFor(ctx context.Context, key string, fv FieldValues, ttl time.Duration) error {
	return t.db.SetFor(ctx, key, map[string]FieldValues{t.name: fv}, ttl)
}

// SetFor does [Table.SetFor] for rows of several tables with the same key, by table, in one transaction.
func (d *DB) SetFor(ctx context.Context, key string, rows map[string]FieldValues, ttl time.Duration) error {
	_, err := d.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, table := range slices.Sorted(maps.Keys(rows)) {
			k := d.rowKey(table, key)
			p.HSet(ctx, k, appendPairs(nil, OrNull(Pairs(rows[table])))...)
			p.PExpire(ctx, k, ttl)
		}
		return nil
	})
	return d.wrap(err, "set", key)
}

// GetFor returns a row with a time to live. left is the remaining time; negative means that the row does not
// expire.
func (t *Table) GetFor(ctx context.Context, key string) (fv FieldValues, left time.Duration, err error) {
	err = t.GetManyFor(ctx, []string{key}, func(_ string, row FieldValues, ttl time.Duration) { fv, left = row, ttl })
	return fv, left, err
}

// GetManyFor does GetFor for some rows in one round trip, and passes each to f, in order.
func (t *Table) GetManyFor(
	ctx context.Context, keys []string, f func(key string, fv FieldValues, left time.Duration),
) error {
	fields, ttls := make([]*redis.MapStringStringCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	if _, err := t.db.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			row := t.db.rowKey(t.name, key)
			fields[i], ttls[i] = p.HGetAll(ctx, row), p.PTTL(ctx, row)
		}
		return nil
	}); err != nil {
		return t.db.wrap(err, "get", t.name, strings.Join(keys, " "))
	}
	for i, key := range keys {
		f(key, fields[i].Val(), ttls[i].Val())
	}
	return nil
}

// SetMany does Set for many rows in a small number of round trips, in order of their keys.
func (t *Table) SetMany(ctx context.Context, rows map[string]FieldValues) error {
	keys := slices.Sorted(maps.Keys(rows))
	return t.db.pipeline(ctx, "set "+t.name, len(keys), func(p redis.Pipeliner, i int) {
		p.HSet(ctx, t.db.rowKey(t.name, keys[i]), appendPairs(nil, OrNull(Pairs(rows[keys[i]])))...)
	})
}

// Del removes a row.
func (t *Table) Del(ctx context.Context, key string) error {
	k := t.db.rowKey(t.name, key)
	return t.db.wrap(t.db.client.Del(ctx, k).Err(), "del", k)
}

// DelMany removes many rows in a small number of round trips.
func (t *Table) DelMany(ctx context.Context, keys []string) error {
	return t.db.pipeline(ctx, "del "+t.name, len(keys), func(p redis.Pipeliner, i int) {
		p.Del(ctx, t.db.rowKey(t.name, keys[i]))
	})
}

// HDel removes fields of a row.
func (t *Table) HDel(ctx context.Context, key string, fields ...string) error {
	k := t.db.rowKey(t.name, key)
	return t.db.wrap(t.db.client.HDel(ctx, k, fields...).Err(), "hdel", k)
}

// HDelMany removes fields of many rows in a small number of round trips.
func (t *Table) HDelMany(ctx context.Context, fields map[string][]string) error {
	keys := slices.Sorted(maps.Keys(fields))
	return t.db.pipeline(ctx, "hdel "+t.name, len(keys), func(p redis.Pipeliner, i int) {
		p.HDel(ctx, t.db.rowKey(t.name, keys[i]), fields[keys[i]]...)
	})
}

// Get returns a row, or false if it does not exist. List fields ("ports@") are returned without the "@".
func (t *Table) Get(ctx context.Context, key string) (FieldValues, bool, error) {
	k := t.db.rowKey(t.name, key)
	hash, err := t.db.client.HGetAll(ctx, k).Result()
	if err != nil {
		return nil, false, t.db.wrap(err, "get", k)
	}
	return readRow(hash), len(hash) > 0, nil
}

// Keys returns the keys of all rows, sorted.
func (t *Table) Keys(ctx context.Context) ([]string, error) {
	prefix := t.name + t.db.sep
	keys, err := t.db.client.Keys(ctx, glob.Escape(prefix)+"*").Result()
	if err != nil {
		return nil, t.db.wrap(err, "keys", prefix+"*")
	}
	for i, k := range keys {
		keys[i] = strings.TrimPrefix(k, prefix)
	}
	slices.Sort(keys)
	return keys, nil
}

// AtLeast reports whether the table has n rows or more. It counts them only if the whole database has at least n
// keys.
func (t *Table) AtLeast(ctx context.Context, n int) (bool, error) {
	size, err := t.db.client.DBSize(ctx).Result()
	if err != nil {
		return false, t.db.wrap(err, "count the rows of", t.name)
	}
	if size < int64(n) {
		return false, nil
	}
	keys, err := t.Keys(ctx)
	return len(keys) >= n, err
}

// Dump returns all rows. It is not atomic: a row that is deleted during the call is omitted.
func (t *Table) Dump(ctx context.Context) (map[string]FieldValues, error) {
	all, err := t.db.Dump(ctx, t.name)
	return all[t.name], err
}

// Dump returns all rows of some tables, by table and key, in a small number of round trips; see [Table.Dump].
func (d *DB) Dump(ctx context.Context, tables ...string) (map[string]map[string]FieldValues, error) {
	listed := make([]*redis.StringSliceCmd, len(tables))
	if _, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, table := range tables {
			listed[i] = p.Keys(ctx, glob.Escape(table+d.sep)+"*")
		}
		return nil
	}); err != nil {
		return nil, d.wrap(err, "keys of", strings.Join(tables, ", "))
	}
	all, names, in := make(map[string]map[string]FieldValues, len(tables)), []string{}, []string{}
	for i, keys := range listed {
		all[tables[i]] = make(map[string]FieldValues, len(keys.Val()))
		for _, name := range keys.Val() {
			names, in = append(names, name), append(in, tables[i])
		}
	}
	return all, d.getMany(ctx, names, func(i int, row FieldValues) {
		all[in[i]][strings.TrimPrefix(names[i], in[i]+d.sep)] = row
	})
}

// getMany reads rows, by their keys in Redis, in a small number of round trips, and passes those that exist to f, in
// order. A key that holds no hash does not count.
func (d *DB) getMany(ctx context.Context, names []string, f func(i int, row FieldValues)) error {
	for from := 0; from < len(names); from += pipelineSize {
		chunk := names[from:min(from+pipelineSize, len(names))]
		cmds := make([]*redis.MapStringStringCmd, len(chunk))
		_, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, name := range chunk {
				cmds[i] = p.HGetAll(ctx, name)
			}
			return nil
		})
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return d.wrap(err, "get", chunk[0])
		}
		for i, cmd := range cmds {
			if hash := cmd.Val(); len(hash) > 0 {
				f(from+i, readRow(hash))
			}
		}
	}
	return nil
}

// pipeline sends n commands, a bounded number per round trip. It tries all and returns the first error.
func (d *DB) pipeline(ctx context.Context, op string, n int, add func(p redis.Pipeliner, i int)) error {
	var first error
	for from := 0; from < n; from += pipelineSize {
		_, err := d.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := from; i < min(from+pipelineSize, n); i++ {
				add(p, i)
			}
			return nil
		})
		if err = d.wrap(err, op); err != nil && first == nil {
			first = err
		}
		if unavailable(err) {
			break
		}
	}
	return first
}
