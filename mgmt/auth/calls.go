package auth

import (
	"net"
	"net/netip"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Bounds on the concurrent calls of one source, summed over all of its connections.
const (
	maxCallsOf     = 64 // number of short RPCs and requests of one source
	maxSubscribeOf = 96 // number of long-lived calls; all sources together may have 128
)

// calls counts the concurrent calls of each source.
type calls struct {
	mu sync.Mutex
	of map[netip.Addr]*[2]int
}

// enter counts a call from an address until leave is called. It refuses the call if the source has too many calls.
// Clients of the unix socket are not counted.
func (c *calls) enter(from net.Addr, lasts bool) (leave func(), err error) {
	source := sourceOf(from)
	if !source.IsValid() {
		return func() {}, nil
	}
	kind, most := 0, maxCallsOf
	if lasts {
		kind, most = 1, maxSubscribeOf
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[source]
	if n == nil {
		n = &[2]int{}
	}
	if n[kind] >= most {
		return nil, status.Errorf(codes.ResourceExhausted, "%d requests of this address go on already", most)
	}
	if n[kind]++; c.of == nil {
		c.of = map[netip.Addr]*[2]int{}
	}
	c.of[source] = n
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if n[kind]--; *n == ([2]int{}) {
			delete(c.of, source)
		}
	}, nil
}
