package engine

import (
	"fmt"
	"slices"
)

// keeping holds the ends of packets that are kept, and the listeners of drops.
type keeping struct {
	listeners *dropListeners // nil if there are no listeners of drops
	noting    bool           // packets note their lookups in tables
	choosing  bool           // some arriving packets may be watched
	watching  *watching      // nil until the first watch
	kept      int            // number of drops to keep
	// egressMet holds the lookups of the copy that is in the egress pipe.
	egressMet egressMet
	names     *tableNames
}

// OnDrop registers a function that is called with every drop from now on, after those registered before. stop
// unregisters it.
func (c *keeping) OnDrop(f func(*Drop)) (stop func()) {
	own := &f // a pointer, because functions cannot be compared
	t := c.ensureListeners()
	t.reported = append(t.reported, own)
	return func() {
		t := c.ensureListeners()
		t.reported = slices.DeleteFunc(t.reported, func(x *func(*Drop)) bool { return x == own })
		c.releaseListeners()
	}
}

// ensureListeners returns the drop listeners. The caller must call releaseListeners after a change.
func (c *keeping) ensureListeners() *dropListeners {
	if c.listeners == nil {
		c.listeners = &dropListeners{}
	}
	return c.listeners
}

// releaseListeners releases the drop listeners once there are none.
func (c *keeping) releaseListeners() {
	if t := c.listeners; len(t.reported) == 0 && t.ring == nil && !t.reports {
		c.listeners = nil
	}
}

// WatchFlow keeps packets of a flow that arrive within the next cycles, wherever they end. since is the first cycle
// whose packets are kept. It returns an error if [MostFlows] flows are watched.
func (c *core) WatchFlow(f *Flow, cycles Cycle) (since Cycle, err error) {
	w := c.watched()
	if w.all {
		return w.allSince, nil
	}
	x := newFlowWatch(f)
	x.since, x.until = c.now, c.now+cycles
	for i := range w.n {
		y := &w.flows[i]
		was := *y
		if was.since, was.until = x.since, x.until; was == x {
			if y.until < c.now {
				y.since = c.now
			}
			y.until = x.until
			return y.since, nil
		}
	}
	w.expire(c.now)
	if w.n == MostFlows {
		return 0, fmt.Errorf("%d flows are watched already, the most that can be", MostFlows)
	}
	w.flows[w.n] = x
	w.n++
	c.choosing = true
	return x.since, nil
}

// WatchAll keeps all packets wherever they end, or only those of watched flows.
func (c *core) WatchAll(on bool) {
	w := c.watched()
	if on && !w.all {
		w.allSince = c.now
	}
	w.all = on
	c.choosing = on || w.n > 0
}

// WatchesAll reports whether all arriving packets are kept.
func (c *keeping) WatchesAll() bool { return c.watching != nil && c.watching.all }

// watched returns c.watching, which it creates if necessary.
func (c *keeping) watched() *watching {
	if c.watching == nil {
		c.watching = &watching{ends: newRing(c.kept)}
	}
	return c.watching
}

// choose notes whether an arriving packet is watched.
func (c *core) choose(pk *packet) {
	h := &pk.h
	if h.noIP() {
		var cut headers
		cut.read(pk.data, pk.length)
		h = &cut
	}
	if pk.chosen = c.watching.chooses(h, c.now); !pk.chosen && c.watching.n == 0 && !c.watching.all {
		c.choosing = false
	}
}

// Keep makes the chip keep the last n drops, rounded up, and as many other ends of watched packets. It must be called
// once, before anything arrives.
func (c *keeping) Keep(n int) {
	c.kept, c.noting = n, true
	c.listeners = &dropListeners{ring: newRing(n)}
}

// Drops copies some of the kept drops after the first n, the oldest first, but none after the first to. It returns the
// position of the next ones, which is to if none follow.
func (c *keeping) Drops(n, to uint64, into *KeptRows) (next uint64) {
	into.names = c.names.names
	if c.listeners == nil {
		return (*ring)(nil).copyRows(n, to, into)
	}
	return c.listeners.ring.copyRows(n, to, into)
}

// Ends does the same as Drops for other ends, of packets that were watched.
func (c *keeping) Ends(n, to uint64, into *KeptRows) (next uint64) {
	into.names = c.names.names
	if c.watching == nil {
		return (*ring)(nil).copyRows(n, to, into)
	}
	return c.watching.ends.copyRows(n, to, into)
}

// KeptStates returns the states of the kept drops and of the other kept ends.
func (c *keeping) KeptStates() (drops, ends RingState) {
	if c.listeners != nil {
		drops = c.listeners.ring.state()
	}
	if c.watching != nil {
		ends = c.watching.ends.state()
	}
	return drops, ends
}
