package device

import (
	"net/netip"

	"tamtam/mirrororch"
	"tamtam/orch"
	"tamtam/routeorch"
	"tamtam/schema"
)

// mirrorRoutes are the routes as mirrororch wants to see them.
type mirrorRoutes struct{ *routeorch.Orch }

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
