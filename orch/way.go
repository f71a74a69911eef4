package orch

import (
	"context"
	"net/netip"

	"tamtam/sai"
)

// A Way is how packets that the switch itself makes leave it to an address.
type Way struct {
	Port        string     // port or PortChannel
	VLAN        uint16     // tag that they carry there; 0: none
	NextHop     netip.Addr // the neighbour that they go to
	Source, MAC sai.MAC    // the switch's and the neighbour's
	Address     netip.Addr // the switch's own that it sends from, a loopback's if there is one; invalid: it has none
	AtPort      netip.Addr // the switch's own at the interface, else Address
}

// Ways knows the ways; routeorch does, through device.
type Ways interface {
	// Way returns the way to an address; the error says why there is none.
	Way(to netip.Addr) (Way, error)
	// Want says which addresses ways are wanted to: a neighbour that is missing on one is asked for.
	Want(ctx context.Context, to []netip.Addr)
	// Changes signals that ways may have changed.
	Changes() *Topic[struct{}]
}

// ExitPorts finds the ports by which ways leave; portsorch does.
type ExitPorts interface {
	// Port returns a port's object and the LAG that it is a member of ("" none).
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
}

// Exit returns the port by which the way leaves the switch: of a PortChannel its first member, as in SONiC.
func (w Way) Exit(ports ExitPorts) (name string, oid sai.OID, err error) {
	name = w.Port
	if _, members, ok := ports.LAG(name); ok {
		if len(members) == 0 {
			return name, 0, Wait("PortChannel", name, "%s has no members", name)
		}
		name = members[0]
	}
	oid, _, ok := ports.Port(name)
	if !ok {
		return name, 0, Wait("port", name, "no port %s", name)
	}
	return name, oid, nil
}
