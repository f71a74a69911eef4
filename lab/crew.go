package lab

import (
	"context"
	"runtime"
	"sync/atomic"
)

// A pool works on the nodes that have something to do in a window, each node on one core. Windows are short, often only
// microseconds of work, so a worker spins for a while before it sleeps.
type pool struct {
	ctx context.Context

	// The following fields are written before number.
	nodes  []*node
	home   bool // true if there is no further window
	window struct {
		end  Time
		side int
	}
	shares []share // first the caller's, then the workers'

	number   atomic.Uint64 // number of the window
	finished atomic.Int64  // number of workers that found no more nodes
	workers  []*worker
	all      int // number of nodes in the lab
}

// A share is the range of adjacent nodes that one core has in every window, so that it finds them in its cache. A
// worker that has finished its own share helps with the others'.
type share struct {
	next atomic.Int64 // the next node to work on
	end  int64
	_    [48]byte // a cache line of its own
}

type worker struct {
	nth    int // index of its share
	asleep atomic.Bool
	wake   chan struct{}
}

// looks is how often a worker looks for the next window before it sleeps. This takes some tens of microseconds.
const looks = 20_000

// hire starts one goroutine fewer than there are workers, since the caller is one of them.
func (l *Lab) hire(ctx context.Context) *pool {
	c := &pool{nodes: make([]*node, 0, len(l.nodes)), ctx: ctx, all: len(l.nodes)}
	c.shares = make([]share, min(l.opts.Workers, len(l.nodes)))
	for i := range c.shares[1:] {
		w := &worker{nth: i + 1, wake: make(chan struct{}, 1)}
		c.workers = append(c.workers, w)
		go c.serve(w)
	}
	return c
}

// serve works on window after window until leave is called.
func (c *pool) serve(w *worker) {
	for last := uint64(0); ; {
		last = c.await(w, last)
		if c.home {
			return
		}
		c.runShares(w.nth)
		c.finished.Add(1)
	}
}

// await returns the number of the next window after last. A slow caller may wake a worker for a window that the worker
// has already finished. Then it continues to wait.
func (c *pool) await(w *worker, last uint64) uint64 {
	for {
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
			<-w.wake // the goroutine that sets asleep to false also sends
		}
	}
}

// runShares works on nodes until none is left. It begins with the share whose index is first.
func (c *pool) runShares(first int) {
	for i := range c.shares {
		sh := &c.shares[(first+i)%len(c.shares)]
		for at := sh.next.Add(1) - 1; at < sh.end; at = sh.next.Add(1) - 1 {
			c.nodes[at].run(c.ctx, c.window.end, c.window.side)
		}
	}
}

// divide gives each share its nodes, which are in the order of the lab's.
func (c *pool) divide() {
	at := 0
	for i := range c.shares {
		sh := &c.shares[i]
		sh.next.Store(int64(at))
		for at < len(c.nodes) && c.nodes[at].nth*len(c.shares) < (i+1)*c.all {
			at++
		}
		sh.end = int64(at)
	}
}

// work runs the nodes up to end. The caller runs a single node itself: to wake the workers and to wait for them would
// cost more. The workers would also keep looking for windows that have no work for them, and never sleep.
func (c *pool) work(nodes []*node, end Time, side int) {
	c.nodes, c.window.end, c.window.side = nodes, end, side
	if len(nodes) == 1 {
		nodes[0].run(c.ctx, end, side)
		return
	}
	c.divide()
	c.finished.Store(0)
	c.call()
	c.runShares(0)
	for i := 0; int(c.finished.Load()) < len(c.workers); i++ {
		if i%64 == 63 {
			runtime.Gosched()
		}
	}
}

// call starts all workers on a window.
func (c *pool) call() {
	c.number.Add(1)
	c.rouse()
}

// rouse wakes the sleeping workers.
func (c *pool) rouse() {
	for _, w := range c.workers {
		if w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// leave ends the crew.
func (c *pool) leave() {
	c.home = true
	c.call()
}
