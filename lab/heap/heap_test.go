package heap

import (
	"runtime/debug"
	"testing"
)

// percent returns the current GC percentage.
func percent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

// The heap of a large lab grows to the size that all switches need with slack, whatever part of it is in use so far.
// If they need more, garbage may be a quarter of the memory in use.
func TestThrift(t *testing.T) {
	l := Limit{switches: 100}
	const size = 100 * perSwitch * 5 / 4 // bytes
	for _, x := range []struct {
		live uint64 // bytes
		want int    // percent
	}{
		{0, 100*size/leastLive - 100}, {size / 10, 900}, {size / 2, 100}, {100 * perSwitch, slack}, {2 * size, slack},
	} {
		if got := l.percent(x.live); got != x.want {
			t.Errorf("%d bytes in use: %d %%, want %d", x.live, got, x.want)
		}
	}
}

// A large lab restores the GC percentage at its end. A small lab does not touch it. Neither does a lab in a process
// with its own GC percentage.
func TestThriftEnds(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var large Limit
	large.Begin(2 * Many)
	if got := percent(); got == 100 {
		t.Error("in a large lab: 100 %, want a percentage for its size")
	}
	large.Started()
	large.End()
	if got := percent(); got != 100 {
		t.Errorf("behind a large lab: %d %%, want 100", got)
	}
	for was, switches := range map[int]int{100: Many - 1, 400: 2 * Many} {
		debug.SetGCPercent(was)
		var l Limit
		l.Begin(switches)
		l.Adapt()
		l.Started()
		if got := percent(); got != was {
			t.Errorf("%d switches where garbage is collected at %d %%: %d", switches, was, got)
		}
		l.End()
	}
}
