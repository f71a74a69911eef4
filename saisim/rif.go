package saisim

import (
	"tamtam/sai"
	"tamtam/saisim/profile"
)

// A rif is a router interface. It is on a port, a LAG or a VLAN; a loopback is
// on none of them.
type rif struct {
	o        *object
	port     *port
	lag      *lag
	vlan     *vlan
	mac      uint64
	mtu      uint32 // of the IP packet
	up4, up6 bool
	loopback bool    // what came in here may leave here
	missed   actions // with packets to who is no neighbour here
	counts   [numRIFCounts]uint64
	cleared  [numRIFCounts]uint64
}

// The counters of a router interface, in the order of SAI's statistics: bytes
// are frames with FCS, as they came in.
const (
	rifIn = 2 * iota
	rifOut
	rifInError
	rifOutError
	numRIFCounts
)

func (r *rif) count(what, bytes int) {
	r.counts[what] += uint64(bytes)
	r.counts[what+1]++
}

// order sorts router interfaces by what they are on.
func (r *rif) order() int {
	switch {
	case r.port != nil:
		return int(r.port.id)
	case r.lag != nil:
		return profile.MaxLanes + int(r.lag.first())
	case r.vlan != nil:
		return 2*int(CPUPort) + int(r.vlan.id)
	}
	return 3 * int(CPUPort)
}

func (r *rif) up(v4 bool) bool { return v4 && r.up4 || !v4 && r.up6 }

// routerKind keeps the one virtual router.
func (c *store) routerKind() *kind {
	return &kind{
		max: 1,
		attrs: []sai.AttrID{
			sai.VirtualRouterAttrAdminV4State, sai.VirtualRouterAttrAdminV6State, sai.VirtualRouterAttrSrcMACAddress,
			sai.VirtualRouterAttrLabel,
		},
		create: func(o *object) error {
			c.routes4, c.routes6 = o.flag(sai.VirtualRouterAttrAdminV4State), o.flag(sai.VirtualRouterAttrAdminV6State)
			return nil
		},
		set: func(_ *object, a sai.Attr) error {
			switch a.ID {
			case sai.VirtualRouterAttrAdminV4State:
				c.routes4 = bool(a.Value.(sai.Bool))
			case sai.VirtualRouterAttrAdminV6State:
				c.routes6 = bool(a.Value.(sai.Bool))
			}
			return nil
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
			sai.RouterInterfaceAttrType:                 {sai.RouterInterfaceTypePort, sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceTypeLoopback},
			sai.RouterInterfaceAttrLoopbackPacketAction: {sai.PacketActionForward, sai.PacketActionDrop},
		},
		create: c.createRIF,
		set:    c.setRIF,
		remove: c.removeRIF,
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.RouterInterfaceAttrSrcMACAddress {
				return macBytes(o.self.(*rif).mac)
			}
			return nil
		},
	}
	for id := sai.RouterInterfaceStatInOctets; id <= sai.RouterInterfaceStatOutErrorPackets; id++ {
		k.stats = append(k.stats, id)
	}
	k.stat = func(o *object, id sai.StatID) uint64 {
		r, i := o.self.(*rif), id-sai.RouterInterfaceStatInOctets
		return r.counts[i] - r.cleared[i]
	}
	k.clear = func(o *object, id sai.StatID) {
		r, i := o.self.(*rif), id-sai.RouterInterfaceStatInOctets
		r.cleared[i] = r.counts[i]
	}
	return k
}

func (c *store) createRIF(o *object) error {
	r := &rif{
		o: o, mac: c.routerMAC(), mtu: uint32(o.number(sai.RouterInterfaceAttrMTU)), loopback: true,
		up4: o.flag(sai.RouterInterfaceAttrAdminV4State), up6: o.flag(sai.RouterInterfaceAttrAdminV6State),
		missed: packetAction(o.enum(sai.RouterInterfaceAttrNeighborMissPacketAction)),
	}
	o.self = r
	for _, a := range o.attrs {
		if err := c.setRIF(o, a); err != nil {
			return err
		}
	}
	bad := func(id sai.AttrID, s sai.Status, why string) error {
		return refuse("create", sai.ObjectTypeRouterInterface, id, s, "%s", why)
	}
	switch o.enum(sai.RouterInterfaceAttrType) {
	case sai.RouterInterfaceTypeVLAN:
		v, _ := self[*vlan](c, o.ref(sai.RouterInterfaceAttrVLANID))
		if v.rif != nil {
			return bad(sai.RouterInterfaceAttrVLANID, sai.StatusItemAlreadyExists, "the VLAN has a router interface already")
		}
		r.vlan, v.rif = v, r
	case sai.RouterInterfaceTypePort:
		return c.attachRIF(r, o.ref(sai.RouterInterfaceAttrPortID), func(s sai.Status, why string) error {
			return bad(sai.RouterInterfaceAttrPortID, s, why)
		})
	}
	return nil
}

// attachRIF puts a router interface on a port or LAG. That is then in no bridge.
func (c *store) attachRIF(r *rif, on sai.OID, bad func(sai.Status, string) error) error {
	if l, ok := self[*lag](c, on); ok {
		switch {
		case l.rif != nil:
			return bad(sai.StatusItemAlreadyExists, "the LAG has a router interface already")
		case l.bridgePort != nil:
			return bad(sai.StatusObjectInUse, "the LAG has a bridge port: it is bridged")
		}
		r.lag, l.rif = l, r
	} else if p, ok := self[*port](c, on); ok {
		switch {
		case p.rif != nil:
			return bad(sai.StatusItemAlreadyExists, "the port has a router interface already")
		case p.bridgePort != nil:
			return bad(sai.StatusObjectInUse, "the port has a bridge port: it is bridged")
		case p.lag != nil:
			return bad(sai.StatusObjectInUse, "the port is a member of a LAG")
		}
		r.port, p.rif = p, r
	} else {
		return bad(sai.StatusInvalidParameter, "want a front-panel port or a LAG")
	}
	c.stale = true
	return nil
}

// routerMAC is the address that router interfaces have unless they are given
// one: that of the virtual router, which is that of the switch unless given.
func (c *store) routerMAC() uint64 {
	if c.defaultRouter != nil {
		if m, ok := c.defaultRouter.attr(sai.VirtualRouterAttrSrcMACAddress).(sai.MAC); ok {
			return mac48(m[:])
		}
	}
	return c.switchMAC
}

func (c *store) setRIF(o *object, a sai.Attr) error {
	r := o.self.(*rif)
	switch a.ID {
	case sai.RouterInterfaceAttrSrcMACAddress:
		m := a.Value.(sai.MAC)
		if m[0]&1 != 0 || m == (sai.MAC{}) {
			return badValue(a, sai.StatusInvalidParameter, "%s, want a unicast address", m)
		}
		r.mac = mac48(m[:])
	case sai.RouterInterfaceAttrMTU:
		n := uint64(a.Value.(sai.Uint))
		if n < 68 || n > 65535 {
			return badValue(a, sai.StatusInvalidParameter, "MTU %d, want 68 to 65535", n)
		}
		r.mtu = uint32(n)
	case sai.RouterInterfaceAttrAdminV4State:
		r.up4 = bool(a.Value.(sai.Bool))
	case sai.RouterInterfaceAttrAdminV6State:
		r.up6 = bool(a.Value.(sai.Bool))
	case sai.RouterInterfaceAttrNeighborMissPacketAction:
		r.missed = packetAction(a.Value.(sai.Enum))
	case sai.RouterInterfaceAttrLoopbackPacketAction:
		r.loopback = a.Value.(sai.Enum) == sai.PacketActionForward
	}
	return nil
}

// removeRIF takes the interface off. Packets on their way out of it go on.
func (c *store) removeRIF(o *object) error {
	r := o.self.(*rif)
	for _, a := range c.adjacencies {
		if a.rif == r {
			return refuse("remove", sai.ObjectTypeRouterInterface, 0, sai.StatusObjectInUse, "it has neighbours or next hops")
		}
	}
	switch {
	case r.vlan != nil:
		r.vlan.rif = nil
	case r.lag != nil:
		r.lag.rif = nil
	case r.port != nil:
		r.port.rif = nil
	}
	c.stale = true
	return nil
}
