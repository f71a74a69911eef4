package swss

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// FieldValues is a row.
type FieldValues = map[string]string

// A Pair is one field of a row in which the order of fields matters.
type Pair struct{ Field, Value string }

// A Row is a row with its key (without the table's name).
type Row struct {
	Key    string
	Fields []Pair
}

// The values of Op in [KeyOpFieldsValues], except in raw queues.
const (
	OpSet = "SET"
	OpDel = "DEL"
)

// KeyOpFieldsValues is one change that a [Source] delivers.
type KeyOpFieldsValues struct {
	Key    string
	Op     string // OpSet or OpDel; for a queue, its own operation without the letter
	Fields []Pair
	// Size is not 0 if the row was not read. It is then the row's size in bytes, if that exceeds [MaxRow], or
	// [TooMany].
	Size int64
	// Stored is the row in stored form, for [Subscriber.Stored]; Fields is then empty.
	Stored FieldValues
}

// FieldValues returns the fields as a row.
func (k KeyOpFieldsValues) FieldValues() FieldValues { return ToFieldValues(k.Fields) }

// A Source is an input of a daemon, such as a table.
type Source interface {
	// Name returns the name of the table or channel.
	Name() string
	// Pops returns everything that is available, without waiting for more.
	Pops(ctx context.Context) ([]KeyOpFieldsValues, error)
}

// nullField is the placeholder field of a row without fields.
const nullField = "NULL"

// Pairs returns the fields of a row, sorted by name.
func Pairs(fv FieldValues) []Pair {
	pairs := make([]Pair, 0, len(fv))
	for _, f := range slices.Sorted(maps.Keys(fv)) {
		pairs = append(pairs, Pair{f, fv[f]})
	}
	return pairs
}

// ToFieldValues returns the fields as a row. If names repeat, the last wins.
func ToFieldValues(pairs []Pair) FieldValues {
	fv := make(FieldValues, len(pairs))
	for _, p := range pairs {
		fv[p.Field] = p.Value
	}
	return fv
}

// appendPairs appends fields as arguments of a Redis command.
func appendPairs(args []any, pairs []Pair) []any {
	for _, p := range pairs {
		args = append(args, p.Field, p.Value)
	}
	return args
}

// OrNull returns the fields to store for a row: the NULL field if it has none, since Redis has no empty hashes.
func OrNull(pairs []Pair) []Pair {
	if len(pairs) == 0 {
		return []Pair{{nullField, nullField}}
	}
	return pairs
}

// readRow converts a stored hash for readers. It drops the NULL field of an empty row, and cuts field names at the
// first "@", which marks a list in CONFIG_DB ("ports@").
func readRow(hash map[string]string) FieldValues {
	fv := make(FieldValues, len(hash))
	for f, v := range hash {
		addField(fv, f, v)
	}
	return fv
}

func addField(fv FieldValues, field, value string) {
	if field == nullField {
		return
	}
	name, _, _ := strings.Cut(field, "@")
	fv[name] = value
}
