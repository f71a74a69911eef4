package auth

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
)

// What clients have the server read and encode takes processors. Shares lets as many go on at once as there are, and
// gives each place that becomes free to the client that has the fewest, of several to the one that was given none for
// the longest time. So a client with many subscriptions keeps another waiting for one piece of work, not for all of its
// own. A stream's work is in pieces of a chunk of entries.

// maxReading bounds the places, whatever processors there are.
const maxReading = 8

// Shares are the places. The zero value has none.
type Shares struct {
	mu      sync.Mutex
	free    int
	clients map[string]*share // those that have a place, or wait
	turns   uint64            // places that were given
}

// A share is what a client has of the places.
type share struct {
	held    int
	last    uint64          // when it was given a place last, in turns
	waiting []chan struct{} // closed when it has a place; the first came first
}

// NewShares returns so many places, all free.
func NewShares(places int) *Shares { return &Shares{free: places, clients: map[string]*share{}} }

// Places is how many there are on this machine.
func Places() int { return min(max(runtime.GOMAXPROCS(0), 2), maxReading) }

// Enter waits for a place.
func (s *Shares) Enter(ctx context.Context, client string) error {
	s.mu.Lock()
	c := s.clients[client]
	if c == nil {
		c = &share{last: s.turns}
		s.clients[client] = c
	}
	turn := make(chan struct{})
	c.waiting = append(c.waiting, turn)
	s.give()
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(c.waiting, turn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		s.forget(client)
	} else { // it was given one just now
		s.back(client)
	}
	return context.Cause(ctx)
}

// Of returns how many places a client has, and how many it waits for.
func (s *Shares) Of(client string) (held, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clients[client]; c != nil {
		return c.held, len(c.waiting)
	}
	return 0, 0
}

// Leave gives a place back.
func (s *Shares) Leave(client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back(client)
}

// back takes a place from a client, and gives it to the next. The caller holds mu.
func (s *Shares) back(client string) {
	s.clients[client].held--
	s.free++
	s.forget(client)
	s.give()
}

// forget forgets a client that has nothing and waits for nothing. The caller holds mu.
func (s *Shares) forget(client string) {
	if c := s.clients[client]; c.held == 0 && len(c.waiting) == 0 {
		delete(s.clients, client)
	}
}

// give gives free places to those that wait. The caller holds mu.
func (s *Shares) give() {
	for s.free > 0 {
		var next *share
		for _, c := range s.clients {
			if len(c.waiting) > 0 && (next == nil || c.before(next)) {
				next = c
			}
		}
		if next == nil {
			return
		}
		s.free--
		s.turns++
		next.held++
		next.last = s.turns
		close(next.waiting[0])
		next.waiting = next.waiting[1:]
	}
}

// before reports whether a client gets a place before another.
func (c *share) before(o *share) bool {
	return c.held < o.held || c.held == o.held && c.last < o.last
}

// Client names who shares places: a user, or where a caller without a name of its own comes from.
func (c *Caller) Client() string {
	if c.user {
		return "user " + c.Name
	}
	host, _, err := net.SplitHostPort(c.From)
	if err != nil {
		return c.Transport + " " + c.From
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		host = oneSource(addr).String()
	}
	return host
}
