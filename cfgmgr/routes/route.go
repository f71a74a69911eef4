package routes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss/schema"
)

// protocolStatic is FRR's name of static routes.
const protocolStatic = "static"

// decideRoutes decides on static routes. It uses the usable next hops with the smallest distance. A route without a
// usable next hop waits.
func (d *decision) decideRoutes() {
	taken := map[schema.Dest]string{}
	for _, key := range slices.SortedFunc(maps.Keys(d.routes), schema.CompareStaticRoutes) {
		d.decideRoute(key, taken)
	}
}

// decideRoute decides on a static route, after the routes that have precedence over it. taken maps the prefixes of
// decided routes to their keys.
func (d *decision) decideRoute(key string, taken map[schema.Dest]string) {
	row, state := d.routes[key], stateRoute(key)
	var route schema.Route
	missing := ""
	if row.err == nil {
		if other := taken[row.row.Dest]; other != "" {
			d.refuse(state, "%s is the same route, and has a row of its own", other)
			return
		}
		taken[row.row.Dest] = key
		if route, missing = d.resolve(row.row); row.row.VRF != "" && !d.vrfs.valid(row.row.VRF) {
			missing = fmt.Sprintf("VRF %q does not exist", row.row.VRF)
		}
	}
	d.accept(applRoute(row.row.Dest), state, key, func() map[string]string { return route.Fields() }, row.err, missing)
}

// decideChanged decides on the changed static routes, and on all static routes with the same prefixes. No other rows
// may have changed since the last decision on all rows.
func (d *decision) decideChanged() {
	for key := range d.changed {
		d.out.Unreport(stateRoute(key))
		if row, ok := d.routes[key]; ok && row.err != nil {
			d.decideRoute(key, nil)
		}
	}
	for dest := range d.prefixes {
		d.out.Drop(applRoute(dest))
		taken := map[schema.Dest]string{}
		keys := d.byPrefix.Keys(dest)
		slices.SortFunc(keys, schema.CompareStaticRoutes)
		for _, key := range keys {
			d.out.Unreport(stateRoute(key))
			d.decideRoute(key, taken)
		}
	}
}

func stateRoute(key string) forward.Row { return forward.Row{Table: schema.StateStaticRoute, Key: key} }

func applRoute(to schema.Dest) forward.Row {
	return forward.Row{Table: schema.AppRoute, Key: to.Key()}
}

// resolve chooses the next hops of a route, or returns the reasons why none is usable.
func (d *decision) resolve(s schema.StaticRoute) (schema.Route, string) {
	route := schema.Route{Dest: s.Dest, Protocol: protocolStatic}
	var lacks []string
	best := -1
	for _, h := range s.Hops {
		hop, lack := d.resolveHop(h)
		if lack != "" {
			lacks = append(lacks, lack)
			continue
		}
		switch dist := int(h.Distance); {
		case best >= 0 && dist > best:
			continue
		case dist < best || best < 0:
			best, route.Hops, route.Blackhole = dist, nil, false
		}
		if h.Blackhole {
			route.Blackhole = true
			continue
		}
		route.Hops = append(route.Hops, hop)
	}
	if best < 0 {
		return route, strings.Join(slices.Compact(lacks), "; ")
	}
	if len(route.Hops) > 0 { // a hop that drops packets is ignored if there is another hop
		route.Blackhole = false
	}
	slices.SortFunc(route.Hops, schema.Hop.Compare)
	route.Hops = slices.CompactFunc(route.Hops, func(a, b schema.Hop) bool { return a.Compare(b) == 0 })
	return route, ""
}

// inVRF names a VRF, if it is not the default one.
func inVRF(vrf string) string {
	if vrf == "" {
		return ""
	}
	return " of " + vrf
}

// resolveHop determines the interface of a next hop, or returns the reason why there is none.
func (d *decision) resolveHop(h schema.StaticHop) (schema.Hop, string) {
	hop := schema.Hop{Addr: h.Addr, Interface: h.Interface, Weight: 1}
	switch {
	case h.Blackhole:
		return hop, ""
	case h.Addr.IsValid() && d.own[place{h.VRF, h.Addr}] != "":
		return hop, fmt.Sprintf("next hop %s is the switch's own address, of %s", h.Addr, d.own[place{h.VRF, h.Addr}])
	case schema.IsLoopbackName(hop.Interface):
		return hop, fmt.Sprintf("%s leads to no next hop", hop.Interface)
	case hop.Interface != "" && !d.routed[hop.Interface]:
		return hop, d.unrouted(hop.Interface)
	case hop.Interface != "" && d.vrfOf(hop.Interface) != h.VRF:
		return hop, fmt.Sprintf("%s is in VRF %s, and the next hop in %s: nexthop-vrf names that of the next hop",
			hop.Interface, schema.VRFName(d.vrfOf(hop.Interface)), schema.VRFName(h.VRF))
	case hop.Interface != "":
		return hop, ""
	}
	name, ok := d.connected(h.VRF, h.Addr)
	if !ok {
		return hop, fmt.Sprintf("next hop %s is in the subnet of no interface%s", h.Addr, inVRF(h.VRF))
	}
	hop.Interface = name
	return hop, ""
}
