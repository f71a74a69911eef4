// Package beside writes rows of APPL_DB to tables that tammgrd writes, too: routes and neighbours. tammgrd's rows have
// the field config_key, and take precedence. A row is written in one atomic step with the check of its owner, and only
// if tammgrd does not own it.
//
// What belongs here: reading and writing such rows. What does not: the meaning of a table.
package beside

import (
	"context"
	_ "embed" // for the embedded script
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tamtam/swss"
	"tamtam/swss/schema"
)

//go:embed put.lua
var putText string

// batch is the number of rows that one script writes.
const batch = 128

// A Table is a table of APPL_DB.
type Table struct {
	DB   *swss.DB
	Name string
}

// A Row is a row to write; without fields it is to be deleted.
type Row struct {
	Key    string
	Fields []swss.Pair
}

// Tammgrs reports whether a row is tammgrd's.
func Tammgrs(f swss.FieldValues) bool { _, is := f[schema.FieldConfigKey]; return is }

// Put writes rows as a producer does, each replacing the existing one. It does not write rows that are tammgrd's, and
// reports in theirs which these are.
func (t Table) Put(ctx context.Context, rows []Row) (theirs []bool, err error) {
	sep := t.DB.Separator()
	head := []string{
		fmt.Sprintf("%s_CHANNEL@%d", t.Name, t.DB.ID()), t.Name + "_KEY_SET", t.Name + "_DEL_SET", t.Name + sep,
		"_" + t.Name + sep,
	}
	var calls []swss.Call
	for some := range slices.Chunk(rows, batch) {
		c := swss.Call{Keys: slices.Clone(head), Args: []any{"G", schema.FieldConfigKey}}
		for _, row := range some {
			c.Keys = append(c.Keys, row.Key)
			c.Args = append(c.Args, strconv.Itoa(len(row.Fields)))
			for _, p := range row.Fields {
				c.Args = append(c.Args, p.Field, p.Value)
			}
		}
		calls = append(calls, c)
	}
	answers, err := t.DB.RunMany(ctx, swss.NewScript(putText), calls)
	if err != nil {
		return nil, &swss.Error{DB: t.DB.Name(), Op: "write " + t.Name, Err: err}
	}
	theirs = make([]bool, len(rows))
	for i, answer := range answers {
		numbers, _ := answer.([]any)
		for _, n := range numbers {
			if n, ok := n.(int64); ok {
				theirs[i*batch+int(n)-1] = true
			}
		}
	}
	return theirs, nil
}

// Found reads the table as it will be when its consumer has processed the pending changes.
func (t Table) Found(ctx context.Context) (map[string]swss.FieldValues, error) {
	var sets [2][]string
	for i, name := range []string{"_KEY_SET", "_DEL_SET"} {
		list, err := t.DB.Client().SMembers(ctx, t.Name+name).Result()
		if err != nil {
			return nil, &swss.Error{DB: t.DB.Name(), Op: "read " + t.Name + name, Err: err}
		}
		sets[i] = list
	}
	pending, err := swss.NewTable(t.DB, "_"+t.Name).Dump(ctx)
	if err != nil {
		return nil, err
	}
	// Read last: a row that the consumer processes meanwhile is then seen twice rather than never.
	rows, err := swss.NewTable(t.DB, t.Name).Dump(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range sets[1] {
		delete(rows, key)
	}
	for _, key := range sets[0] {
		if fields, ok := pending[key]; ok {
			if rows[key] == nil {
				rows[key] = swss.FieldValues{}
			}
			maps.Copy(rows[key], fields)
		}
	}
	return rows, nil
}

// Waits reports whether a change of a row waits for its consumer.
func (t Table) Waits(ctx context.Context, key string) (bool, error) {
	is, err := t.DB.Client().SIsMember(ctx, t.Name+"_KEY_SET", key).Result()
	if err != nil {
		return false, &swss.Error{DB: t.DB.Name(), Op: "look into " + t.Name + "_KEY_SET", Err: err}
	}
	return is, nil
}
