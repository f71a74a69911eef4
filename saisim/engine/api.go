package engine

import (
	"fmt"
	"time"

	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// New returns a packet path without any configuration. Its time of day at cycle 0 is start. oracle is the number of
// flows, per sketch task and bank, that are also counted exactly.
func New(p profile.Profile, start time.Time, oracle int) *Engine {
	c := &Engine{core: core{prof: p, spares: newSpares(), out: func(*Out) {}}}
	c.clock.Store(newClock(p.ClockHz, start))
	c.wire()
	c.sketch.oracle = oracle
	c.OnAddress(func(FDBEvent, FDBRow) {})
	c.Reset()
	return c
}

// SetOutput sets the function that receives the frames leaving the chip. Each frame is valid only during the call.
func (c *Engine) SetOutput(f func(*Out)) { c.out = f }

// OnAddress sets the function that is called when an address is learned, moves, ages or is flushed.
func (c *Engine) OnAddress(f func(FDBEvent, FDBRow)) { c.bridge.addressChanged = f }

// Observe sets a function that is called from now on with every moment in the history of every frame. nil removes it.
func (c *Engine) Observe(f func(Moment)) {
	c.observer = f
	c.recording.retrack()
}

// Account sets the ledger that the chip keeps from now on. nil removes it.
func (c *Engine) Account(l Ledger) { c.ledger = l }

// Now returns the cycle that the last Advance reached.
func (c *Engine) Now() Cycle { return c.now }

// Receive puts a frame on the wire of a port's ingress MAC. Its timestamp point is at the given cycle, or as soon after
// it as earlier frames allow. The data is copied.
func (c *Engine) Receive(id PortID, at Cycle, f *Frame) error {
	p, n := c.port(id), f.length()
	if p == nil || at < c.now || n < len(f.Data) || n > maxFrame {
		return refusal(p, id, at, c.now, f)
	}
	c.macs.receive(p, at, f, n)
	return nil
}

// ReceiveWaiting does Receive for a frame that may have come to the port in the past, if earlier frames have kept it
// waiting until now.
func (c *Engine) ReceiveWaiting(id PortID, at Cycle, f *Frame) error {
	p, n := c.port(id), f.length()
	if p == nil || at < c.now && p.rxFree.cycle < c.now || n < len(f.Data) || n > maxFrame {
		return refusal(p, id, at, c.now, f)
	}
	c.macs.receive(p, at, f, n)
	return nil
}

// ReceiveAll does Receive for many frames. It stops at the first frame that it refuses, and returns the number of
// accepted frames.
func (c *Engine) ReceiveAll(frames []Arrival) (int, error) {
	for i := range frames {
		x := &frames[i]
		p, n := c.port(x.Port), x.length()
		if p == nil || x.At < c.now || n < len(x.Data) || n > maxFrame {
			return i, refusal(p, x.Port, x.At, c.now, &x.Frame)
		}
		c.macs.receive(p, x.At, &x.Frame, n)
	}
	return len(frames), nil
}

// Approach advances to a cycle at which a frame will be received if that is far ahead, so that few frames are in the
// chip at once. No frame may be received before that cycle any more. An observer learns of frames when they are
// received; with one, time stands still, so that it has them in the same order.
func (c *Engine) Approach(at Cycle) {
	if at-min(at, c.now) > wheelSpan/2 && c.observer == nil {
		c.Advance(at)
	}
}

// refusal returns the reason why Receive refuses a frame at a port. It is called only for a refused frame.
func refusal(p *port, id PortID, at, now Cycle, f *Frame) error {
	switch {
	case p == nil:
		return fmt.Errorf("receive: no port %d", id)
	case at < now:
		return fmt.Errorf("receive on port %d: cycle %d is past, the chip is at %d", id, at, now)
	}
	return fmt.Errorf("receive on port %d: %d bytes of a frame of %d, want a frame of at most %d", id, len(f.Data),
		f.length(), maxFrame)
}

// IngressFree returns the first cycle, rounded down, at which a frame given to Receive need not wait for earlier
// frames. It returns 0 if the port does not exist.
func (c *Engine) IngressFree(id PortID) Cycle {
	if p := c.port(id); p != nil {
		return p.rxFree.cycle
	}
	return 0
}

// Done returns the completion functions of batches that have taken effect. Each is returned once; the caller must call
// it.
func (c *Engine) Done() []func() {
	done := c.programs.done
	c.programs.done = nil
	return done
}

// Graph returns the current graph of the pipes.
func (c *Engine) Graph() *record.Graph { return c.programs.described().graph }

// Path returns the tables of a trail in the order of the graph. It returns nil if the trail is unknown or does not
// belong to the current graph.
func (c *Engine) Path(t Trail) []record.Step {
	if g := c.programs.described(); t.Graph == g.graph.Version {
		return g.path(t)
	}
	return nil
}

// Paths returns the counted paths, each with the number of packets that took it.
func (c *Engine) Paths() []record.PathCount { return c.recording.paths.counts() }

// Program returns the running program with its current entries, nil if there is none. It must not be changed.
func (c *Engine) Program() *pipe.Program { return c.programs.source() }

// PortCounters returns a port's counters, and false if there is no such port.
func (c *Engine) PortCounters(id PortID) (PortCounters, bool) {
	if p := c.port(id); p != nil {
		return p.counters(), true
	}
	return PortCounters{}, false
}

// Clock returns the time-of-day clock in its current state.
func (c *Engine) Clock() *Clock { return c.clock.Load() }

// ChangeClock advances the time of day by a step at the current cycle. set may change the clock's other values.
func (c *Engine) ChangeClock(step time.Duration, set func(*Clock)) error {
	t := *c.clock.Load()
	set(&t)
	next, err := t.change(c.now, step)
	if err == nil {
		c.clock.Store(next)
	}
	return err
}

// Control schedules a batch that takes effect at a cycle, completely between two packets. A packet that enters the
// ingress pipe at that cycle or later runs the new program, in the egress pipe too. Earlier packets run the old one.
// Registers and counters are written and read before the first packet that enters their pipe at that cycle or later.
//
// Control immediately returns an error in the batch, which names the object, and then applies nothing of the batch. It
// refuses a cycle in the past, or before the cycle of a pending batch. At the current cycle the batch takes effect
// immediately, after everything that Advance has done.
//
// The program and everything else in the batch must not be changed afterwards.
func (c *Engine) Control(at Cycle, b Batch) error {
	if at < c.now {
		return fmt.Errorf("control: cycle %d is past, the chip is at %d", at, c.now)
	}
	if c.programs.batches.Len() > 0 {
		if last := c.programs.batches.At(c.programs.batches.Len() - 1).at; at < last {
			return fmt.Errorf("control: cycle %d is before cycle %d, when an earlier batch takes effect", at, last)
		}
	}
	limits := c.prof.Limits()
	limits.PHVBits -= c.recording.bits()
	now, faults, err := pipe.PrepareFaults(b.Batch, limits, c.programs.planned, c.programs.plannedFaults)
	if err == nil {
		_, err = skipped(faults)
	}
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	c.programs.planned, c.programs.plannedFaults = now, faults
	if s := (scheduled{at, b, now, faults}); at > c.now || c.programs.batches.Len() > 0 {
		c.programs.batches.Push(s)
	} else {
		c.applyBatch(s)
	}
	return nil
}
