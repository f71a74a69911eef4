package forward

import (
	"context"
	"fmt"

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

// Settle calls f when all incoming rows were handed out and due returns true, and after a database
// was emptied. It must be registered after the tables. When f fails it is called again, once Redis
// answers.
func Settle(d *orch.Daemon, name string, due func() bool, f func(ctx context.Context) error) {
	emptied := false
	d.OnFlush(func() { emptied = true })
	s := settler{name, func() bool { return emptied || due() }}
	src := func(*swss.Listener) swss.Source { return s }
	d.Consume(src, name, orch.Each(func(ctx context.Context, _ orch.Task) error {
		if !s.due() {
			return nil
		}
		if err := f(ctx); err != nil {
			return fmt.Errorf("%w: %w", swss.ErrUnavailable, err)
		}
		emptied = false
		return nil
	}), orch.Reporting{None: true})
}

// settler is the source of one task for as long as it is due.
type settler struct {
	name string
	due  func() bool
}

func (s settler) Name() string { return s.name }

func (s settler) Pops(context.Context) ([]swss.KeyOpFieldsValues, error) {
	if !s.due() {
		return nil, nil
	}
	return []swss.KeyOpFieldsValues{{Key: "changes", Op: swss.OpSet}}, nil
}
