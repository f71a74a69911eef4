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

func (c *Chip) trapKind() *kind {
	var types []sai.Enum
	rows := map[sai.Enum]trapRow{}
	for _, r := range trapRows() {
		types = append(types, r.kind)
		rows[r.kind] = r
	}
	slices.Sort(types)
	// apply makes the state of a trap from its object, nil: there is none.
	apply := func(r trapRow, o *object) {
		s := trapState{act: r.standing}
		if o != nil {
			s = trapState{
				act: packetAction(o.enum(sai.HostifTrapAttrPacketAction)), set: true,
				priority: uint32(o.number(sai.HostifTrapAttrTrapPriority)),
			}
		}
		c.traps[r.trap] = s
		c.trapsIP = false
		for t := TrapDHCP; t < TrapIP2ME; t++ {
			c.trapsIP = c.trapsIP || c.traps[t].set
		}
	}
	row := func(o *object) trapRow { return rows[o.enum(sai.HostifTrapAttrTrapType)] }
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifTrapAttrTrapType, sai.HostifTrapAttrPacketAction, sai.HostifTrapAttrTrapPriority, sai.HostifTrapAttrTrapGroup,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifTrapAttrTrapType: types},
		create: func(o *object) error {
			apply(row(o), o)
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			o.put(a)
			apply(row(o), o)
			return nil
		},
		remove: func(o *object) error {
			apply(row(o), nil)
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
