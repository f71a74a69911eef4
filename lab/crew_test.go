package lab

import (
	"runtime"
	"testing"
)

// A worker that is woken late, for a window that it has finished, does not work on it again. The caller, which has seen
// it finish, may already prepare the next.
func TestLateWake(t *testing.T) {
	l := &Lab{nodes: make([]*node, 2), opts: Options{Workers: 2}}
	c := l.hire(t.Context())
	defer c.leave()
	sleeps := func() {
		for !c.workers[0].asleep.Load() {
			runtime.Gosched()
		}
	}
	for range 3 {
		sleeps()
		c.rouse() // a late wake-up for an earlier window, or for none
		sleeps()
		if n := c.finished.Load(); n != 0 {
			t.Fatalf("without a window %d workers have finished", n)
		}
		c.number.Add(1)
		c.rouse()
		sleeps() // it has seen the window, finished, and gone to sleep
		c.rouse()
		sleeps()
		if n := c.finished.Swap(0); n != 1 {
			t.Fatalf("one worker has finished a window %d times", n)
		}
	}
}
