package hostifd

import (
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// nextHops are the next hops of all routes, and neighbours that orchagent wants to be known. A route is not in the
// chip before one of its next hops is known, and Linux has no packet for them that would make it ask: so it is told to,
// as by SONiC's nbrmgrd. It belongs to the daemon's goroutine.
type nextHops struct {
	of    map[string][]string // neighbours, by route, or by themselves where orchagent wants them
	uses  map[string]int      // of these, by neighbour
	wait  map[string]wait     // by neighbour that was asked for
	moved func(key string)    // is called for a neighbour that is wanted now, or no longer is
}

// A wait is when a neighbour is asked for again.
type wait struct {
	next time.Time
	long time.Duration
}

// Bounds of the wait between two times that a next hop is asked for, by Linux three times each.
const (
	minWait = 4 * time.Second
	maxWait = time.Minute
)

// mostAsked is how many are asked for at a time.
const mostAsked = 256

func newNextHops(moved func(key string)) nextHops {
	return nextHops{of: map[string][]string{}, uses: map[string]int{}, wait: map[string]wait{}, moved: moved}
}

// took takes a row of ROUTE_TABLE.
func (h *nextHops) took(key string, fields swss.FieldValues) {
	var hops []string
	if route, err := schema.ParseRoute(key, fields); fields != nil && err == nil { // of a bad one orchagent says so
		for _, hop := range route.Hops {
			if hop.Addr.IsValid() {
				hops = append(hops, keyOf(Neighbor{Interface: hop.Interface, Addr: hop.Addr}))
			}
		}
	}
	h.want(key, hops)
}

// resolve takes a row of NEIGH_RESOLVE_TABLE.
func (h *nextHops) resolve(t orch.Task) {
	n, ok := neighborOf(t.Key, nil)
	switch {
	case !ok:
	case t.Op == orch.Set:
		h.want("neighbour "+t.Key, []string{keyOf(n)})
	default:
		h.want("neighbour "+t.Key, nil)
	}
}

// want has neighbours be wanted for something, in place of those before.
func (h *nextHops) want(what string, neighbors []string) {
	for _, n := range neighbors {
		if h.uses[n]++; h.uses[n] == 1 {
			h.moved(n)
		}
	}
	for _, n := range h.of[what] {
		if h.uses[n]--; h.uses[n] == 0 {
			delete(h.uses, n)
			delete(h.wait, n)
			h.moved(n)
		}
	}
	if h.of[what] = neighbors; len(neighbors) == 0 {
		delete(h.of, what)
	}
}

// ask asks for those that are not known, ever more rarely.
func (h *nextHops) ask(b *neighborhood, p plan, now time.Time) {
	asked := 0
	for _, key := range slices.Sorted(maps.Keys(h.uses)) {
		_, known := b.known[key]
		_, static := b.static[key]
		if known || static {
			delete(h.wait, key)
			continue
		}
		w := h.wait[key]
		n, ok := neighborOf(key, nil)
		if d, there := p.devices[n.Interface]; !ok || !there || !d.Carrier || now.Before(w.next) || asked == mostAsked {
			continue
		}
		asked++
		w.long = min(max(2*w.long, minWait), maxWait)
		w.next = now.Add(w.long)
		h.wait[key] = w
		_ = b.kernel.Ask(n) // what fails now is tried again
	}
}
