package hostifd

import (
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// nextHops holds the next hops of all routes, and neighbours that orchagent requests. A route is not in the chip before
// one of its next hops is resolved, and Linux has no packets for them that would trigger this. So nextHops triggers it,
// as SONiC's nbrmgrd does. It belongs to the daemon's goroutine.
type nextHops struct {
	of    map[string][]string // neighbours by route, or by the request of orchagent
	uses  map[string]int      // number of entries in of, by neighbour
	wait  map[string]wait     // waits by neighbour that is being resolved
	moved func(key string)    // called for a neighbour that becomes wanted or unwanted
}

// A wait is the time until a neighbour is resolved again.
type wait struct {
	next time.Time
	long time.Duration
}

// Bounds of the wait between two attempts to resolve a next hop, for each of which Linux sends three requests.
const (
	minWait = 4 * time.Second
	maxWait = time.Minute
)

// mostAsked is the maximum number of attempts at a time.
const mostAsked = 256

func newNextHops(moved func(key string)) nextHops {
	return nextHops{of: map[string][]string{}, uses: map[string]int{}, wait: map[string]wait{}, moved: moved}
}

func (h *nextHops) store(key string, fields swss.FieldValues) {
	var hops []string
	if route, err := schema.ParseRoute(key, fields); fields != nil && err == nil { // orchagent reports a bad row
		for _, hop := range route.Hops {
			if hop.Addr.IsValid() {
				hops = append(hops, keyOf(Neighbor{Interface: hop.Interface, Addr: hop.Addr}))
			}
		}
	}
	h.want(key, hops)
}

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

// want replaces the neighbours that a route, or a request of orchagent, needs.
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

// ask makes Linux resolve the unknown next hops, with growing pauses.
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
		_ = b.kernel.Ask(n) // error ignored: a failure is retried
	}
}
