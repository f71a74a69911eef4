package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

func (rt *router) neighborKind() *kind {
	return &kind{
		max: rt.prof.Neighbors,
		attrs: []sai.AttrID{
			sai.NeighborEntryAttrDstMACAddress, sai.NeighborEntryAttrPacketAction, sai.NeighborEntryAttrNoHostRoute,
			sai.NeighborEntryAttrIPAddrFamily,
		},
		values: neighborValues,
		create: rt.checkNeighbor,
		row: func(o *object) (config.Row, error) {
			k := o.key.Entry.(sai.NeighborEntry)
			m := o.mac(sai.NeighborEntryAttrDstMACAddress)
			return config.Neighbor{
				Interface: config.ID(k.RIF), IP: k.IP, MAC: m, Action: o.does(sai.NeighborEntryAttrPacketAction),
				HostRoute: !o.flag(sai.NeighborEntryAttrNoHostRoute),
			}, rt.checkNeighborMAC(k.RIF, sai.MAC(m))
		},
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.NeighborEntryAttrIPAddrFamily: func(o *object) sai.Value { return family(o.key.Entry.(sai.NeighborEntry).IP) },
		},
	}
}

// isBroadcast reports whether an address is that of all hosts of a VLAN, for directed broadcasts.
func isBroadcast(m sai.MAC) bool { return m == sai.MAC{255, 255, 255, 255, 255, 255} }

// checkNeighborMAC rejects the broadcast address of a neighbour, unless its interface is on a VLAN.
func (rt *router) checkNeighborMAC(rif sai.OID, m sai.MAC) error {
	r, _ := row[config.Interface](rt.core, rif)
	if _, onVLAN := config.Find[config.VLAN](rt.tables, r.On); onVLAN && isBroadcast(m) {
		return nil
	}
	return unicast(sai.NeighborEntryAttrDstMACAddress, m)
}

func neighborValues(o *object) error {
	k := o.key.Entry.(sai.NeighborEntry)
	if !k.IP.IsValid() || k.IP.IsMulticast() || k.IP.IsUnspecified() || k.IP.Zone() != "" {
		return refuse("create", sai.ObjectTypeNeighborEntry, 0, sai.StatusInvalidParameter, "ip %s, want a unicast address",
			k.IP)
	}
	if m := sai.MAC(o.mac(sai.NeighborEntryAttrDstMACAddress)); !isBroadcast(m) {
		return unicast(sai.NeighborEntryAttrDstMACAddress, m)
	}
	return nil
}

func (rt *router) checkNeighbor(o *object) error {
	k := o.key.Entry.(sai.NeighborEntry)
	if rt.leadsNowhere(k.RIF) {
		return refuse("create", sai.ObjectTypeNeighborEntry, 0, sai.StatusInvalidParameter, "a loopback has no neighbours")
	}
	return nil
}
