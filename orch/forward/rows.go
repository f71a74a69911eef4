package forward

import (
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Rows are those of one table, by key.
type Rows map[string]swss.FieldValues

// Sorted lists the keys, in the order in which rows win.
func (r Rows) Sorted() []string { return slices.SortedFunc(maps.Keys(r), schema.CompareNames) }

// Tables are the rows of tables as they are now, by table.
type Tables map[string]Rows

// Follow keeps the rows of these tables, and calls changed whenever one of them has changed.
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
