package saisim

import (
	"net/netip"

	"tamtam/sai"
	"tamtam/saisim/config"
)

func (c *store) routeKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.RouteEntryAttrPacketAction, sai.RouteEntryAttrNextHopID, sai.RouteEntryAttrIPAddrFamily,
		},
		create: c.createRoute,
		row: func(o *object) (config.Row, error) {
			r := config.Route{
				Prefix: o.key.Entry.(sai.RouteEntry).Dest, Action: o.does(sai.RouteEntryAttrPacketAction),
				NextHop: o.refID(sai.RouteEntryAttrNextHopID),
			}
			return r, c.checkNextHop(sai.OID(r.NextHop))
		},
		made: func(o *object) { *c.routesUsed(o.key.Entry.(sai.RouteEntry).Dest)++ },
		remove: func(o *object) error {
			*c.routesUsed(o.key.Entry.(sai.RouteEntry).Dest)--
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.RouteEntryAttrIPAddrFamily {
				return family(o.key.Entry.(sai.RouteEntry).Dest.Addr())
			}
			return nil
		},
	}
}

func (c *store) createRoute(o *object) error {
	p := o.key.Entry.(sai.RouteEntry).Dest
	bad := func(s sai.Status, format string, args ...any) error {
		return refuse("create", sai.ObjectTypeRouteEntry, 0, s, format, args...)
	}
	if !p.IsValid() || p != p.Masked() {
		return bad(sai.StatusInvalidParameter, "prefix %s, want one without bits behind its length", p)
	}
	if *c.routesUsed(p) >= c.maxRoutes(p) {
		return bad(sai.StatusTableFull, "all %d routes are in use", c.maxRoutes(p))
	}
	return nil
}

// checkNextHop refuses what a route cannot lead to.
func (c *store) checkNextHop(oid sai.OID) error {
	if _, ok := self[*port](c, oid); ok {
		return refuse("set", sai.ObjectTypeRouteEntry, sai.RouteEntryAttrNextHopID, sai.StatusNotSupported,
			"of ports, routes lead to the CPU port only")
	}
	return nil
}

// routesUsed and maxRoutes are those of the prefix's family.
func (c *store) routesUsed(p netip.Prefix) *uint32 {
	if p.Addr().Is4() {
		return &c.used4
	}
	return &c.used6
}

func (c *store) maxRoutes(p netip.Prefix) uint32 {
	if p.Addr().Is4() {
		return c.prof.IPv4Routes
	}
	return c.prof.IPv6Routes
}

func family(a netip.Addr) sai.Enum {
	if a.Is4() {
		return sai.IPAddrFamilyIPv4
	}
	return sai.IPAddrFamilyIPv6
}
