package swss

import (
	"context"
	"maps"
	"slices"
	"strconv"
)

// payload is the message that SONiC's tables publish: one letter, which only wakes consumers.
const payload = "G"

// Numbers of rows that one script moves: SONiC's default, and the number that a consumer requests after a full batch.
const (
	batchSize = 128
	bigBatch  = 1024
)

// A ProducerState hands rows of a table to its consumer (APPL_DB). A row becomes visible in the table when the consumer
// accepts it. Rows may be delivered in another order. Several writes of a pending row are merged.
type ProducerState struct {
	db    *DB
	table string
}

// NewProducerState returns a producer of the table.
func NewProducerState(db *DB, table string) *ProducerState {
	return &ProducerState{db: db, table: table}
}

func (p *ProducerState) keySet() string { return p.table + "_KEY_SET" }
func (p *ProducerState) delSet() string { return p.table + "_DEL_SET" }
func (p *ProducerState) temp() string   { return "_" + p.table + p.db.sep }

// Set merges fields into a row. To remove fields, call Del first. A row without fields is sent as NULL/NULL.
func (p *ProducerState) Set(ctx context.Context, key string, fields []Pair) error {
	fields = OrNull(fields)
	keys := make([]string, 0, 2+len(fields))
	keys = append(keys, p.db.channel(p.table), p.keySet())
	for range fields {
		keys = append(keys, p.temp()+key)
	}
	_, err := p.db.Run(ctx, NewScript(stateSetText), keys, appendPairs([]any{payload, key}, fields)...)
	return p.db.wrap(err, "set", p.table, key)
}

// Del removes a row.
func (p *ProducerState) Del(ctx context.Context, key string) error {
	keys := []string{p.db.channel(p.table), p.keySet(), p.temp() + key, p.delSet()}
	_, err := p.db.Run(ctx, NewScript(stateDelText), keys, payload, key, "''", "''")
	return p.db.wrap(err, "del", p.table, key)
}

// SetMany does Set for many rows in a small number of round trips.
func (p *ProducerState) SetMany(ctx context.Context, rows []Row) error {
	var calls []Call
	for chunk := range slices.Chunk(rows, batchSize) {
		c := Call{
			Keys: []string{p.db.channel(p.table), p.keySet(), p.temp()},
			Args: []any{payload},
		}
		for _, row := range chunk {
			fields := OrNull(row.Fields)
			c.Keys = append(c.Keys, row.Key)
			c.Args = appendPairs(append(c.Args, strconv.Itoa(len(fields))), fields)
		}
		calls = append(calls, c)
	}
	_, err := p.db.RunMany(ctx, NewScript(stateSetManyText), calls)
	return p.db.wrap(err, "set", p.table)
}

// DelMany removes many rows in a small number of round trips.
func (p *ProducerState) DelMany(ctx context.Context, keys []string) error {
	var calls []Call
	for chunk := range slices.Chunk(keys, batchSize) {
		k := append([]string{p.db.channel(p.table), p.keySet(), p.temp(), p.delSet()}, chunk...)
		calls = append(calls, Call{Keys: k, Args: []any{payload}})
	}
	_, err := p.db.RunMany(ctx, NewScript(stateDelManyText), calls)
	return p.db.wrap(err, "del", p.table)
}

// ApplyView makes the table equal to rows, in one script. It deletes the other rows, and replaces those that differ.
// It compares with the rows that the consumer has accepted.
func (p *ProducerState) ApplyView(ctx context.Context, rows []Row) error {
	now, err := NewTable(p.db, p.table).Dump(ctx)
	if err != nil {
		return err
	}
	view := make(map[string]struct{}, len(rows))
	var set []Row
	for _, row := range rows {
		view[row.Key] = struct{}{}
		if old, ok := now[row.Key]; !ok || !maps.Equal(old, ToFieldValues(row.Fields)) {
			set = append(set, row)
		}
	}
	keys := []string{p.db.channel(p.table), p.keySet(), p.temp(), p.delSet()}
	gone := 0
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if _, ok := view[key]; !ok {
			keys = append(keys, key)
			gone++
		}
	}
	args := []any{payload, strconv.Itoa(gone)}
	for _, row := range set {
		fields := OrNull(row.Fields)
		keys = append(keys, row.Key)
		args = appendPairs(append(args, strconv.Itoa(len(fields))), fields)
	}
	_, err = p.db.Run(ctx, NewScript(stateViewText), keys, args...)
	return p.db.wrap(err, "apply view", p.table)
}
