// Package forwardtest steps a manager by hand in tests. Rows are written to CONFIG_DB as lines of text, and the
// outcome is read from APPL_DB and STATE_DB as lines of text.
package forwardtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Bench has managers on their daemon, and an orchagent that consumes the rows that they forward.
type Bench struct {
	t         testing.TB
	ctx       context.Context
	r         *swss.Redis
	d         *orch.Daemon
	managers  func(*orch.Daemon, *swss.Redis)
	now       time.Time
	listener  *swss.Listener
	consumers map[string]*swss.ConsumerState // consumers of the tables, which stand for orchagent
}

// New starts managers on a server for the length of the test.
func New(t testing.TB, r *swss.Redis, managers func(*orch.Daemon, *swss.Redis)) *Bench {
	b := &Bench{
		t: t, ctx: t.Context(), r: r, managers: managers, now: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC),
		consumers: map[string]*swss.ConsumerState{},
	}
	b.start()
	t.Cleanup(func() { b.stop() })
	return b
}

func (b *Bench) start() {
	b.d = orch.NewDaemon("tammgrd", b.r, orch.Options{})
	b.managers(b.d, b.r)
}

func (b *Bench) stop() {
	b.d.Close()
	if b.listener != nil {
		b.listener.Close()
		b.listener, b.consumers = nil, map[string]*swss.ConsumerState{}
	}
}

// Restart starts a new tammgrd on the same databases.
func (b *Bench) Restart() {
	b.d.Close()
	b.start()
}

// Step does a step. A connection that broke in an outage of Redis is noticed only when it is used. Then the step is
// repeated, as in the live daemon.
func (b *Bench) Step() {
	b.t.Helper()
	b.WaitUp()
}

// TryStep does a Step that may fail.
func (b *Bench) TryStep() error {
	b.now = b.now.Add(time.Second)
	_, err := b.d.Step(b.ctx, b.now)
	return err
}

// WaitUp does a step as soon as Redis is there again.
func (b *Bench) WaitUp() {
	b.t.Helper()
	for {
		err := b.TryStep()
		if err == nil {
			return
		}
		if !errors.Is(err, swss.ErrUnavailable) || b.ctx.Err() != nil {
			b.t.Fatal(err)
		}
	}
}

// Do applies lines and then does a step. "TABLE|key field=value ..." is a whole row of CONFIG_DB, and "-TABLE|key"
// deletes it. "appl:TABLE:key ..." is a row of APPL_DB, "state:TABLE|key ..." one of STATE_DB, and "counters:..." one
// of COUNTERS_DB. "appl+:..." and "state+:..." add fields to a row. "restart" calls Restart, and "step" does a further
// step.
func (b *Bench) Do(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		b.write(line)
	}
	b.Step()
}

func (b *Bench) write(line string) {
	b.t.Helper()
	switch line {
	case "restart":
		b.Restart()
		return
	case "step":
		b.Step()
		return
	}
	if err := write(b.ctx, b.r, line); err != nil {
		b.t.Fatal(err)
	}
}

// write writes or deletes a row.
func write(ctx context.Context, r *swss.Redis, line string) error {
	row, rest, _ := strings.Cut(line, " ")
	row, gone := strings.CutPrefix(row, "-")
	db, add := r.DB(swss.ConfigDB), false
	for prefix, name := range map[string]swss.DBName{
		"appl:": swss.ApplDB, "appl+:": swss.ApplDB, "state:": swss.StateDB, "state+:": swss.StateDB,
		"counters:": swss.CountersDB,
	} {
		if of, ok := strings.CutPrefix(row, prefix); ok {
			db, row, add = r.DB(name), of, strings.Contains(prefix, "+")
			break
		}
	}
	table, key, _ := strings.Cut(row, db.Separator())
	tab := swss.NewTable(db, table)
	var err error
	if !add {
		err = tab.Del(ctx, key)
	}
	if err == nil && !gone {
		err = tab.Set(ctx, key, Fields(rest))
	}
	return err
}

// Fields parses "a=b c=d".
func Fields(s string) swss.FieldValues {
	f := swss.FieldValues{}
	for _, w := range strings.Fields(s) {
		k, v, _ := strings.Cut(w, "=")
		f[k] = v
	}
	return f
}

// Appl returns the rows of APPL_DB after orchagent has consumed the forwarded rows, as sorted lines "TABLE:key
// field=value ...".
func (b *Bench) Appl(tables ...string) []string {
	b.t.Helper()
	b.consume(tables...)
	var out []string
	for _, t := range tables {
		out = append(out, dump(b, swss.ApplDB, t)...)
	}
	return out
}

// consume pops the rows from their queues, as orchagent does.
func (b *Bench) consume(tables ...string) {
	b.t.Helper()
	if b.listener == nil {
		b.listener = swss.NewListener(b.r)
	}
	// Redis may have been restarted since; the listener's connection detects that here.
	for err := b.listener.Sync(b.ctx); err != nil; err = b.listener.Sync(b.ctx) {
		if !errors.Is(err, swss.ErrUnavailable) || b.ctx.Err() != nil {
			b.t.Fatal(err)
		}
	}
	for _, t := range tables {
		if b.consumers[t] == nil {
			b.consumers[t] = swss.NewConsumerState(b.listener, b.r.DB(swss.ApplDB), t)
		}
		if _, err := b.consumers[t].Pops(b.ctx); err != nil {
			b.t.Fatal(err)
		}
	}
}

func dump(b *Bench, name swss.DBName, table string) []string {
	b.t.Helper()
	rows, err := swss.NewTable(b.r.DB(name), table).Dump(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		line := table + b.r.DB(name).Separator() + key
		for _, p := range swss.Pairs(rows[key]) {
			if p.Field == schema.FieldIncarnation { // the number in it depends on the history
				_, about, _ := strings.Cut(p.Value, "/")
				p.Value = "N/" + about
			}
			if p.Field != schema.FieldSince {
				line += " " + p.Field + "=" + p.Value
			}
		}
		out = append(out, line)
	}
	return out
}

// ApplOf does the same as Appl for one table, without the table's name.
func (b *Bench) ApplOf(table string) []string {
	b.t.Helper()
	var out []string
	for _, line := range b.Appl(table) {
		if rest, ok := strings.CutPrefix(line, table+":"); ok {
			out = append(out, rest)
		}
	}
	return out
}

// Status returns "status: reason (by)" of a state row, without empty parts.
func (b *Bench) Status(row string) string {
	b.t.Helper()
	table, key, _ := strings.Cut(row, "|")
	f, ok, err := swss.NewTable(b.r.DB(swss.StateDB), table).Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	if !ok {
		return ""
	}
	s := f[schema.StatusField(table)]
	if f["reason"] != "" {
		s += ": " + f["reason"]
	}
	return s + " (" + f["by"] + ")"
}

// States returns the rows of tables of STATE_DB, without the times.
func (b *Bench) States(tables ...string) []string {
	var out []string
	for _, t := range tables {
		out = append(out, dump(b, swss.StateDB, t)...)
	}
	return out
}

// Pending returns the number of rows that were forwarded and not yet consumed.
func (b *Bench) Pending(tables ...string) int {
	b.t.Helper()
	total := int64(0)
	for _, t := range tables {
		n, err := b.r.DB(swss.ApplDB).Client().SCard(b.ctx, t+"_KEY_SET").Result()
		if err != nil {
			b.t.Fatal(err)
		}
		total += n
	}
	return int(total)
}

// Redis returns the server.
func (b *Bench) Redis() *swss.Redis { return b.r }
