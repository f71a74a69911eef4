package hostifd

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/host/beside"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// states writes the neighbours of Linux with their states as rows of HOST_NEIGH_TABLE in STATE_DB, as hostd does: show
// commands for neighbours read them.
type states struct {
	now   func() time.Time
	rows  *forward.OwnRows
	want  map[string]swss.FieldValues // rows of Linux' neighbours, by interface|address
	dirty bool
	read  bool // true if former has the rows of an earlier process
	// former holds the rows that Linux has not reported: those of an earlier process, and those from before Linux began
	// to report again. They are removed after neighborTime; then former is nil.
	former map[string]swss.FieldValues
}

func newStates(d *orch.Daemon, db *swss.DB) states {
	return states{
		now: d.Now, rows: forward.NewOwnRows(d, db, schema.StateHostNeigh), want: map[string]swss.FieldValues{}, dirty: true,
		former: map[string]swss.FieldValues{},
	}
}

// reachable is the state of a neighbour that has answered.
const reachable = "REACHABLE"

func (s *states) learned(n Neighbor) {
	key := strings.Replace(keyOf(n), ":", "|", 1)
	before := s.want[key]
	if before == nil {
		before = s.former[key]
	}
	delete(s.former, key)
	if n.State == "" {
		delete(s.want, key)
		s.dirty = true
		return
	}
	if _, known := s.want[key]; !known && len(s.want) >= mostNeighbors {
		return
	}
	row := swss.FieldValues{"state": n.State, schema.FieldNeigh: "", "confirmed": ""}
	if !n.MAC.IsZero() {
		row[schema.FieldNeigh], row["confirmed"] = n.MAC.String(), before["confirmed"]
	}
	if n.State == reachable {
		row["confirmed"] = s.now().UTC().Format(time.RFC3339)
	}
	s.want[key], s.dirty = row, true
}

// forget starts a new report of all neighbours: rows stay until it is complete.
func (s *states) forget() {
	if s.former == nil {
		s.former = map[string]swss.FieldValues{}
	}
	maps.Copy(s.former, s.want)
	clear(s.want)
}

// swept ends a report of all neighbours.
func (s *states) swept() { s.former, s.dirty = nil, true }

// flush writes the differences.
func (s *states) flush(ctx context.Context) error {
	if !s.dirty {
		return nil
	}
	if !s.read {
		rows, err := s.rows.Read(ctx)
		if err != nil {
			return err
		}
		for key, row := range rows {
			if _, is := s.want[key]; !is && s.former != nil {
				s.former[key] = row
			}
		}
		s.read = true
	}
	want := maps.Clone(s.want)
	maps.Copy(want, s.former)
	if err := s.rows.Write(ctx, want); err != nil {
		return err
	}
	s.dirty = false
	return nil
}

// refreshTime is the interval at which a neighbour is probed, as in SONiC.
const refreshTime = 300 * time.Second

// refresh makes Linux probe the neighbours that are due, a limited number at a time. A neighbour that does not answer
// is removed, with its row of NEIGH_TABLE.
func (b *neighborhood) refresh(p plan, now time.Time) {
	asked := 0
	for _, key := range slices.Sorted(maps.Keys(b.known)) {
		n := b.known[key]
		if _, ours := p.devices[n.Interface]; !ours || n.MAC.IsZero() || n.Permanent || beside.Tammgrs(b.seen[key]) {
			continue
		}
		due, is := b.next[key]
		if is && now.Before(due) || asked == mostAsked {
			continue
		}
		b.next[key] = now.Add(refreshTime)
		if is {
			asked++
			_ = b.kernel.Ask(n) // it may be gone; then Linux reports it
		}
	}
	maps.DeleteFunc(b.next, func(key string, _ time.Time) bool { _, is := b.known[key]; return !is })
}
