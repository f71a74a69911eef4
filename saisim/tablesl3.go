package saisim

import (
	"cmp"
	"net/netip"
	"slices"

	"tamtam/sai"
	"tamtam/tam/record"
)

// A RouterRow is the virtual router.
type RouterRow struct {
	OID      sai.OID
	Up4, Up6 bool // it routes IPv4, IPv6
}

// An InterfaceRow is a router interface.
type InterfaceRow struct {
	OID      sai.OID
	On       sai.OID // port, LAG or VLAN; null: a loopback
	MAC      sai.MAC // as given, or as the router's was when it was made
	MTU      uint32  // of the IP packet
	Up4, Up6 bool
	// Missed is the packet action for packets to somebody who is no neighbour;
	// a HOSTIF_TRAP of type NEIGHBOR_MISS takes its place.
	Missed   sai.Enum
	Loopback bool // what came in here may leave here
	// Stats are SAI's, in the order of sai_router_interface_stat_t, not cleared.
	Stats [numRIFCounts]uint64
}

// A NeighborRow is a neighbour.
type NeighborRow struct {
	Interface sai.OID
	IP        netip.Addr
	MAC       sai.MAC
	Action    sai.Enum // a sai_packet_action_t
	HostRoute bool     // it has one; see RouteRow
}

// A NextHopRow is a next hop: the neighbour with this address, if it is one.
type NextHopRow struct {
	OID, Interface sai.OID
	IP             netip.Addr
}

// A HopGroupRow is a group of next hops, in the order in which the hash counts.
type HopGroupRow struct {
	OID     sai.OID
	Members []HopMemberRow
}

// A HopMemberRow is a next hop in a group.
type HopMemberRow struct {
	NextHop sai.OID
	Weight  uint32
}

// A RouteRow is a route. A neighbour's host route has a row of its own, unless
// there is a route for the whole address.
type RouteRow struct {
	Prefix netip.Prefix
	Action sai.Enum // a sai_packet_action_t
	// NextHop is a next hop, a group, a router interface (the subnet is connected)
	// or the CPU port (the address is the switch's own); null: none.
	NextHop sai.OID
	// Host is the interface of the neighbour that the row, or a connected route to
	// the whole address, leads to; null: no such neighbour.
	Host sai.OID
}

// A RecordPlanRow is a plan of table recording.
type RecordPlanRow struct {
	OID        sai.OID
	ID, Switch uint32
	PHV        record.Containers
	Offset     int
	Graph      uint64 // version
	Marks      []record.Mark
	Sessions   []RecordSessionRow
}

// A RecordSessionRow is a session of a plan.
type RecordSessionRow struct {
	Label  string
	Sample uint32 // at least 1
	Tunnel *record.ChipTunnel
}

// routingTables adds routing and mirroring.
func (c *store) routingTables(t *Tables, objects []*object) {
	t.Router = RouterRow{c.defaultRouter.key.OID, c.routes4, c.routes6}
	for _, o := range objects {
		switch x := o.self.(type) {
		case *rif:
			t.Interfaces = append(t.Interfaces, x.row())
		case *nextHop:
			t.NextHops = append(t.NextHops, NextHopRow{o.key.OID, x.adj.rif.o.key.OID, x.adj.ip})
		case *hopGroup:
			r := HopGroupRow{OID: o.key.OID}
			for _, m := range x.members {
				r.Members = append(r.Members, HopMemberRow{m.hop.o.key.OID, m.weight})
			}
			t.HopGroups = append(t.HopGroups, r)
		}
	}
	for _, a := range c.adjacencies {
		if a.o != nil {
			t.Neighbors = append(t.Neighbors, NeighborRow{
				a.rif.o.key.OID, a.ip, macBytes(a.mac), a.o.enum(sai.NeighborEntryAttrPacketAction), !a.o.flag(sai.NeighborEntryAttrNoHostRoute),
			})
		}
	}
	slices.SortFunc(t.Neighbors, func(a, b NeighborRow) int {
		return cmp.Or(cmp.Compare(a.Interface, b.Interface), a.IP.Compare(b.IP))
	})
	for p, d := range c.dests {
		r := RouteRow{Prefix: p, Action: sai.PacketActionForward}
		if d.route != nil {
			r.Action = d.route.enum(sai.RouteEntryAttrPacketAction)
			r.NextHop = d.route.ref(sai.RouteEntryAttrNextHopID)
		}
		if d.kind == destHop && d.hop.o != nil && (d.route == nil || r.NextHop == d.hop.rif.o.key.OID) {
			r.Host = d.hop.rif.o.key.OID
		}
		t.Routes = append(t.Routes, r)
	}
	slices.SortFunc(t.Routes, func(a, b RouteRow) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
	})
}

func (r *rif) row() InterfaceRow {
	row := InterfaceRow{
		OID: r.o.key.OID, MAC: macBytes(r.mac), MTU: r.mtu, Up4: r.up4, Up6: r.up6, Loopback: r.loopback,
		Missed: r.o.enum(sai.RouterInterfaceAttrNeighborMissPacketAction), Stats: r.counts,
	}
	switch {
	case r.vlan != nil:
		row.On = r.vlan.o.key.OID
	case r.lag != nil:
		row.On = r.lag.o.key.OID
	case r.port != nil:
		row.On = r.port.o.key.OID
	}
	return row
}
