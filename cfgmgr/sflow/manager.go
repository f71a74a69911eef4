// Package sflow is the manager of sFlow. It copies SFLOW, SFLOW_COLLECTOR and SFLOW_SESSION of CONFIG_DB to APPL_DB,
// and reports the outcome of every row in STATE_DB. In APPL_DB each port has its own row with its sampling.
//
// APPL_DB is a function of the current rows of CONFIG_DB, never of their order. If a port's row lacks a value, the row
// of all ports provides it, or else SFLOW. The default rate is a millionth of the port's speed in bit/s, as in SONiC.
//
// What belongs here: decisions about those tables of CONFIG_DB. SAI calls and datagrams do not.
package sflow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Manager holds the rows of sFlow. It runs on its daemon's goroutine.
type Manager struct {
	// Agent returns the state of sflowd, which sends the datagrams.
	Agent func(context.Context) (Agent, error)

	out  *forward.Output
	due  bool
	rows forward.Tables
	all  *swss.Table // counters of sflowd
	each *swss.Table // counters of each collector
	sent sent        // the state of sflowd with which rows were decided
}

// An Agent is the state of sflowd as text. A field is "" if there is no problem.
type Agent struct {
	Away  string // why sflowd sends nothing
	Lacks string // why sflowd lacks a part of the data that it should send
}

// A sent is the known state of sflowd.
type sent struct {
	Agent
	agent    string            // address by which it identifies the switch; "" if it has none
	reported bool              // true if sflowd has reported
	unsent   map[string]string // why it is unknown whether anything was sent to a collector; "" if something was sent
}

func (s sent) equal(o sent) bool {
	return s.Agent == o.Agent && s.agent == o.agent && s.reported == o.reported && maps.Equal(s.unsent, o.unsent)
}

// askPeriod is the interval at which the counters of sflowd are read.
const askPeriod = time.Second

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	db := r.DB(swss.CountersDB)
	m := &Manager{
		due: true, rows: forward.Tables{},
		all: swss.NewTable(db, schema.CountersSFlow), each: swss.NewTable(db, schema.CountersSFlowCollector),
	}
	own := []string{schema.CfgSFlow, schema.CfgSFlowCollector, schema.CfgSFlowSession}
	m.rows.Follow(d, r.DB(swss.ConfigDB), func() { m.due = true }, append(own, schema.CfgPort)...)
	var out []forward.Table
	for _, table := range own {
		out = append(out, forward.TableOf(table))
	}
	m.out = forward.New(d, r, out...)
	m.out.Decide(&m.due, m.decide)
	d.Every(func() time.Duration {
		if !m.up() {
			return 0
		}
		return askPeriod
	}, func(ctx context.Context, _ time.Time) error {
		now, err := m.ask(ctx)
		if err == nil && !now.equal(m.sent) {
			m.due = true
		}
		return err
	})
	return m
}

// up reports whether sFlow is enabled.
func (m *Manager) up() bool {
	s, err := schema.ParseSFlow(schema.SFlowGlobal, m.rows[schema.CfgSFlow][schema.SFlowGlobal])
	return err == nil && s.Up
}

// ask reads the state of sflowd.
func (m *Manager) ask(ctx context.Context) (s sent, err error) {
	if s.Agent, err = m.Agent(ctx); err != nil {
		return s, err
	}
	row, reported, err := m.all.Get(ctx, schema.SFlowAgent)
	if err != nil {
		return s, err
	}
	s.agent, s.reported, s.unsent = row[schema.SFlowAddress], reported, map[string]string{}
	for name := range m.rows[schema.CfgSFlowCollector] {
		if row, _, err = m.each.Get(ctx, name); err != nil {
			return s, err
		}
		s.unsent[name] = unsent(row)
	}
	return s, nil
}

const untaken = "sflowd has not taken it yet"

// unsent returns why it is unknown whether anything was sent to a collector, or "" if something was sent. row contains
// the counters of the collector.
func unsent(row swss.FieldValues) string {
	switch {
	case len(row) == 0:
		return untaken
	case row[schema.SFlowLastError] != "":
		return "the last datagram was not taken: " + row[schema.SFlowLastError]
	case row[schema.SFlowDatagrams] == "0":
		return "there was nothing to be sent yet"
	}
	return ""
}

// decide decides on all rows.
func (m *Manager) decide(ctx context.Context) error {
	m.sent = sent{}
	if m.up() {
		var err error
		if m.sent, err = m.ask(ctx); err != nil {
			return err
		}
	}
	global := m.global()
	m.collectors(global)
	m.sessions(global)
	return nil
}

// global decides on SFLOW. Without a valid row sFlow is disabled.
func (m *Manager) global() (s schema.SFlow) {
	for _, key := range m.rows[schema.CfgSFlow].Sorted() {
		row := forward.Row{Table: schema.AppSFlow, Key: key}
		got, err := schema.ParseSFlow(key, m.rows[schema.CfgSFlow][key])
		if err != nil {
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
			continue
		}
		s = got
		m.out.Keep(row, s.Fields())
		status, reason := m.inForce(s)
		m.out.Report(row, status, reason)
	}
	return s
}

// inForce returns whether sflowd acts as SFLOW requests, as status and reason.
func (m *Manager) inForce(s schema.SFlow) (status, reason string) {
	switch {
	case !s.Up:
	case m.sent.Away != "":
		return schema.StatusPending, m.sent.Away
	case len(m.rows[schema.CfgSFlowCollector]) == 0:
		return schema.StatusPending, "there is no collector: nothing is sent"
	case !m.sent.reported:
		return schema.StatusPending, untaken
	case m.sent.agent == "" && s.Agent != "":
		return schema.StatusPending, fmt.Sprintf("%s, which agent_id names, has no address: nothing is sent", s.Agent)
	case m.sent.agent == "":
		return schema.StatusPending, "the switch has no address to be called by: nothing is sent; agent_id can name one"
	}
	if m.sent.Lacks != "" && s.Up {
		return schema.StatusPending, m.sent.Lacks
	}
	return schema.StatusActive, ""
}

const down = "sFlow is down: admin_state of " + schema.CfgSFlow + "|" + schema.SFlowGlobal

// collectors decides on SFLOW_COLLECTOR. Datagrams go to the first two by name.
func (m *Manager) collectors(global schema.SFlow) {
	n := 0
	for _, key := range m.rows[schema.CfgSFlowCollector].Sorted() {
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
			status, reason := m.reached(key)
			m.out.Report(row, status, reason)
		}
	}
}

// reached returns whether datagrams are sent to a collector, as status and reason.
func (m *Manager) reached(name string) (status, reason string) {
	if why := cmp.Or(m.sent.Away, m.sent.unsent[name]); why != "" {
		return schema.StatusPending, why
	}
	return schema.StatusActive, ""
}

// sessions decides on the sampling of each port.
func (m *Manager) sessions(global schema.SFlow) {
	given := map[string]schema.SFlowSession{}
	for _, key := range m.rows[schema.CfgSFlowSession].Sorted() {
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
	all, ok := given[schema.SFlowAll]
	if _, bad := m.rows[schema.CfgSFlowSession][schema.SFlowAll]; bad && !ok {
		all.Admin = "down" // the invalid row may be one that disables all sampling
	}
	for _, name := range m.rows[schema.CfgPort].Sorted() {
		port, err := schema.ParsePort(name, m.rows[schema.CfgPort][name])
		if err != nil {
			continue
		}
		if _, bad := m.rows[schema.CfgSFlowSession][name]; bad {
			if _, ok := given[name]; !ok {
				continue // its row is invalid, so its intention is unknown
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
