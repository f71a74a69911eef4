package routes

import (
	"context"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A target is where a route in the ASIC leads.
type target struct {
	drop  bool
	oid   sai.OID // CPU port, router interface, next hop or group
	hop   hop     // the next hop, if the target is one
	group string  // the group, if the target is one
	// unsure means that the route in the ASIC may have other attributes: a change failed half-way, and so did the
	// removal.
	unsure bool
}

func (t target) attrs() []sai.Attr {
	action := sai.PacketActionForward
	if t.drop {
		action = sai.PacketActionDrop
	}
	return []sai.Attr{
		{ID: sai.RouteEntryAttrPacketAction, Value: action},
		{ID: sai.RouteEntryAttrNextHopID, Value: t.oid},
	}
}

// use adds n to the number of routes that lead to a target. n is 1 or -1.
func (o *Orch) use(t target, n int) {
	switch {
	case t.group != "":
		o.groups[t.group].refs += n
	case t.hop != (hop{}):
		o.hops[t.hop].refs += n
	}
}

func (o *Orch) routeEntry(to schema.Dest) sai.RouteEntry {
	return sai.RouteEntry{Switch: o.switchID, VR: o.vrfs[to.VRF], Dest: to.Prefix}
}

// makeRoutes removes, changes and creates routes to match the plan. It reports whether some did not fit but may fit
// once unused objects are removed.
func (o *Orch) makeRoutes(ctx context.Context, p *plan) (short bool) {
	all := make(map[schema.Dest]bool, len(p.routes))
	for prefix := range p.routes {
		all[prefix] = true
	}
	for prefix := range o.routes {
		all[prefix] = true
	}
	for vrf := range p.vrfs {
		for _, prefix := range defaultRoutes {
			all[schema.Dest{VRF: vrf, Prefix: prefix}] = true
		}
	}
	return o.bring(ctx, p, all)
}

// bring does the work of makeRoutes for some prefixes.
func (o *Orch) bring(ctx context.Context, p *plan, some map[schema.Dest]bool) (short bool) {
	list := slices.SortedFunc(maps.Keys(some), schema.Dest.Compare)
	wanted, short := o.targets(ctx, p, list)
	var gone, moved, missing []schema.Dest
	for _, prefix := range list {
		have, is := o.routes[prefix]
		switch want, ok := wanted[prefix]; {
		case is && !ok:
			gone = append(gone, prefix)
		case ok && !is:
			missing = append(missing, prefix)
		case have != want:
			moved = append(moved, prefix)
		}
	}
	o.removeRoutes(ctx, gone)
	o.moveRoutes(ctx, p, moved, wanted)
	return o.createRoutes(ctx, p, missing, wanted) || short
}

// targets returns the targets of the planned routes to a list of prefixes, as far as they are in the ASIC.
func (o *Orch) targets(
	ctx context.Context, p *plan, list []schema.Dest,
) (wanted map[schema.Dest]target, short bool) {
	wanted = make(map[schema.Dest]target, len(list))
	for _, prefix := range list {
		spec, planned := p.routes[prefix]
		switch {
		case !planned || o.ledger.Refused(spec.row) || o.vrfs[prefix.VRF] == 0:
		case spec.cpu:
			wanted[prefix] = target{oid: o.ports.CPU()}
		case spec.link != "":
			r := o.rifs[spec.link]
			if r == nil || r.leaving {
				o.ledger.Why[spec.row] = orch.Wait("interface", spec.link, "the router interface %s is not in the ASIC", spec.link)
				continue
			}
			wanted[prefix] = target{oid: r.oid}
		case len(spec.hops) == 0:
			wanted[prefix] = target{drop: true}
		default:
			t, ok, lacks := o.targetOf(ctx, p, spec)
			if ok {
				wanted[prefix] = t
			}
			short = short || lacks
		}
	}
	for _, prefix := range list { // the target of a default route's row may be missing
		if _, ok := wanted[prefix]; !ok && p.vrfs[prefix.VRF] && o.vrfs[prefix.VRF] != 0 &&
			slices.Contains(defaultRoutes[:], prefix.Prefix) && !o.ledger.Refused(ownRow(prefix)) {
			wanted[prefix] = target{drop: true}
		}
	}
	return wanted, short
}

// targetOf returns the target of a route with next hops, and records the reason if it has none. If there is no capacity
// for a group, its first next hop is used for all packets.
func (o *Orch) targetOf(ctx context.Context, p *plan, spec routeSpec) (t target, ok, short bool) {
	hops, lacks := o.usable(p, spec)
	if len(spec.hops) > 1 {
		up, down := p.withoutDown(hops)
		hops, lacks = up, append(lacks, down...)
	}
	if len(lacks) > 0 {
		o.ledger.Notes[spec.row] = joined(lacks)
	}
	switch len(hops) {
	case 0:
		o.ledger.Why[spec.row] = orch.Wait("neighbour", spec.row.Key, "%s", joined(lacks))
		return target{}, false, false
	case 1:
		o.single.note(spec.row.Key, "")
	default:
		lack := o.single.former(spec.row.Key, o.applied)
		if lack == "" {
			name, err := o.makeGroup(ctx, hops)
			if err == nil {
				o.single.note(spec.row.Key, "")
				return target{oid: o.groups[name].oid, group: name}, true, false
			}
			if orch.Classify(err) != orch.Retry {
				o.ledger.Fail(spec.row, "route", err)
				return target{}, false, false
			}
			lack = orch.Explain(err)
		}
		o.single.note(spec.row.Key, lack)
		lacks = append(lacks, "only "+hopOf(hops[0]).String()+" is used: "+lack)
		o.ledger.Notes[spec.row] = joined(lacks)
		short = true
	}
	h := hopOf(hops[0])
	return target{oid: o.hops[h].oid, hop: h}, true, short
}

func hopOf(h schema.Hop) hop { return hop{h.Interface, h.Addr} }

func (o *Orch) removeRoutes(ctx context.Context, list []schema.Dest) {
	keys := make([]sai.Key, len(list))
	for i, prefix := range list {
		keys[i] = sai.EntryKey(o.routeEntry(prefix))
	}
	for i, err := range o.removeAll(ctx, keys) {
		if err != nil {
			o.stays("a route", list[i].String(), err)
			continue
		}
		o.use(o.routes[list[i]], -1)
		delete(o.routes, list[i])
	}
}

// moveRoutes sets the attributes that differ. A dropping route gets its target before it stops dropping. A route that
// is to drop begins to drop before it loses its target. A route that cannot be moved is removed, since its target may
// be about to be removed.
func (o *Orch) moveRoutes(ctx context.Context, p *plan, list []schema.Dest, wanted map[schema.Dest]target) {
	failed := map[schema.Dest]bool{}
	set := func(which func(have, want target) bool, attr int) {
		var keys []sai.Key
		var attrs []sai.Attr
		var of []schema.Dest
		for _, prefix := range list {
			if have, want := o.routes[prefix], wanted[prefix]; which(have, want) && !failed[prefix] {
				keys, of = append(keys, sai.EntryKey(o.routeEntry(prefix))), append(of, prefix)
				attrs = append(attrs, want.attrs()[attr])
			}
		}
		if len(keys) == 0 {
			return
		}
		for i, err := range o.api.BulkSet(ctx, keys, attrs) {
			if err != nil {
				failed[of[i]] = true
				o.ledger.Fail(p.routes[of[i]].row, "set the route to "+of[i].String(), err)
			}
		}
	}
	const action, nextHop = 0, 1
	set(func(have, want target) bool { return want.drop && (!have.drop || have.unsure) }, action)
	set(func(have, want target) bool { return have.oid != want.oid || have.unsure }, nextHop)
	set(func(have, want target) bool { return !want.drop && (have.drop || have.unsure) }, action)
	var stuck []schema.Dest
	for _, prefix := range list {
		if failed[prefix] {
			stuck = append(stuck, prefix)
			continue
		}
		o.use(o.routes[prefix], -1)
		o.use(wanted[prefix], 1)
		o.routes[prefix] = wanted[prefix]
	}
	o.removeRoutes(ctx, stuck)
	for _, prefix := range stuck {
		if left, is := o.routes[prefix]; is {
			left.unsure = true
			o.routes[prefix] = left
		}
	}
}

func (o *Orch) createRoutes(
	ctx context.Context, p *plan, list []schema.Dest, wanted map[schema.Dest]target,
) (short bool) {
	if len(list) == 0 {
		return false
	}
	entries, attrs := make([]sai.Entry, len(list)), make([][]sai.Attr, len(list))
	for i, prefix := range list {
		entries[i], attrs[i] = o.routeEntry(prefix), wanted[prefix].attrs()
	}
	for i, err := range o.api.BulkCreateEntries(ctx, entries, attrs) {
		if err != nil {
			o.ledger.Fail(p.routes[list[i]].row, "create the route to "+list[i].String(), err)
			short = short || orch.Classify(err) == orch.Retry
			continue
		}
		o.use(wanted[list[i]], 1)
		o.routes[list[i]] = wanted[list[i]]
	}
	return short
}
