package saisim

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
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
	Switch      config.Switch
	Ports       []config.Port // front-panel ports
	LAGs        []config.LAG
	BridgePorts []config.BridgePort
	VLANs       []config.VLAN
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

// An FDBRow is an address in a VLAN.
type FDBRow struct {
	VLAN       uint16
	MAC        config.MAC
	BridgePort config.ID
	Static     bool
	Drop, Copy bool  // the packet action: to the CPU, not forwarded
	Moves      bool  // static, but learned elsewhere like others
	Seen       Cycle // when it was last learned or set
}

// An ACLTableRow is an ACL table. Its entries are in their order of precedence:
// the first that matches is the hit.
type ACLTableRow struct {
	OID     config.ID
	Stage   sai.Enum // a sai_acl_stage_t
	Entries []ACLEntryRow
}

// An ACLEntryRow is an ACL entry: what it matches, and what it does then.
type ACLEntryRow struct {
	OID      config.ID
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
	OID        config.ID
	Stage      sai.Enum
	Sequential bool // the first table that hits ends the lookup
	Members    []ACLMemberRow
}

// An ACLMemberRow is a table in a group.
type ACLMemberRow struct {
	Table    config.ID
	Priority uint32
}

// An ACLRangeRow is a range checker.
type ACLRangeRow struct {
	OID      config.ID
	Type     sai.Enum // a sai_acl_range_type_t
	Min, Max uint32
}

// An ACLCounterRow is an ACL counter with what it has counted.
type ACLCounterRow struct {
	OID                      config.ID
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
	rows := c.tables.Tables()
	t.Switch, t.Ports, t.LAGs, t.BridgePorts, t.VLANs = rows.Switch, rows.Ports, rows.LAGs, rows.BridgePorts, rows.VLANs
	t.Mirrors = rows.Mirrors
	tables, groups := map[sai.OID][]*object{}, map[sai.OID][]*object{}
	objects := make([]*object, 0, len(c.objects))
	for _, o := range c.objects {
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b *object) int { return cmp.Compare(a.key.OID, b.key.OID) })
	for _, o := range objects {
		switch o.key.Type {
		case sai.ObjectTypeACLEntry:
			tables[o.ref(sai.ACLEntryAttrTableID)] = append(tables[o.ref(sai.ACLEntryAttrTableID)], o)
		case sai.ObjectTypeACLTableGroupMember:
			g := o.ref(sai.ACLTableGroupMemberAttrACLTableGroupID)
			groups[g] = append(groups[g], o)
		}
	}
	c.aclTables(&t, objects, tables, groups)
	t.FDB = c.fdbRows()
	t.Routing, t.Traps, t.TAMInts, t.AltMarks = rows.Routing, rows.Traps, rows.TAMInts, rows.AltMarks
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
			t.ACLTables = append(t.ACLTables, ACLTableRow{o.id(), o.enum(sai.ACLTableAttrACLStage),
				entryRows(entries[o.key.OID])})
		case sai.ObjectTypeACLTableGroup:
			t.ACLGroups = append(t.ACLGroups, c.groupRow(o, members[o.key.OID]))
		case sai.ObjectTypeACLRange:
			limit, _ := o.attr(sai.ACLRangeAttrLimit).(sai.Range)
			t.ACLRanges = append(t.ACLRanges, ACLRangeRow{o.id(), o.enum(sai.ACLRangeAttrType), uint32(limit.Min),
				uint32(limit.Max)})
		case sai.ObjectTypeACLCounter:
			x := o.self.(*aclCounter)
			t.ACLCounters = append(t.ACLCounters, ACLCounterRow{
				OID: o.id(), Label: x.label(), CountPackets: o.flag(sai.ACLCounterAttrEnablePacketCount),
				CountBytes: o.flag(sai.ACLCounterAttrEnableByteCount),
				Packets:    x.packets, Bytes: x.bytes, Stamps: x.stamps,
			})
		}
	}
}

func (c *store) fdbRows() (rows []FDBRow) {
	for i := range c.fdb.slots {
		e := &c.fdb.slots[i]
		if e.key != 0 {
			rows = append(rows, FDBRow{uint16(e.key >> 48), config.MAC(macBytes(e.key)), e.to.name,
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
			OID: o.id(), Priority: uint32(o.number(sai.ACLEntryAttrPriority)),
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
		OID: o.id(), Stage: o.enum(sai.ACLTableGroupAttrACLStage),
		Sequential: o.enum(sai.ACLTableGroupAttrType) == sai.ACLTableGroupTypeSequential,
	}
	texts := map[sai.OID]string{}
	for _, m := range members {
		table := m.ref(sai.ACLTableGroupMemberAttrACLTableID)
		if t, ok := self[*aclTable](c, table); ok {
			texts[table] = t.text()
		}
		r.Members = append(r.Members, ACLMemberRow{config.ID(table), uint32(m.number(sai.ACLTableGroupMemberAttrPriority))})
	}
	slices.SortStableFunc(r.Members, func(a, b ACLMemberRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(texts[sai.OID(a.Table)], texts[sai.OID(b.Table)]))
	})
	return r
}
