package lab

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

// A large lab lowers the GC percentage with every switch that starts, and restores it at the end. A small lab does not
// touch it. Neither does a lab in a process with its own GC percentage.
func TestThrift(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	var large gcLimit
	large.begin(2 * many)
	for n, want := range map[int]int{many / 2: 100, 2 * many: slack} {
		large.started.Store(int64(n - 1))
		large.one()
		if got := percent(); got != want {
			t.Errorf("with %d of %d switches: %d %%, want %d", n, 2*many, got, want)
		}
	}
	large.all()
	large.end()
	if got := percent(); got != 100 {
		t.Errorf("behind a large lab: %d %%, want 100", got)
	}
	for was, switches := range map[int]int{100: many - 1, 400: 2 * many} {
		debug.SetGCPercent(was)
		var l gcLimit
		l.begin(switches)
		l.one()
		l.all()
		if got := percent(); got != was {
			t.Errorf("%d switches where garbage is collected at %d %%: %d", switches, was, got)
		}
		l.end()
	}
}
