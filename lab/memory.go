package lab

import (
	"runtime/debug"
	"sync/atomic"
)

const (
	// many is the minimum number of switches for which saving memory, and making its pages huge, is worth the processor
	// time.
	many = 64
	// slack is the garbage that is allowed once all switches have started, in percent of the memory in use.
	slack = 25
)

// A gcLimit bounds the garbage of a large lab. By default Go lets garbage grow to the size of the memory in use, so a
// process would need twice the memory of its switches. That happens at the end of their start; at first little is in
// use. A gcLimit gives all switches, from the first to the last, the same amount of garbage. That costs no time at
// first, and limits memory in the end.
type gcLimit struct {
	switches int // zero if the lab is not large, or the process sets its own GC percentage
	started  atomic.Int64
	was      int
}

// begin replaces the default GC percentage, if the lab is large.
func (t *gcLimit) begin(switches int) {
	if switches < many {
		return
	}
	if t.was = debug.SetGCPercent(100); t.was != 100 {
		debug.SetGCPercent(t.was)
		return
	}
	t.switches = switches
}

// one counts a started switch and adapts the GC percentage.
func (t *gcLimit) one() {
	if t.switches > 0 {
		debug.SetGCPercent(max(slack, min(100, slack*t.switches/int(t.started.Add(1)))))
	}
}

// all gives the memory that only the start needed back to the system. It is called when all switches have started.
func (t *gcLimit) all() {
	if t.switches > 0 {
		debug.FreeOSMemory()
	}
}

// end restores the GC percentage that begin replaced.
func (t *gcLimit) end() {
	if t.switches > 0 {
		debug.SetGCPercent(t.was)
		t.switches = 0
	}
}
