package routes

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Want replaces the set of addresses to which a user needs routes. If the route to an address leads to an unknown
// neighbour, a row of NEIGH_RESOLVE_TABLE requests its resolution, as in SONiC's neighorch. The row is deleted when the
// neighbour is known or no longer needed. Next hops of routes need no such request, because a route is in the ASIC only
// while its next hop is known.
func (o *Orch) Want(ctx context.Context, user string, to []netip.Addr) {
	if !slices.Equal(o.asks.wants[user], to) {
		o.asks.wants[user] = to
		o.flushAsks(ctx)
	}
}

// flushAsks writes the requests for neighbours. If that fails, another pass tries it again soon.
func (o *Orch) flushAsks(ctx context.Context) {
	if !o.asks.flush(ctx, o.leads, o.hops) {
		o.ledger.Again()
	}
}

// An asker requests the resolution of neighbours.
type asker struct {
	rows  *swss.ProducerState
	log   *slog.Logger
	wants map[string][]netip.Addr // addresses that need a route, by user
	asked map[hop]bool
}

// newAsker returns an asker with the requests of a previous orchagent.
func newAsker(ctx context.Context, appl *swss.DB, log *slog.Logger) (*asker, error) {
	a := &asker{
		rows: swss.NewProducerState(appl, schema.AppNeighResolve), log: log, wants: map[string][]netip.Addr{},
		asked: map[hop]bool{},
	}
	keys, err := swss.NewTable(appl, schema.AppNeighResolve).Keys(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		name, text, _ := strings.Cut(key, ":")
		if addr, err := netip.ParseAddr(text); err == nil {
			a.asked[hop{name, addr}] = true
		}
	}
	return a, nil
}

// flush writes the difference between the missing neighbours and the requested ones, and reports whether all was
// written.
func (a *asker) flush(ctx context.Context, leads func(netip.Addr) (hop, error), known map[hop]*nextHop) (all bool) {
	missing := map[hop]bool{}
	for _, list := range a.wants {
		for _, to := range list {
			if h, err := leads(to); err == nil && h.in(known) == nil {
				missing[h] = true
			}
		}
	}
	fields := swss.Pairs(swss.FieldValues{"mac": "00:00:00:00:00:00"})
	all = true
	for _, h := range sortedHops(missing) {
		if !a.asked[h] {
			a.asked[h] = a.reported(h, a.rows.Set(ctx, h.key(), fields))
			all = all && a.asked[h]
		}
	}
	for _, h := range sortedHops(a.asked) {
		if missing[h] {
			continue
		}
		if a.reported(h, a.rows.Del(ctx, h.key())) {
			delete(a.asked, h)
		} else {
			all = false
		}
	}
	return all
}

func (a *asker) reported(h hop, err error) bool {
	if err != nil && !errors.Is(err, context.Canceled) {
		a.log.Error("a neighbour is not asked for as it should be", "neighbour", h.String(), "err", err)
	}
	return err == nil
}
