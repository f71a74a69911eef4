package saisim

import (
	"tamtam/sai"
)

// hostifKind gives ports the names of their host interfaces.
func (c *store) hostifKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifAttrType, sai.HostifAttrObjID, sai.HostifAttrName, sai.HostifAttrOperStatus,
			sai.HostifAttrQueue, sai.HostifAttrVLANTag,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifAttrType: {sai.HostifTypeNetdev}},
		create: func(o *object) error {
			name, _ := o.attr(sai.HostifAttrName).(sai.Text)
			if _, used := c.names[string(name)]; used || name == "" {
				return refuse("create", sai.ObjectTypeHostif, sai.HostifAttrName, sai.StatusItemAlreadyExists,
					"name %q is in use or empty", string(name))
			}
			var p *portObject
			ok := false
			if x := c.objects[o.ref(sai.HostifAttrObjID)]; x != nil {
				p, ok = x.self.(*portObject)
			}
			if ok && p.name != "" {
				return refuse("create", sai.ObjectTypeHostif, sai.HostifAttrObjID, sai.StatusItemAlreadyExists,
					"the port has interface %q", p.name)
			}
			o.self = name
			c.names[string(name)] = p // nil: a LAG or VLAN
			if ok {
				p.name = string(name)
				c.putPort(p)
			}
			return nil
		},
		remove: func(o *object) error {
			name := string(o.self.(sai.Text))
			if p := c.names[name]; p != nil {
				p.name = ""
				c.putPort(p)
			}
			delete(c.names, name)
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
