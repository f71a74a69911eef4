// Package debugcounter is the manager of debug counters: it brings DEBUG_COUNTER of CONFIG_DB with the reasons of
// DEBUG_COUNTER_DROP_REASON to APPL_DB, and reports in STATE_DB what became of every row.
//
// A counter without a reason counts nothing, and waits for one. Which reasons the ASIC can count orchagent knows.
//
// What belongs here: decisions about those two tables of CONFIG_DB. No SAI.
package debugcounter

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Manager holds the rows. It runs on its daemon's goroutine.
type Manager struct {
	out               *forward.Output
	due               bool
	counters, reasons map[string]swss.FieldValues
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{due: true, counters: map[string]swss.FieldValues{}, reasons: map[string]swss.FieldValues{}}
	for table, rows := range map[string]map[string]swss.FieldValues{
		schema.CfgDebugCounter: m.counters, schema.CfgDebugReason: m.reasons,
	} {
		forward.Consume(d, r.DB(swss.ConfigDB), table, func(key string, fields swss.FieldValues) {
			m.due = true
			if fields == nil {
				delete(rows, key)
				return
			}
			rows[key] = fields
		})
	}
	m.out = forward.New(d, r, forward.TableOf(schema.CfgDebugCounter), forward.TableOf(schema.CfgDebugReason))
	d.AfterRows(func() bool { return m.due }, m.flush)
	return m
}

// flush decides all rows and writes what changed.
func (m *Manager) flush(ctx context.Context) error {
	if err := m.out.Load(ctx); err != nil {
		return err
	}
	m.out.Clear()
	counted := m.decideReasons()
	for _, name := range slices.SortedFunc(maps.Keys(m.counters), schema.CompareNames) {
		row := forward.Row{Table: schema.AppDebugCounter, Key: name}
		c, err := schema.ParseDebugCounter(name, m.counters[name])
		switch {
		case err != nil:
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
		case !counted[name]:
			m.out.Report(row, schema.StatusPending, fmt.Sprintf("there is no reason to count, want a row %s|%s|REASON",
				schema.CfgDebugReason, name))
		default:
			m.out.Forward(row, c.Fields(), row)
		}
	}
	if err := m.out.Flush(ctx); err != nil {
		return err
	}
	m.due = false
	return nil
}

// decideReasons decides DEBUG_COUNTER_DROP_REASON, and returns which counters have some.
func (m *Manager) decideReasons() map[string]bool {
	counted := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(m.reasons)) {
		row := forward.Row{Table: schema.AppDebugReason, Key: key}
		d, err := schema.ParseDebugReason(key, m.reasons[key])
		of, there := m.counters[d.Counter]
		_, wrong := schema.ParseDebugCounter(d.Counter, of)
		switch {
		case err != nil:
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
		case !there || wrong != nil:
			m.out.Report(row, schema.StatusPending, fmt.Sprintf("%s|%s does not exist, or is not valid", schema.CfgDebugCounter,
				d.Counter))
		default:
			counted[d.Counter] = true
			m.out.Forward(forward.Row{Table: schema.AppDebugReason, Key: d.Counter + ":" + d.Reason}, d.Fields(), row)
		}
	}
	return counted
}
