package orch

import (
	"context"
	"net/netip"

	"tamtam/sai"
)

// A Way is the path on which packets that the switch itself sends leave it towards an address.
type Way struct {
	Port        string     // port or PortChannel
	VLAN        uint16     // their tag there; 0 means none
	NextHop     netip.Addr // the neighbour that receives them
	Source, MAC sai.MAC    // the switch's and the neighbour's
	Address     netip.Addr // the switch's source address, a loopback's if there is one; invalid if there is none
	AtPort      netip.Addr // the switch's address at the interface, else Address
}

// Ways provides the paths; routeorch implements it, through device.
type Ways interface {
	// Way returns the path to an address. The error contains the reason if there is none.
	Way(to netip.Addr) (Way, error)
	// Want sets the addresses to which paths are needed. Missing neighbours on these paths are resolved.
	Want(ctx context.Context, to []netip.Addr)
	// Changes signals that paths may have changed.
	Changes() *Topic[struct{}]
}

// ExitPorts finds the ports by which paths leave; portsorch implements it.
type ExitPorts interface {
	// Port returns a port's object and the LAG that it is a member of ("" if none).
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
}

// Exit returns the port by which the path leaves the switch. For a PortChannel it is the first member, as in SONiC.
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
