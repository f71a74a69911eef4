package saitest

import (
	"context"
	"slices"

	"tamtam/sai"
)

// addDefaults adds the objects that a switch has after its creation: CPU port, ports, default VLAN, bridge, router,
// trap group, and every port's bridge port and VLAN membership.
func (f *Fake) addDefaults() {
	const speed = 100000
	cpu := f.add(sai.ObjectTypePort, nil)
	f.poke(cpu, sai.PortAttrType, sai.PortTypeCPU)
	ports := make(sai.OIDs, f.opts.Ports)
	for i := range ports {
		lane := uint64(4 * i)
		ports[i] = f.add(sai.ObjectTypePort, []sai.Attr{
			{ID: sai.PortAttrHWLaneList, Value: sai.Uints{lane + 1, lane + 2, lane + 3, lane + 4}},
			{ID: sai.PortAttrSpeed, Value: sai.Uint(speed)},
		})
		f.poke(ports[i], sai.PortAttrType, sai.PortTypeLogical)
		f.poke(ports[i], sai.PortAttrOperStatus, sai.PortOperStatusDown)
		for q := range f.opts.Queues {
			queue := f.add(sai.ObjectTypeQueue, nil)
			f.poke(queue, sai.QueueAttrType, sai.QueueTypeUnicast)
			f.poke(queue, sai.QueueAttrPort, ports[i])
			f.poke(queue, sai.QueueAttrIndex, sai.Uint(q))
		}
		for g := range f.opts.Groups {
			group := f.add(sai.ObjectTypeIngressPriorityGroup, nil)
			f.poke(group, sai.IngressPriorityGroupAttrPort, ports[i])
			f.poke(group, sai.IngressPriorityGroupAttrIndex, sai.Uint(g))
		}
	}
	vlan := f.add(sai.ObjectTypeVLAN, []sai.Attr{{ID: sai.VLANAttrVLANID, Value: sai.Uint(1)}})
	bridge := f.add(sai.ObjectTypeBridge, []sai.Attr{{ID: sai.BridgeAttrType, Value: sai.BridgeType1q}})
	router := f.add(sai.ObjectTypeVirtualRouter, nil)
	group := f.add(sai.ObjectTypeHostifTrapGroup, nil)
	for _, p := range ports {
		bp := f.add(sai.ObjectTypeBridgePort, []sai.Attr{
			{ID: sai.BridgePortAttrType, Value: sai.BridgePortTypePort},
			{ID: sai.BridgePortAttrPortID, Value: p},
		})
		f.add(sai.ObjectTypeVLANMember, []sai.Attr{
			{ID: sai.VLANMemberAttrVLANID, Value: vlan},
			{ID: sai.VLANMemberAttrBridgePortID, Value: bp},
		})
	}
	f.fixed = map[sai.AttrID]sai.Value{
		sai.SwitchAttrCPUPort:                      cpu,
		sai.SwitchAttrDefaultVLANID:                vlan,
		sai.SwitchAttrDefault1qBridgeID:            bridge,
		sai.SwitchAttrDefaultVirtualRouterID:       router,
		sai.SwitchAttrDefaultTrapGroup:             group,
		sai.SwitchAttrOperStatus:                   sai.SwitchOperStatusUp,
		sai.SwitchAttrPortMaxMTU:                   sai.Uint(9216),
		sai.SwitchAttrACLEntryMinimumPriority:      sai.Uint(1),
		sai.SwitchAttrACLEntryMaximumPriority:      sai.Uint(16000),
		sai.SwitchAttrMaxACLActionCount:            sai.Uint(50),
		sai.SwitchAttrMaxACLRangeCount:             sai.Uint(16),
		sai.SwitchAttrNumberOfLags:                 sai.Uint(128),
		sai.SwitchAttrLAGMembers:                   sai.Uint(64),
		sai.SwitchAttrAvailableACLTableGroup:       resources(128),
		sai.SwitchAttrAvailableACLTable:            resources(3),
		sai.SwitchAttrACLStageIngress:              actions(),
		sai.SwitchAttrACLStageEgress:               actions(),
		sai.SwitchAttrAvailableFDBEntry:            sai.Uint(4096),
		sai.SwitchAttrACLUserMetaDataRange:         sai.Range{Min: 0, Max: 1<<16 - 1},
		sai.SwitchAttrACLTableMinimumPriority:      sai.Uint(0),
		sai.SwitchAttrACLTableMaximumPriority:      sai.Uint(255),
		sai.SwitchAttrACLTableGroupMinimumPriority: sai.Uint(0),
		sai.SwitchAttrACLTableGroupMaximumPriority: sai.Uint(255),
	}
	for k := range f.objects {
		if k != f.sw {
			f.own[k] = true
		}
	}
}

// poke sets an attribute of a stored object with an object id.
func (f *Fake) poke(o sai.OID, id sai.AttrID, v sai.Value) {
	f.objects[sai.Obj(id.ObjectType(), o)][id] = v
}

// resources returns resources with n available at every stage and bind point.
func resources(n uint32) sai.ACLResources {
	var l sai.ACLResources
	for _, s := range []sai.Enum{sai.ACLStageIngress, sai.ACLStageEgress} {
		for b := sai.ACLBindPointTypePort; b <= sai.ACLBindPointTypeSwitch; b++ {
			l = append(l, sai.ACLResource{Stage: s, BindPoint: b, Available: n})
		}
	}
	return l
}

// actions returns a capability with all ACL actions.
func actions() sai.ACLCapability {
	e, _ := sai.LookupEnum("sai_acl_action_type_t")
	return sai.ACLCapability{Actions: e.Values}
}

// lists describes read-only list attributes. Such a list consists of the objects that name this object in an attribute.
var lists = map[sai.AttrID]struct {
	t  sai.ObjectType
	by sai.AttrID
}{
	sai.VLANAttrMemberList:          {sai.ObjectTypeVLANMember, sai.VLANMemberAttrVLANID},
	sai.LAGAttrPortList:             {sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID},
	sai.ACLTableAttrEntryList:       {sai.ObjectTypeACLEntry, sai.ACLEntryAttrTableID},
	sai.ACLTableGroupAttrMemberList: {sai.ObjectTypeACLTableGroupMember, sai.ACLTableGroupMemberAttrACLTableGroupID},
}

// computed returns the value of a read-only attribute, or nil if there is none.
func (f *Fake) computed(k sai.Key, id sai.AttrID) sai.Value {
	if l, ok := lists[id]; ok {
		return f.referrers(l.t, l.by, k.OID)
	}
	switch id {
	case sai.SwitchAttrPortList, sai.SwitchAttrNumberOfActivePorts:
		cpu := f.fixed[sai.SwitchAttrCPUPort]
		ports := slices.DeleteFunc(f.all(sai.ObjectTypePort), func(p sai.OID) bool { return p == cpu })
		if id == sai.SwitchAttrPortList {
			return ports
		}
		return sai.Uint(len(ports))
	case sai.BridgeAttrPortList:
		return f.all(sai.ObjectTypeBridgePort)
	case sai.DebugCounterAttrIndex:
		return sai.Uint((uint32(k.OID) - 1) % 8)
	case sai.PortAttrPortSerdesID:
		return sai.NullOID
	case sai.PortAttrQoSQueueList:
		return f.referrers(sai.ObjectTypeQueue, sai.QueueAttrPort, k.OID)
	case sai.PortAttrIngressPriorityGroupList:
		return f.referrers(sai.ObjectTypeIngressPriorityGroup, sai.IngressPriorityGroupAttrPort, k.OID)
	case sai.PortAttrQoSSchedulerGroupList:
		return sai.OIDs{}
	case sai.PortAttrOperStatus:
		return sai.PortOperStatusDown
	case sai.PortAttrSupportedSpeed:
		return sai.Uints{10000, 25000, 40000, 50000, 100000}
	case sai.ACLTableAttrAvailableACLEntry:
		return sai.Uint(f.opts.ACLEntries - f.entries[k.OID])
	case sai.ACLTableAttrAvailableACLCounter:
		return sai.Uint(f.opts.ACLEntries - len(f.referrers(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, k.OID)))
	}
	if k == f.sw {
		return f.fixed[id]
	}
	return nil
}

func (f *Fake) all(t sai.ObjectType) sai.OIDs {
	list := sai.OIDs{}
	for _, k := range f.keys() {
		if k.Type == t {
			list = append(list, k.OID)
		}
	}
	return list
}

// referrers returns the objects of type t whose attribute by has value v.
func (f *Fake) referrers(t sai.ObjectType, by sai.AttrID, v sai.Value) sai.OIDs {
	list := sai.OIDs{}
	for k, attrs := range f.objects {
		if k.Type == t && attrs[by] == v {
			list = append(list, k.OID)
		}
	}
	sortOIDs(list)
	return list
}

// FlushFDB implements [sai.API].
func (f *Fake) FlushFDB(_ context.Context, attrs []sai.Attr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	port, byPort := sai.Find(attrs, sai.FDBFlushAttrBridgePortID)
	bv, byBV := sai.Find(attrs, sai.FDBFlushAttrBvID)
	kind, byKind := sai.Find(attrs, sai.FDBFlushAttrEntryType)
	for _, k := range f.keys() {
		e, ok := k.Entry.(sai.FDBEntry)
		if !ok || byPort && f.objects[k][sai.FDBEntryAttrBridgePortID] != port || byBV && e.BV != bv {
			continue
		}
		want := sai.FDBEntryTypeDynamic
		if byKind && kind == sai.FDBFlushEntryTypeStatic {
			want = sai.FDBEntryTypeStatic
		}
		if kind != sai.FDBFlushEntryTypeAll && f.objects[k][sai.FDBEntryAttrType] != want {
			continue
		}
		delete(f.objects, k)
		f.check.Removed(k)
	}
	return nil
}

// AttrCapability implements [sai.API]. It returns everything that SAI allows, except for unsupported attributes.
func (f *Fake) AttrCapability(_ context.Context, id sai.AttrID) (sai.Capability, error) {
	m := sai.Meta(id)
	if m == nil {
		return sai.Capability{}, sai.StatusInvalidParameter
	}
	for _, u := range f.opts.Unsupported {
		if u == id {
			return sai.Capability{}, nil
		}
	}
	return sai.Capability{Create: !m.Has(sai.ReadOnly), Set: m.Has(sai.CreateAndSet), Get: true}, nil
}

// EnumCapability implements [sai.API]. It returns all values.
func (f *Fake) EnumCapability(_ context.Context, id sai.AttrID) ([]sai.Enum, error) {
	m := sai.Meta(id)
	if m == nil || m.Enum == nil {
		return nil, sai.StatusInvalidParameter
	}
	return m.Enum.Values, nil
}

// StreamCapability implements [sai.API]. No statistic can be streamed.
func (f *Fake) StreamCapability(context.Context, sai.ObjectType) ([]sai.StreamedStat, error) {
	return nil, sai.StatusNotSupported
}

// StatsCapability implements [sai.API]. It returns all statistics.
func (f *Fake) StatsCapability(_ context.Context, t sai.ObjectType) ([]sai.StatID, error) {
	m := sai.ObjectMeta(t)
	if m == nil || m.Stats == nil {
		return nil, sai.StatusNotSupported
	}
	return m.Stats, nil
}

// Availability implements [sai.API]. It returns 1000. An extension object that the options do not name is not
// supported.
func (f *Fake) Availability(_ context.Context, t sai.ObjectType, attrs []sai.Attr) (uint64, error) {
	if t == sai.ObjectTypeGenericProgrammable {
		name, ok := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
		if !ok || !f.extension(name) {
			return 0, sai.StatusNotSupported
		}
	}
	return 1000, nil
}
