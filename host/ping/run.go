package ping

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"

	"tamtam/host"
	"tamtam/swss/schema"
)

// A state is that of a request.
type state uint8

const (
	waiting state = iota
	replied
	failed  // an error came
	silent  // nothing came before the timeout
	notSent // the host could not send it
)

// A probe is one request, with what came of it.
type probe struct {
	sent    time.Time
	state   state
	outcome Event
}

// maxEvents is the number of events that an answer holds. Older ones are counted only.
const maxEvents = 200

// A run is a ping or traceroute that goes on.
type run struct {
	schema.Ping
	operation, name string
	source          netip.Addr
	ident           uint16
	data            []byte // data of each request

	probes  []probe   // sent requests; the sequence number is the index plus 1
	next    time.Time // time of the next request; zero if there is none for now
	waiting int       // number of requests that wait
	expired int       // number of requests whose timeout is over

	events    []Event
	forgotten int // number of events before events
	duplicate int
	strange   int
	done      bool
	stopped   bool // true if the client has ended it
	notes     []string

	dropsBefore uint64    // frames that the network had dropped when the run began
	changed     bool      // true if the answer must be written
	written     time.Time // time of the answer's last write
}

// writeGap is the least time between two writes of an answer, so that a flood of messages costs little. The last one is
// written immediately.
const writeGap = 50 * time.Millisecond

// writable returns the time at which the answer must be written. It is zero if it has not changed.
func (r *run) writable() time.Time {
	if !r.changed {
		return time.Time{}
	}
	if r.done {
		return r.written
	}
	return r.written.Add(writeGap)
}

// newRun returns a run that sends its first request now. Its answer is written immediately.
func newRun(p schema.Ping, operation, name string, source netip.Addr, now time.Time) *run {
	digest := sha256.Sum256([]byte(operation + " " + name))
	r := &run{
		Ping: p, operation: operation, name: name, source: source, next: now, changed: true, written: now.Add(-writeGap),
		ident: binary.BigEndian.Uint16(digest[:]), data: make([]byte, p.Size),
	}
	for i := range r.data {
		r.data[i] = digest[2+i%(len(digest)-2)]
	}
	return r
}

// due returns the time of the run's next work. It is zero if the run is done.
func (r *run) due() (at time.Time) {
	if at = r.next; r.done {
		return time.Time{}
	}
	if r.expired < len(r.probes) {
		if over := r.probes[r.expired].sent.Add(r.Timeout); at.IsZero() || over.Before(at) {
			at = over
		}
	}
	return at
}

// advance does what is due: it ends requests without an answer, and sends the next request.
func (r *run) advance(now time.Time, send func(host.Echo) error) {
	if r.done {
		return
	}
	for r.expired < len(r.probes) && !now.Before(r.probes[r.expired].sent.Add(r.Timeout)) {
		r.expired++
		if r.probes[r.expired-1].state == waiting {
			r.conclude(r.expired-1, silent, Event{Kind: kindNoReply})
		}
	}
	r.plan(now)
	if !r.next.IsZero() && !now.Before(r.next) {
		r.send(now, send)
		r.plan(now)
	}
}

// send sends the next request, and sets the time of the one after it.
func (r *run) send(now time.Time, send func(host.Echo) error) {
	n := len(r.probes)
	r.probes = append(r.probes, probe{sent: now})
	r.waiting++
	r.changed = true
	r.next = r.next.Add(r.Interval)
	if r.next.Before(now) { // the daemon was busy
		r.next = now.Add(r.Interval)
	}
	if len(r.probes) == r.Count || r.Trace && len(r.probes)%r.Count == 0 {
		r.next = time.Time{}
	}
	if err := send(host.Echo{
		From: r.source, To: r.Destination, Interface: r.Interface, TTL: byte(r.ttl(n)), Ident: r.ident,
		Sequence: uint16(n + 1), Payload: r.data,
	}); err != nil {
		r.conclude(n, notSent, Event{Kind: kindNotSent, Text: err.Error()})
	}
}

// ttl returns the TTL of a request: that of a ping, or the hop of a traceroute.
func (r *run) ttl(n int) int {
	if r.Trace {
		return n/r.Count + 1
	}
	return r.TTL
}

// plan ends the run after its last request, or continues a traceroute with the next hop.
func (r *run) plan(now time.Time) {
	if r.done || r.waiting > 0 || !r.next.IsZero() {
		return
	}
	if hop := len(r.probes) / r.Count; r.Trace && hop < r.TTL && !r.reached(hop) {
		r.next = now
		return
	}
	r.done, r.changed = true, true
}

// reached reports whether a traceroute ends with a hop: a request was answered by the destination, or had an error that
// one with a greater TTL would have, too.
func (r *run) reached(hop int) bool {
	for i := (hop - 1) * r.Count; i < hop*r.Count; i++ {
		if p := &r.probes[i]; p.state == replied || p.state == notSent || p.state == failed && p.outcome.Kind != kindTTL {
			return true
		}
	}
	return false
}

// conclude sets the state of a request, and adds the event.
func (r *run) conclude(n int, s state, e Event) {
	p := &r.probes[n]
	if p.state == waiting {
		r.waiting--
	}
	p.state = s
	r.add(n, e)
	p.outcome = r.events[len(r.events)-1]
}

// add adds an event of a request.
func (r *run) add(n int, e Event) {
	e.Number, e.Sequence, e.Hop = r.forgotten+len(r.events)+1, n+1, 0
	if r.Trace {
		e.Hop = r.ttl(n)
	}
	if len(r.events) == maxEvents {
		r.events = append(r.events[:0], r.events[1:]...)
		r.forgotten++
	}
	r.events = append(r.events, e)
	r.changed = true
}

// receive processes a message with the run's identifier.
func (r *run) receive(now time.Time, h *heard, ttl byte) {
	n := int(h.seq) - 1
	if n < 0 || n >= len(r.probes) || !r.fits(h) {
		r.strange++
		r.changed = true
		return
	}
	p := &r.probes[n]
	took := now.Sub(p.sent)
	rtt := took.Nanoseconds()
	e := Event{Kind: h.kind, From: h.from.String(), TTL: int(ttl), RTT: &rtt, Text: h.text,
		Late: took > r.Timeout}
	switch {
	case h.kind == kindReply && p.state == replied:
		r.duplicate++
		e.Duplicate, e.Bytes = true, 8+len(h.data)
		r.add(n, e)
	case h.kind == kindReply:
		e.Bytes = 8 + len(h.data)
		r.conclude(n, replied, e)
	case p.state == waiting || p.state == silent:
		if h.kind == kindNoNeighbor {
			e.TTL = 0 // it is the host's own
		}
		r.conclude(n, failed, e)
	default:
		r.strange++
		r.changed = true
	}
	r.plan(now)
}

// fits reports whether a message answers the run's requests: a reply by its source and data, an error by what it
// quotes.
func (r *run) fits(h *heard) bool {
	if h.kind == kindReply {
		return h.from == r.Destination && h.to == r.source && bytes.Equal(h.data, r.data)
	}
	return h.to == r.source && h.quotedTo == r.Destination && h.quotedFrom == r.source
}

// stop ends the run at the request of its client.
func (r *run) stop() {
	if !r.done {
		r.done, r.stopped, r.changed, r.next = true, true, true, time.Time{}
	}
}
