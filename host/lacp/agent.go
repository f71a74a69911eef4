// Package lacp is the Link Aggregation Control Protocol (IEEE 802.1AX-2014, 6.4) of a switch: which ports of its
// aggregations may carry traffic. Like [tamtam/host] it is a value that is stepped: frames and time go in, frames
// and what each port may do come out.
//
// An aggregation is one aggregator of the standard: its ports have one key, and of partners that differ it takes one.
// The mux machine is that of independent control (6.4.15): a port collects before it distributes, and distributes
// only to a partner that says it collects. What it says of itself it says when it is so: collecting is put into force
// by whoever holds the agent, who then calls [Agent.InForce].
//
// What belongs here: LACP and markers. No database, no chip.
package lacp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Times of 6.4.4, and how many LACPDUs a port sends in one interval of fast transmission (6.4.16).
const (
	FastPeriodic  = time.Second
	SlowPeriodic  = 30 * time.Second
	ShortTime     = 3 * time.Second
	LongTime      = 90 * time.Second
	ChurnTime     = 60 * time.Second
	AggregateWait = 2 * time.Second
	maxSent       = 3
	// Of slow protocols no more than 10 frames are sent in a second, IEEE 802.3, 57A.2: so many markers are answered
	// and LACPDUs taken, whatever a partner sends.
	maxMarkers  = 10
	maxReceived = 10
)

// Priorities of switches and ports, as in libteam.
const (
	SystemPriority = 65535
	PortPriority   = 255
)

// An Aggregate is an aggregation as it is configured.
type Aggregate struct {
	Name   string
	System System
	Key    uint16
	Fast   bool // the partner is asked to send every second, and counts as gone after 3 seconds instead of 90
	// Fallback says that while no port hears of a partner, the first that is up carries traffic.
	Fallback bool
	Up       bool // by configuration
	Members  []Member
}

// A Member is a port of an aggregation.
type Member struct {
	Name   string
	Number uint16 // of the port, from 1
	MAC    [6]byte
	Up     bool
	Speed  uint32 // of the link, in Mb/s: ports of different speeds are not aggregated
	// Incarnation is any text: where it becomes another, the port begins anew.
	Incarnation string
	// Before is how an earlier agent has left the port, which goes on there if it is up; nil: there was none.
	Before *Before
}

// A Before is a port's partner, taken to be heard of now, and what the port did.
type Before struct {
	Partner Info
	Mux     Mux
}

// A Frame leaves a port: Ethernet, without FCS.
type Frame struct {
	Port string
	Data []byte
}

// Counts are what a port has counted.
type Counts struct {
	Sent, Received              uint64 // LACPDUs
	Markers, Answered, Answers  uint64 // markers received, answers sent and received
	Discarded                   map[Discarded]uint64
	Expired, Defaulted, Changed uint64 // how often the receive machine did, and the port began or ceased to carry traffic
}

// An Agent speaks LACP at the ports of a switch. It is used by one goroutine at a time.
type Agent struct {
	aggregates map[string]*aggregate
	ports      map[string]*port
	out        []Frame
	nowhere    uint64 // frames of ports that are in no aggregation
}

// New returns an agent without aggregations.
func New() *Agent {
	return &Agent{aggregates: map[string]*aggregate{}, ports: map[string]*port{}}
}

type aggregate struct {
	Aggregate
	ports []*port // by number
	// partner is the system and key that the selected ports have; zero: none.
	partner group
}

// Configure says which aggregations there are. A port that stays in one, with the same identity, goes on as it was.
func (a *Agent) Configure(now time.Time, list []Aggregate) {
	aggregates, ports := map[string]*aggregate{}, map[string]*port{}
	for _, c := range list {
		g := a.aggregates[c.Name]
		if g == nil || g.System != c.System || g.Key != c.Key {
			g = &aggregate{}
		}
		g.Aggregate, g.ports = c, nil
		for _, m := range c.Members {
			if ports[m.Name] != nil {
				continue // a port is in one aggregation
			}
			p := a.ports[m.Name]
			if p == nil || p.of != g || p.Number != m.Number || p.Incarnation != m.Incarnation {
				p = anew(now, g, m, p)
			}
			p.Member = m
			g.ports = append(g.ports, p)
			ports[m.Name] = p
		}
		slices.SortFunc(g.ports, func(p, q *port) int { return int(p.Number) - int(q.Number) })
		aggregates[c.Name] = g
	}
	a.aggregates, a.ports = aggregates, ports
	for _, p := range ports {
		p.configured(now)
	}
	a.run(now)
}

// Receive takes a frame that came in at a port; the data is only read, during the call. The error says why it was not
// taken: it is a [Discarded].
func (a *Agent) Receive(now time.Time, name string, data []byte) error {
	a.Advance(now)
	p := a.ports[name]
	if p == nil {
		a.nowhere++
		return fmt.Errorf("LACP at %s: %w", name, NoPort)
	}
	if err := p.receive(now, data, a); err != nil {
		var why Discarded
		if errors.As(err, &why) {
			p.counts.Discarded[why]++
		}
		return fmt.Errorf("LACP at %s: %w", name, err)
	}
	a.run(now)
	return nil
}

// InForce says what the switch does at a port by now, of what it may do.
func (a *Agent) InForce(now time.Time, name string, collecting bool) {
	if p := a.ports[name]; p != nil && p.collects != collecting {
		p.collects = collecting
		p.ntt = p.ntt || p.mux >= MuxCollecting
		a.run(now)
	}
}

// Resume says that for so long nothing could be heard or said: what has been heard counts that much longer, and all
// ports speak at the next [Agent.Advance].
func (a *Agent) Resume(d time.Duration) {
	for _, p := range a.ports {
		for _, t := range []*time.Time{&p.currentUntil, &p.waitUntil} {
			if !t.IsZero() {
				*t = t.Add(d)
			}
		}
		p.ntt = p.enabled()
	}
}

// Advance does what is due at a time.
func (a *Agent) Advance(now time.Time) {
	due := false
	for _, p := range a.ports {
		due = p.expire(now) || due
	}
	if due {
		a.run(now)
	}
}

// Next returns when something is due, false if nothing is.
func (a *Agent) Next() (at time.Time, ok bool) {
	for _, p := range a.ports {
		for _, t := range p.timers() {
			if !t.IsZero() && (!ok || t.Before(at)) {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// Frames returns, once, what is sent.
func (a *Agent) Frames() []Frame {
	out := a.out
	a.out = nil
	return out
}

// run lets the machines of all ports work until none has anything to do, and sends what is to be sent.
func (a *Agent) run(now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(a.aggregates)) {
		g := a.aggregates[name]
		g.choose()
		for again := true; again; {
			again = false
			for _, p := range g.ports {
				again = p.step(now) || again
			}
		}
		for _, p := range g.ports {
			a.send(now, p)
		}
	}
}

// send sends a LACPDU if one is to be sent and may be, 6.4.16.
func (a *Agent) send(now time.Time, p *port) {
	if !p.ntt || !p.enabled() {
		return
	}
	if n := len(p.sent); n >= maxSent && now.Before(p.sent[n-maxSent].Add(FastPeriodic)) {
		return // when that may be, timers says
	}
	a.out = append(a.out, Frame{p.Name, format(p.MAC, p.actor(), p.partner)})
	p.sent = append(p.sent, now)
	p.sent = p.sent[max(0, len(p.sent)-maxSent):]
	p.counts.Sent++
	p.ntt = false
}
