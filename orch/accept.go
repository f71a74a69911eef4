package orch

import (
	"context"

	"tamtam/swss"
)

// Accept takes the rows of tables of APPL_DB that no object of SAI is made of:
// what other rows name, such as collectors. They are in force as they come, and
// their manager says so; but a row that nobody takes stays in its queue, and the
// table says nothing.
func Accept(d *Daemon, db *swss.DB, tables ...string) {
	for _, table := range tables {
		source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, db, table) }
		d.Consume(source, table, Each(func(context.Context, Task) error { return nil }), Reporting{None: true})
	}
}
