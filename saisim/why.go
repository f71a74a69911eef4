package saisim

import (
	"tamtam/saisim/drop"
	"tamtam/saisim/engine"
)

// MostFlows is how many flows can be watched at once.
const MostFlows = engine.MostFlows

// Parts of a path that are not kept.
const (
	UnkeptProgram = engine.UnkeptProgram
	UnkeptEgress  = engine.UnkeptEgress
	UnkeptMore    = engine.UnkeptMore
	UnkeptEntry   = engine.UnkeptEntry
)

// FlowOf returns the flow of a frame, of which the first bytes are there, as far as it has one.
func FlowOf(data []byte, length int) (Flow, bool) { return engine.FlowOf(data, length) }

// A WhyView is what a chip has kept, at one instant: [Chip.Why] gives it to a function, during which it holds still. It
// must not be kept, or the chip called.
type WhyView struct {
	Now         Cycle
	Drops, Ends RingState
	engine      *engine.Engine
	chip        *Chip
}

// WatchFlow has packets of a flow that come from now on kept wherever they end, for some cycles. It returns from which
// cycle on they are: an earlier one if they are already.
func (v *WhyView) WatchFlow(f *Flow, cycles Cycle) (since Cycle, err error) {
	return v.engine.WatchFlow(f, cycles)
}

// Dropped returns all that were dropped since the chip was made, and what each port that there is has counted of them.
func (v *WhyView) Dropped() (all [drop.NumReasons]uint64, ports map[PortID]PortCounters) {
	ports = map[PortID]PortCounters{}
	for _, id := range v.chip.objects.Ports() {
		ports[id], _ = v.engine.PortCounters(id)
	}
	return v.engine.Books().Dropped, ports
}

// LostIn is how many frames came by the wires of the ports that there are and were lost before the chip had them. The
// drops of ports count them, and nothing else here does.
func (v *WhyView) LostIn() uint64 { return v.chip.objects.LostIn() }

// Why gives a function what the chip has kept of packets that ended.
func (c *Chip) Why(look func(*WhyView)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := WhyView{Now: c.engine.Now(), engine: c.engine, chip: c}
	v.Drops, v.Ends = c.engine.KeptStates()
	look(&v)
}

// WatchesAll reports whether all packets that come are kept.
func (v *WhyView) WatchesAll() bool { return v.engine.WatchesAll() }

// WatchAll has all packets that come from now on kept wherever they end; false: only those of flows that are watched.
func (c *Chip) WatchAll(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.WatchAll(on)
}

// EachDrop calls a function for drops that are kept behind the first n that ever were, the oldest first, but for none
// behind the first to, until it returns false; what it is given is valid during the call only. Drops come in the order
// of time but for some microseconds. It returns how many it had: fewer than to - n if some are forgotten. The chip is
// held for tens of microseconds at a time, so that some of those that [Chip.Why] counted may be forgotten meanwhile.
func (c *Chip) EachDrop(n, to uint64, do func(*Kept) bool) (had uint64) {
	return each(c, (*engine.Engine).Drops, n, to, do)
}

// EachEnd is EachDrop for other ends, of packets that were watched.
func (c *Chip) EachEnd(n, to uint64, do func(*Kept) bool) (had uint64) {
	return each(c, (*engine.Engine).Ends, n, to, do)
}

type taking func(e *engine.Engine, n, to uint64, into *engine.KeptRows) (next uint64)

func each(c *Chip, take taking, n, to uint64, do func(*Kept) bool) (had uint64) {
	var rows engine.KeptRows
	for n < to {
		c.mu.Lock()
		n = take(c.engine, n, to, &rows)
		c.mu.Unlock()
		had += uint64(rows.Len())
		if !rows.Each(do) {
			break
		}
	}
	return had
}
