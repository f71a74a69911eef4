package objects

import (
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// A routerInterface is the state that the store keeps for a ROUTER_INTERFACE object.
type routerInterface struct {
	mac config.MAC // default is the router's address at the creation of the interface
}

func (rt *router) rifKind() *kind {
	k := &kind{
		max: rt.prof.RouterInterfaces,
		attrs: []sai.AttrID{
			sai.RouterInterfaceAttrVirtualRouterID, sai.RouterInterfaceAttrType, sai.RouterInterfaceAttrPortID,
			sai.RouterInterfaceAttrVLANID, sai.RouterInterfaceAttrOuterVLANID, sai.RouterInterfaceAttrSrcMACAddress,
			sai.RouterInterfaceAttrAdminV4State, sai.RouterInterfaceAttrAdminV6State, sai.RouterInterfaceAttrMTU,
			sai.RouterInterfaceAttrNeighborMissPacketAction, sai.RouterInterfaceAttrLoopbackPacketAction,
			sai.RouterInterfaceAttrLabel,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.RouterInterfaceAttrType: {sai.RouterInterfaceTypePort, sai.RouterInterfaceTypeSubPort,
				sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceTypeLoopback},
			sai.RouterInterfaceAttrLoopbackPacketAction: {sai.PacketActionForward, sai.PacketActionDrop},
		},
		create: rt.createRIF,
		row:    rt.rifRow,
		made:   func(o *object) { rt.useFor(o, true) },
		gone:   func(o *object) { rt.useFor(o, false) },
		get: func(o *object, id sai.AttrID) sai.Value {
			if id == sai.RouterInterfaceAttrSrcMACAddress && o.attr(id) == nil {
				return sai.MAC(o.self.(*routerInterface).mac)
			}
			return nil
		},
	}
	for id := sai.RouterInterfaceStatInOctets; id <= sai.RouterInterfaceStatOutErrorPackets; id++ {
		k.stats = append(k.stats, id)
	}
	k.stat = func(o *object, id sai.StatID) uint64 {
		return rt.engine.InterfaceCounts(o.id())[id-sai.RouterInterfaceStatInOctets]
	}
	return k
}

// createRIF checks that the port, LAG or VLAN of an interface is free for it.
func (rt *router) createRIF(o *object) error {
	o.self = &routerInterface{mac: rt.routerMAC(o.ref(sai.RouterInterfaceAttrVirtualRouterID))}
	switch o.enum(sai.RouterInterfaceAttrType) {
	case sai.RouterInterfaceTypeVLAN:
		if rt.usesOf(o.ref(sai.RouterInterfaceAttrVLANID)).routed {
			return badCreate(sai.RouterInterfaceAttrVLANID, sai.StatusItemAlreadyExists,
				"the VLAN has a router interface already")
		}
	case sai.RouterInterfaceTypePort:
		if s, why := rt.mayRoute(o.ref(sai.RouterInterfaceAttrPortID), 0); why != "" {
			return badCreate(sai.RouterInterfaceAttrPortID, s, "%s", why)
		}
	case sai.RouterInterfaceTypeSubPort:
		if err := o.within(bound{id: sai.RouterInterfaceAttrOuterVLANID, what: "VLAN ", least: 1, most: 4094,
			status: sai.StatusInvalidVLANID}); err != nil {
			return err
		}
		s, why := rt.mayRoute(o.ref(sai.RouterInterfaceAttrPortID), uint16(o.number(sai.RouterInterfaceAttrOuterVLANID)))
		if why != "" {
			return badCreate(sai.RouterInterfaceAttrPortID, s, "%s", why)
		}
	}
	return nil
}

// mayRoute returns the reason why a port or LAG cannot get a router interface, or a sub-port with an outer VLAN if that
// is not 0. The reason is "" if it can, so that it is not in a bridge.
func (rt *router) mayRoute(on sai.OID, outer uint16) (sai.Status, string) {
	what := "port"
	if _, ok := row[config.LAG](rt.core, on); ok {
		what = "LAG"
	} else if _, ok := row[config.Port](rt.core, on); !ok {
		return sai.StatusInvalidParameter, "want a front-panel port or a LAG"
	}
	switch u := rt.usesOf(on); {
	case outer == 0 && u.routed:
		return sai.StatusItemAlreadyExists, "the " + what + " has a router interface already"
	case u.subPorts[outer]:
		return sai.StatusItemAlreadyExists, fmt.Sprintf("the %s has a sub-port with VLAN %d already", what, outer)
	case u.bridged:
		return sai.StatusObjectInUse, "the " + what + " has a bridge port: it is bridged"
	case u.inLAG:
		return sai.StatusObjectInUse, "the port is a member of a LAG"
	}
	return 0, ""
}

// useFor marks the port, LAG or VLAN of an interface as routed or not.
func (rt *router) useFor(o *object, routed bool) {
	r, ok := row[config.Interface](rt.core, o.key.OID)
	switch u := rt.usesOf(sai.OID(r.On)); {
	case !ok || r.On == config.None:
	case r.OuterVLAN == 0:
		u.routed = routed
	case !routed:
		delete(u.subPorts, r.OuterVLAN)
	default:
		if u.subPorts == nil {
			u.subPorts = map[uint16]bool{}
		}
		u.subPorts[r.OuterVLAN] = true
	}
}

// rifRow returns the row that follows from an interface's attributes.
func (rt *router) rifRow(o *object) (config.Row, error) {
	r := config.Interface{
		ID: o.id(), Router: o.refID(sai.RouterInterfaceAttrVirtualRouterID), MAC: o.self.(*routerInterface).mac,
		MTU: uint32(o.number(sai.RouterInterfaceAttrMTU)),
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
	if err := o.within(bound{id: sai.RouterInterfaceAttrMTU, what: "MTU ", least: 68, most: 65535}); err != nil {
		return nil, err
	}
	switch o.enum(sai.RouterInterfaceAttrType) {
	case sai.RouterInterfaceTypeVLAN:
		r.On = o.refID(sai.RouterInterfaceAttrVLANID)
	case sai.RouterInterfaceTypePort, sai.RouterInterfaceTypeSubPort:
		r.On, r.OuterVLAN = o.refID(sai.RouterInterfaceAttrPortID), uint16(o.number(sai.RouterInterfaceAttrOuterVLANID))
	}
	return r, nil
}

// unicast rejects an address that is not a unicast address.
func unicast(id sai.AttrID, m sai.MAC) error {
	if m == (sai.MAC{}) {
		return badValue(id, sai.StatusInvalidParameter, "%s, want a unicast address", m)
	}
	return noGroup(id, m)
}

// noGroup rejects a group address.
func noGroup(id sai.AttrID, m sai.MAC) error {
	if m[0]&1 != 0 {
		return badValue(id, sai.StatusInvalidParameter, "%s, want a unicast address", m)
	}
	return nil
}

// leadsNowhere reports whether an interface is a loopback.
func (rt *router) leadsNowhere(rif sai.OID) bool {
	r, _ := row[config.Interface](rt.core, rif)
	return r.On == config.None
}
