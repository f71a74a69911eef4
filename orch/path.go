package orch

import (
	"context"
	"net/netip"

	"tamtam/sai"
)

// A Path is the path to an address for packets that the switch itself sends.
type Path struct {
	Port        string     // port or PortChannel
	VLAN        uint16     // VLAN tag of the packets at the port; 0 means none
	NextHop     netip.Addr // address of the neighbour that receives the packets
	Source, MAC sai.MAC    // MAC addresses of the switch and of the neighbour
	Address     netip.Addr // source address of the switch, preferably a loopback's; invalid if there is none
	AtPort      netip.Addr // address of the switch at the interface; the same as Address if it has none
}

// Paths provides the paths; routeorch implements it, through device.
type Paths interface {
	// Path returns the path to an address. The error contains the reason if there is none.
	Path(to netip.Addr) (Path, error)
	// Want sets the addresses to which paths are needed. Missing neighbours on these paths are resolved.
	Want(ctx context.Context, to []netip.Addr)
	// Changes signals that paths may have changed.
	Changes() *Topic[struct{}]
}

// ExitPorts finds the ports at which paths leave the switch. portsorch implements it.
type ExitPorts interface {
	// Port returns a port's object and the LAG that it is a member of ("" if none).
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
}

// Exit returns the port at which the path leaves the switch. For a PortChannel it is the first member, as in SONiC.
func (w Path) Exit(ports ExitPorts) (name string, oid sai.OID, err error) {
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
