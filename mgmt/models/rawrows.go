package models

import (
	"context"
	"maps"

	"tamtam/mgmt/tree"
)

// rawRows is the list of all rows of CONFIG_DB. Lists of OpenConfig whose rows have no list of ours are written there.
const rawRows = "/config-rows/row"

// readRaw returns the fields of a row of CONFIG_DB as the Set has left it so far, or nil if there is none.
func readRaw(ctx context.Context, s tree.Setting, table, key string) (map[string]string, error) {
	return s.Row(ctx, rawRows, []string{table, key}, tree.AnyTable)
}

// makeRaw creates a row of CONFIG_DB, unless it exists.
func makeRaw(ctx context.Context, s tree.Setting, table, key string) error {
	return s.Make(ctx, rawRows, table, key)
}

// writeRaw writes a value into a row of CONFIG_DB, if the row exists. keys are those of OpenConfig's entry.
func writeRaw(ctx context.Context, s tree.Setting, table, key string, c tree.Codec, keys, v []string) error {
	of := tree.Codec{Shared: c.Shared, Get: func(r tree.Record) []string { r.Keys = keys; return c.Get(r) },
		Put: func(r tree.Record, v []string) error { r.Keys = keys; return c.Put(r, v) }}
	return s.Write(ctx, rawRows, []string{table, key}, tree.AnyTable, of, v)
}

// eraseRaw deletes a row of CONFIG_DB.
func eraseRaw(ctx context.Context, s tree.Setting, table, key string) error {
	return s.Erase(ctx, rawRows, table, key)
}

// setList writes a list field of SONiC, whose name in CONFIG_DB ends in @.
func setList(r tree.Record, field, value string) {
	r.Set(field, "")
	if value != "" {
		r.Fields[field+"@"] = value
	}
}

// with returns a copy of a record with another value of a field.
func with(r tree.Record, field, value string) tree.Record {
	r.Fields = maps.Clone(r.Fields)
	r.Set(field, value)
	return r
}
