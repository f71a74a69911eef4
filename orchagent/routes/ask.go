package routes

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"tamtam/schema"
	"tamtam/swss"
)

// Want says to which addresses one of several users wants ways, in place of those before. A neighbour that one of them
// leads to and that is not known is asked for, by a row of NEIGH_RESOLVE_TABLE as SONiC's neighorch writes it. The row
// goes when the neighbour is known or nobody wants it any more. Next hops of routes are asked for without: their routes
// are in the ASIC only when they are known.
func (o *Orch) Want(ctx context.Context, user string, to []netip.Addr) {
	if slices.Equal(o.wants[user], to) {
		return
	}
	o.wants[user] = to
	o.ask(ctx)
}

// ask writes what differs between the neighbours that are missing and those that are asked for. What cannot be written
// is tried again with the next change.
func (o *Orch) ask(ctx context.Context) {
	missing := map[hop]bool{}
	for _, list := range o.wants {
		for _, to := range list {
			if h, _ := o.leads(to); h != (hop{}) && o.neighbor(h) == nil {
				missing[h] = true
			}
		}
	}
	for _, h := range sortedHops(missing) {
		if o.asked[h] {
			continue
		}
		fields := swss.Pairs(swss.FieldValues{"mac": "00:00:00:00:00:00"})
		if o.told(h, o.resolve.Set(ctx, h.key(), fields)) {
			o.asked[h] = true
		}
	}
	for _, h := range sortedHops(o.asked) {
		if !missing[h] && o.told(h, o.resolve.Del(ctx, h.key())) {
			delete(o.asked, h)
		}
	}
}

func (o *Orch) told(h hop, err error) bool {
	if err != nil && !errors.Is(err, context.Canceled) {
		o.log.Error("a neighbour is not asked for as it should be", "neighbour", h.String(), "err", err)
	}
	return err == nil
}

// takeAsked takes over what an orchagent before this one asked for.
func (o *Orch) takeAsked(ctx context.Context, appl *swss.DB) error {
	keys, err := swss.NewTable(appl, schema.AppNeighResolve).Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		name, addr, _ := strings.Cut(key, ":")
		if a, err := netip.ParseAddr(addr); err == nil {
			o.asked[hop{name, a}] = true
		}
	}
	return nil
}
