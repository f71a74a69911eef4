// Package lacp is the Link Aggregation Control Protocol (IEEE 802.1AX-2014, 6.4) of a switch: it decides which ports of
// its aggregations may carry traffic. Like [tamtam/host] it is a value that is stepped: frames and time go in, frames
// and the permitted state of each port come out.
//
// An aggregation is one aggregator of the standard: its ports have one key, and if their partners differ it selects
// one. The mux machine is that of independent control (6.4.15): a port collects before it distributes, and distributes
// only to a partner that announces that it collects. A port announces only its effective state: the owner of the agent
// programs the permitted state, and then calls [Agent.InForce].
//
// What belongs here: LACP and markers. What does not: databases and chips.
package lacp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Times of 6.4.4, and the maximum number of LACPDUs that a port sends in one interval of fast transmission (6.4.16).
const (
	FastPeriodic  = time.Second
	SlowPeriodic  = 30 * time.Second
	ShortTime     = 3 * time.Second
	LongTime      = 90 * time.Second
	ChurnTime     = 60 * time.Second
	AggregateWait = 2 * time.Second
	maxSent       = 3
	// No more than 10 frames of slow protocols are sent in a second, IEEE 802.3, 57A.2. So these limits apply to
	// answered markers and accepted LACPDUs, whatever a partner sends.
	maxMarkers  = 10
	maxReceived = 10
)

// Priorities of switches and ports, as in libteam.
const (
	SystemPriority = 65535
	PortPriority   = 255
)

// An Aggregate is a configured aggregation.
type Aggregate struct {
	Name   string
	System System
	Key    uint16
	Fast   bool // true if the partner is asked to send every second; it then expires after 3 seconds instead of 90
	// Fallback means that while no port has a partner, the first port that is up carries traffic.
	Fallback bool
	Up       bool // administrative state: true if up
	Members  []Member
}

// A Member is a port of an aggregation.
type Member struct {
	Name   string
	Number uint16 // number of the port, from 1
	MAC    [6]byte
	Up     bool
	Speed  uint32 // speed of the link, in Mb/s: ports of different speeds are not aggregated
	// Incarnation is any text: when it changes, the port starts again.
	Incarnation string
	// Before is the state in which an earlier agent left the port. The port continues from there if it is up. It is nil
	// if there was none.
	Before *Before
}

// A Before is a port's partner, which counts as received now, and its mux state.
type Before struct {
	Partner Info
	Mux     Mux
}

// A Frame is an outgoing Ethernet frame, without FCS.
type Frame struct {
	Port string
	Data []byte
}

// Counts are the counters of a port.
type Counts struct {
	Sent, Received             uint64 // numbers of LACPDUs
	Markers, Answered, Answers uint64 // markers received, marker responses sent and received
	Discarded                  map[Discarded]uint64
	// number of transitions of the receive machine, and of times when the port began or stopped carrying traffic
	Expired, Defaulted, Changed uint64
}

// An Agent runs LACP at the ports of a switch. It is used by one goroutine at a time.
type Agent struct {
	aggregates map[string]*aggregate
	ports      map[string]*port
	out        []Frame
	nowhere    uint64 // number of frames at ports that are in no aggregation
}

// New returns an agent without aggregations.
func New() *Agent {
	return &Agent{aggregates: map[string]*aggregate{}, ports: map[string]*port{}}
}

type aggregate struct {
	Aggregate
	ports []*port // ports sorted by number
	// partner is the system and key of the selected ports; zero if there is none.
	partner group
}

// Configure sets the aggregations. A port that stays in one, with the same identity, keeps its state.
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
				continue // a port is in at most one aggregation, the first
			}
			p := a.ports[m.Name]
			if p == nil || p.of != g || p.Number != m.Number || p.Incarnation != m.Incarnation {
				p = renew(now, g, m, p)
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

// Receive processes a frame that came in at a port; the data is only read, during the call. If it is discarded, the
// error is a [Discarded] with the reason.
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

// InForce reports whether the switch now collects at a port.
func (a *Agent) InForce(now time.Time, name string, collecting bool) {
	if p := a.ports[name]; p != nil && p.collects != collecting {
		p.collects = collecting
		p.ntt = p.ntt || p.mux >= MuxCollecting
		a.run(now)
	}
}

// Resume reports that for a duration frames could be neither received nor sent: timeouts are extended by it, and all
// ports send at the next [Agent.Advance].
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

// Advance runs the timers that are due.
func (a *Agent) Advance(now time.Time) {
	due := false
	for _, p := range a.ports {
		due = p.expire(now) || due
	}
	if due {
		a.run(now)
	}
}

// Next returns the time of the next timer, false if there is none.
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

// Frames returns the frames to send, and clears them.
func (a *Agent) Frames() []Frame {
	out := a.out
	a.out = nil
	return out
}

// run runs the machines of all ports until none changes, and sends the frames that are due.
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

// send sends a LACPDU if one is needed and the rate limit allows it, 6.4.16.
func (a *Agent) send(now time.Time, p *port) {
	if !p.ntt || !p.enabled() {
		return
	}
	if n := len(p.sent); n >= maxSent && now.Before(p.sent[n-maxSent].Add(FastPeriodic)) {
		return // timers has the time from which it is allowed
	}
	a.out = append(a.out, Frame{p.Name, format(p.MAC, p.actor(), p.partner)})
	p.sent = append(p.sent, now)
	p.sent = p.sent[max(0, len(p.sent)-maxSent):]
	p.counts.Sent++
	p.ntt = false
}
