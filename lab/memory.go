package lab

import (
	"runtime/debug"
	"sync/atomic"
)

const (
	// thrifty is how many switches make a lab one whose memory is worth processor time.
	thrifty = 64
	// slack is how much garbage there may be when all switches have started, in percent of what is in use.
	slack = 25
)

// A thrift bounds the garbage of a large lab. By default Go lets as much collect as there is in use, so that a process
// would take twice what its switches do; at the end of their start, that is, while at first little is in use. With the
// same room for garbage from the first switch to the last, no time is lost at first, and less room in the end.
type thrift struct {
	switches int // 0: not a large lab, or somebody collects garbage otherwise
	started  atomic.Int64
	was      int
}

// begin takes over from the default.
func (t *thrift) begin(switches int) {
	if switches < thrifty {
		return
	}
	if t.was = debug.SetGCPercent(100); t.was != 100 {
		debug.SetGCPercent(t.was)
		return
	}
	t.switches = switches
}

// one says that another switch has started.
func (t *thrift) one() {
	if t.switches > 0 {
		debug.SetGCPercent(max(slack, min(100, slack*t.switches/int(t.started.Add(1)))))
	}
}

// all says that all switches have started, and returns to the system what that took.
func (t *thrift) all() {
	if t.switches > 0 {
		debug.FreeOSMemory()
	}
}

// end gives back what begin has taken.
func (t *thrift) end() {
	if t.switches > 0 {
		debug.SetGCPercent(t.was)
		t.switches = 0
	}
}
