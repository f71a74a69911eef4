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
	l.plan()
	crew := l.hire(ctx)
	defer crew.leave()
	for rounds, all := 0, true; ; rounds++ {
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
		end, edge := l.window()
		crew.work(l.busy(crew.nodes[:0], end, all || edge), end, l.side)
		all = edge
		for _, n := range crew.nodes {
			n.post()
		}
		l.side = 1 - l.side
		for _, o := range l.observers {
			o.Follow(l.now)
		}
		for _, n := range crew.nodes {
			if n.err != nil {
				return n.err
			}
		}
	}
}

// plan has every node find anew when there is work next, for itself and what others have sent to it: who has sent it
// forgets it here.
func (l *Lab) plan() {
	for _, n := range l.nodes {
		n.open(1 - l.side)
		n.plan()
	}
}

// together is how often all nodes are worked on at least: what a switch leaves out in a long quiet (see
// [device.Sim.Advance]) is not to depend on what others do.
const together = Second

// busy appends the nodes that have something to do before end, or all. The others stay behind in time, and catch up
// when there is.
func (l *Lab) busy(nodes []*node, end Time, all bool) []*node {
	if all || end-l.abreast >= together {
		l.abreast = end
		return append(nodes, l.nodes...)
	}
	for _, n := range l.nodes {
		if len(n.mail) > 0 || n.own < end {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// post tells those to whom frames were sent in this window, and returns buffers to those from whom frames came. Nobody
// works meanwhile.
func (n *node) post() {
	for _, w := range n.sent {
		w.posted, w.earliest = false, forever
		w.to.node.mail = append(w.to.node.mail, w)
	}
	n.sent = n.sent[:0]
	for _, w := range n.emptied {
		w.reuse()
	}
	n.emptied = n.emptied[:0]
}

// window returns when the next one ends, and moves now there. At an edge something happens that all
// nodes have to be there for.
func (l *Lab) window() (end Time, edge bool) {
	next := forever
	for _, n := range l.nodes {
		next = min(next, n.next)
	}
	end = l.end
	if next = max(next, l.now); next < end-l.lookahead {
		end = next + l.lookahead
	}
	last := l.end
	if len(l.events) > 0 {
		last = min(last, l.events[0].At)
	}
	for _, c := range l.clocks {
		last = min(last, c.at)
	}
	for _, o := range l.observers {
		last = min(last, o.next)
	}
	l.now = min(end, last)
	return l.now, end >= last || len(l.observers) > 0 // who follow each window
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
