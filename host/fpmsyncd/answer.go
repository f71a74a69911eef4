package fpmsyncd

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/host/fpm"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// zebra receives an answer for each route once it is in the ASIC, which orchagent reports on a channel. Pending answers
// are kept until then. If the row exists already, it is written once more, so that orchagent reports on it again.

const (
	mostOwed   = 64 << 20 // bytes of messages that are kept completely; beyond that only the destination is kept
	mostQueued = 16 << 20 // bytes of answers that zebra has not read
	askPeriod  = 30 * time.Second
	askRows    = 1024 // rows that are written once more in one period
)

// owes holds the pending answers to the connected zebra.
type owes struct {
	send     func(frame []byte) bool // returns false if zebra reads too slowly; nil if none is connected
	messages map[netip.Prefix]string
	size     int // bytes of messages
	asked    netip.Prefix
	// back holds routes whose removal from the ASIC could not be reported yet, as zebra reads too slowly.
	back map[netip.Prefix]bool
	// due holds routes that need no row, whose answer could not be sent yet, as zebra reads too slowly.
	due map[netip.Prefix]bool
}

func newOwes(send func([]byte) bool) owes {
	return owes{send: send, messages: map[netip.Prefix]string{}, back: map[netip.Prefix]bool{},
		due: map[netip.Prefix]bool{}}
}

func (o *owes) add(dest netip.Prefix, raw []byte) {
	if o.send == nil {
		return
	}
	if o.remove(dest); len(o.messages) >= mostRoutes {
		return
	}
	if o.size+len(raw) > mostOwed {
		raw = fpm.Short(raw)
	}
	o.messages[dest] = string(raw)
	o.size += len(raw)
}

func (o *owes) remove(dest netip.Prefix) {
	if m, is := o.messages[dest]; is {
		o.size -= len(m)
		delete(o.messages, dest)
		delete(o.back, dest)
		delete(o.due, dest)
	}
}

func (o *owes) has(dest netip.Prefix) bool {
	_, is := o.messages[dest]
	return is
}

// answer sends the pending answer about a route, and reports whether it did. It is retried later if zebra does not
// read.
func (o *owes) answer(dest netip.Prefix) bool {
	m, is := o.messages[dest]
	if !is || !o.back[dest] && !o.send(fpm.Offloaded([]byte(m))) {
		return false
	}
	o.remove(dest) // also from back: zebra was not notified that it had left
	return true
}

// answerDue sends the answer about a route that needs no row, as soon as zebra reads.
func (o *owes) answerDue(dest netip.Prefix) {
	if !o.answer(dest) && o.has(dest) {
		o.due[dest] = true
	}
}

// withdraw notifies zebra, as soon as it reads, that a route has left the ASIC. From then on an answer is pending
// again.
func (o *owes) withdraw(dest netip.Prefix, protocol uint8) {
	if o.send == nil {
		return
	}
	m := fpm.Named(dest, protocol)
	o.add(dest, m)
	if !o.send(fpm.OffloadFailed(m)) && o.has(dest) {
		o.back[dest] = true
	}
}

// responded processes orchagent's report whether a row is in the ASIC.
func (s *Sync) responded(_ context.Context, m swss.KeyOpFieldsValues) error {
	dest, ok := prefixOf(strings.TrimPrefix(m.Key, schema.DefaultVRF+":"))
	r := s.routes[dest]
	if !ok || r == nil || r.have == nil || r.want != r.have || !reportsOn(m.FieldValues(), r.have.row) {
		return nil // it is not about the current route of zebra
	}
	switch {
	case m.Op == schema.ResponseSuccess:
		r.answered = s.owes.answer(dest) || r.answered
	case r.answered:
		r.answered = false
		s.owes.withdraw(dest, r.protocol)
	}
	return nil
}

// reportsOn reports whether a message is about a row. SONiC's orchagent sends only the protocol field.
func reportsOn(is swss.FieldValues, have row) bool {
	delete(is, schema.FieldErrStr)
	if len(is) == 1 {
		return is[fieldProtocol] == have.protocol
	}
	return rowOf(is) == have
}

// askAgain writes some of the rows with pending answers once more, since a message may be lost.
func (s *Sync) askAgain(context.Context, time.Time) error {
	for dest := range s.owes.back {
		s.owes.withdraw(dest, s.routes[dest].protocol)
	}
	for dest := range s.owes.due {
		s.owes.answerDue(dest)
	}
	list := slices.SortedFunc(maps.Keys(s.owes.messages), netip.Prefix.Compare)
	at, _ := slices.BinarySearchFunc(list, s.owes.asked, netip.Prefix.Compare)
	for i := range min(askRows, len(list)) {
		dest := list[(at+i)%len(list)]
		if r := s.routes[dest]; r != nil && r.want != nil {
			s.dirty[dest] = true
		}
		s.owes.asked = dest
	}
	return nil
}

// An outbox has the frames that a zebra has not read yet.
type outbox struct {
	mu    sync.Mutex
	bytes []byte
	ready chan struct{}
}

// put adds a frame, and reports whether there is space for it.
func (o *outbox) put(frame []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.bytes)+len(frame) > mostQueued {
		return false
	}
	o.bytes = append(o.bytes, frame...)
	select {
	case o.ready <- struct{}{}:
	default:
	}
	return true
}

// write writes frames to zebra until stop is closed or the connection fails, which its reader notices too.
func (o *outbox) write(conn net.Conn, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-o.ready:
		}
		o.mu.Lock()
		b := o.bytes
		o.bytes = nil
		o.mu.Unlock()
		if _, err := conn.Write(b); err != nil {
			conn.Close()
			return
		}
	}
}
