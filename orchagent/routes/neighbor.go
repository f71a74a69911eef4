package routes

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A nextHop is a neighbour in the ASIC, with its next hop.
type nextHop struct {
	entry   sai.NeighborEntry
	oid     sai.OID
	mac     sai.MAC
	refs    int  // number of routes and groups that use it
	leaving bool // whether its row or its router interface was deleted
}

func (n *nextHop) key() sai.Key { return sai.EntryKey(n.entry) }

// makeNeighbors creates the missing neighbours with their next hops, in bulk, and sets the addresses that differ.
func (o *Orch) makeNeighbors(ctx context.Context, p *plan) {
	var missing []hop
	for _, h := range sortedHops(p.neighbors) {
		spec, have, r := p.neighbors[h], o.hops[h], o.rifs[h.name]
		switch {
		case r == nil || r.leaving || o.ledger.Refused(spec.row):
			o.ledger.Why[spec.row] = orch.Wait("interface", h.name, "the router interface %s is not in the ASIC", h.name)
		case have == nil:
			missing = append(missing, h)
		case !have.leaving && have.mac != spec.mac:
			if err := o.api.Set(ctx, have.key(), sai.Attr{ID: sai.NeighborEntryAttrDstMACAddress, Value: spec.mac}); err != nil {
				o.ledger.Fail(spec.row, fmt.Sprintf("set the neighbour's MAC address to %s", spec.mac), err)
				continue
			}
			have.mac = spec.mac
		}
	}
	if len(missing) > 0 {
		o.createNeighbors(ctx, p, missing)
	}
}

func (o *Orch) createNeighbors(ctx context.Context, p *plan, list []hop) {
	entries, attrs := make([]sai.Entry, len(list)), make([][]sai.Attr, len(list))
	for i, h := range list {
		entries[i] = sai.NeighborEntry{Switch: o.switchID, RIF: o.rifs[h.name].oid, IP: h.addr}
		attrs[i] = []sai.Attr{{ID: sai.NeighborEntryAttrDstMACAddress, Value: p.neighbors[h].mac}}
		if h.addr.IsLinkLocalUnicast() { // the same address may exist on every link
			attrs[i] = append(attrs[i], sai.Attr{ID: sai.NeighborEntryAttrNoHostRoute, Value: sai.Bool(true)})
		}
	}
	var made []hop
	var hops [][]sai.Attr
	for i, err := range o.api.BulkCreateEntries(ctx, entries, attrs) {
		h := list[i]
		if err != nil {
			o.ledger.Fail(p.neighbors[h].row, "create the neighbour", err)
			continue
		}
		o.hops[h] = &nextHop{entry: entries[i].(sai.NeighborEntry), mac: p.neighbors[h].mac}
		made = append(made, h)
		hops = append(hops, []sai.Attr{
			{ID: sai.NextHopAttrType, Value: sai.NextHopTypeIP},
			{ID: sai.NextHopAttrIP, Value: sai.IP{Addr: h.addr}},
			{ID: sai.NextHopAttrRouterInterfaceID, Value: o.rifs[h.name].oid},
		})
	}
	if len(made) == 0 {
		return
	}
	oids, errs := o.api.BulkCreate(ctx, sai.ObjectTypeNextHop, hops)
	for i, h := range made {
		if errs[i] == nil {
			o.hops[h].oid = oids[i]
			continue
		}
		o.ledger.Fail(p.neighbors[h].row, "create the next hop", errs[i])
		o.hops[h].leaving = true // removeNeighbors removes the neighbour again
	}
}

// removeNeighbors removes the neighbours that are leaving, and reports whether any was removed. Those still in use stay
// until a later call.
func (o *Orch) removeNeighbors(ctx context.Context) (freed bool) {
	unused := map[hop]bool{}
	for h, n := range o.hops {
		if n.leaving && n.refs == 0 {
			unused[h] = true
		}
	}
	list := sortedHops(unused)
	var oids []sai.Key
	for _, h := range list {
		n := o.hops[h]
		if n.oid != 0 {
			oids = append(oids, sai.Obj(sai.ObjectTypeNextHop, n.oid))
		}
	}
	left := map[sai.OID]error{}
	for i, err := range o.removeAll(ctx, oids) {
		left[oids[i].OID] = err
	}
	var entries []sai.Key
	var going []hop
	for _, h := range list {
		n := o.hops[h]
		if err := left[n.oid]; err != nil {
			o.neighborStays(h, "remove the next hop", err)
			continue
		}
		n.oid = 0
		entries, going = append(entries, n.key()), append(going, h)
	}
	for i, err := range o.removeAll(ctx, entries) {
		if err != nil {
			o.neighborStays(going[i], "remove the neighbour", err)
			continue
		}
		delete(o.hops, going[i])
		freed = true
	}
	return freed
}

func (o *Orch) neighborStays(h hop, what string, err error) {
	o.stays("a neighbour", h.String(), err)
	k := orch.Row(schema.AppNeigh, h.key())
	if _, ok := o.rows.neighbors[k.Key]; ok && !o.ledger.Refused(k) {
		o.ledger.Fail(k, what, err)
	}
}

// removeAll removes objects of one type.
func (o *Orch) removeAll(ctx context.Context, keys []sai.Key) []error {
	switch {
	case len(keys) == 0:
		return nil
	case o.applied:
		return o.api.BulkRemove(ctx, keys)
	}
	errs := make([]error, len(keys))
	for i, k := range keys {
		errs[i] = o.api.Remove(ctx, k)
	}
	return errs
}
