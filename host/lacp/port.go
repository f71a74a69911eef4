package lacp

import (
	"errors"
	"slices"
	"time"
)

// A Mux is a state of the mux machine, 6.4.15.
type Mux uint8

// The states of the mux machine, in the order of what they permit.
const (
	MuxDetached Mux = iota
	MuxWaiting
	MuxAttached
	MuxCollecting
	MuxDistributing
)

var muxNames = [...]string{"detached", "waiting", "attached", "collecting", "distributing"}

func (m Mux) String() string { return muxNames[m] }

// MuxOf returns the state of the given name, false if there is none.
func MuxOf(name string) (Mux, bool) {
	i := slices.Index(muxNames[:], name)
	return Mux(max(i, 0)), i >= 0
}

// A Receiver is a state of the receive machine, 6.4.12.
type Receiver uint8

// The states of the receive machine. LACP_DISABLED is missing, since then there is no port.
const (
	PortDisabled Receiver = iota
	ReceiverExpired
	ReceiverDefaulted
	ReceiverCurrent
)

func (r Receiver) String() string {
	return [...]string{"disabled", "expired", "defaulted", "current"}[r]
}

// A group is what ports must have in common to be aggregated: the partner's system and key, and, if the partner does
// not aggregate, its port, 6.4.14.1. It also includes the speed of the link, since ports with one key must have one
// speed, 6.3.5.
type group struct {
	system     System
	key        uint16
	individual bool
	port       uint16
	speed      uint32
}

type port struct {
	Member
	of       *aggregate
	receiver Receiver
	partner  Info
	mux      Mux
	selected bool
	fallback bool // true if it carries traffic without a partner
	collects bool // true if collecting is in force
	ntt      bool // true if the port needs to transmit

	currentUntil, waitUntil, periodicAt time.Time // zero if not running
	slow                                bool      // true if the interval of periodic transmission is the slow one
	sent                                []time.Time
	markers                             []time.Time // times of answered markers
	accepted                            []time.Time // times of accepted LACPDUs
	// times since when the actor and the partner are out of sync; zero if they are in sync
	actorOut, partnerOut time.Time
	counts               Counts
}

// newPort returns a port, which continues in the state of an earlier agent if there is one.
func newPort(now time.Time, g *aggregate, m Member) *port {
	p := &port{Member: m, of: g, counts: Counts{Discarded: map[Discarded]uint64{}}}
	if b := m.Before; b != nil && p.enabled() && b.Mux >= MuxAttached {
		p.partner, p.mux, p.selected, p.ntt = b.Partner, b.Mux, true, true
		p.collects = b.Mux >= MuxCollecting
		p.received(now)
		if g.partner == (group{}) {
			g.partner = p.group()
		}
	}
	return p
}

// renew returns a port that replaces another. It keeps the counters and rate limits if it was in the same aggregation.
func renew(now time.Time, g *aggregate, m Member, was *port) *port {
	p := newPort(now, g, m)
	if was != nil && was.of.Name == g.Name {
		p.counts, p.sent, p.markers, p.accepted = was.counts, was.sent, was.markers, was.accepted
	}
	return p
}

func (p *port) enabled() bool { return p.Up && p.of.Up }

// actor returns the information that the port sends about itself.
func (p *port) actor() Info {
	s := Activity | Aggregation
	if p.of.Fast {
		s |= ShortTimeout
	}
	if p.mux >= MuxAttached {
		s |= Synchronization
	}
	if p.mux >= MuxCollecting && p.collects {
		s |= Collecting
	}
	if p.mux == MuxDistributing {
		s |= Distributing
	}
	switch p.receiver {
	case ReceiverDefaulted:
		s |= Defaulted
	case ReceiverExpired:
		s |= Expired
	}
	return Info{p.of.System, p.of.Key, PortPriority, p.Number, s}
}

func (p *port) group() group {
	g := group{system: p.partner.System, key: p.partner.Key, speed: p.Speed}
	if p.partner.State&Aggregation == 0 {
		g.individual, g.port = true, p.partner.Port
	}
	return g
}

// configured handles a port that has come up or gone down.
func (p *port) configured(now time.Time) {
	switch {
	case !p.enabled() && p.receiver != PortDisabled:
		p.receiver, p.currentUntil, p.periodicAt = PortDisabled, time.Time{}, time.Time{}
		p.partner.State &^= Synchronization
		p.selected, p.fallback, p.ntt = false, false, false
	case p.enabled() && p.receiver == PortDisabled:
		p.expired(now)
		p.ntt = true
	}
}

// expired makes the port wait a short time for its partner.
func (p *port) expired(now time.Time) {
	p.receiver = ReceiverExpired
	p.partner.State &^= Synchronization
	p.partner.State |= ShortTimeout
	p.currentUntil = now.Add(ShortTime)
	p.counts.Expired++
	p.periodic(now)
}

// defaulted removes the partner. The port is then individual, unless the aggregation falls back on it.
func (p *port) defaulted(now time.Time) {
	p.receiver, p.currentUntil = ReceiverDefaulted, time.Time{}
	p.partner, p.selected = Info{}, false
	if p.of.Fast { // fast transmission, for a partner that comes late
		p.partner.State = ShortTimeout
	}
	p.counts.Defaulted++
	p.periodic(now)
}

// received makes the partner current.
func (p *port) received(now time.Time) {
	p.receiver, p.fallback = ReceiverCurrent, false
	timeout := LongTime
	if p.of.Fast {
		timeout = ShortTime
	}
	p.currentUntil = now.Add(timeout)
	p.periodic(now)
}

// periodic starts the periodic transmission machine or changes its pace, 6.4.13. This actor is active, so the machine
// never stops while the port is enabled.
func (p *port) periodic(now time.Time) {
	slow := p.partner.State&ShortTimeout == 0
	switch {
	case p.periodicAt.IsZero():
		p.periodicAt = now.Add(interval(slow))
	case p.slow && !slow:
		p.ntt, p.periodicAt = true, now.Add(FastPeriodic)
	case !p.slow && slow:
		p.periodicAt = now.Add(SlowPeriodic)
	}
	p.slow = slow
}

func interval(slow bool) time.Duration {
	if slow {
		return SlowPeriodic
	}
	return FastPeriodic
}

func (p *port) receive(now time.Time, data []byte, a *Agent) error {
	if !p.enabled() {
		return NoPort
	}
	kind, err := subtype(data)
	if err != nil {
		return err
	}
	if kind == subtypeMarker {
		return p.marked(now, data, a)
	}
	actor, partner, err := parse(data)
	if err != nil {
		return err
	}
	if !within(&p.accepted, now, maxReceived) {
		return PDULimit
	}
	p.counts.Received++
	p.record(now, actor, partner)
	return nil
}

// within records an event. It returns false if the limit of the last second is reached.
func within(list *[]time.Time, now time.Time, most int) bool {
	*list = slices.DeleteFunc(*list, func(t time.Time) bool { return !now.Before(t.Add(time.Second)) })
	if len(*list) >= most {
		return false
	}
	*list = append(*list, now)
	return true
}

func (p *port) marked(now time.Time, data []byte, a *Agent) error {
	r, err := answer(p.MAC, data)
	switch {
	case errors.Is(err, errResponse): // a response to a marker, of which this port sends none
		p.counts.Answers++
		return nil
	case err != nil:
		return err
	}
	p.counts.Markers++
	if !within(&p.markers, now, maxMarkers) {
		return MarkerLimit
	}
	p.counts.Answered++
	a.out = append(a.out, Frame{p.Name, r})
	return nil
}

// record processes the contents of a LACPDU: update_Selected, update_NTT and recordPDU of 6.4.9.
func (p *port) record(now time.Time, actor, partner Info) {
	if p.receiver == ReceiverDefaulted || !actor.same(p.partner) { // UNSELECTED, before it may be selected again
		p.enter(MuxDetached)
	}
	mine := p.actor()
	const told = Activity | ShortTimeout | Aggregation | Synchronization
	if !partner.same(mine) || (partner.State^mine.State)&told != 0 {
		p.ntt = true
	}
	// A partner is in sync if it announces that for the link with this port, and one side is active, as the partner
	// knows.
	knows := partner.same(mine) || actor.State&Aggregation == 0
	keeps := actor.State&Activity != 0 || partner.State&Activity != 0
	p.partner = actor
	if !knows || !keeps {
		p.partner.State &^= Synchronization
	}
	p.received(now)
}

// expire handles the port's timers that are due.
func (p *port) expire(now time.Time) (due bool) {
	is := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	if is(p.currentUntil) {
		due = true
		if p.receiver == ReceiverExpired {
			p.defaulted(now)
		} else {
			p.expired(now)
		}
	}
	if is(p.periodicAt) {
		due, p.ntt, p.periodicAt = true, true, now.Add(interval(p.slow))
	}
	if is(p.waitUntil) {
		due, p.waitUntil = true, time.Time{}
	}
	return due || p.ntt
}

// timers returns the times at which the port has work.
func (p *port) timers() []time.Time {
	list := []time.Time{p.currentUntil, p.periodicAt, p.waitUntil}
	if n := len(p.sent); p.ntt && p.enabled() && n >= maxSent {
		list = append(list, p.sent[n-maxSent].Add(FastPeriodic))
	}
	return list
}

// step runs one step of the mux machine, and reports whether it changed anything.
func (p *port) step(now time.Time) bool {
	next := p.next()
	if next != p.mux {
		p.enter(next)
		if next == MuxWaiting {
			p.waitUntil = now.Add(AggregateWait)
		}
		p.watch(now)
		return true
	}
	p.watch(now)
	return false
}

func (p *port) next() Mux {
	sync := p.fallback || p.partner.State&Synchronization != 0
	collects := p.fallback || p.partner.State&Collecting != 0
	switch {
	case !p.selected:
		return MuxDetached
	case p.mux == MuxDetached:
		return MuxWaiting
	case p.mux == MuxWaiting:
		if p.of.ready() {
			return MuxAttached
		}
		return MuxWaiting
	case !sync:
		return MuxAttached
	case p.mux == MuxAttached:
		return MuxCollecting
	case collects:
		return MuxDistributing
	}
	return MuxCollecting
}

func (p *port) enter(next Mux) {
	if (next == MuxDistributing) != (p.mux == MuxDistributing) {
		p.counts.Changed++
	}
	p.ntt = p.ntt || p.enabled() && next != p.mux && next != MuxWaiting
	p.mux, p.waitUntil = next, time.Time{}
}

// watch records since when actor and partner are out of sync, for churn detection, 6.4.17.
func (p *port) watch(now time.Time) {
	for _, w := range []struct {
		in    bool
		since *time.Time
	}{
		{!p.enabled() || p.mux >= MuxAttached, &p.actorOut},
		{!p.enabled() || p.partner.State&Synchronization != 0, &p.partnerOut},
	} {
		if w.in {
			*w.since = time.Time{}
		} else if w.since.IsZero() {
			*w.since = now
		}
	}
}
