package device

import (
	"context"
	"net/netip"

	"tamtam/orch"
	mirrororch "tamtam/orchagent/mirror"
	routeorch "tamtam/orchagent/routes"
	"tamtam/recordorch"
	"tamtam/schema"
)

// recordRoutes are the routes as recordorch wants to see them.
type recordRoutes struct{ *routeorch.Orch }

// Way is that of mirror sessions, and the address that packets come from: source, or one
// of the switch's own.
func (r recordRoutes) Way(to, source netip.Addr) (recordorch.Way, error) {
	way, err := mirrorRoutes(r).Way(to)
	if err != nil {
		return recordorch.Way{}, err
	}
	if !source.IsValid() {
		var ok bool
		if source, ok = r.Address(to, way.Port); !ok {
			return recordorch.Way{}, orch.Wait("address", to.String(),
				"no address to send from to %s: the session has no source-ip, "+
					"and no loopback or interface an address of that IP version", to)
		}
	}
	return recordorch.Way{Port: way.Port, Source: way.Source, MAC: way.MAC, Address: source}, nil
}

// Want says where sessions of table recording lead.
func (r recordRoutes) Want(ctx context.Context, to []netip.Addr) {
	r.Orch.Want(ctx, "table recording", to)
}

// mirrorRoutes are the routes as mirrororch wants to see them.
type mirrorRoutes struct{ *routeorch.Orch }

// Want says where mirror sessions lead.
func (r mirrorRoutes) Want(ctx context.Context, to []netip.Addr) {
	r.Orch.Want(ctx, "mirror sessions", to)
}

// Way is the path to an address. A neighbour in a VLAN would have to be looked
// for in the FDB; sessions to such a one are inactive.
func (r mirrorRoutes) Way(to netip.Addr) (mirrororch.Way, error) {
	p, err := r.Lookup(to)
	if err != nil {
		return mirrororch.Way{}, err
	}
	if _, vlan := schema.VLANNumber(p.Interface); vlan {
		return mirrororch.Way{}, orch.Wait("neighbour", p.NextHop.String(),
			"%s is reached by %s: a tunnel has to leave by a routed port or PortChannel", p.NextHop, p.Interface)
	}
	return mirrororch.Way{Port: p.Interface, NextHop: p.NextHop, Source: p.Source, MAC: p.MAC}, nil
}
