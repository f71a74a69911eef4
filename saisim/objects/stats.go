package objects

import (
	"tamtam/sai"
	"tamtam/saisim/objects/counts"
)

// addPortStats makes the port statistics readable.
func (ps *ports) addPortStats(k *kind) {
	table := counts.Ports()
	read := func(p *counts.Tally, id sai.StatID) uint64 {
		if extra := ps.extra[id]; extra != nil {
			return extra(p)
		}
		return table[id](p)
	}
	k.stats, k.more = counts.Sorted(table), func() []sai.StatID { return counts.Sorted(ps.extra) }
	k.stat = func(o *object, id sai.StatID) uint64 {
		if p, ok := ps.tally(o); ok {
			return read(&p, id)
		}
		return 0 // the CPU port
	}
	k.reader = func(o *object, ids []sai.StatID) func(to []uint64) {
		reads := make([]counts.Port, len(ids))
		for i, id := range ids {
			if reads[i] = table[id]; reads[i] == nil {
				reads[i] = func(p *counts.Tally) uint64 { return read(p, id) } // a debug counter, as long as it exists
			}
		}
		var p counts.Tally
		return func(to []uint64) {
			p, _ = ps.tally(o)
			for i, f := range reads {
				to[i] = f(&p)
			}
		}
	}
	k.clear = func(_ *object, id sai.StatID) bool { // these are levels, not counts
		return id == sai.PortStatIfOutQlen || id == sai.PortStatOutCurrOccupancyBytes
	}
}

// tally reads the counters of a port. It returns false for the CPU port.
func (ps *ports) tally(o *object) (counts.Tally, bool) {
	t, ok := ps.engine.PortTally(o.id())
	if !ok {
		return counts.Tally{}, false
	}
	return counts.Tally{PortTally: t, Lost: o.self.(*port).lost}, true
}
