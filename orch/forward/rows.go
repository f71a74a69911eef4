package forward

import (
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Rows holds the rows of one table, by key.
type Rows map[string]swss.FieldValues

// Sorted returns the keys, in order of precedence.
func (r Rows) Sorted() []string { return slices.SortedFunc(maps.Keys(r), schema.CompareNames) }

// Tables holds the current rows of tables, by table.
type Tables map[string]Rows

// Follow keeps the rows of these tables up to date, and calls changed whenever one of them has changed.
func (t Tables) Follow(d *orch.Daemon, db *swss.DB, changed func(), tables ...string) {
	for _, table := range tables {
		t[table] = Rows{}
		Consume(d, db, table, func(key string, fields swss.FieldValues) {
			changed()
			if fields == nil {
				delete(t[table], key)
				return
			}
			t[table][key] = fields
		})
	}
}
