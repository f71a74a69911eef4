package auth

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
)

// Reading and encoding for clients uses processors. Shares admits as many pieces of work at the same time as there are
// processors. Each admitted piece holds a place. A free place is given to the client with the fewest places, or among
// several to the client served least recently. So a client with many subscriptions delays another client by one piece
// of work, not by all of its own. For a stream, a piece is a chunk of entries.

// maxReading bounds the places, however many processors there are.
const maxReading = 8

// Shares holds the places of all clients. The zero value has no places.
type Shares struct {
	mu      sync.Mutex
	free    int
	clients map[string]*share // clients that have a place or wait for one, by name
	turns   uint64            // number of places that were given
}

// A share is a client's places.
type share struct {
	held    int
	last    uint64          // value of turns when the client was last given a place
	waiting []chan struct{} // channels of waiting requests, in order of arrival; each is closed when it gets a place
}

// NewShares returns shares of that many places, all free.
func NewShares(places int) *Shares { return &Shares{free: places, clients: map[string]*share{}} }

// Places returns the number of places for this machine.
func Places() int { return min(max(runtime.GOMAXPROCS(0), 2), maxReading) }

// Enter waits for a place, or returns an error when ctx ends.
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
	} else { // the client was given a place just before ctx ended
		s.back(client)
	}
	return context.Cause(ctx)
}

// Of returns the number of places that a client has, and the number that it waits for.
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

// back frees a place of a client, and gives it to the next waiting client. The caller holds mu.
func (s *Shares) back(client string) {
	s.clients[client].held--
	s.free++
	s.forget(client)
	s.give()
}

// forget removes a client that has no place and waits for none. The caller holds mu.
func (s *Shares) forget(client string) {
	if c := s.clients[client]; c.held == 0 && len(c.waiting) == 0 {
		delete(s.clients, client)
	}
}

// give gives free places to waiting clients. The caller holds mu.
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

// before reports whether c gets a place before o.
func (c *share) before(o *share) bool {
	return c.held < o.held || c.held == o.held && c.last < o.last
}

// Client returns the name under which a caller shares places: its user, or its source address.
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
