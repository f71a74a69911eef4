package swss

import (
	"context"
	_ "embed" // the script
	"fmt"
	"strconv"
	"strings"
)

//go:embed scripts/rows_read.lua
var rowsReadText string

// MaxRow is the maximum size of a row of a [Subscriber], in bytes of fields and values. A larger row must be a
// mistake. It is not read, because it would be held in memory many times.
const MaxRow = 64 << 10

// readRows reads rows and passes each to f, in order. For a row that is too large, f receives its size instead of its
// fields. A key that holds no hash counts as not found.
func (t *Table) readRows(
	ctx context.Context, keys []string, of func([]any) FieldValues, f func(key string, row FieldValues, size int64),
) error {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = t.name + t.db.sep + key
	}
	return t.db.readRows(ctx, names, of, func(i int, row FieldValues, size int64) { f(keys[i], row, size) })
}

// ReadRows reads rows of any tables and passes each to f, in order. names are keys with the table's name. f receives
// nil if there is no such hash, and the size instead of the row if it is larger than [MaxRow].
func (d *DB) ReadRows(ctx context.Context, names []string, f func(i int, row FieldValues, size int64)) error {
	return d.readRows(ctx, names, rowOf, f)
}

// readRows implements ReadRows. of builds a row from alternating fields and values.
func (d *DB) readRows(
	ctx context.Context, names []string, of func([]any) FieldValues, f func(i int, row FieldValues, size int64),
) error {
	s := NewScript(rowsReadText).Natively(readRowsNatively)
	for from := 0; from < len(names); from += pipelineSize {
		chunk := names[from:min(from+pipelineSize, len(names))]
		res, err := d.Run(ctx, s, chunk, strconv.Itoa(MaxRow))
		if err != nil {
			return d.wrap(err, "read", chunk[0])
		}
		rows, _ := res.([]any)
		if len(rows) != len(chunk) {
			return d.wrap(fmt.Errorf("the script returned %d rows, want %d", len(rows), len(chunk)), "read", chunk[0])
		}
		for i := range chunk {
			words, _ := rows[i].([]any)
			size, _ := rows[i].(int64)
			f(from+i, of(words), size)
		}
	}
	return nil
}

// AllKeys returns the keys of a database, with the names of their tables, in arbitrary order.
func (d *DB) AllKeys(ctx context.Context) ([]string, error) {
	keys, err := d.client.Keys(ctx, "*").Result()
	return keys, d.wrap(err, "keys")
}

// Split divides a key into the table's name and the row's key. ok is false if it has no table.
func (d *DB) Split(name string) (table, key string, ok bool) { return strings.Cut(name, d.sep) }

// rowOf builds a row from alternating fields and values. It returns nil if there are none.
func rowOf(words []any) FieldValues {
	if len(words) == 0 {
		return nil
	}
	fv := make(FieldValues, len(words)/2)
	for i := 0; i+1 < len(words); i += 2 {
		field, _ := words[i].(string)
		value, _ := words[i+1].(string)
		addField(fv, field, value)
	}
	return fv
}

// storedRowOf builds a row in stored form, as rowOf does.
func storedRowOf(words []any) FieldValues {
	if len(words) == 0 {
		return nil
	}
	fv := make(FieldValues, len(words)/2)
	for i := 0; i+1 < len(words); i += 2 {
		field, _ := words[i].(string)
		fv[field], _ = words[i+1].(string)
	}
	return fv
}

// readRowsNatively implements rows_read.lua.
func readRowsNatively(r *ScriptRun) (reply string, ok bool) {
	if len(r.Args) != 1 {
		return "", false
	}
	most, err := strconv.Atoi(r.Args[0])
	if err != nil {
		return "", false
	}
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(r.Keys))
	for _, key := range r.Keys {
		raw := r.s.perform(r.ss.peer, r.ss.db, "HGETALL", []string{key})
		if !strings.HasPrefix(raw, "*") {
			raw = "*0\r\n"
		}
		if len(raw) > most {
			size := 0
			for _, word := range texts(raw) {
				size += len(*word)
			}
			if size > most {
				raw = fmt.Sprintf(":%d\r\n", size)
			}
		}
		out.WriteString(raw)
	}
	return out.String(), true
}
