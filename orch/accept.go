package orch

import (
	"context"

	"tamtam/swss"
)

// Accept consumes tables of APPL_DB that lead to no SAI object, because other rows refer to them, such as collectors.
// Their manager reports them as in force. Without a consumer the rows would stay in the queue and never reach the
// table.
func Accept(d *Daemon, db *swss.DB, tables ...string) {
	for _, table := range tables {
		source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, db, table) }
		d.Consume(source, table, Each(func(context.Context, Task) error { return nil }), Reporting{None: true})
	}
}
