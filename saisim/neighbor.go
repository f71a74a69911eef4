package saisim

import (
	"net/netip"

	"tamtam/sai"
)

// An adjacency is somebody behind a router interface, by address: a neighbour
// and the next hops that lead to it share one. It outlives the neighbour while
// there are next hops.
type adjacency struct {
	rif  *rif
	ip   netip.Addr
	o    *object // NEIGHBOR_ENTRY, nil: there is none
	mac  uint64
	act  actions
	hops int
}

type adjacencyKey struct {
	rif *rif
	ip  netip.Addr
}

// adjacency returns that of an address, made if need be.
func (c *store) adjacency(r *rif, ip netip.Addr) *adjacency {
	k := adjacencyKey{r, ip}
	a := c.adjacencies[k]
	if a == nil {
		a = &adjacency{rif: r, ip: ip}
		c.adjacencies[k] = a
	}
	return a
}

func (c *store) releaseAdjacency(a *adjacency) {
	if a.o == nil && a.hops == 0 {
		delete(c.adjacencies, adjacencyKey{a.rif, a.ip})
	}
}

func (c *store) neighborKind() *kind {
	return &kind{
		max: c.prof.Neighbors,
		attrs: []sai.AttrID{
			sai.NeighborEntryAttrDstMACAddress, sai.NeighborEntryAttrPacketAction, sai.NeighborEntryAttrNoHostRoute,
			sai.NeighborEntryAttrIPAddrFamily,
		},
		create: c.createNeighbor,
		set: func(o *object, a sai.Attr) error {
			adj := o.self.(*adjacency)
			switch a.ID {
			case sai.NeighborEntryAttrDstMACAddress:
				return adj.setMAC(a)
			case sai.NeighborEntryAttrPacketAction:
				adj.act = packetAction(a.Value.(sai.Enum))
			case sai.NeighborEntryAttrNoHostRoute:
				c.hostRoute(adj, !bool(a.Value.(sai.Bool)))
			}
			return nil
		},
		remove: func(o *object) error {
			adj := o.self.(*adjacency)
			c.hostRoute(adj, false)
			adj.o = nil
			c.releaseAdjacency(adj)
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.NeighborEntryAttrIPAddrFamily {
				return family(o.self.(*adjacency).ip)
			}
			return nil
		},
	}
}

func family(a netip.Addr) sai.Enum {
	if a.Is4() {
		return sai.IPAddrFamilyIPv4
	}
	return sai.IPAddrFamilyIPv6
}

// setMAC takes the neighbour's MAC address.
func (adj *adjacency) setMAC(a sai.Attr) error {
	m := a.Value.(sai.MAC)
	if m[0]&1 != 0 || m == (sai.MAC{}) {
		return badValue(a, sai.StatusInvalidParameter, "%s, want a unicast address", m)
	}
	adj.mac = mac48(m[:])
	return nil
}

func (c *store) createNeighbor(o *object) error {
	k := o.key.Entry.(sai.NeighborEntry)
	r, _ := self[*rif](c, k.RIF)
	if !k.IP.IsValid() || k.IP.IsMulticast() || k.IP.IsUnspecified() || k.IP.Zone() != "" {
		return refuse("create", sai.ObjectTypeNeighborEntry, 0, sai.StatusInvalidParameter, "ip %s, want a unicast address", k.IP)
	}
	if r.port == nil && r.lag == nil && r.vlan == nil {
		return refuse("create", sai.ObjectTypeNeighborEntry, 0, sai.StatusInvalidParameter, "a loopback has no neighbours")
	}
	mac, _ := sai.Find(o.attrs, sai.NeighborEntryAttrDstMACAddress)
	probe := adjacency{}
	if err := probe.setMAC(sai.Attr{ID: sai.NeighborEntryAttrDstMACAddress, Value: mac}); err != nil {
		return err
	}
	adj := c.adjacency(r, k.IP)
	adj.o, adj.mac = o, probe.mac
	adj.act = packetAction(o.enum(sai.NeighborEntryAttrPacketAction))
	o.self = adj
	c.hostRoute(adj, !o.flag(sai.NeighborEntryAttrNoHostRoute))
	return nil
}
