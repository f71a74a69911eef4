package saisim

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/tailstamp"
)

// hostifKind gives ports the names of their host interfaces.
func (c *Chip) hostifKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifAttrType, sai.HostifAttrObjID, sai.HostifAttrName, sai.HostifAttrOperStatus,
			sai.HostifAttrQueue, sai.HostifAttrVLANTag,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifAttrType: {sai.HostifTypeNetdev}},
		create: func(o *object) error {
			name, _ := o.attr(sai.HostifAttrName).(sai.Text)
			if _, used := c.names[string(name)]; used || name == "" {
				return refuse("create", sai.ObjectTypeHostif, sai.HostifAttrName, sai.StatusItemAlreadyExists, "name %q is in use or empty", string(name))
			}
			p, ok := self[*port](c, o.ref(sai.HostifAttrObjID))
			if ok && p.name != "" {
				return refuse("create", sai.ObjectTypeHostif, sai.HostifAttrObjID, sai.StatusItemAlreadyExists, "the port has interface %q", p.name)
			}
			o.self = name
			c.names[string(name)] = p // nil: a LAG or VLAN
			if ok {
				p.name, p.number = string(name), portNumber(string(name))
			}
			return nil
		},
		remove: func(o *object) error {
			name := string(o.self.(sai.Text))
			if p := c.names[name]; p != nil {
				p.name, p.number = "", tailstamp.NoPort
			}
			delete(c.names, name)
			return nil
		},
	}
}

// trapTypes are the traps that the chip knows, with what it does without them.
func (c *Chip) trapTypes() map[sai.Enum]struct {
	at       *actions
	standing actions
} {
	type trap = struct {
		at       *actions
		standing actions
	}
	const punt = actDrop | actCopy
	return map[sai.Enum]trap{
		sai.HostifTrapTypeStp:         {&c.trapLinkLocal[0x0], punt},
		sai.HostifTrapTypeLacp:        {&c.trapLinkLocal[0x2], punt},
		sai.HostifTrapTypeEapol:       {&c.trapLinkLocal[0x3], punt},
		sai.HostifTrapTypeLldp:        {&c.trapLinkLocal[0xe], punt},
		sai.HostifTrapTypeIp2me:       {&c.trapOwn, punt},
		sai.HostifTrapTypeArpRequest:  {&c.trapARPRequest, 0},
		sai.HostifTrapTypeArpResponse: {&c.trapARPResponse, 0},
	}
}

func (c *Chip) defaultTraps() {
	for i := range c.trapLinkLocal {
		c.trapLinkLocal[i] = actDrop | actCopy
	}
	for _, t := range c.trapTypes() {
		*t.at = t.standing
	}
}

func (c *Chip) trapKind() *kind {
	types := make([]sai.Enum, 0, 8)
	for t := range c.trapTypes() {
		types = append(types, t)
	}
	slices.Sort(types)
	apply := func(o *object, action sai.Enum) {
		*c.trapTypes()[o.enum(sai.HostifTrapAttrTrapType)].at = packetAction(action)
	}
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifTrapAttrTrapType, sai.HostifTrapAttrPacketAction, sai.HostifTrapAttrTrapPriority, sai.HostifTrapAttrTrapGroup,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifTrapAttrTrapType: types},
		create: func(o *object) error {
			apply(o, o.enum(sai.HostifTrapAttrPacketAction))
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			if a.ID == sai.HostifTrapAttrPacketAction {
				apply(o, a.Value.(sai.Enum))
			}
			return nil
		},
		remove: func(o *object) error {
			t := c.trapTypes()[o.enum(sai.HostifTrapAttrTrapType)]
			*t.at = t.standing
			return nil
		},
	}
}

// packetAction returns the effects of a sai_packet_action_t.
func packetAction(a sai.Enum) actions {
	switch a {
	case sai.PacketActionDrop:
		return actDrop
	case sai.PacketActionCopy, sai.PacketActionLog:
		return actCopy
	case sai.PacketActionCopyCancel, sai.PacketActionTransit:
		return actCancel
	case sai.PacketActionTrap:
		return actDrop | actCopy
	case sai.PacketActionDeny:
		return actDrop | actCancel
	}
	return 0 // forward, do not drop
}
