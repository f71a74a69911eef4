package kit

import (
	"context"
	"maps"
	"slices"

	"tamtam/mgmt/tree"
)

// RawRows is the list of all rows of CONFIG_DB. Lists of OpenConfig whose rows have no list of ours are written there.
const RawRows = "/config-rows/row"

// RawTable returns the rows of a table of CONFIG_DB whose key matches a pattern, as the Set has left them so far, by
// their keys. They must not be changed.
func RawTable(
	ctx context.Context, s tree.Setting, table, pattern string,
) (map[string]map[string]string, error) {
	there, err := s.Match(ctx, RawRows, table, pattern)
	rows := map[string]map[string]string{}
	for i := 0; err == nil && i < len(there); i++ {
		rows[there[i][1]], err = ReadRaw(ctx, s, table, there[i][1])
	}
	return rows, err
}

// ReadRaw returns the fields of a row of CONFIG_DB as the Set has left it so far, or nil if there is none.
func ReadRaw(ctx context.Context, s tree.Setting, table, key string) (map[string]string, error) {
	return s.Row(ctx, RawRows, []string{table, key}, tree.AnyTable)
}

// MakeRaw creates a row of CONFIG_DB, unless it exists.
func MakeRaw(ctx context.Context, s tree.Setting, table, key string) error {
	return s.Make(ctx, RawRows, table, key)
}

// WriteRaw writes a value into a row of CONFIG_DB, if the row exists. keys are those of OpenConfig's entry.
func WriteRaw(ctx context.Context, s tree.Setting, table, key string, c tree.Codec, keys, v []string) error {
	of := tree.Codec{Shared: c.Shared, Get: func(r tree.Record) []string { r.Keys = keys; return c.Get(r) },
		Put: func(r tree.Record, v []string) error { r.Keys = keys; return c.Put(r, v) }}
	return s.Write(ctx, RawRows, []string{table, key}, tree.AnyTable, of, v)
}

// WriteItems writes a value into a row of CONFIG_DB, if the row exists. The items of a leaf-list are added to the
// present ones, or one of these is removed, as the Set says.
func WriteItems(ctx context.Context, s tree.Setting, table, key string, c tree.Codec, keys, v []string) error {
	row, err := ReadRaw(ctx, s, table, key)
	if err != nil {
		return err
	}
	all := slices.Clone(c.Get(tree.Record{Keys: keys, Fields: row}))
	switch {
	case s.Item() != "":
		v = slices.DeleteFunc(all, func(is string) bool { return is == s.Item() })
	case s.Adds():
		v = append(all, slices.DeleteFunc(slices.Clone(v), func(is string) bool { return slices.Contains(all, is) })...)
	}
	return WriteRaw(ctx, s, table, key, c, keys, v)
}

// EraseRaw deletes a row of CONFIG_DB.
func EraseRaw(ctx context.Context, s tree.Setting, table, key string) error {
	return s.Erase(ctx, RawRows, table, key)
}

// WithoutNull returns the fields of a row without the one that stands for no fields.
func WithoutNull(fields map[string]string) map[string]string {
	fields = maps.Clone(fields)
	delete(fields, tree.NullField)
	return fields
}
