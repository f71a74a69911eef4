// Package hft is the manager of high-frequency telemetry. It copies HIGH_FREQUENCY_TELEMETRY_PROFILE and
// HIGH_FREQUENCY_TELEMETRY_GROUP of CONFIG_DB to APPL_DB, and reports the outcome of every row in STATE_DB.
//
// A group waits for its profile and for all of its objects, as in SONiC. orchagent determines which statistics and
// which intervals the ASIC can stream.
//
// What belongs here: decisions about those two tables of CONFIG_DB. SAI calls do not.
package hft

import (
	"context"
	"fmt"
	"strings"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Manager holds the rows of high-frequency telemetry. It runs on its daemon's goroutine.
type Manager struct {
	out  *forward.Output
	due  bool
	rows forward.Tables
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{due: true, rows: forward.Tables{}}
	m.rows.Follow(d, r.DB(swss.ConfigDB), func() { m.due = true }, schema.CfgHFTProfile, schema.CfgHFTGroup,
		schema.CfgPort, schema.CfgBufferPool)
	m.out = forward.New(d, r, forward.Table{Appl: schema.AppHFTProfile, State: schema.AppHFTProfile},
		forward.Table{Appl: schema.AppHFTGroup, State: schema.AppHFTGroup})
	m.out.Decide(&m.due, m.decide)
	return m
}

// decide decides on all rows.
func (m *Manager) decide(context.Context) error {
	profiles := map[string]bool{}
	for _, name := range m.rows[schema.CfgHFTProfile].Sorted() {
		row := forward.Row{Table: schema.AppHFTProfile, Key: name}
		p, err := schema.ParseHFTProfile(name, m.rows[schema.CfgHFTProfile][name])
		if err != nil {
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
			continue
		}
		profiles[name] = true
		m.out.Forward(row, p.Fields(), row)
	}
	for _, key := range m.rows[schema.CfgHFTGroup].Sorted() {
		row := forward.Row{Table: schema.AppHFTGroup, Key: key}
		g, err := schema.ParseHFTGroup(key, m.rows[schema.CfgHFTGroup][key])
		if err != nil {
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
			continue
		}
		if why := m.lacks(&g, profiles); why != "" {
			m.out.Report(row, schema.StatusPending, why)
			continue
		}
		m.out.Forward(forward.Row{Table: schema.AppHFTGroup, Key: g.Profile + ":" + g.Type}, g.Fields(), row)
	}
	return nil
}

// lacks returns what a group waits for, or "" if it has everything.
func (m *Manager) lacks(g *schema.HFTGroup, profiles map[string]bool) string {
	switch {
	case !profiles[g.Profile]:
		return fmt.Sprintf("%s|%s does not exist, or is not valid", schema.CfgHFTProfile, g.Profile)
	case len(g.Objects) == 0:
		return "there is nothing to stream, want names of objects in object_names"
	case len(g.Counters) == 0:
		return "there is nothing to stream, want names of statistics in object_counters"
	}
	for _, name := range g.Objects {
		if g.Type == schema.HFTBufferPool {
			if _, err := schema.ParseBufferPool(name, m.rows[schema.CfgBufferPool][name]); err != nil {
				return fmt.Sprintf("%s|%s does not exist, or is not valid", schema.CfgBufferPool, name)
			}
			continue
		}
		port, _, _ := strings.Cut(name, "|")
		if _, there := m.rows[schema.CfgPort][port]; !there {
			return fmt.Sprintf("port %q does not exist", port)
		}
	}
	return ""
}
