package saisim

import (
	"tamtam/sai"
	"tamtam/saisim/config"
)

// A rifObject is what the chip keeps of a ROUTER_INTERFACE object.
type rifObject struct {
	mac     config.MAC // as the router's was when it was made
	cleared rifCounts
}

// routerKind keeps the one virtual router.
func (c *store) routerKind() *kind {
	return &kind{
		max: 1,
		attrs: []sai.AttrID{
			sai.VirtualRouterAttrAdminV4State, sai.VirtualRouterAttrAdminV6State, sai.VirtualRouterAttrSrcMACAddress,
			sai.VirtualRouterAttrLabel,
		},
		row: func(o *object) (config.Row, error) {
			return config.Router{
				ID: o.id(), Up4: o.flag(sai.VirtualRouterAttrAdminV4State), Up6: o.flag(sai.VirtualRouterAttrAdminV6State),
			}, nil
		},
		remove: refuseRemove("the default virtual router stays"),
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.VirtualRouterAttrSrcMACAddress && o.attr(id) == nil {
				return macBytes(c.switchMAC)
			}
			return nil
		},
	}
}

func (c *store) rifKind() *kind {
	k := &kind{
		max: c.prof.RouterInterfaces,
		attrs: []sai.AttrID{
			sai.RouterInterfaceAttrVirtualRouterID, sai.RouterInterfaceAttrType, sai.RouterInterfaceAttrPortID,
			sai.RouterInterfaceAttrVLANID, sai.RouterInterfaceAttrSrcMACAddress, sai.RouterInterfaceAttrAdminV4State,
			sai.RouterInterfaceAttrAdminV6State, sai.RouterInterfaceAttrMTU, sai.RouterInterfaceAttrNeighborMissPacketAction,
			sai.RouterInterfaceAttrLoopbackPacketAction, sai.RouterInterfaceAttrLabel,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.RouterInterfaceAttrType: {sai.RouterInterfaceTypePort, sai.RouterInterfaceTypeVLAN,
				sai.RouterInterfaceTypeLoopback},
			sai.RouterInterfaceAttrLoopbackPacketAction: {sai.PacketActionForward, sai.PacketActionDrop},
		},
		create: c.createRIF,
		row:    c.rifRow,
		remove: c.removeRIF,
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.RouterInterfaceAttrSrcMACAddress && o.attr(id) == nil {
				return sai.MAC(o.self.(*rifObject).mac)
			}
			return nil
		},
	}
	for id := sai.RouterInterfaceStatInOctets; id <= sai.RouterInterfaceStatOutErrorPackets; id++ {
		k.stats = append(k.stats, id)
	}
	k.stat = func(o *object, id sai.StatID) uint64 {
		i := id - sai.RouterInterfaceStatInOctets
		return at[*rif](c.engine, o.id()).counts[i] - o.self.(*rifObject).cleared[i]
	}
	k.clear = func(o *object, id sai.StatID) {
		i := id - sai.RouterInterfaceStatInOctets
		o.self.(*rifObject).cleared[i] = at[*rif](c.engine, o.id()).counts[i]
	}
	return k
}

// createRIF checks that what an interface is to be on is free for it.
func (c *store) createRIF(o *object) error {
	o.self = &rifObject{mac: c.routerMAC()}
	bad := func(id sai.AttrID, s sai.Status, why string) error {
		return refuse("create", sai.ObjectTypeRouterInterface, id, s, "%s", why)
	}
	switch o.enum(sai.RouterInterfaceAttrType) {
	case sai.RouterInterfaceTypeVLAN:
		if v, _ := self[*vlan](c, o.ref(sai.RouterInterfaceAttrVLANID)); v.rif != nil {
			return bad(sai.RouterInterfaceAttrVLANID, sai.StatusItemAlreadyExists, "the VLAN has a router interface already")
		}
	case sai.RouterInterfaceTypePort:
		if s, why := c.mayRoute(o.ref(sai.RouterInterfaceAttrPortID)); why != "" {
			return bad(sai.RouterInterfaceAttrPortID, s, why)
		}
	}
	return nil
}

// mayRoute says why a port or LAG cannot get a router interface, "" if it can. It is in no bridge then.
func (c *store) mayRoute(on sai.OID) (sai.Status, string) {
	if l, ok := self[*lag](c, on); ok {
		switch {
		case l.rif != nil:
			return sai.StatusItemAlreadyExists, "the LAG has a router interface already"
		case l.bridgePort != nil:
			return sai.StatusObjectInUse, "the LAG has a bridge port: it is bridged"
		}
		return 0, ""
	}
	p, ok := self[*port](c, on)
	switch {
	case !ok:
		return sai.StatusInvalidParameter, "want a front-panel port or a LAG"
	case p.rif != nil:
		return sai.StatusItemAlreadyExists, "the port has a router interface already"
	case p.bridgePort != nil:
		return sai.StatusObjectInUse, "the port has a bridge port: it is bridged"
	case p.lag != nil:
		return sai.StatusObjectInUse, "the port is a member of a LAG"
	}
	return 0, ""
}

// rifRow is what an interface's attributes say.
func (c *store) rifRow(o *object) (config.Row, error) {
	r := config.Interface{
		ID: o.id(), MAC: o.self.(*rifObject).mac, MTU: uint32(o.number(sai.RouterInterfaceAttrMTU)),
		Up4: o.flag(sai.RouterInterfaceAttrAdminV4State), Up6: o.flag(sai.RouterInterfaceAttrAdminV6State),
		Missed:   o.does(sai.RouterInterfaceAttrNeighborMissPacketAction),
		Loopback: o.enum(sai.RouterInterfaceAttrLoopbackPacketAction) == sai.PacketActionForward,
	}
	if m, ok := o.attr(sai.RouterInterfaceAttrSrcMACAddress).(sai.MAC); ok {
		if err := unicast(sai.RouterInterfaceAttrSrcMACAddress, m); err != nil {
			return nil, err
		}
		r.MAC = config.MAC(m)
	}
	if n := o.number(sai.RouterInterfaceAttrMTU); n < 68 || n > 65535 {
		return nil, badValue(sai.Attr{ID: sai.RouterInterfaceAttrMTU}, sai.StatusInvalidParameter,
			"MTU %d, want 68 to 65535", n)
	}
	switch o.enum(sai.RouterInterfaceAttrType) {
	case sai.RouterInterfaceTypeVLAN:
		r.On = o.refID(sai.RouterInterfaceAttrVLANID)
	case sai.RouterInterfaceTypePort:
		r.On = o.refID(sai.RouterInterfaceAttrPortID)
	}
	return r, nil
}

// unicast refuses what is no address of a station.
func unicast(id sai.AttrID, m sai.MAC) error {
	if m[0]&1 != 0 || m == (sai.MAC{}) {
		return badValue(sai.Attr{ID: id}, sai.StatusInvalidParameter, "%s, want a unicast address", m)
	}
	return nil
}

// routerMAC is the address that router interfaces have unless they are given
// one: that of the virtual router, which is that of the switch unless given.
func (c *store) routerMAC() config.MAC {
	if c.defaultRouter != nil {
		if m, ok := c.defaultRouter.attr(sai.VirtualRouterAttrSrcMACAddress).(sai.MAC); ok {
			return config.MAC(m)
		}
	}
	return config.MAC(macBytes(c.switchMAC))
}

// removeRIF refuses to remove an interface that is in use.
func (c *store) removeRIF(o *object) error {
	if at[*rif](c.engine, o.id()).behind > 0 {
		return refuse("remove", sai.ObjectTypeRouterInterface, 0, sai.StatusObjectInUse, "it has neighbours or next hops")
	}
	return nil
}
