package forward

import (
	"context"

	"tamtam/orch"
	"tamtam/swss"
)

// Consume hands the rows of a table to f, the whole row as it now is, or nil when it is gone. An
// [Output] reports what became of them.
func Consume(d *orch.Daemon, db *swss.DB, table string, f func(key string, fields swss.FieldValues)) {
	src := func(l *swss.Listener) swss.Source { return swss.NewSubscriber(l, db, table).Bound() }
	d.Consume(src, table, orch.HandlerFunc(func(_ context.Context, tasks []orch.Task) []error {
		for _, t := range tasks {
			if t.Op == orch.Del {
				f(t.Key, nil)
				continue
			}
			f(t.Key, t.Fields)
		}
		return make([]error, len(tasks))
	}), orch.Reporting{None: true})
}
