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
			sai.HostifAttrQueue, sai.HostifAttrVLANTag, sai.HostifAttrGenetlinkMcgrpName,
		},
		enums: map[sai.AttrID][]sai.Enum{sai.HostifAttrType: {sai.HostifTypeNetdev, sai.HostifTypeGenetlink}},
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
			ps.names[string(name)] = p // nil for a LAG, a VLAN, and a group of generic netlink
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

// hostifTableKind returns the kind of the entries that describe the chip. The host interface of its ingress port
// receives a trapped packet, regardless of the trap: the packet path does the same without such an entry. Statistics
// that are streamed go from their trap to a group of generic netlink.
func (ps *ports) hostifTableKind() *kind {
	const typ, channel = sai.HostifTableEntryAttrType, sai.HostifTableEntryAttrChannelType
	return &kind{
		attrs: []sai.AttrID{typ, channel, sai.HostifTableEntryAttrTrapID, sai.HostifTableEntryAttrHostIf},
		enums: map[sai.AttrID][]sai.Enum{
			typ: {sai.HostifTableEntryTypeWildcard, sai.HostifTableEntryTypeTrapID},
			channel: {
				sai.HostifTableEntryChannelTypeNetdevPhysicalPort, sai.HostifTableEntryChannelTypeGenetlink,
			},
		},
		check: func(o *object) error {
			netlink := o.enum(channel) == sai.HostifTableEntryChannelTypeGenetlink
			if netlink != (o.enum(typ) == sai.HostifTableEntryTypeTrapID) {
				return badCreate(channel, sai.StatusNotSupported, "%s with %s, want NETDEV_PHYSICAL_PORT for WILDCARD, and "+
					"GENETLINK for TRAP_ID", sai.EnumName(channel, o.enum(channel)), sai.EnumName(typ, o.enum(typ)))
			}
			if !netlink {
				return ps.onlyEntry(o)
			}
			trap := o.ref(sai.HostifTableEntryAttrTrapID)
			if ps.objects[trap].key.Type != sai.ObjectTypeHostifUserDefinedTrap {
				return badCreate(sai.HostifTableEntryAttrTrapID, sai.StatusNotSupported, "%s is a trap of packets, which go to "+
					"the host interface of their port; want one of SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP", trap)
			}
			if h := ps.objects[o.ref(sai.HostifTableEntryAttrHostIf)]; h.enum(sai.HostifAttrType) != sai.HostifTypeGenetlink {
				return badCreate(sai.HostifTableEntryAttrHostIf, sai.StatusInvalidParameter, "%s is a network device, want a "+
					"host interface of SAI_HOSTIF_TYPE_GENETLINK", h.key.OID)
			}
			return ps.onlyEntry(o)
		},
	}
}

// onlyEntry returns an error if another entry has the type of o. It is the last check, so that an entry that the chip
// lacks is reported as such, which a client does not try again.
func (ps *ports) onlyEntry(o *object) error {
	const typ = sai.HostifTableEntryAttrType
	for _, x := range ps.objects {
		if x.key.Type == sai.ObjectTypeHostifTableEntry && x.key != o.key && x.enum(typ) == o.enum(typ) {
			return badCreate(typ, sai.StatusInsufficientResources, "%s has it, want one entry of each type", x.key.OID)
		}
	}
	return nil
}
