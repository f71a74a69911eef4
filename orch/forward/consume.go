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

// Decide has all rows decided by decide whenever due is true after rows were handed out, and what it requests written:
// before, the output is loaded and everything is requested no more. due is false once that has been written.
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
