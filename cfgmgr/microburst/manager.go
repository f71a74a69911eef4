// Package microburst is the manager of the thresholds of queues. It copies MICROBURST of CONFIG_DB to APPL_DB, and
// reports the outcome of every row in STATE_DB.
//
// What belongs here: decisions about this table of CONFIG_DB. SAI calls do not.
package microburst

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Manager holds the thresholds of queues. It runs on its daemon's goroutine.
type Manager struct {
	out  *forward.Output
	due  bool
	rows forward.Tables
}

// New registers the manager on its daemon.
func New(d *orch.Daemon, r *swss.Redis) *Manager {
	m := &Manager{due: true, rows: forward.Tables{}}
	m.rows.Follow(d, r.DB(swss.ConfigDB), func() { m.due = true }, schema.CfgMicroburst, schema.CfgPort)
	m.out = forward.New(d, r, forward.TableOf(schema.CfgMicroburst))
	m.out.Decide(&m.due, m.decide)
	return m
}

// decide decides on all rows.
func (m *Manager) decide(context.Context) error {
	for _, key := range m.rows[schema.CfgMicroburst].Sorted() {
		row := forward.Row{Table: schema.AppMicroburst, Key: key}
		b, err := schema.ParseMicroburst(key, m.rows[schema.CfgMicroburst][key])
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			m.out.Report(row, schema.StatusFailed, schema.Reason(err))
			continue
		}
		if _, there := m.rows[schema.CfgPort][b.Port]; !there {
			m.out.Report(row, schema.StatusPending, fmt.Sprintf("port %q does not exist", b.Port))
			continue
		}
		m.out.Forward(forward.Row{Table: schema.AppMicroburst, Key: b.Port + ":" + fmt.Sprint(b.Queue)}, b.Fields(), row)
	}
	return nil
}
