package configfile

import (
	"maps"
	"slices"
)

// A Difference is a row that differs between two configurations. Was and Is are the differing fields as FIELD=VALUE.
// For a row that only one configuration has, they are all of its fields.
type Difference struct {
	Table, Key string
	Kind       string // ADDED, REMOVED or CHANGED
	Was, Is    []string
}

// Kinds of differences.
const (
	Added   = "ADDED"
	Removed = "REMOVED"
	Changed = "CHANGED"
)

// Diff returns the changes from one configuration to the other, in the order of tables and keys.
func Diff(from, to Rows) []Difference {
	var out []Difference
	for _, table := range union(from, to) {
		for _, key := range union(from[table], to[table]) {
			was, had := from[table][key]
			is, has := to[table][key]
			d := Difference{Table: table, Key: key, Kind: Changed, Was: lacking(was, is), Is: lacking(is, was)}
			switch {
			case !had:
				d.Kind = Added
			case !has:
				d.Kind = Removed
			case len(d.Was)+len(d.Is) == 0:
				continue
			}
			out = append(out, d)
		}
	}
	return out
}

// union returns the keys of two maps, sorted.
func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// lacking returns the fields of a row that another row lacks or has with another value.
func lacking(row, other map[string]string) (out []string) {
	for _, f := range slices.Sorted(maps.Keys(row)) {
		if v, ok := other[f]; (!ok || v != row[f]) && f != "NULL" {
			out = append(out, f+"="+row[f])
		}
	}
	return out
}
