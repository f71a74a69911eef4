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
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.ACLTableGroupAttrMemberList: func(o *object) sai.Value { return oidsOf(o.self.(*aclGroup).members) },
		},
	}
}

// groupRow returns the row of a group with its members by descending priority. Members of equal priority are in the
// order of their tables' creation attributes.
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

func (as *acls) groupMemberKind() *kind {
	const table, priority = sai.ACLTableGroupMemberAttrACLTableID, sai.ACLTableGroupMemberAttrPriority
	groupOf := func(o *object) (*object, *[]*object) {
		g := as.objects[o.ref(sai.ACLTableGroupMemberAttrACLTableGroupID)]
		return g, &g.self.(*aclGroup).members
	}
	return as.memberKind(&kind{
		attrs: []sai.AttrID{sai.ACLTableGroupMemberAttrACLTableGroupID, table, priority},
		check: func(o *object) error {
			g, _ := groupOf(o)
			t, _ := self[*aclTable](as.core, o.ref(table))
			switch n := o.number(priority); {
			case g.self.(*aclGroup).stage != t.stage:
				return badCreate(table, sai.StatusInvalidParameter, "the table is of another stage than the group")
			case n > maxMemberPriority:
				return badCreate(priority, sai.StatusInvalidParameter, "%d, want 0 to %d", n, maxMemberPriority)
			}
			return nil
		},
		create: func(o *object) error {
			_, members := groupOf(o)
			for _, m := range *members {
				if m.ref(table) == o.ref(table) {
					return badCreate(table, sai.StatusItemAlreadyExists, "the table is in the group")
				}
			}
			return nil
		},
	}, groupOf)
}
