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

// Want says to which addresses one of several users wants ways, in place of those before. A neighbour that one of them
// leads to and that is not known is asked for, by a row of NEIGH_RESOLVE_TABLE as SONiC's neighorch writes it. The row
// goes when the neighbour is known or nobody wants it any more. Next hops of routes are asked for without: their routes
// are in the ASIC only when they are known.
func (o *Orch) Want(ctx context.Context, user string, to []netip.Addr) {
	if !slices.Equal(o.asks.wants[user], to) {
		o.asks.wants[user] = to
		o.asks.settle(ctx, o.leads, o.hops)
	}
}

// An asker has neighbours asked for.
type asker struct {
	rows  *swss.ProducerState
	log   *slog.Logger
	wants map[string][]netip.Addr // of users: ways to
	asked map[hop]bool
}

// newAsker takes over what an orchagent before this one asked for.
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

// settle writes what differs between the neighbours that are missing and those that are asked for. What cannot be
// written is tried again with the next change.
func (a *asker) settle(ctx context.Context, leads func(netip.Addr) (hop, error), known map[hop]*nextHop) {
	missing := map[hop]bool{}
	for _, list := range a.wants {
		for _, to := range list {
			if h, err := leads(to); err == nil && h.in(known) == nil {
				missing[h] = true
			}
		}
	}
	fields := swss.Pairs(swss.FieldValues{"mac": "00:00:00:00:00:00"})
	for _, h := range sortedHops(missing) {
		if !a.asked[h] && a.told(h, a.rows.Set(ctx, h.key(), fields)) {
			a.asked[h] = true
		}
	}
	for _, h := range sortedHops(a.asked) {
		if !missing[h] && a.told(h, a.rows.Del(ctx, h.key())) {
			delete(a.asked, h)
		}
	}
}

func (a *asker) told(h hop, err error) bool {
	if err != nil && !errors.Is(err, context.Canceled) {
		a.log.Error("a neighbour is not asked for as it should be", "neighbour", h.String(), "err", err)
	}
	return err == nil
}
