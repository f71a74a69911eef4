// Package sflow is the manager of sFlow: it brings SFLOW, SFLOW_COLLECTOR and SFLOW_SESSION of CONFIG_DB to
// APPL_DB, where each port has a row of its own that says how it is sampled, and reports in STATE_DB what became of
// every row.
//
// APPL_DB is a function of the rows that are in CONFIG_DB now, never of their order. What a port's row does not say
// is as the row of all ports has it, then as SFLOW has it; the rate is a millionth of the port's speed, as in
// SONiC.
//
// What belongs here: decisions about those tables of CONFIG_DB. No SAI, and no datagrams.
package sflow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/cfgmgr/forward"
	"tamtam/orch"
	"tamtam/schema"
	"tamtam/swss"
)

// A Manager holds the rows. It runs on its daemon's goroutine.
type Manager struct {
	out  *forward.Output
	due  bool
	rows map[string]map[string]swss.FieldValues // by table
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{due: true, rows: map[string]map[string]swss.FieldValues{}}
	var own []forward.Table
	for _, table := range []string{schema.CfgSFlow, schema.CfgSFlowCollector, schema.CfgSFlowSession, schema.CfgPort} {
		m.rows[table] = map[string]swss.FieldValues{}
		if table != schema.CfgPort {
			own = append(own, forward.TableOf(table))
		}
		forward.Consume(d, r.DB(swss.ConfigDB), table, func(key string, fields swss.FieldValues) {
			m.due = true
			if fields == nil {
				delete(m.rows[table], key)
				return
			}
			m.rows[table][key] = fields
		})
	}
	m.out = forward.New(d, r, own...)
	forward.Settle(d, "sflowmgr", func() bool { return m.due }, m.flush)
	return m
}

func (m *Manager) sorted(table string) []string {
	return slices.SortedFunc(maps.Keys(m.rows[table]), schema.CompareNames)
}

// flush decides all rows and writes what changed.
func (m *Manager) flush(ctx context.Context) error {
	if err := m.out.Load(ctx); err != nil {
		return err
	}
	m.out.Clear()
	global := m.global()
	m.collectors(global)
	m.sessions(global)
	if err := m.out.Flush(ctx); err != nil {
		return err
	}
	m.due = false
	return nil
}

// global decides SFLOW; without a valid row there is no sFlow.
func (m *Manager) global() (s schema.SFlow) {
	for _, key := range m.sorted(schema.CfgSFlow) {
		row := forward.Row{Table: schema.AppSFlow, Key: key}
		got, err := schema.ParseSFlow(key, m.rows[schema.CfgSFlow][key])
		if err != nil {
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
			continue
		}
		s = got
		m.out.Forward(row, s.Fields(), row)
	}
	return s
}

const down = "sFlow is down: admin_state of " + schema.CfgSFlow + "|" + schema.SFlowGlobal

// unseen is what is not known of a collector that is valid.
const unseen = "whether sflowd runs and reaches it, " + schema.CountersSFlow + " says"

// collectors decides SFLOW_COLLECTOR: the first two by name are sent to.
func (m *Manager) collectors(global schema.SFlow) {
	n := 0
	for _, key := range m.sorted(schema.CfgSFlowCollector) {
		row := forward.Row{Table: schema.AppSFlowCollector, Key: key}
		c, err := schema.ParseSFlowCollector(key, m.rows[schema.CfgSFlowCollector][key])
		if err == nil {
			n++
		}
		switch {
		case err != nil:
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
		case n > schema.MaxSFlowCollectors:
			m.out.Report(row, schema.StatusFailed, fmt.Sprintf(
				"there are %d collectors before it by name, want at most %d in all", n-1, schema.MaxSFlowCollectors))
		case !global.Up:
			m.out.Report(row, schema.StatusPending, down)
		default:
			m.out.Keep(row, c.Fields())
			m.out.Report(row, schema.StatusActive, unseen)
		}
	}
}

// sessions decides how each port is sampled.
func (m *Manager) sessions(global schema.SFlow) {
	given := map[string]schema.SFlowSession{}
	for _, key := range m.sorted(schema.CfgSFlowSession) {
		row := forward.Row{Table: schema.AppSFlowSession, Key: key}
		s, err := schema.ParseSFlowSession(key, m.rows[schema.CfgSFlowSession][key])
		port, there := m.rows[schema.CfgPort][key]
		_, wrong := schema.ParsePort(key, port)
		switch {
		case err != nil:
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
			continue
		case !global.Up:
			m.out.Report(row, schema.StatusPending, down)
		case key == schema.SFlowAll:
			m.out.Report(row, schema.StatusActive, "")
		case !there || wrong != nil:
			m.out.Report(row, schema.StatusPending, fmt.Sprintf("port %q does not exist", key))
		}
		given[key] = s
	}
	if !global.Up {
		return
	}
	all := given[schema.SFlowAll]
	for _, name := range m.sorted(schema.CfgPort) {
		port, err := schema.ParsePort(name, m.rows[schema.CfgPort][name])
		if err != nil {
			continue
		}
		if _, bad := m.rows[schema.CfgSFlowSession][name]; bad {
			if _, ok := given[name]; !ok {
				continue // its row asks for something, but for what?
			}
		}
		s := given[name]
		want := schema.SFlowSampling{
			Port: name, Up: cmp.Or(s.Admin, all.Admin, "up") == "up", Rate: cmp.Or(s.Rate, port.Speed),
			Direction: cmp.Or(s.Direction, all.Direction, global.Direction),
		}
		row := forward.Row{Table: schema.AppSFlowSession, Key: name}
		m.out.Forward(row, want.Fields(), row)
	}
}
