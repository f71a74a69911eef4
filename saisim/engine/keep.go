package engine

import (
	"fmt"
	"slices"
)

// keeping is what is kept of packets that end, and who else wants to know.
type keeping struct {
	takers   *dropTakers // nil: nobody wants drops told
	noting   bool        // packets note what they meet in tables
	choosing bool        // some packets that come are watched
	watching *watching   // nil: none ever was
	kept     int         // how many drops
	// egressMet is what the copy has met that is in the egress pipe.
	egressMet egressMet
	names     *tableNames
}

// OnDrop has a function told of every drop from now on, behind those that are told already, until stop is called.
func (c *keeping) OnDrop(f func(*Drop)) (stop func()) {
	own := &f // functions do not compare
	t := c.taking()
	t.told = append(t.told, own)
	return func() {
		t := c.taking()
		t.told = slices.DeleteFunc(t.told, func(x *func(*Drop)) bool { return x == own })
		c.taken()
	}
}

// taking returns those who want drops told; who changes them calls taken.
func (c *keeping) taking() *dropTakers {
	if c.takers == nil {
		c.takers = &dropTakers{}
	}
	return c.takers
}

// taken sees that there are no takers where nobody wants drops told.
func (c *keeping) taken() {
	if t := c.takers; len(t.told) == 0 && t.ring == nil && !t.reports {
		c.takers = nil
	}
}

// WatchFlow has packets of a flow that come from now on kept wherever they end, for some cycles from now. Since is the
// cycle from which on they are. Where there is no room for one flow more it is an error.
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

// WatchAll has all packets kept wherever they end, or only those of flows that are watched.
func (c *core) WatchAll(on bool) {
	w := c.watched()
	if on && !w.all {
		w.allSince = c.now
	}
	w.all = on
	c.choosing = on || w.n > 0
}

// WatchesAll reports whether all packets that come are kept.
func (c *keeping) WatchesAll() bool { return c.watching != nil && c.watching.all }

// watched returns the watching, made if need be.
func (c *keeping) watched() *watching {
	if c.watching == nil {
		c.watching = &watching{ends: newRing(c.kept)}
	}
	return c.watching
}

// choose notes whether a packet that comes is one of those that are watched.
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

// Keep has the chip keep the last n drops, rounded up, and as many of other ends of packets that are watched. It is
// called once, before anything comes.
func (c *keeping) Keep(n int) {
	c.kept, c.noting = n, true
	c.takers = &dropTakers{ring: newRing(n)}
}

// Drops copies some of the drops that are kept behind the first n that were, the oldest first, but none behind the
// first to. It returns behind how many those come that follow, which is to if none do.
func (c *keeping) Drops(n, to uint64, into *KeptRows) (next uint64) {
	into.names = c.names.names
	if c.takers == nil {
		return (*ring)(nil).take(n, to, into)
	}
	return c.takers.ring.take(n, to, into)
}

// Ends is Drops for other ends, of packets that were watched.
func (c *keeping) Ends(n, to uint64, into *KeptRows) (next uint64) {
	into.names = c.names.names
	if c.watching == nil {
		return (*ring)(nil).take(n, to, into)
	}
	return c.watching.ends.take(n, to, into)
}

// KeptStates returns how many drops, and other ends, are kept.
func (c *keeping) KeptStates() (drops, ends RingState) {
	if c.takers != nil {
		drops = c.takers.ring.state()
	}
	if c.watching != nil {
		ends = c.watching.ends.state()
	}
	return drops, ends
}
