package saisim

import (
	"math/bits"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// An aclTable is an ACL table with its entries.
type aclTable struct {
	o       *object
	stage   int
	size    uint32
	entries uint32
	bind    []sai.Enum // bind point types
	actions []sai.Enum // allowed ones
	space   tupleSpace
}

// An aclGroup is a group of tables of one stage.
type aclGroup struct {
	o          *object
	stage      int
	sequential bool
	bind       []sai.Enum
	members    []*aclMember
}

type aclMember struct {
	o        *object
	group    *aclGroup
	table    *aclTable
	priority uint32
}

const maxMemberPriority = 1<<16 - 1

// aclStage returns the stage of a table or group.
func aclStage(o *object, id sai.AttrID) int {
	if o.enum(id) == sai.ACLStageEgress {
		return stageEgress
	}
	return stageIngress
}

func aclStages() []sai.Enum { return []sai.Enum{sai.ACLStageIngress, sai.ACLStageEgress} }

func bindPoints() []sai.Enum {
	return []sai.Enum{sai.ACLBindPointTypePort, sai.ACLBindPointTypeLAG, sai.ACLBindPointTypeVLAN,
		sai.ACLBindPointTypeSwitch}
}

func (c *store) aclTableKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.ACLTableAttrACLStage, sai.ACLTableAttrACLBindPointTypeList, sai.ACLTableAttrSize,
			sai.ACLTableAttrACLActionTypeList,
			sai.ACLTableAttrACLTableMatchType, sai.ACLTableAttrFieldACLRangeType,
			sai.ACLTableAttrEntryList, sai.ACLTableAttrAvailableACLEntry, sai.ACLTableAttrAvailableACLCounter,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.ACLTableAttrACLStage:             aclStages(),
			sai.ACLTableAttrACLBindPointTypeList: bindPoints(),
			sai.ACLTableAttrACLActionTypeList:    aclActions(stageIngress),
			sai.ACLTableAttrACLTableMatchType:    {sai.ACLTableMatchTypeTernary},
		},
		create: c.createTable,
		remove: func(o *object) error {
			c.tablesUsed[o.self.(*aclTable).stage]--
			c.stale = true
			return nil
		},
		get: c.getTable,
	}
	for _, f := range aclFields() {
		k.attrs = append(k.attrs, tableField(f.id))
	}
	return k
}

func (c *store) createTable(o *object) error {
	t := &aclTable{o: o, stage: aclStage(o, sai.ACLTableAttrACLStage), size: uint32(o.number(sai.ACLTableAttrSize))}
	t.bind, _ = o.attr(sai.ACLTableAttrACLBindPointTypeList).(sai.Enums)
	t.actions = aclActions(t.stage)
	if list, _ := o.attr(sai.ACLTableAttrACLActionTypeList).(sai.Enums); len(list) > 0 {
		t.actions = list
	}
	refuseIt := func(id sai.AttrID, s sai.Status, format string, args ...any) error {
		return refuse("create", sai.ObjectTypeACLTable, id, s, format, args...)
	}
	a := &c.prof.ACL
	if c.tablesUsed[t.stage] >= a.Tables {
		return refuseIt(0, sai.StatusInsufficientResources, "all %d tables of the stage are in use", a.Tables)
	}
	if t.size > a.TableEntries {
		return refuseIt(sai.ACLTableAttrSize, sai.StatusInsufficientResources, "%d entries, a table has at most %d", t.size,
			a.TableEntries)
	}
	if t.size == 0 {
		t.size = a.TableEntries
	}
	for _, x := range t.actions {
		if !slices.Contains(aclActions(t.stage), x) {
			return refuseIt(sai.ACLTableAttrACLActionTypeList, sai.StatusNotSupported, "%s is no action of the stage",
				sai.EnumName(sai.ACLTableAttrACLActionTypeList, x))
		}
	}
	if t.stage == stageIngress {
		for _, id := range []sai.AttrID{sai.ACLTableAttrFieldOutPort, sai.ACLTableAttrFieldOutPorts} {
			if o.flag(id) {
				return refuseIt(id, sai.StatusNotSupported, "the egress port is not known at ingress")
			}
		}
	}
	o.self = t
	c.tablesUsed[t.stage]++
	return nil
}

func (c *store) getTable(o *object, id sai.AttrID) sai.Value {
	t := o.self.(*aclTable)
	switch id {
	case sai.ACLTableAttrAvailableACLEntry:
		return sai.Uint(c.entriesLeft(t))
	case sai.ACLTableAttrAvailableACLCounter:
		return sai.Uint(c.prof.ACL.Counters - c.live[sai.ObjectTypeACLCounter])
	case sai.ACLTableAttrEntryList:
		oids := sai.OIDs{}
		for oid, x := range c.objects {
			if e, ok := x.self.(*aclEntry); ok && e.table == t {
				oids = append(oids, oid)
			}
		}
		slices.Sort(oids)
		return oids
	}
	return nil
}

// text is what the table was made from: it decides between tables of one
// priority.
func (t *aclTable) text() string {
	var s []string
	for _, a := range t.o.attrs {
		v, _ := sai.FormatValue(a.ID, a.Value)
		s = append(s, a.ID.String()+"="+v)
	}
	slices.Sort(s)
	return strings.Join(s, ";")
}

// allowsField refuses a match that the table was not made for.
func (t *aclTable) allowsField(c *store, a sai.Attr, f sai.Field) error {
	if a.ID != sai.ACLEntryAttrFieldACLRangeType {
		if !t.o.flag(tableField(a.ID)) {
			return badValue(a, sai.StatusInvalidParameter, "the table does not have the field")
		}
		return nil
	}
	types, _ := t.o.attr(sai.ACLTableAttrFieldACLRangeType).(sai.Enums)
	oids, _ := f.Data.(sai.OIDs)
	for _, oid := range oids {
		if o := c.objects[oid]; o != nil && !slices.Contains(types, o.enum(sai.ACLRangeAttrType)) {
			return badValue(a, sai.StatusInvalidParameter, "the table does not have ranges of %s",
				sai.EnumName(sai.ACLRangeAttrType, o.enum(sai.ACLRangeAttrType)))
		}
	}
	return nil
}

// allowsAction refuses an action that the table was not made for.
func (t *aclTable) allowsAction(kinds map[sai.AttrID]sai.Enum, a sai.Attr) error {
	if !slices.Contains(t.actions, kinds[a.ID]) {
		return badValue(a, sai.StatusInvalidParameter, "the table does not have the action")
	}
	return nil
}

func (c *store) aclRangeKind() *kind {
	return &kind{
		max:   c.prof.ACL.Ranges,
		attrs: []sai.AttrID{sai.ACLRangeAttrType, sai.ACLRangeAttrLimit},
		create: func(o *object) error {
			limit, _ := o.attr(sai.ACLRangeAttrLimit).(sai.Range)
			o.self = config.ACLRange{
				ID: o.id(), Index: bits.TrailingZeros64(^c.ranges.used), // there is one: the kind's max says so
				Of:  rangeOf()[o.enum(sai.ACLRangeAttrType)],
				Min: uint32(limit.Min), Max: uint32(limit.Max),
			}
			return nil
		},
		row: func(o *object) (config.Row, error) { return o.self.(config.ACLRange), nil },
	}
}

// rangeOf says what a type of range compares.
func rangeOf() map[sai.Enum]config.RangeOf {
	return map[sai.Enum]config.RangeOf{
		sai.ACLRangeTypeL4SrcPortRange: config.RangeL4Src, sai.ACLRangeTypeL4DstPortRange: config.RangeL4Dst,
		sai.ACLRangeTypeOuterVLAN: config.RangeOuterVLAN, sai.ACLRangeTypeInnerVLAN: config.RangeInnerVLAN,
		sai.ACLRangeTypePacketLength: config.RangeLength,
	}
}

func (c *store) aclGroupKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.ACLTableGroupAttrACLStage, sai.ACLTableGroupAttrACLBindPointTypeList, sai.ACLTableGroupAttrType,
			sai.ACLTableGroupAttrMemberList,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.ACLTableGroupAttrACLStage:             aclStages(),
			sai.ACLTableGroupAttrACLBindPointTypeList: bindPoints(),
		},
		create: func(o *object) error {
			g := &aclGroup{
				o: o, stage: aclStage(o, sai.ACLTableGroupAttrACLStage),
				sequential: o.enum(sai.ACLTableGroupAttrType) == sai.ACLTableGroupTypeSequential,
			}
			if used := c.groupsUsed(); used[g.stage] >= c.prof.ACL.Groups {
				return refuse("create", sai.ObjectTypeACLTableGroup, 0, sai.StatusInsufficientResources,
					"all %d groups of the stage are in use", c.prof.ACL.Groups)
			}
			g.bind, _ = o.attr(sai.ACLTableGroupAttrACLBindPointTypeList).(sai.Enums)
			o.self = g
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != sai.ACLTableGroupAttrMemberList {
				return nil
			}
			oids := sai.OIDs{}
			for _, m := range o.self.(*aclGroup).members {
				oids = append(oids, m.o.key.OID)
			}
			return oids
		},
	}
}

func (c *store) groupsUsed() (used [2]uint32) {
	for _, o := range c.objects {
		if g, ok := o.self.(*aclGroup); ok {
			used[g.stage]++
		}
	}
	return used
}

func (c *store) aclMemberKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.ACLTableGroupMemberAttrACLTableGroupID, sai.ACLTableGroupMemberAttrACLTableID,
			sai.ACLTableGroupMemberAttrPriority,
		},
		create: func(o *object) error {
			g, _ := self[*aclGroup](c, o.ref(sai.ACLTableGroupMemberAttrACLTableGroupID))
			t, _ := self[*aclTable](c, o.ref(sai.ACLTableGroupMemberAttrACLTableID))
			priority := o.number(sai.ACLTableGroupMemberAttrPriority)
			bad := func(id sai.AttrID, s sai.Status, format string, args ...any) error {
				return refuse("create", sai.ObjectTypeACLTableGroupMember, id, s, format, args...)
			}
			switch {
			case g.stage != t.stage:
				return bad(sai.ACLTableGroupMemberAttrACLTableID, sai.StatusInvalidParameter,
					"the table is of another stage than the group")
			case priority > maxMemberPriority:
				return bad(sai.ACLTableGroupMemberAttrPriority, sai.StatusInvalidParameter, "%d, want 0 to %d", priority,
					maxMemberPriority)
			}
			for _, m := range g.members {
				if m.table == t {
					return bad(sai.ACLTableGroupMemberAttrACLTableID, sai.StatusItemAlreadyExists, "the table is in the group")
				}
			}
			m := &aclMember{o: o, group: g, table: t, priority: uint32(priority)}
			o.self = m
			g.members = append(g.members, m)
			c.stale = true
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			if v, ok := a.Value.(sai.Uint); ok {
				o.self.(*aclMember).priority = uint32(v)
			}
			c.stale = true
			return nil
		},
		remove: func(o *object) error {
			m := o.self.(*aclMember)
			m.group.members = slices.DeleteFunc(m.group.members, func(x *aclMember) bool { return x == m })
			c.stale = true
			return nil
		},
	}
}

// checkBinds refuses what cannot be bound to a bind point: a table or group of another stage than that
// of the attribute, or one that was not made for it. The attributes are those of ingress and egress.
func (c *store) checkBinds(o *object, point sai.Enum, attrs ...sai.AttrID) error {
	for stage, id := range attrs {
		a := sai.Attr{ID: id, Value: o.ref(id)}
		is, points := stage, []sai.Enum(nil)
		if t, ok := self[*aclTable](c, o.ref(id)); ok {
			is, points = t.stage, t.bind
		} else if g, ok := self[*aclGroup](c, o.ref(id)); ok {
			is, points = g.stage, g.bind
		}
		if is != stage {
			return badValue(a, sai.StatusInvalidParameter, "it is of another stage")
		}
		if len(points) > 0 && !slices.Contains(points, point) {
			return badValue(a, sai.StatusInvalidParameter, "it was not made to be bound to %s",
				sai.EnumName(sai.ACLTableAttrACLBindPointTypeList, point))
		}
	}
	return nil
}

// lookups appends the tables that the bind points lead to, each once.
func (c *store) lookups(dst []lookup, points []config.ID) []lookup {
	add := func(t *aclTable, priority uint32, group uint16) {
		if !slices.ContainsFunc(dst, func(l lookup) bool { return l.table == t }) {
			dst = append(dst, lookup{t, priority, group})
		}
	}
	for i, id := range points {
		oid := sai.OID(id)
		if t, ok := self[*aclTable](c, oid); ok {
			add(t, 0, 0)
			continue
		}
		g, ok := self[*aclGroup](c, oid)
		if !ok {
			continue
		}
		members := slices.Clone(g.members)
		slices.SortFunc(members, func(a, b *aclMember) int {
			if a.priority != b.priority {
				return int(b.priority) - int(a.priority)
			}
			return strings.Compare(a.table.text(), b.table.text())
		})
		for _, m := range members {
			group := uint16(0)
			if g.sequential {
				group = uint16(i + 1)
			}
			add(m.table, m.priority, group)
		}
	}
	return dst
}

// aclResources tells what is left of tables or groups.
func (c *store) aclResources(limit uint32, used [2]uint32) (r sai.ACLResources) {
	for stage, s := range aclStages() {
		for _, p := range bindPoints() {
			r = append(r, sai.ACLResource{Stage: s, BindPoint: p, Available: limit - used[stage]})
		}
	}
	return r
}

// tablesLeft is the number of tables left at the stage that the attributes name
// (ingress if none).
func (c *store) tablesLeft(attrs []sai.Attr) uint32 {
	stage := stageIngress
	if v, ok := sai.Find(attrs, sai.ACLTableAttrACLStage); ok && v == sai.ACLStageEgress {
		stage = stageEgress
	}
	return c.prof.ACL.Tables - c.tablesUsed[stage]
}
