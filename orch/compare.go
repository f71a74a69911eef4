package orch

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// The daemon compares in the background the rows of its tables with the rows that its handlers received. This is needed
// because an event may be lost, and a row may change without an event. The daemon stores a digest of each row.

// Watch returns the comparisons of the running daemon. More stages may be added before the first Run or Step.
func (d *Daemon) Watch() *drift.Watch { return d.watch }

// compareAt returns when a daemon on wall time compares next.
func (d *Daemon) compareAt() time.Time {
	if !d.live {
		return time.Time{}
	}
	if d.comparedAt.IsZero() {
		d.comparedAt = d.now
	}
	return d.watch.Next(d.comparedAt)
}

func (d *Daemon) compareSome(ctx context.Context, now time.Time) error {
	d.comparedAt = now
	return d.watch.Work(ctx, now)
}

// Compare compares everything once, at simulated time now, and heals the rows that have differed long enough.
func (d *Daemon) Compare(ctx context.Context, now time.Time) error {
	if err := d.acquire(ctx); err != nil {
		return err
	}
	defer d.release()
	d.now = now
	return d.watch.Pass(ctx, now)
}

// recordReceived stores the digest of a received row.
func (in *input) recordReceived(t Task) {
	switch {
	case in.received == nil:
	case t.Op == Del:
		delete(in.received, t.Key)
	default:
		in.received[t.Key] = in.digest(t.Key, t.Fields)
	}
}

// digest returns the digest of a row without the fields that the daemon itself adds; 0 if no other fields are left.
func (in *input) digest(key string, row swss.FieldValues) uint64 {
	if adds := in.rep.Adds; adds != nil && row != nil {
		row = maps.Clone(row)
		before := len(row)
		maps.DeleteFunc(row, func(f, _ string) bool { return adds(key, f) })
		if before > 0 && len(row) == 0 {
			return 0
		}
	}
	return drift.Sum(row)
}

// compareRows adds an input to the comparison, if its source is a table.
func (d *Daemon) compareRows(in *input) {
	switch in.source.(type) {
	case *rows, *swss.ConsumerState:
	default:
		return
	}
	in.db, in.received = in.source.(interface{ DB() *swss.DB }).DB(), map[string]uint64{}
	if d.compared[in.db] {
		return
	}
	d.compared[in.db] = true
	c := consumed{d, in.db}
	stage := drift.Stage{Name: string(in.db.Name()), List: c.list, Look: c.look, Heal: c.heal}
	if in.db.Name() == swss.ApplDB && d.name != Manager {
		stage.After = Manager
	}
	d.watch.Add(stage)
}

// A consumed compares the rows of a database that the daemon consumes.
type consumed struct {
	*Daemon
	db *swss.DB
}

// inputsOf returns the inputs that consume a table.
func (c consumed) inputsOf(table string) (list []*input) {
	for _, in := range c.inputs {
		if in.db == c.db && in.source.Name() == table {
			list = append(list, in)
		}
	}
	return list
}

// lookAfter makes the sources look for rows that are pending although their message may be lost.
func (c consumed) lookAfter(keys map[string]bool) {
	for _, in := range c.inputs {
		if s, ok := in.source.(*swss.ConsumerState); ok && in.db == c.db && keys[s.KeySet()] {
			s.Look()
		}
	}
}

func (c consumed) list(ctx context.Context, keysOf drift.Keys) ([]string, error) {
	all, err := keysOf(ctx, c.db)
	if err != nil {
		return nil, err
	}
	tables := map[string]bool{}
	for _, in := range c.inputs {
		if in.db == c.db {
			tables[in.source.Name()] = true
		}
	}
	waiting := map[string]bool{}
	var keys []string
	for _, name := range all {
		if table, _, ok := c.db.Split(name); !ok {
			waiting[name] = true
		} else if tables[table] {
			keys = append(keys, name)
		}
	}
	c.lookAfter(waiting)
	there := make(map[string]struct{}, len(keys))
	for _, name := range keys {
		there[name] = struct{}{}
	}
	for _, in := range c.inputs {
		for key := range in.received {
			name := in.source.Name() + c.db.Separator() + key
			if _, ok := there[name]; !ok && in.db == c.db {
				there[name] = struct{}{}
				keys = append(keys, name)
			}
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// asReceived returns a row as the handlers receive it.
func (in *input) asReceived(key string, row swss.FieldValues, size int64) swss.FieldValues {
	if r, ok := in.source.(*rows); ok && r.Over(key) && (row != nil || size > 0) {
		size = swss.TooMany
	}
	if size != 0 {
		return unreadRow(size)
	}
	return row
}

// unreadRow returns the substitute for a row that a source did not read because of its size.
func unreadRow(size int64) swss.FieldValues {
	if size == swss.TooMany {
		return schema.TooMany(swss.MaxRows, swss.MaxTable)
	}
	return schema.TooLarge(size, swss.MaxRow)
}

func (c consumed) look(ctx context.Context, names []string) (found []drift.Finding, err error) {
	readErr := c.db.ReadRows(ctx, names, func(i int, row swss.FieldValues, size int64) {
		table, key, _ := c.db.Split(names[i])
		for _, in := range c.inputsOf(table) {
			is, was := in.digest(key, in.asReceived(key, row, size)), in.received[key]
			if is == was {
				continue
			}
			f := drift.Finding{Key: names[i], What: words(was, is), Sum: was ^ is<<1}
			var e error
			if f.Busy, e = in.busy(ctx, key); e != nil {
				err = e
			}
			found = append(found, f)
			break
		}
	})
	if readErr != nil {
		err = readErr
	}
	return found, err
}

// words describes how a row differs. It compares the row's former and current digest.
func words(was, is uint64) string {
	switch {
	case is == 0:
		return "is gone and was not removed"
	case was == 0:
		return "is there and was never handed over"
	}
	return "is not as it was handed over"
}

// busy reports whether the row is in flight.
func (in *input) busy(ctx context.Context, key string) (bool, error) {
	if _, ready := in.ready[key]; ready {
		return true, nil
	}
	if c, ok := in.source.(*swss.ConsumerState); ok {
		return c.Waiting(ctx, key)
	}
	return false, nil
}

// heal passes the current rows to their handlers.
func (c consumed) heal(ctx context.Context, drifted []drift.Finding) error {
	names := make([]string, len(drifted))
	for i, f := range drifted {
		names[i] = f.Key
	}
	c.log.Warn("rows have changed without a word: they are handled as they are", "database", c.db.Name(), "rows",
		strings.Join(names[:min(len(names), 10)], " "), "count", len(names))
	return c.db.ReadRows(ctx, names, func(i int, row swss.FieldValues, size int64) {
		table, key, _ := c.db.Split(names[i])
		for _, in := range c.inputsOf(table) {
			t := Task{Table: in.table, Key: key, Op: Del}
			is := in.asReceived(key, row, size)
			if is != nil {
				t.Op, t.Fields = Set, is
			}
			if in.digest(key, is) != in.received[key] {
				in.recordReceived(t)
				c.push(in, t)
			}
		}
	})
}
