package tammgr

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

var (
	configTables = []string{
		schema.CfgDeviceMetadata, schema.CfgPort, schema.CfgPortChannel, schema.CfgACLTableType, schema.CfgACLTable, schema.CfgACLRule,
		schema.CfgTAMSwitch, schema.CfgTAMCollector, schema.CfgTAMSampler, schema.CfgTAMFeature, schema.CfgTAMFlowGroup, schema.CfgTAMTailStamp,
	}
	applTables = []string{
		schema.AppTAMSwitch, schema.AppTAMCollector, schema.AppTAMSampler, schema.AppACLTableType, schema.AppACLTable,
		schema.AppACLRule, schema.AppTAMFeature, schema.AppTAMTailStamp,
	}
	stateTables = []string{
		schema.StateTAMSwitch, schema.StateTAMCollector, schema.StateTAMSampler, schema.StateACLTableType, schema.StateACLTable,
		schema.StateACLRule, schema.StateTAMFlowGroup, schema.StateTAMFeature, schema.StateTAMTailStamp,
	}
)

// bench is a manager on its daemon, stepped by hand.
type bench struct {
	t        testing.TB
	ctx      context.Context
	r        *swss.Redis
	d        *orch.Daemon
	m        *Manager
	now      time.Time
	listener *swss.Listener
	taken    map[string]*swss.ConsumerState // orchagent, as far as it takes rows
}

func newBench(t testing.TB, r *swss.Redis) *bench {
	b := &bench{t: t, ctx: t.Context(), r: r, now: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), taken: map[string]*swss.ConsumerState{}}
	b.start()
	t.Cleanup(func() { b.stop() })
	return b
}

func (b *bench) start() {
	b.d = orch.NewDaemon("tammgrd", b.r, orch.Options{})
	b.m = New(b.d)
}

func (b *bench) stop() {
	b.d.Close()
	if b.listener != nil {
		b.listener.Close()
		b.listener, b.taken = nil, map[string]*swss.ConsumerState{}
	}
}

// restart is a new tammgrd on the same databases.
func (b *bench) restart() {
	b.d.Close()
	b.start()
}

func (b *bench) step() {
	b.t.Helper()
	b.now = b.now.Add(time.Second)
	if _, err := b.d.Step(b.ctx, b.now); err != nil {
		b.t.Fatal(err)
	}
}

// do applies lines "TABLE|key field=value ..." as whole rows, "-TABLE|key"
// as deletes, "restart" and "step".
func (b *bench) do(lines ...string) {
	b.t.Helper()
	for _, line := range lines {
		row, rest, _ := strings.Cut(line, " ")
		switch {
		case row == "restart":
			b.restart()
			continue
		case row == "step":
			b.step()
			continue
		}
		db := b.r.DB(swss.ConfigDB)
		if name, ok := strings.CutPrefix(row, "appl:"); ok {
			db, row = b.r.DB(swss.ApplDB), name
		}
		gone := strings.HasPrefix(row, "-")
		table, key, _ := strings.Cut(strings.TrimPrefix(row, "-"), db.Separator())
		tab := swss.NewTable(db, table)
		err := tab.Del(b.ctx, key)
		if err == nil && !gone {
			err = tab.Set(b.ctx, key, fieldsOf(rest))
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	b.step()
}

func fieldsOf(s string) swss.FieldValues {
	f := swss.FieldValues{}
	for _, w := range strings.Fields(s) {
		k, v, _ := strings.Cut(w, "=")
		f[k] = v
	}
	return f
}

// appl lists APPL_DB after orchagent took what was forwarded, as lines
// "TABLE:key field=value ...", sorted.
func (b *bench) appl() []string {
	b.t.Helper()
	if b.listener == nil {
		b.listener = swss.NewListener(b.r)
	}
	if err := b.listener.Sync(b.ctx); err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, t := range applTables {
		if b.taken[t] == nil {
			b.taken[t] = swss.NewConsumerState(b.listener, b.r.DB(swss.ApplDB), t)
		}
		if _, err := b.taken[t].Pops(b.ctx); err != nil {
			b.t.Fatal(err)
		}
		out = append(out, dump(b, swss.ApplDB, t)...)
	}
	return out
}

func dump(b *bench, name swss.DBName, table string) []string {
	b.t.Helper()
	rows, err := swss.NewTable(b.r.DB(name), table).Dump(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		line := table + b.r.DB(name).Separator() + key
		for _, p := range swss.Pairs(rows[key]) {
			if p.Field != schema.FieldSince {
				line += " " + p.Field + "=" + p.Value
			}
		}
		out = append(out, line)
	}
	return out
}

// tables of one APPL_DB table's lines, without the table's name.
func (b *bench) applOf(table string) []string {
	b.t.Helper()
	var out []string
	for _, line := range b.appl() {
		if rest, ok := strings.CutPrefix(line, table+":"); ok {
			out = append(out, rest)
		}
	}
	return out
}

// status is "status: reason (by)" of a state row, without what is empty.
func (b *bench) status(row string) string {
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

// states lists STATE_DB.
func (b *bench) states() []string {
	var out []string
	for _, t := range stateTables {
		out = append(out, dump(b, swss.StateDB, t)...)
	}
	return out
}

func start(t testing.TB) *swss.Redis { return swsstest.Start(t) }
