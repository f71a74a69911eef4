package lab

import (
	"context"
	"runtime"
	"sync/atomic"
)

// A crew works on those nodes that have something to do in a window, each node on one core. Windows are short, often
// a few microseconds of work, so a worker spins for a while before it sleeps.
type crew struct {
	ctx context.Context

	// Written before number is.
	nodes  []*node
	home   bool // there is no further window
	window struct {
		end  Time
		side int
	}
	number   atomic.Uint64 // of the window
	next     atomic.Int64  // the next node to work on
	finished atomic.Int64  // workers that found none left
	workers  []*worker
}

type worker struct {
	asleep atomic.Bool
	wake   chan struct{}
}

// looks is how often a worker looks for the next window before it sleeps: some
// tens of microseconds.
const looks = 20_000

// hire starts one goroutine fewer than there are workers: the caller is one of them.
func (l *Lab) hire(ctx context.Context) *crew {
	c := &crew{nodes: make([]*node, 0, len(l.nodes)), ctx: ctx}
	for range min(l.opts.Workers, len(l.nodes)) - 1 {
		w := &worker{wake: make(chan struct{}, 1)}
		c.workers = append(c.workers, w)
		go c.serve(w)
	}
	return c
}

// serve works on window after window until the crew is sent home.
func (c *crew) serve(w *worker) {
	for last := uint64(0); ; {
		last = c.await(w, last)
		if c.home {
			return
		}
		c.take()
		c.finished.Add(1)
	}
}

// await returns the number of the window after last when there is one.
func (c *crew) await(w *worker, last uint64) uint64 {
	for i := range looks {
		if n := c.number.Load(); n != last {
			return n
		}
		if i%64 == 63 {
			runtime.Gosched()
		}
	}
	w.asleep.Store(true)
	if c.number.Load() == last || !w.asleep.CompareAndSwap(true, false) {
		<-w.wake // whoever clears asleep sends
	}
	return c.number.Load()
}

// take works on nodes until all are taken.
func (c *crew) take() {
	for {
		i := int(c.next.Add(1)) - 1
		if i >= len(c.nodes) {
			return
		}
		c.nodes[i].run(c.ctx, c.window.end, c.window.side)
	}
}

// work has nodes worked on up to end.
func (c *crew) work(nodes []*node, end Time, side int) {
	c.nodes, c.window.end, c.window.side = nodes, end, side
	c.next.Store(0)
	c.finished.Store(0)
	c.call()
	c.take()
	for i := 0; int(c.finished.Load()) < len(c.workers); i++ {
		if i%64 == 63 {
			runtime.Gosched()
		}
	}
}

// call wakes everybody.
func (c *crew) call() {
	c.number.Add(1)
	for _, w := range c.workers {
		if w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// leave sends the crew home.
func (c *crew) leave() {
	c.home = true
	c.call()
}
