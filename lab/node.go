package lab

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tamtam/device"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/truth"
)

// epoch is the time of day at time 0 of every run.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// timeOfRun returns the true time of day at t, rounded down to nanoseconds.
func timeOfRun(t Time) time.Time { return epoch.Add(time.Duration(t / Nanosecond)) }

// chunk is how far a node advances before it works on its hosts again. It is at most replyDelay, so that no answer is
// late.
const chunk = replyDelay

// A node is a switch with its hosts: the unit that one core works on in a window. No other core touches it meanwhile.
// Its wires to other nodes have two halves, one for each side.
type node struct {
	s     *Switch
	nth   int // index in the lab
	sim   *device.Sim
	plans device.RecordPlans
	base  Time // time of cycle 0
	hz    uint64
	now   Time    // everything before has been simulated
	side  int     // side of the window, 0 or 1
	out   []*wire // wires by PortID, as far as there are ports
	in    int     // number of ends at which frames arrive
	hosts []*station

	// Work in a window touches only these, whatever the number of ports. A port without frames costs nothing.
	flying  []*end  // ends with frames under way to them, sorted by nth
	mail    []*wire // wires with frames from other nodes that it has not fetched
	sent    []*wire // wires to other switches on which it has sent in this window
	emptied []*wire // wires from other switches whose buffers it can return

	observer
	tap      Tap
	unlinked uint64 // frames sent by ports without a link
	samplers []*sampler
	streams  streamer
	own      Time // time of the earliest known work here
	next     Time // the earlier of own and the first arrival of a sent frame
	arriving []saisim.Arrival
	moved    uint64
	err      error
}

// An observer tracks the fate of frames in the chip. It uses the frames that enter and leave the chip, and the chip's
// ledger. With an oracle or a study it receives every detail.
type observer struct {
	blind    bool // true if no accounts are kept
	ports    []portInfo
	port     []int16     // index into ports by PortID; -1 for other ports, which may also lie beyond the end
	accounts []*account  // accounts by flow group; nil until its first frame arrives
	truth    *truth.Node // nil if there is no oracle
	watchers []Watcher
}

type portInfo struct {
	name string
	id   saisim.PortID
	mbps uint32
}

// An end is one end of a link: a port of a switch, or a host.
type end struct {
	text string // name of the end, as in the topology
	node *node
	port portInfo // the node's port
	host *station // nil if the end is the port
	wire *wire    // the wire that arrives here
	nth  int      // index among the node's ends
	has  bool     // true if the end is in the node's flying
}

// An account counts the fates of one flow group's frames in one switch.
type account struct {
	in, sent, punted, restart uint64
	copies                    int64 // number of copies beyond the first one
	dropped                   [drop.NumReasons]uint64
	by                        []uint64 // number of sent frames, by index into ports
}

// flying returns the number of frames and copies in the chip.
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

// cycle returns the first cycle that begins at t or later.
func (n *node) cycle(t Time) saisim.Cycle {
	return saisim.Cycle(mulDivUp(uint64(max(0, t-n.base)), n.hz, uint64(Second)))
}

// attach connects a new chip to the node.
func (n *node) attach(c *saisim.Chip) {
	c.SetOutput(n.forward)
	if !n.blind {
		c.SetLedger(&n.observer)
	}
	n.watch(c)
}

// watch registers for moments only if an oracle or a watcher needs them. They cost more than all other work of the lab
// on a frame.
func (n *node) watch(c *saisim.Chip) {
	if n.truth != nil || len(n.watchers) > 0 {
		c.SetObserver(n.saw)
	}
}

// forward forwards a frame that leaves the chip.
func (n *node) forward(o *saisim.Out) {
	l := n.account(o.ID)
	if o.Port == saisim.CPUPort {
		if l != nil {
			l.punted++
		}
		n.sim.Punt(o)
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
	if !w.posted && w.to.host == nil && len(w.out[n.side]) > 0 {
		w.posted = true
		n.sent = append(n.sent, w)
	}
}

// wire returns the wire that leads away from a port, or nil if there is none.
func (n *node) wire(id saisim.PortID) *wire {
	if int(id) >= len(n.out) {
		return nil
	}
	return n.out[id]
}

// place returns the index of a port among the node's, or -1 if it is not one of them.
func (o *observer) place(id saisim.PortID) int {
	if int(id) >= len(o.port) {
		return -1
	}
	return int(o.port[id])
}

// account returns the account of a frame's flow group, or nil if none is kept. Accounts are made on first use, since
// most switches of a large network see only a small number of groups.
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

// entered counts a frame that enters the chip.
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

// saw passes a moment to the oracle and to the studies.
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

// run simulates everything before end. The frames that other nodes sent in the last window are in the other half of
// their wires.
func (n *node) run(ctx context.Context, end Time, side int) {
	n.side = side
	n.open(1 - side)
	for n.now < end && n.err == nil {
		stop := end
		if n.now < end-chunk {
			if work := max(n.now, n.work()); work < end-chunk {
				stop = work + chunk
			}
		}
		for _, s := range n.samplers {
			stop = min(stop, s.at)
		}
		n.step(ctx, stop)
	}
	n.plan()
}

// open accepts the frames that other nodes sent in the last window.
func (n *node) open(side int) {
	for _, w := range n.mail {
		n.fetch(w, side)
	}
	n.mail = n.mail[:0]
}

// fetch accepts the frames that were sent on a wire.
func (n *node) fetch(w *wire, side int) {
	w.dispatch(side)
	if e := w.to; w.head < len(w.flying) && !e.has {
		e.has = true
		at, _ := slices.BinarySearchFunc(n.flying, e.nth, func(e *end, nth int) int { return e.nth - nth })
		n.flying = slices.Insert(n.flying, at, e)
	}
}

// step simulates until stop, which is at most a chunk away.
func (n *node) step(ctx context.Context, stop Time) {
	for _, h := range n.hosts {
		if err := h.send(n.side, stop); err != nil {
			n.err = err
			return
		}
		n.fetch(h.up, n.side)
	}
	arriving, rest := n.arriving[:0], n.flying[:0]
	for _, e := range n.flying {
		arriving = n.arrive(arriving, e, stop)
		if e.has = e.wire.head < len(e.wire.flying); e.has {
			rest = append(rest, e)
		}
	}
	n.flying = rest
	n.arriving = arriving
	if len(arriving) > 0 { // in the next step or window the senders own these buffers again
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
		h.down.reuse()
		if h.err != nil {
			n.err = fmt.Errorf("host %s: %w", h.host.Name, h.err)
		}
	}
	n.now = stop
	for _, s := range n.samplers {
		s.sample(n)
	}
}

// arrive appends the frames that arrive at an end before stop.
func (n *node) arrive(arriving []saisim.Arrival, e *end, stop Time) []saisim.Arrival {
	w := e.wire
	for f := w.next(stop); f != nil; f = w.next(stop) {
		at, came := n.cycle(f.at), n.cycle(f.at-f.late)
		arriving = append(arriving, saisim.Arrival{
			Port: e.port.id, At: at, Frame: saisim.Frame{Data: f.data, Len: f.len, ID: f.id, Late: at - came},
		})
		n.entered(f.id)
		w.delivered++
		n.moved++
		if w.from.host == nil && len(w.used) == 0 {
			n.emptied = append(n.emptied, w)
		}
		w.done()
	}
	if w.from.host != nil {
		w.reuse()
	}
	return arriving
}

// plan computes the time of the next work, here and where frames were sent.
func (n *node) plan() {
	n.own = n.work()
	for _, s := range n.samplers {
		n.own = min(n.own, s.at)
	}
	n.next = n.own
	for _, w := range n.sent {
		n.next = min(n.next, w.earliest)
	}
}

// work returns the time at which the next frame moves here.
func (n *node) work() Time {
	next := forever
	if c, ok := n.sim.Chip.NextEvent(); ok {
		next = n.time(c)
	}
	if c, ok := n.sim.HostDue(); ok {
		next = min(next, n.time(c))
	}
	for _, e := range n.flying {
		if w := e.wire; w.head < len(w.flying) { // a wire whose link failed has no frames
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
