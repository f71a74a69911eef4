package daemons

import (
	"context"
	"net/netip"

	"tamtam/orch"
	routeorch "tamtam/orchagent/routes"
	"tamtam/swss/schema"
)

// paths adapts the routes to the interface of orchs that send the switch's own packets.
type paths struct {
	*routeorch.Orch
	user string // the client that requests neighbours
}

// Want sets the destinations of packets.
func (w paths) Want(ctx context.Context, to []netip.Addr) { w.Orch.Want(ctx, w.user, to) }

// exits provides alternate marking with the facts that it needs from routes.
type exits struct{ *routeorch.Orch }

// Owns reports whether an address is one of the switch's.
func (x exits) Owns(a netip.Addr) bool { return routeorch.Owns(x.Orch, a) }

// Exit returns the interface by which packets to an address leave, and its MTU.
func (x exits) Exit(to netip.Addr) (name string, mtu uint32, err error) {
	return routeorch.Exit(x.Orch, to)
}

// Path returns the path to an address. A neighbour in a VLAN would require a look-up in the FDB, and one at a sub-port
// a tag, so there is no path to such an address.
func (w paths) Path(to netip.Addr) (orch.Path, error) {
	p, err := w.Lookup(to)
	if err != nil {
		return orch.Path{}, err
	}
	_, vlan := schema.VLANNumber(p.Interface)
	if _, _, sub := schema.SubPort(p.Interface); vlan || sub {
		return orch.Path{}, orch.Wait("neighbour", p.NextHop.String(),
			"%s is reached by %s: a tunnel has to leave by a routed port or PortChannel", p.NextHop, p.Interface)
	}
	path := orch.Path{Port: p.Interface, NextHop: p.NextHop, Source: p.Source, MAC: p.MAC}
	path.Address, _ = w.Address(to, p.Interface)
	if path.AtPort = p.Own; !path.AtPort.IsValid() {
		path.AtPort = path.Address
	}
	return path, nil
}
