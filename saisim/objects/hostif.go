package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// hostifKind returns the kind of host interfaces, which give ports their names.
func (ps *ports) hostifKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.HostifAttrType, sai.HostifAttrObjID, sai.HostifAttrName, sai.HostifAttrOperStatus,
			sai.HostifAttrQueue, sai.HostifAttrVLANTag,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifAttrType: {sai.HostifTypeNetdev}},
		create: func(o *object) error {
			name, _ := o.attr(sai.HostifAttrName).(sai.Text)
			if _, used := ps.names[string(name)]; used || name == "" {
				return badCreate(sai.HostifAttrName, sai.StatusItemAlreadyExists, "name %q is in use or empty", string(name))
			}
			p, ok := self[*port](ps.core, o.ref(sai.HostifAttrObjID))
			if ok && p.name != "" {
				return badCreate(sai.HostifAttrObjID, sai.StatusItemAlreadyExists, "the port has interface %q", p.name)
			}
			o.self = name
			ps.names[string(name)] = p // nil for a LAG or VLAN
			if ok {
				p.name, p.hostif = string(name), o
				if ps.cfg.Wired[p.name] {
					p.unplugged = true // until its link is set
				}
				ps.putPort(p)
			}
			ps.hostifChanged(o)
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			ps.hostifChanged(o.with(a))
			return nil
		},
		gone: func(o *object) {
			name := string(o.self.(sai.Text))
			if p := ps.names[name]; p != nil {
				p.name, p.hostif = "", nil
				ps.putPort(p)
			}
			delete(ps.names, name)
			ps.hostifChanged(o)
		},
	}
}

// hostifChanged reports the host interfaces of ports, sorted by name, after a change of one. It omits host interfaces
// of LAGs and VLANs: the chip has their objects, but sends frames to the host interface of the port.
func (ps *ports) hostifChanged(changed *object) {
	if ps.cfg.HostInterfaces == nil {
		return
	}
	var list []config.HostInterface
	for _, name := range slices.Sorted(maps.Keys(ps.names)) {
		if p := ps.names[name]; p != nil {
			o := p.hostif
			if o.key == changed.key {
				o = changed
			}
			list = append(list, config.HostInterface{
				Name: name, Up: o.flag(sai.HostifAttrOperStatus), MAC: ps.sw.mac(sai.SwitchAttrSrcMACAddress),
			})
		}
	}
	ps.cfg.HostInterfaces(list)
}

// hostifTableKind returns the kind of the single entry that describes the chip. The host interface of its ingress port
// receives a trapped packet, regardless of the trap. The packet path does the same without the entry.
func (ps *ports) hostifTableKind() *kind {
	return &kind{
		attrs: []sai.AttrID{sai.HostifTableEntryAttrType, sai.HostifTableEntryAttrChannelType},
		enums: map[sai.AttrID][]sai.Enum{
			sai.HostifTableEntryAttrType:        {sai.HostifTableEntryTypeWildcard},
			sai.HostifTableEntryAttrChannelType: {sai.HostifTableEntryChannelTypeNetdevPhysicalPort},
		},
		max: 1,
	}
}
