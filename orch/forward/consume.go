package forward

import (
	"context"

	"tamtam/orch"
	"tamtam/swss"
)

// Consume passes the rows of a table to f: the whole current row, or nil when it is gone. An [Output] reports their
// outcome.
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

// Decide registers decide, which decides all rows. It is called whenever due is true after rows were handled. Before
// that the output is loaded and cleared; afterwards the requested rows are written, and due becomes false.
func (o *Output) Decide(due *bool, decide func(context.Context) error) {
	o.d.AfterRows(func() bool { return *due }, func(ctx context.Context) error {
		if err := o.Load(ctx); err != nil {
			return err
		}
		o.Clear()
		if err := decide(ctx); err != nil {
			return err
		}
		if err := o.Flush(ctx); err != nil {
			return err
		}
		*due = false
		return nil
	})
}
