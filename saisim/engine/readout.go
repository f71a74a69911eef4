package engine

import (
	"cmp"
	"slices"

	"tamtam/saisim/config"
)

// readouts determines when counters are read out. The counters themselves are read by its listener, between two events.
type readouts struct {
	list []readout // by ID
	next Cycle     // cycle of the first readout that is due, never if there is none
	take func(config.ID, Cycle)
}

type readout struct {
	config.Readout
	due Cycle
}

func (r *readouts) reset() { r.list, r.next = nil, never }

// apply compiles a readout. The next one is the first after now.
func (r *readouts) apply(row config.Readout, gone bool, now Cycle) {
	i, there := slices.BinarySearchFunc(r.list, row.ID, func(x readout, id config.ID) int { return cmp.Compare(x.ID, id) })
	switch {
	case gone && there:
		r.list = slices.Delete(r.list, i, i+1)
	case !gone && !there:
		r.list = slices.Insert(r.list, i, readout{})
	}
	if !gone {
		due := Cycle(row.From)
		if now >= due {
			due += ((now-due)/Cycle(row.Every) + 1) * Cycle(row.Every)
		}
		r.list[i] = readout{row, due}
	}
	r.plan()
}

// plan determines the next readout.
func (r *readouts) plan() {
	r.next = never
	for i := range r.list {
		r.next = min(r.next, r.list[i].due)
	}
}

// run makes the readouts that are due at a cycle, in the order of their IDs.
func (r *readouts) run(now Cycle) {
	for i := range r.list {
		if x := &r.list[i]; x.due == now {
			x.due += Cycle(x.Every)
			if r.take != nil {
				r.take(x.ID, now)
			}
		}
	}
	r.plan()
}

// OnReadout sets the function that is called for each readout of the tables, after all events of its cycle. The
// function may read counters, and clear watermarks. It must not do anything else with the engine.
func (c *Engine) OnReadout(f func(id config.ID, at Cycle)) { c.readouts.take = f }
