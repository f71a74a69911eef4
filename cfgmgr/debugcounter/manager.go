// Package debugcounter is the manager of debug counters. It copies DEBUG_COUNTER of CONFIG_DB with the reasons of
// DEBUG_COUNTER_DROP_REASON to APPL_DB, and reports the outcome of every row in STATE_DB.
//
// A counter without a reason counts nothing, and waits for one. orchagent determines which reasons the ASIC can count.
//
// What belongs here: decisions about those two tables of CONFIG_DB. SAI calls do not.
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

// A Manager holds the rows of the tables of debug counters. It runs on its daemon's goroutine.
type Manager struct {
	out  *forward.Output
	due  bool
	rows forward.Tables
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{due: true, rows: forward.Tables{}}
	m.rows.Follow(d, r.DB(swss.ConfigDB), func() { m.due = true }, schema.CfgDebugCounter, schema.CfgDebugReason)
	m.out = forward.New(d, r, forward.TableOf(schema.CfgDebugCounter), forward.TableOf(schema.CfgDebugReason))
	m.out.Decide(&m.due, m.decide)
	return m
}

// decide decides on all rows.
func (m *Manager) decide(context.Context) error {
	counters := m.rows[schema.CfgDebugCounter]
	counted := m.decideReasons()
	for _, name := range counters.Sorted() {
		row := forward.Row{Table: schema.AppDebugCounter, Key: name}
		c, err := schema.ParseDebugCounter(name, counters[name])
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
	return nil
}

// decideReasons decides on the rows of DEBUG_COUNTER_DROP_REASON, and returns the counters that have at least one.
func (m *Manager) decideReasons() map[string]bool {
	counted, reasons := map[string]bool{}, m.rows[schema.CfgDebugReason]
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		row := forward.Row{Table: schema.AppDebugReason, Key: key}
		d, err := schema.ParseDebugReason(key, reasons[key])
		of, there := m.rows[schema.CfgDebugCounter][d.Counter]
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
