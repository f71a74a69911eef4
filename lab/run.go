package lab

import (
	"context"
	"fmt"
)

// maxWindow is the longest window if no link limits it, so that progress can be reported.
const maxWindow = 100 * Microsecond

// Run advances simulated time by d. It works in windows. Each window begins with the first thing that any node has to
// do, and lasts as long as a frame needs over the shortest link between two switches. Within a window no switch can
// affect another, so each can run on any core. At the end of a window each switch has the others' frames in its wires.
// An event ends a window. So the topology determines the order of all work, and the number of cores changes nothing.
func (l *Lab) Run(ctx context.Context, d Time) error {
	if err := l.pass(ctx, d); err != nil {
		return err
	}
	return l.finish(ctx)
}

// pass advances time window by window.
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

// plan makes every node recompute when it has work next, for itself and for frames that others sent to it. The senders
// forget those frames here.
func (l *Lab) plan() {
	for _, n := range l.nodes {
		n.open(1 - l.side)
		n.plan()
	}
}

// together is the maximum time between windows in which all nodes run. What a switch leaves out in a long quiet period
// (see [device.Sim.Advance]) must not depend on other switches.
const together = Second

// busy appends the nodes that have something to do before end, or all nodes. The others stay behind in time, and catch
// up when they have work.
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

// post informs the receivers of frames that were sent in this window, and returns buffers to the senders. No node runs
// meanwhile.
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

// window returns the end of the next window, and advances now to it. edge reports whether all nodes must reach its end,
// because something happens there.
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
	return l.now, end >= last || len(l.observers) > 0 // observers follow each window
}

// moved returns how many frames the switches have received from the wire.
func (l *Lab) moved() (sum uint64) {
	for _, n := range l.nodes {
		sum += n.moved
	}
	return sum
}

// finish ends a run. It lets every daemon read what its chip counted.
func (l *Lab) finish(ctx context.Context) error {
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
