package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/objects/aclmap"
)

func (as *acls) tableKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.ACLTableAttrACLStage, sai.ACLTableAttrACLBindPointTypeList, sai.ACLTableAttrSize,
			sai.ACLTableAttrACLActionTypeList,
			sai.ACLTableAttrACLTableMatchType, sai.ACLTableAttrFieldACLRangeType,
			sai.ACLTableAttrEntryList, sai.ACLTableAttrAvailableACLEntry, sai.ACLTableAttrAvailableACLCounter,
		},
		enums: map[sai.AttrID][]sai.Enum{
			sai.ACLTableAttrACLStage:             as.stages(),
			sai.ACLTableAttrACLBindPointTypeList: bindPoints(),
			sai.ACLTableAttrACLActionTypeList:    aclmap.AllActions(),
			sai.ACLTableAttrACLTableMatchType:    {sai.ACLTableMatchTypeTernary},
		},
		create: as.createTable,
		row: func(o *object) (config.Row, error) {
			return config.ACLTable{ID: o.id(), Stage: o.self.(*aclTable).stage}, nil
		},
		gone: func(o *object) { as.tablesUsed[o.self.(*aclTable).stage]-- },
		get:  as.getTable,
	}
	for id, field := range aclmap.Fields() {
		if field != config.FieldRanges {
			k.attrs = append(k.attrs, tableField(id))
		}
	}
	slices.Sort(k.attrs)
	return k
}

func (as *acls) createTable(o *object) error {
	t := &aclTable{
		o: o, stage: aclStage(o, sai.ACLTableAttrACLStage), size: uint32(o.number(sai.ACLTableAttrSize)), text: o.content(),
	}
	t.bind, _ = o.attr(sai.ACLTableAttrACLBindPointTypeList).(sai.Enums)
	t.actions = aclmap.Actions(t.stage)
	if list, _ := o.attr(sai.ACLTableAttrACLActionTypeList).(sai.Enums); len(list) > 0 {
		t.actions = list
	}
	a := &as.prof.ACL
	if as.tablesUsed[t.stage] >= a.Tables {
		return refuse("create", sai.ObjectTypeACLTable, 0, sai.StatusInsufficientResources,
			"all %d tables of the stage are in use", a.Tables)
	}
	if t.size > a.TableEntries {
		return badCreate(sai.ACLTableAttrSize, sai.StatusInsufficientResources, "%d entries, a table has at most %d", t.size,
			a.TableEntries)
	}
	if t.size == 0 {
		t.size = a.TableEntries
	}
	for _, x := range t.actions {
		if !slices.Contains(aclmap.Actions(t.stage), x) {
			return badCreate(sai.ACLTableAttrACLActionTypeList, sai.StatusNotSupported, "%s is no action of the stage",
				sai.EnumName(sai.ACLTableAttrACLActionTypeList, x))
		}
	}
	for _, id := range []sai.AttrID{sai.ACLTableAttrFieldOutPort, sai.ACLTableAttrFieldOutPorts} {
		if t.stage != config.Egress && o.flag(id) {
			return badCreate(id, sai.StatusNotSupported, "the egress port is not known at ingress")
		}
	}
	if id := sai.ACLTableAttrFieldACLUserMeta; t.stage == config.PreIngress && o.flag(id) {
		return badCreate(id, sai.StatusNotSupported, "nothing has set it behind the parser")
	}
	o.self = t
	as.tablesUsed[t.stage]++
	return nil
}

func (as *acls) getTable(o *object, id sai.AttrID) sai.Value {
	t := o.self.(*aclTable)
	switch id {
	case sai.ACLTableAttrAvailableACLEntry:
		return sai.Uint(as.entriesLeft(t))
	case sai.ACLTableAttrAvailableACLCounter:
		return sai.Uint(as.prof.ACL.Counters - as.live[sai.ObjectTypeACLCounter])
	case sai.ACLTableAttrEntryList:
		oids := sai.OIDs{}
		for oid, x := range as.objects {
			if e, ok := x.self.(*aclEntry); ok && e.table == t {
				oids = append(oids, oid)
			}
		}
		slices.Sort(oids)
		return oids
	}
	return nil
}

// tablesLeft returns the number of tables left at the stage in the attributes, or at ingress if they name none.
func (as *acls) tablesLeft(attrs []sai.Attr) uint32 {
	v, _ := sai.Find(attrs, sai.ACLTableAttrACLStage)
	stage := stageOf(v)
	if stage == config.PreIngress && !preIngress(&as.prof) {
		return 0
	}
	return as.prof.ACL.Tables - as.tablesUsed[stage]
}
