// Package heap saves the memory and the processor time of labs with many switches: how much garbage may be in the heap,
// and how large its pages are.
package heap

import (
	"runtime/debug"
	"runtime/metrics"
)

const (
	// Many is the minimum number of switches for which saving memory, and making its pages huge, is worth the processor
	// time.
	Many = 64
	// perSwitch is about the memory in use by a switch, in bytes; BenchmarkFabric measures it.
	perSwitch = 2_200_000
	// slack is the garbage that is allowed once all switches have started, in percent of the memory in use.
	slack = 25
	// leastLive is the size from which the GC percentage is computed if less is in use.
	leastLive = 4 << 20
)

// A Limit bounds the garbage of a large lab. By default Go lets garbage grow to the size of the memory in use, so a
// process would need twice the memory of its switches. That happens at the end of their start; at first little is in
// use. A Limit lets the heap grow from the first switch on to the size that all switches need with slack. So garbage
// is rarely collected at first, and limited in the end.
type Limit struct {
	switches int // zero if the lab is not large, or the process sets its own GC percentage
	was      int
}

// Begin replaces the default GC percentage, if the lab is large.
func (t *Limit) Begin(switches int) {
	if switches < Many {
		return
	}
	if t.was = debug.SetGCPercent(100); t.was != 100 {
		debug.SetGCPercent(t.was)
		return
	}
	t.switches = switches
	t.Adapt()
}

// Adapt sets the GC percentage for the memory that was in use at the end of the last collection. It is called after
// each start of a switch.
func (t *Limit) Adapt() {
	if t.switches > 0 {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(t.percent(live[0].Value.Uint64()))
	}
}

// percent returns the GC percentage for a number of bytes in use. It is at least slack, in case that switches need more
// than perSwitch.
func (t *Limit) percent(live uint64) int {
	live = max(live, leastLive)
	size := uint64(t.switches) * perSwitch / 100 * (100 + slack)
	return max(slack, int(100*size/live)-100)
}

// Started gives the memory that only the start needed back to the system. It is called when all switches have started.
func (t *Limit) Started() {
	if t.switches > 0 {
		debug.FreeOSMemory()
		t.Adapt()
	}
}

// End restores the GC percentage that Begin replaced.
func (t *Limit) End() {
	if t.switches > 0 {
		debug.SetGCPercent(t.was)
		t.switches = 0
	}
}
