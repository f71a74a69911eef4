package swss

import (
	"context"
	_ "embed" // the script
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed scripts/rows_read.lua
var rowsReadText string

// MaxRow is how many bytes of fields and values a row of a [Subscriber] may have. A larger one, which nobody can mean,
// is not read: it would be held in memory many times over.
const MaxRow = 256 << 10

// readRows reads rows and passes each to f, in order: its size instead of its fields if it is too large. What is no
// hash counts as not found.
func (t *Table) readRows(
	ctx context.Context, keys []string, f func(key string, row FieldValues, size int64),
) error {
	s := NewScript(rowsReadText).Natively(readRowsNatively)
	for chunk := range slices.Chunk(keys, pipelineSize) {
		names := make([]string, len(chunk))
		for i, key := range chunk {
			names[i] = t.db.rowKey(t.name, key)
		}
		res, err := t.db.Run(ctx, s, names, strconv.Itoa(MaxRow))
		if err != nil {
			return t.db.wrap(err, "read", t.name)
		}
		rows, _ := res.([]any)
		if len(rows) != len(chunk) {
			return t.db.wrap(fmt.Errorf("the script returned %d rows, want %d", len(rows), len(chunk)), "read", t.name)
		}
		for i, key := range chunk {
			words, _ := rows[i].([]any)
			size, _ := rows[i].(int64)
			f(key, rowOf(words), size)
		}
	}
	return nil
}

// rowOf makes a row of alternating fields and values, nil of none.
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

// readRowsNatively is rows_read.lua.
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
			for _, word := range rawList(raw) {
				size += len(bulkText(word))
			}
			if size > most {
				raw = fmt.Sprintf(":%d\r\n", size)
			}
		}
		out.WriteString(raw)
	}
	return out.String(), true
}
