package lab

import (
	"context"
	"fmt"
)

// maxWindow bounds a window if no link does, so that progress can be reported.
const maxWindow = 100 * Microsecond

// Run lets d of simulated time pass. It works in windows: each begins with the first thing that
// anyone has to do, and lasts as long as a frame takes over the shortest link between two switches.
// Within a window no switch can feel what another does, so each is worked on alone, on whichever
// core; at its end each has in its wires what the others sent. An event ends a window. So the order
// of all work is given by the topology, and the number of cores changes nothing.
func (l *Lab) Run(ctx context.Context, d Time) error {
	if err := l.pass(ctx, d); err != nil {
		return err
	}
	return l.settle(ctx)
}

// pass lets time pass.
func (l *Lab) pass(ctx context.Context, d Time) error {
	if d <= 0 || d > maxTime-l.now {
		return fmt.Errorf("lab: run for %v: want more than 0 and at most 30 days in all", d)
	}
	l.end = l.now + d
	for _, n := range l.nodes {
		n.plan()
	}
	crew := l.hire(ctx)
	defer crew.leave()
	for rounds := 0; ; rounds++ {
		if err := l.happen(ctx); err != nil {
			return err
		}
		if l.now >= l.end {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if rounds%256 == 0 && l.opts.Progress != nil {
			l.opts.Progress(l.now, l.moved())
		}
		crew.work(l.window(), l.side)
		l.side = 1 - l.side
		for _, o := range l.observers {
			o.Follow(l.now)
		}
		for _, n := range l.nodes {
			if n.err != nil {
				return n.err
			}
		}
	}
}

// window returns when the next one ends, and moves now to its beginning.
func (l *Lab) window() Time {
	next := forever
	for _, n := range l.nodes {
		next = min(next, n.next)
	}
	end := l.end
	if next = max(next, l.now); next < end-l.lookahead {
		end = next + l.lookahead
	}
	if len(l.events) > 0 {
		end = min(end, l.events[0].At)
	}
	for _, c := range l.clocks {
		end = min(end, c.at)
	}
	for _, o := range l.observers {
		end = min(end, o.next)
	}
	l.now = end
	return end
}

// moved is how many frames the switches have received from the wire.
func (l *Lab) moved() (sum uint64) {
	for _, n := range l.nodes {
		sum += n.moved
	}
	return sum
}

// settle ends a run: every daemon has read what its chip counted.
func (l *Lab) settle(ctx context.Context) error {
	l.each(func(n *node) { n.err = n.sim.Poll(ctx) })
	for _, n := range l.nodes {
		if n.err != nil {
			return fmt.Errorf("switch %s: %w", n.s.Name, n.err)
		}
	}
	for _, o := range l.observers {
		o.Gather()
	}
	for _, w := range l.captures {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if l.opts.Progress != nil {
		l.opts.Progress(l.now, l.moved())
	}
	return nil
}
