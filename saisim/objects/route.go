package objects

import (
	"net/netip"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (rt *router) routeKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.RouteEntryAttrPacketAction, sai.RouteEntryAttrNextHopID, sai.RouteEntryAttrIPAddrFamily,
		},
		create: rt.createRoute,
		row: func(o *object) (config.Row, error) {
			k := o.key.Entry.(sai.RouteEntry)
			r := config.Route{
				Router: config.ID(k.VR), Prefix: k.Dest.Masked(), Action: o.does(sai.RouteEntryAttrPacketAction),
				NextHop: o.refID(sai.RouteEntryAttrNextHopID),
			}
			return r, rt.checkNextHop(sai.OID(r.NextHop))
		},
		made: func(o *object) { *rt.routesUsed(o.key.Entry.(sai.RouteEntry).Dest)++ },
		gone: func(o *object) { *rt.routesUsed(o.key.Entry.(sai.RouteEntry).Dest)-- },
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.RouteEntryAttrIPAddrFamily: func(o *object) sai.Value {
				return family(o.key.Entry.(sai.RouteEntry).Dest.Addr())
			},
		},
	}
}

// createRoute accepts a prefix with bits behind its length, which do not count. SONiC makes such routes.
func (rt *router) createRoute(o *object) error {
	k := o.key.Entry.(sai.RouteEntry)
	p := k.Dest
	bad := func(s sai.Status, format string, args ...any) error {
		return refuse("create", sai.ObjectTypeRouteEntry, 0, s, format, args...)
	}
	if !p.IsValid() {
		return bad(sai.StatusInvalidParameter, "prefix %s, want one whose length fits its address", p)
	}
	at := config.Key{Table: config.RouteTable, ID: config.ID(k.VR), Of: p.Masked()}
	if _, there := rt.tables[config.RouteTable][at]; there {
		return bad(sai.StatusItemAlreadyExists, "prefix %s, want one that differs from that of every other route: bits "+
			"behind the length do not count", p)
	}
	if *rt.routesUsed(p) >= rt.maxRoutes(p) {
		return bad(sai.StatusTableFull, "all %d routes are in use", rt.maxRoutes(p))
	}
	return nil
}

// checkNextHop rejects an object that cannot be the next hop of a route.
func (rt *router) checkNextHop(oid sai.OID) error {
	if _, ok := row[config.Port](rt.core, oid); ok {
		return badValue(sai.RouteEntryAttrNextHopID, sai.StatusNotSupported, "of ports, routes lead to the CPU port only")
	}
	return nil
}

// routesUsed and maxRoutes return the numbers for the prefix's family.
func (rt *router) routesUsed(p netip.Prefix) *uint32 {
	if p.Addr().Is4() {
		return &rt.used4
	}
	return &rt.used6
}

func (rt *router) maxRoutes(p netip.Prefix) uint32 {
	if p.Addr().Is4() {
		return rt.prof.IPv4Routes
	}
	return rt.prof.IPv6Routes
}

// routesLeft returns how many more routes of IPv4 or IPv6 fit.
func (rt *router) routesLeft(six bool) uint32 {
	if six {
		return rt.prof.IPv6Routes - rt.used6
	}
	return rt.prof.IPv4Routes - rt.used4
}

func family(a netip.Addr) sai.Enum {
	if a.Is4() {
		return sai.IPAddrFamilyIPv4
	}
	return sai.IPAddrFamilyIPv6
}
