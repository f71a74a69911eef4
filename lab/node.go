package lab

import (
	"context"
	"fmt"
	"time"

	"tamtam/device"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/truth"
)

// epoch is the time of day at time 0 of every run.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// timeOfRun is the true time of day at t, rounded down to nanoseconds.
func timeOfRun(t Time) time.Time { return epoch.Add(time.Duration(t / Nanosecond)) }

// chunk is how far a node works before it turns to its hosts again: at most replyDelay, so that no
// answer is late.
const chunk = replyDelay

// A node is a switch with its hosts: what one core works on in one window.
// Nothing else touches it meanwhile; its wires to other nodes are in two halves.
type node struct {
	s     *Switch
	sim   *device.Sim
	base  Time // of cycle 0
	hz    uint64
	now   Time    // everything before has happened
	side  int     // of the window
	out   []*wire // by PortID, as far as there are ports
	links []*wire // of those, to other switches
	in    []*end  // where frames come in
	hosts []*station

	observer
	tap      Tap
	unlinked uint64 // frames sent by ports without a link
	samplers []*sampler
	own      Time // the earliest thing to do here, as far as what has come is known
	next     Time // and of that the earliest here or where frames went
	called   bool // others have sent frames that it has not seen
	arriving []saisim.Arrival
	moved    uint64
	err      error
}

// An observer knows what becomes of frames in the chip: from what is given to it and what leaves it, from the ledger
// that it keeps, and in all detail if an oracle or a study asks for that.
type observer struct {
	blind    bool // no accounts are kept
	ports    []portInfo
	port     []int16     // place among ports, by PortID; -1, and none behind the last
	accounts []*account  // by flow group; nil: no frame of it has come
	truth    *truth.Node // nil: no oracle
	watchers []Watcher
}

type portInfo struct {
	name string
	id   saisim.PortID
	mbps uint32
}

// An end is where a link ends: at a port of a switch or at a host.
type end struct {
	text string // as in the topology
	node *node
	port portInfo // of the node
	host *station // nil: it is the port
	wire *wire    // that arrives here
}

// An account says what became of the frames of one flow group in one switch.
type account struct {
	in, sent, punted, restart uint64
	copies                    int64 // made beyond the first
	dropped                   [drop.NumReasons]uint64
	by                        []uint64 // sent, by place in ports
}

// flying is how many frames and copies are in the chip.
func (l *account) flying() uint64 {
	n := l.in + uint64(l.copies) - l.sent - l.punted - l.restart
	for _, d := range l.dropped {
		n -= d
	}
	return n
}

// time returns when a cycle begins, rounded down to picoseconds.
func (n *node) time(c saisim.Cycle) Time {
	q, _ := mulDiv(uint64(c), uint64(Second), n.hz)
	return n.base + Time(q)
}

// cycle returns the first cycle that is not before t.
func (n *node) cycle(t Time) saisim.Cycle {
	return saisim.Cycle(mulDivUp(uint64(max(0, t-n.base)), n.hz, uint64(Second)))
}

// attach takes a new chip.
func (n *node) attach(c *saisim.Chip) {
	c.SetOutput(n.take)
	if !n.blind {
		c.SetLedger(&n.observer)
	}
	n.watch(c)
}

// watch has moments told if there is anyone to tell: that costs more than all else that the lab does with a frame.
func (n *node) watch(c *saisim.Chip) {
	if n.truth != nil || len(n.watchers) > 0 {
		c.SetObserver(n.saw)
	}
}

// take sends what leaves the chip on its way.
func (n *node) take(o *saisim.Out) {
	l := n.account(o.ID)
	if o.Port == saisim.CPUPort {
		if l != nil {
			l.punted++
		}
		return
	}
	if l != nil {
		l.sent++
		if i := n.place(o.Port); i >= 0 {
			l.by[i]++
		}
	}
	w := n.wire(o.Port)
	if w == nil {
		n.unlinked++
		return
	}
	w.send(n.side, n.time(o.At), o.Data, o.Len, o.ID)
}

// wire is what leads away from a port; nil: nothing does.
func (n *node) wire(id saisim.PortID) *wire {
	if int(id) >= len(n.out) {
		return nil
	}
	return n.out[id]
}

// place is that of a port among the node's; -1: it is none of them.
func (o *observer) place(id saisim.PortID) int {
	if int(id) >= len(o.port) {
		return -1
	}
	return int(o.port[id])
}

// account returns that of a frame's flow group. Most switches of a large network see few groups. nil: none is kept.
func (o *observer) account(id uint64) *account {
	flow := FlowOf(id)
	if o.blind || flow >= len(o.accounts) {
		return nil
	}
	l := o.accounts[flow]
	if l == nil {
		l = &account{by: make([]uint64, len(o.ports))}
		o.accounts[flow] = l
	}
	return l
}

// Injected implements [saisim.Ledger].
func (o *observer) Injected(id uint64) { o.entered(id) }

// entered counts a frame that is in the chip from now on.
func (o *observer) entered(id uint64) {
	if l := o.account(id); l != nil {
		l.in++
	}
}

// Copied implements [saisim.Ledger].
func (o *observer) Copied(id uint64, n int) {
	if l := o.account(id); l != nil {
		l.copies += int64(n)
	}
}

// Dropped implements [saisim.Ledger].
func (o *observer) Dropped(id uint64, why drop.Reason) {
	if l := o.account(id); l != nil {
		l.dropped[why]++
	}
}

// saw tells the oracle and the studies.
func (o *observer) saw(m saisim.Moment) {
	if FlowOf(m.ID) >= len(o.accounts) {
		return
	}
	if o.truth != nil {
		o.truth.See(m)
	}
	for _, w := range o.watchers {
		w.Saw(m)
	}
}

// run works through everything before end. What other nodes sent in the last
// window is in the other half of their wires.
func (n *node) run(ctx context.Context, end Time, side int) {
	n.side, n.called = side, false
	for _, e := range n.in {
		if e.wire.from.host == nil {
			e.wire.take(1 - side)
		}
	}
	for _, w := range n.links {
		w.reuse(1 - side)
	}
	for n.now < end && n.err == nil {
		stop := end
		if work := max(n.now, n.work()); work < end-chunk {
			stop = work + chunk
		}
		for _, s := range n.samplers {
			stop = min(stop, s.at)
		}
		n.step(ctx, stop)
	}
	n.plan()
}

// step works until stop, which is at most a chunk away.
func (n *node) step(ctx context.Context, stop Time) {
	for _, h := range n.hosts {
		if err := h.send(n.side, stop); err != nil {
			n.err = err
			return
		}
		h.up.take(n.side)
	}
	arriving := n.arriving[:0]
	for _, e := range n.in {
		w := e.wire
		for f := w.next(stop); f != nil; f = w.next(stop) {
			arriving = append(arriving, saisim.Arrival{
				Port: e.port.id, At: n.cycle(f.at), Frame: saisim.Frame{Data: f.data, Len: f.len, ID: f.id},
			})
			n.entered(f.id)
			w.delivered++
			n.moved++
			w.done(n.side)
		}
		if w.from.host != nil {
			w.reuse(n.side)
		}
	}
	n.arriving = arriving
	if len(arriving) > 0 { // their buffers are the senders' again in the next step or window
		if _, err := n.sim.Chip.ReceiveAll(arriving); err != nil {
			n.err = fmt.Errorf("switch %s: %w", n.s.Name, err)
			return
		}
	}
	if c := n.cycle(stop); c > 0 {
		if err := n.sim.Advance(ctx, c-1); err != nil {
			n.err = fmt.Errorf("switch %s: %w", n.s.Name, err)
			return
		}
	}
	for _, h := range n.hosts {
		h.receive(n.side, stop)
		h.down.reuse(n.side)
		if h.err != nil {
			n.err = fmt.Errorf("host %s: %w", h.host.Name, h.err)
		}
	}
	n.now = stop
	for _, s := range n.samplers {
		s.sample(n)
	}
}

// plan finds when there is work next, here or where frames went.
func (n *node) plan() {
	n.own = n.work()
	for _, s := range n.samplers {
		n.own = min(n.own, s.at)
	}
	n.next = n.own
	for _, w := range n.links {
		n.next = min(n.next, w.earliest)
		w.earliest = forever
	}
}

// work returns when the next frame moves here.
func (n *node) work() Time {
	next := forever
	if c, ok := n.sim.Chip.NextEvent(); ok {
		next = n.time(c)
	}
	for _, e := range n.in {
		if w := e.wire; w.head < len(w.flying) {
			next = min(next, w.flying[w.head].at)
		}
	}
	for _, h := range n.hosts {
		next = min(next, h.next())
		if w := h.down; w.head < len(w.flying) {
			next = min(next, w.flying[w.head].at)
		}
	}
	return next
}
