package objects

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
)

const maxMemberPriority = 1<<16 - 1

func (as *acls) groupKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.ACLTableGroupAttrACLStage, sai.ACLTableGroupAttrACLBindPointTypeList, sai.ACLTableGroupAttrType,
			sai.ACLTableGroupAttrMemberList,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.ACLTableGroupAttrACLStage:             as.stages(),
			sai.ACLTableGroupAttrACLBindPointTypeList: bindPoints(),
		},
		create: func(o *object) error {
			g := &aclGroup{stage: aclStage(o, sai.ACLTableGroupAttrACLStage)}
			if used := as.groupsUsed(); used[g.stage] >= as.prof.ACL.Groups {
				return refuse("create", sai.ObjectTypeACLTableGroup, 0, sai.StatusInsufficientResources,
					"all %d groups of the stage are in use", as.prof.ACL.Groups)
			}
			g.bind, _ = o.attr(sai.ACLTableGroupAttrACLBindPointTypeList).(sai.Enums)
			o.self = g
			return nil
		},
		row: func(o *object) (config.Row, error) { return as.groupRow(o), nil },
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != sai.ACLTableGroupAttrMemberList {
				return nil
			}
			return oidsOf(o.self.(*aclGroup).members)
		},
	}
}

// groupRow returns the row of a group with its members: the higher priority first, at equal priority by
// what the tables were created from.
func (as *acls) groupRow(o *object) config.ACLGroup {
	r := config.ACLGroup{
		ID: o.id(), Stage: o.self.(*aclGroup).stage,
		Sequential: o.enum(sai.ACLTableGroupAttrType) == sai.ACLTableGroupTypeSequential,
	}
	for _, m := range o.self.(*aclGroup).members {
		r.Members = append(r.Members, config.ACLMember{Table: m.refID(sai.ACLTableGroupMemberAttrACLTableID),
			Priority: uint32(m.number(sai.ACLTableGroupMemberAttrPriority))})
	}
	text := func(m config.ACLMember) string {
		t, _ := self[*aclTable](as.core, sai.OID(m.Table))
		return t.text
	}
	slices.SortStableFunc(r.Members, func(a, b config.ACLMember) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(text(a), text(b)))
	})
	return r
}

func (as *acls) groupsUsed() (used byStage) {
	for _, o := range as.objects {
		if g, ok := o.self.(*aclGroup); ok {
			used[g.stage]++
		}
	}
	return used
}

func (as *acls) memberKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.ACLTableGroupMemberAttrACLTableGroupID, sai.ACLTableGroupMemberAttrACLTableID,
			sai.ACLTableGroupMemberAttrPriority,
		},
		create: as.createMember,
		set: func(o *object, a sai.Attr) error {
			next := o.with(a)
			if err := checkMemberPriority(next); err != nil {
				return err
			}
			o.put(a)
			return as.putGroupOf(o)
		},
		remove: func(o *object) error {
			g, _ := self[*aclGroup](as.core, o.ref(sai.ACLTableGroupMemberAttrACLTableGroupID))
			g.members = slices.DeleteFunc(g.members, func(m *object) bool { return m == o })
			return as.putGroupOf(o)
		},
	}
}

func (as *acls) createMember(o *object) error {
	table := o.ref(sai.ACLTableGroupMemberAttrACLTableID)
	g, _ := self[*aclGroup](as.core, o.ref(sai.ACLTableGroupMemberAttrACLTableGroupID))
	t, _ := self[*aclTable](as.core, table)
	bad := func(s sai.Status, why string) error {
		return refuse("create", sai.ObjectTypeACLTableGroupMember, sai.ACLTableGroupMemberAttrACLTableID, s, "%s", why)
	}
	if g.stage != t.stage {
		return bad(sai.StatusInvalidParameter, "the table is of another stage than the group")
	}
	if err := checkMemberPriority(o); err != nil {
		return err
	}
	for _, m := range g.members {
		if m.ref(sai.ACLTableGroupMemberAttrACLTableID) == table {
			return bad(sai.StatusItemAlreadyExists, "the table is in the group")
		}
	}
	g.members = append(g.members, o)
	return as.putGroupOf(o)
}

func checkMemberPriority(o *object) error {
	if n := o.number(sai.ACLTableGroupMemberAttrPriority); n > maxMemberPriority {
		return refuse("create", sai.ObjectTypeACLTableGroupMember, sai.ACLTableGroupMemberAttrPriority,
			sai.StatusInvalidParameter, "%d, want 0 to %d", n, maxMemberPriority)
	}
	return nil
}

// putGroupOf puts the row of a member's group.
func (as *acls) putGroupOf(o *object) error {
	return as.putRow(as.kinds[sai.ObjectTypeACLTableGroup], as.objects[o.ref(sai.ACLTableGroupMemberAttrACLTableGroupID)])
}
