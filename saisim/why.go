package saisim

import (
	"tamtam/saisim/drop"
	"tamtam/saisim/engine"
)

// MostFlows is the maximum number of flows that can be watched at the same time.
const MostFlows = engine.MostFlows

// MaxBursts is the number of ended bursts that a chip keeps.
const MaxBursts = engine.MaxBursts

// Parts of a path that are not kept.
const (
	UnkeptProgram = engine.UnkeptProgram
	UnkeptEgress  = engine.UnkeptEgress
	UnkeptMore    = engine.UnkeptMore
	UnkeptEntry   = engine.UnkeptEntry
)

// FlowOf returns the flow of a frame, whose first bytes are in data, and false if it has none.
func FlowOf(data []byte, length int) (Flow, bool) { return engine.FlowOf(data, length) }

// A WhyView is a chip's record of ended packets at one instant. [Chip.Why] passes it to a function while the chip is
// locked. The function must not keep it, or call the chip.
type WhyView struct {
	Now         Cycle
	Drops, Ends RingState
	engine      *engine.Engine
	chip        *Chip
}

// WatchFlow keeps packets of a flow that arrive from now on, wherever they end, for a number of cycles. since is the
// cycle from which on they are kept. It is in the past if they already are. WatchFlow returns an error if [MostFlows]
// flows are watched.
func (v *WhyView) WatchFlow(f *Flow, cycles Cycle) (since Cycle, err error) {
	return v.engine.WatchFlow(f, cycles)
}

// Dropped returns the drops of all reasons since the chip was made, and the counters of each existing port.
func (v *WhyView) Dropped() (all [drop.NumReasons]uint64, ports map[PortID]PortCounters) {
	ports = map[PortID]PortCounters{}
	for _, id := range v.chip.objects.Ports() {
		ports[id], _ = v.engine.PortCounters(id)
	}
	return v.engine.FrameCounts().Dropped, ports
}

// LostIn returns the number of frames that arrived on the wires of existing ports and were lost before they reached the
// chip. The drop statistics of ports include them. Nothing else here does.
func (v *WhyView) LostIn() uint64 { return v.chip.objects.LostIn() }

// Why calls a function with the chip's record of ended packets.
func (c *Chip) Why(look func(*WhyView)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := WhyView{Now: c.engine.Now(), engine: c.engine, chip: c}
	v.Drops, v.Ends = c.engine.KeptStates()
	look(&v)
}

// WatchesAll reports whether all arriving packets are kept.
func (v *WhyView) WatchesAll() bool { return v.engine.WatchesAll() }

// WatchAll keeps all packets that arrive from now on, wherever they end. If on is false, only packets of watched flows
// are kept.
func (c *Chip) WatchAll(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.WatchAll(on)
}

// EachDrop calls a function for the kept drops after the first n, the oldest first, but for none after the first to. It
// stops when the function returns false. The argument is valid only during the call. Drops come in the order of time,
// except for deviations of some microseconds. It returns the number of calls, which is less than to - n if some drops
// have been overwritten. The chip is locked for tens of microseconds at a time, so drops that [Chip.Why] counted may be
// overwritten in the meantime.
func (c *Chip) EachDrop(n, to uint64, do func(*Kept) bool) (had uint64) {
	return each(c, (*engine.Engine).Drops, n, to, do)
}

// EachEnd does the same as EachDrop for other ends, of packets that were watched.
func (c *Chip) EachEnd(n, to uint64, do func(*Kept) bool) (had uint64) {
	return each(c, (*engine.Engine).Ends, n, to, do)
}

type rowReader func(e *engine.Engine, n, to uint64, into *engine.KeptRows) (next uint64)

func each(c *Chip, read rowReader, n, to uint64, do func(*Kept) bool) (had uint64) {
	var rows engine.KeptRows
	for n < to {
		c.mu.Lock()
		n = read(c.engine, n, to, &rows)
		c.mu.Unlock()
		had += uint64(rows.Len())
		if !rows.Each(do) {
			break
		}
	}
	return had
}
