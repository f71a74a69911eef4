package saisim

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/tm"
	"tamtam/tam/flymon"
)

// Tables is everything that the fixed functions of a chip are configured with,
// as its SAI objects say it: what was asked for, not what the packet path makes
// of it. It is plain data and shares no memory with the chip. Objects without a
// name of their own go by their object id, which is never used twice.
//
// The slices are sorted by object id, ports by PortID, VLANs by their number and
// the FDB by VLAN and address, profiles of alternate marking by lane, unless a field says otherwise.
type Tables struct {
	Switch      SwitchRow
	Ports       []PortRow // front-panel ports
	LAGs        []LAGRow
	BridgePorts []BridgePortRow
	VLANs       []VLANRow
	FDB         []FDBRow // static, set and learned
	Traps       []config.TrapRule
	TAMInts     []config.TAMInt
	ACLTables   []ACLTableRow
	ACLGroups   []ACLGroupRow
	ACLRanges   []ACLRangeRow
	ACLCounters []ACLCounterRow

	config.Routing
	Mirrors  []config.Mirror
	Pools    []uint64 // cells of each pool of the packet memory
	AltMarks []config.AltMark
	Sketches []flymon.Layout // tasks of FlyMon, by name
	// RecordPlans are those in effect.
	RecordPlans []config.RecordPlan
}

// A SwitchRow is the switch object; zero before it is created.
type SwitchRow struct {
	OID          sai.OID
	MAC          sai.MAC // zero: none
	AgingSeconds uint32  // of the FDB; 0: entries do not age
	// What is done with unknown unicast, broadcast and multicast.
	UnicastMiss, BroadcastMiss, MulticastMiss sai.Enum // a sai_packet_action_t
	IngressACL, EgressACL                     sai.OID  // table or group
	LAGSeed, ECMPSeed                         uint32   // of the flow hash
	CPU                                       sai.OID  // the CPU port
}

// A PortRow is a front-panel port.
type PortRow struct {
	ID                       PortID
	OID                      sai.OID
	Mbps                     uint32
	Admin, Link              bool   // up when both are
	MTU                      uint32 // frame with FCS
	PVID                     uint16
	Priority                 uint8 // of tags that the egress adds to untagged frames from here
	DropTagged, DropUntagged bool
	Number                   uint16 // N of EthernetN, its host interface; 65535: none
	IngressACL, EgressACL    sai.OID
	// Mirror sessions of all frames that enter the pipe from here, and of all
	// that leave here.
	IngressMirrors, EgressMirrors []sai.OID
	QoS                           QoSRow
}

// A QoSRow says how a port sorts frames into traffic classes and queues, and how
// its queues are served. A nil map is not configured.
type QoSRow struct {
	DSCP      *[64]uint8 // traffic class of IP packets that come in
	Dot1p     *[8]uint8  // of tagged frames, where DSCP does not say it
	DefaultTC uint8      // of the rest
	Queue     *[16]uint8 // of each traffic class of frames that go out; a chip with fewer queues takes its last
	Queues    []tm.Settings
}

// A LAGRow is a link aggregation group. Bridging goes by its VLAN settings, not
// by those of its ports.
type LAGRow struct {
	OID                      sai.OID
	PVID                     uint16
	Priority                 uint8
	DropTagged, DropUntagged bool
	IngressACL, EgressACL    sai.OID
	Members                  []LAGMemberRow // in the order of ports
}

// A LAGMemberRow is a port in a LAG.
type LAGMemberRow struct {
	Port                            PortID
	IngressDisabled, EgressDisabled bool
}

// A BridgePortRow is a port or LAG in the 802.1Q bridge.
type BridgePortRow struct {
	OID      sai.OID
	On       sai.OID // port or LAG
	Admin    bool
	Learning sai.Enum // a sai_bridge_port_fdb_learning_mode_t
}

// A VLANRow is a VLAN with its members.
type VLANRow struct {
	OID          sai.OID
	ID           uint16
	LearnDisable bool
	// What is done with unknown unicast, unknown multicast and broadcast.
	FloodUnicast, FloodMulticast, FloodBroadcast sai.Enum // a sai_vlan_flood_control_type_t
	IngressACL, EgressACL                        sai.OID
	Members                                      []VLANMemberRow
}

// A VLANMemberRow is a bridge port in a VLAN.
type VLANMemberRow struct {
	BridgePort sai.OID
	Mode       sai.Enum // a sai_vlan_tagging_mode_t
}

// An FDBRow is an address in a VLAN.
type FDBRow struct {
	VLAN       uint16
	MAC        sai.MAC
	BridgePort sai.OID
	Static     bool
	Drop, Copy bool  // the packet action: to the CPU, not forwarded
	Moves      bool  // static, but learned elsewhere like others
	Seen       Cycle // when it was last learned or set
}

// An ACLTableRow is an ACL table. Its entries are in their order of precedence:
// the first that matches is the hit.
type ACLTableRow struct {
	OID     sai.OID
	Stage   sai.Enum // a sai_acl_stage_t
	Entries []ACLEntryRow
}

// An ACLEntryRow is an ACL entry: what it matches, and what it does then.
type ACLEntryRow struct {
	OID      sai.OID
	Priority uint32
	Enabled  bool
	Fields   []sai.Attr // enabled ones: values and masks in a sai.Field
	Actions  []sai.Attr // enabled ones: parameters in a sai.Action
	// Content is what the entry says, without object ids. It decides between
	// entries of one priority: the smaller takes precedence.
	Content string
}

// An ACLGroupRow is a table group. Its members are in the order in which they
// are looked in: the higher priority first.
type ACLGroupRow struct {
	OID        sai.OID
	Stage      sai.Enum
	Sequential bool // the first table that hits ends the lookup
	Members    []ACLMemberRow
}

// An ACLMemberRow is a table in a group.
type ACLMemberRow struct {
	Table    sai.OID
	Priority uint32
}

// An ACLRangeRow is a range checker.
type ACLRangeRow struct {
	OID      sai.OID
	Type     sai.Enum // a sai_acl_range_type_t
	Min, Max uint32
}

// An ACLCounterRow is an ACL counter with what it has counted.
type ACLCounterRow struct {
	OID                      sai.OID
	Label                    string
	CountPackets, CountBytes bool
	Packets, Bytes           uint64
	Stamps                   [numStampResults]uint64 // as in a window of tail-stamping
}

// Tables returns the chip's configuration, its FDB and its ACL counters at this
// instant.
func (c *Chip) Tables() Tables {
	c.mu.Lock()
	defer c.mu.Unlock()
	var t Tables
	if c.sw == nil {
		return t
	}
	t.Switch = switchRow(c.sw)
	t.Switch.CPU = c.cpu.key.OID
	members, tables, groups := map[sai.OID][]*object{}, map[sai.OID][]*object{}, map[sai.OID][]*object{}
	objects := make([]*object, 0, len(c.objects))
	for _, o := range c.objects {
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b *object) int { return cmp.Compare(a.key.OID, b.key.OID) })
	for _, o := range objects {
		switch o.key.Type {
		case sai.ObjectTypeVLANMember:
			members[o.ref(sai.VLANMemberAttrVLANID)] = append(members[o.ref(sai.VLANMemberAttrVLANID)], o)
		case sai.ObjectTypeLAGMember:
			members[o.ref(sai.LAGMemberAttrLAGID)] = append(members[o.ref(sai.LAGMemberAttrLAGID)], o)
		case sai.ObjectTypeACLEntry:
			tables[o.ref(sai.ACLEntryAttrTableID)] = append(tables[o.ref(sai.ACLEntryAttrTableID)], o)
		case sai.ObjectTypeACLTableGroupMember:
			g := o.ref(sai.ACLTableGroupMemberAttrACLTableGroupID)
			groups[g] = append(groups[g], o)
		}
	}
	for _, o := range objects {
		switch o.key.Type {
		case sai.ObjectTypePort:
			if p, ok := o.self.(*port); ok {
				t.Ports = append(t.Ports, portRow(o, p))
			}
		case sai.ObjectTypeLAG:
			t.LAGs = append(t.LAGs, c.lagRow(o, members[o.key.OID]))
		case sai.ObjectTypeVLAN:
			t.VLANs = append(t.VLANs, vlanRow(o, members[o.key.OID]))
		case sai.ObjectTypeBridgePort:
			t.BridgePorts = append(t.BridgePorts, BridgePortRow{
				OID: o.key.OID, On: o.ref(sai.BridgePortAttrPortID), Admin: o.flag(sai.BridgePortAttrAdminState),
				Learning: o.enum(sai.BridgePortAttrFDBLearningMode),
			})
		}
	}
	c.aclTables(&t, objects, tables, groups)
	slices.SortFunc(t.Ports, func(a, b PortRow) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(t.VLANs, func(a, b VLANRow) int { return cmp.Compare(a.ID, b.ID) })
	t.FDB = c.fdbRows()
	rows := c.tables.Tables()
	t.Routing, t.Mirrors = rows.Routing, rows.Mirrors
	t.Traps, t.TAMInts, t.AltMarks = rows.Traps, rows.TAMInts, rows.AltMarks
	t.Sketches = sketchLayouts(rows.Sketches)
	t.RecordPlans = c.recordPlans(objects)
	for _, p := range c.buffer.Pools {
		t.Pools = append(t.Pools, p.Size)
	}
	return t
}

// A State is what a chip has counted, beside what its tables say.
type State struct {
	// Interfaces are the counters of router interfaces, in the order of sai_router_interface_stat_t,
	// not cleared.
	Interfaces map[config.ID][numRIFCounts]uint64
}

// State returns what the chip has counted up to this instant.
func (c *Chip) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := State{Interfaces: map[config.ID][numRIFCounts]uint64{}}
	for id, x := range c.ids {
		if r, ok := x.(*rif); ok {
			s.Interfaces[id] = r.counts
		}
	}
	return s
}

// aclTables adds the tables of the ACL stages.
func (c *store) aclTables(t *Tables, objects []*object, entries, members map[sai.OID][]*object) {
	for _, o := range objects {
		switch o.key.Type {
		case sai.ObjectTypeACLTable:
			t.ACLTables = append(t.ACLTables, ACLTableRow{o.key.OID, o.enum(sai.ACLTableAttrACLStage), entryRows(entries[o.key.OID])})
		case sai.ObjectTypeACLTableGroup:
			t.ACLGroups = append(t.ACLGroups, c.groupRow(o, members[o.key.OID]))
		case sai.ObjectTypeACLRange:
			limit, _ := o.attr(sai.ACLRangeAttrLimit).(sai.Range)
			t.ACLRanges = append(t.ACLRanges, ACLRangeRow{o.key.OID, o.enum(sai.ACLRangeAttrType), uint32(limit.Min), uint32(limit.Max)})
		case sai.ObjectTypeACLCounter:
			x := o.self.(*aclCounter)
			t.ACLCounters = append(t.ACLCounters, ACLCounterRow{
				OID: o.key.OID, Label: x.label(), CountPackets: o.flag(sai.ACLCounterAttrEnablePacketCount),
				CountBytes: o.flag(sai.ACLCounterAttrEnableByteCount),
				Packets:    x.packets, Bytes: x.bytes, Stamps: x.stamps,
			})
		}
	}
}

func switchRow(o *object) SwitchRow {
	r := SwitchRow{
		OID: o.key.OID, AgingSeconds: uint32(o.number(sai.SwitchAttrFDBAgingTime)),
		UnicastMiss:   o.enum(sai.SwitchAttrFDBUnicastMissPacketAction),
		BroadcastMiss: o.enum(sai.SwitchAttrFDBBroadcastMissPacketAction),
		MulticastMiss: o.enum(sai.SwitchAttrFDBMulticastMissPacketAction),
		IngressACL:    o.ref(sai.SwitchAttrIngressACL), EgressACL: o.ref(sai.SwitchAttrEgressACL),
	}
	r.MAC, _ = o.attr(sai.SwitchAttrSrcMACAddress).(sai.MAC)
	r.LAGSeed = uint32(o.number(sai.SwitchAttrLAGDefaultHashSeed))
	r.ECMPSeed = uint32(o.number(sai.SwitchAttrEcmpDefaultHashSeed))
	return r
}

func portRow(o *object, p *port) PortRow {
	in, _ := o.attr(sai.PortAttrIngressMirrorSession).(sai.OIDs)
	out, _ := o.attr(sai.PortAttrEgressMirrorSession).(sai.OIDs)
	return PortRow{
		IngressMirrors: slices.Clone(in), EgressMirrors: slices.Clone(out),

		ID: p.id, OID: o.key.OID, Mbps: uint32(o.number(sai.PortAttrSpeed)),
		Admin: o.flag(sai.PortAttrAdminState), Link: p.link, MTU: uint32(o.number(sai.PortAttrMTU)),
		PVID: uint16(o.number(sai.PortAttrPortVLANID)), Priority: uint8(o.number(sai.PortAttrDefaultVLANPriority)),
		DropTagged: o.flag(sai.PortAttrDropTagged), DropUntagged: o.flag(sai.PortAttrDropUntagged),
		Number: p.number, IngressACL: o.ref(sai.PortAttrIngressACL), EgressACL: o.ref(sai.PortAttrEgressACL),
		QoS: qosRow(p),
	}
}

func qosRow(p *port) QoSRow {
	r := QoSRow{DSCP: p.class.dscp, Dot1p: p.class.dot1p, DefaultTC: p.class.defaultTC, Queue: p.class.queue} // arrays that never change
	for i := range p.queues.Queues() {
		r.Queues = append(r.Queues, p.queues.Queue(i).Settings)
	}
	return r
}

func (c *store) lagRow(o *object, members []*object) LAGRow {
	r := LAGRow{
		OID: o.key.OID, PVID: uint16(o.number(sai.LAGAttrPortVLANID)), Priority: uint8(o.number(sai.LAGAttrDefaultVLANPriority)),
		DropTagged: o.flag(sai.LAGAttrDropTagged), DropUntagged: o.flag(sai.LAGAttrDropUntagged),
		IngressACL: o.ref(sai.LAGAttrIngressACL), EgressACL: o.ref(sai.LAGAttrEgressACL),
	}
	for _, m := range members {
		if p, ok := self[*port](c, m.ref(sai.LAGMemberAttrPortID)); ok {
			r.Members = append(r.Members, LAGMemberRow{p.id, m.flag(sai.LAGMemberAttrIngressDisable), m.flag(sai.LAGMemberAttrEgressDisable)})
		}
	}
	slices.SortFunc(r.Members, func(a, b LAGMemberRow) int { return cmp.Compare(a.Port, b.Port) })
	return r
}

func vlanRow(o *object, members []*object) VLANRow {
	r := VLANRow{
		OID: o.key.OID, ID: uint16(o.number(sai.VLANAttrVLANID)), LearnDisable: o.flag(sai.VLANAttrLearnDisable),
		FloodUnicast:   o.enum(sai.VLANAttrUnknownUnicastFloodControlType),
		FloodMulticast: o.enum(sai.VLANAttrUnknownMulticastFloodControlType),
		FloodBroadcast: o.enum(sai.VLANAttrBroadcastFloodControlType),
		IngressACL:     o.ref(sai.VLANAttrIngressACL), EgressACL: o.ref(sai.VLANAttrEgressACL),
	}
	for _, m := range members {
		r.Members = append(r.Members, VLANMemberRow{m.ref(sai.VLANMemberAttrBridgePortID), m.enum(sai.VLANMemberAttrVLANTaggingMode)})
	}
	return r
}

func (c *store) fdbRows() (rows []FDBRow) {
	for i := range c.fdb.slots {
		e := &c.fdb.slots[i]
		if e.key != 0 {
			rows = append(rows, FDBRow{uint16(e.key >> 48), macBytes(e.key), e.to.o.key.OID,
				e.static, e.act&actDrop != 0, e.act&actCopy != 0, e.moves, e.seen})
		}
	}
	slices.SortFunc(rows, func(a, b FDBRow) int {
		return cmp.Or(cmp.Compare(a.VLAN, b.VLAN), slices.Compare(a.MAC[:], b.MAC[:]))
	})
	return rows
}

// entryRows returns the entries of a table in their order of precedence.
func entryRows(entries []*object) (rows []ACLEntryRow) {
	for _, o := range entries {
		r := ACLEntryRow{
			OID: o.key.OID, Priority: uint32(o.number(sai.ACLEntryAttrPriority)),
			Enabled: o.flag(sai.ACLEntryAttrAdminState), Content: o.self.(*aclEntry).content,
		}
		for _, a := range o.attrs {
			switch v := a.Value.(type) {
			case sai.Field:
				if v.Enabled {
					r.Fields = append(r.Fields, a)
				}
			case sai.Action:
				if v.Enabled {
					r.Actions = append(r.Actions, a)
				}
			}
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b ACLEntryRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.Content, b.Content))
	})
	return rows
}

func (c *store) groupRow(o *object, members []*object) ACLGroupRow {
	r := ACLGroupRow{
		OID: o.key.OID, Stage: o.enum(sai.ACLTableGroupAttrACLStage),
		Sequential: o.enum(sai.ACLTableGroupAttrType) == sai.ACLTableGroupTypeSequential,
	}
	texts := map[sai.OID]string{}
	for _, m := range members {
		table := m.ref(sai.ACLTableGroupMemberAttrACLTableID)
		if t, ok := self[*aclTable](c, table); ok {
			texts[table] = t.text()
		}
		r.Members = append(r.Members, ACLMemberRow{table, uint32(m.number(sai.ACLTableGroupMemberAttrPriority))})
	}
	slices.SortStableFunc(r.Members, func(a, b ACLMemberRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(texts[a.Table], texts[b.Table]))
	})
	return r
}
