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
		create: rt.checkNeighbor,
		row: func(o *object) (config.Row, error) {
			k := o.key.Entry.(sai.NeighborEntry)
			m := o.mac(sai.NeighborEntryAttrDstMACAddress)
			return config.Neighbor{
				Interface: config.ID(k.RIF), IP: k.IP, MAC: m, Action: o.does(sai.NeighborEntryAttrPacketAction),
				HostRoute: !o.flag(sai.NeighborEntryAttrNoHostRoute),
			}, rt.checkNeighborMAC(k.RIF, sai.MAC(m))
		},
		made: func(o *object) { rt.behind(o.key.Entry.(sai.NeighborEntry).RIF, 1) },
		gone: func(o *object) { rt.behind(o.key.Entry.(sai.NeighborEntry).RIF, -1) },
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.NeighborEntryAttrIPAddrFamily: func(o *object) sai.Value { return family(o.key.Entry.(sai.NeighborEntry).IP) },
		},
	}
}

// checkNeighborMAC rejects the address of a neighbour that is no unicast address. An interface on a VLAN may have a
// neighbour with the broadcast address, for directed broadcasts.
func (rt *router) checkNeighborMAC(rif sai.OID, m sai.MAC) error {
	r, _ := row[config.Interface](rt.core, rif)
	if _, onVLAN := config.Find[config.VLAN](rt.tables, r.On); onVLAN && m == (sai.MAC{255, 255, 255, 255, 255, 255}) {
		return nil
	}
	return unicast(sai.NeighborEntryAttrDstMACAddress, m)
}

func (rt *router) checkNeighbor(o *object) error {
	k := o.key.Entry.(sai.NeighborEntry)
	if !k.IP.IsValid() || k.IP.IsMulticast() || k.IP.IsUnspecified() || k.IP.Zone() != "" {
		return refuse("create", sai.ObjectTypeNeighborEntry, 0, sai.StatusInvalidParameter, "ip %s, want a unicast address",
			k.IP)
	}
	if rt.leadsNowhere(k.RIF) {
		return refuse("create", sai.ObjectTypeNeighborEntry, 0, sai.StatusInvalidParameter, "a loopback has no neighbours")
	}
	return nil
}
