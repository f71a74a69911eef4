package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/objects/aclmap"
	"tamtam/saisim/profile"
	"tamtam/tam/altmark"
)

// acls is the area of the tables, groups, entries, ranges and counters of ACLs.
type acls struct {
	*core
	entriesUsed, tablesUsed byStage
	rangesUsed              uint64                 // bit set of used range checkers
	labelled                map[string][]config.ID // counters by label
	fields                  map[sai.AttrID]config.ACLField
	actions                 map[sai.AttrID]aclmap.Action
	marked                  markFlows
}

func newACLs(c *core) *acls {
	return &acls{core: c, labelled: map[string][]config.ID{}, fields: aclmap.Fields(), actions: aclmap.EntryActions(),
		marked: newMarkFlows()}
}

// byStage holds a number for each stage.
type byStage [config.NumStages]uint32

// aclStage returns the stage of a table or group.
func aclStage(o *object, id sai.AttrID) config.Stage { return stageOf(o.enum(id)) }

func stageOf(v sai.Value) config.Stage {
	switch v {
	case sai.ACLStageEgress:
		return config.Egress
	case sai.ACLStagePreIngress:
		return config.PreIngress
	}
	return config.Ingress
}

// stages returns SAI's values for the stages of the chip, in the order of [config.Stage].
func (as *acls) stages() []sai.Enum {
	all := []sai.Enum{sai.ACLStageIngress, sai.ACLStageEgress}
	if preIngress(&as.prof) {
		all = append(all, sai.ACLStagePreIngress)
	}
	return all
}

// preIngress reports whether a chip has the stage after the parser. Chips that record tables have it.
func preIngress(p *profile.Profile) bool { return p.TableRecord.Bits > 0 }

func bindPoints() []sai.Enum {
	return []sai.Enum{sai.ACLBindPointTypePort, sai.ACLBindPointTypeLAG, sai.ACLBindPointTypeVLAN,
		sai.ACLBindPointTypeSwitch}
}

// checkBinds rejects bindings that are not allowed at a bind point. The table or group must be of the attribute's
// stage, and must have been created for this kind of bind point. The attributes are in the order of stages.
func (as *acls) checkBinds(o *object, point sai.Enum, attrs ...sai.AttrID) error {
	for stage, id := range attrs {
		a := sai.Attr{ID: id, Value: o.ref(id)}
		is, points := config.Stage(stage), []sai.Enum(nil)
		if t, ok := self[*aclTable](as.core, o.ref(id)); ok {
			is, points = t.stage, t.bind
		} else if g, ok := self[*aclGroup](as.core, o.ref(id)); ok {
			is, points = g.stage, g.bind
		}
		if is != config.Stage(stage) {
			return badValue(a.ID, sai.StatusInvalidParameter, "it is of another stage")
		}
		if len(points) > 0 && !slices.Contains(points, point) {
			return badValue(a.ID, sai.StatusInvalidParameter, "it was not made to be bound to %s",
				sai.EnumName(sai.ACLTableAttrACLBindPointTypeList, point))
		}
	}
	return nil
}

// tablesByBindPoint and groupsByBindPoint return how many tables and groups are left.
func (as *acls) tablesByBindPoint() sai.ACLResources {
	return as.resources(as.prof.ACL.Tables, as.tablesUsed)
}

func (as *acls) groupsByBindPoint() sai.ACLResources {
	return as.resources(as.prof.ACL.Groups, as.groupsUsed())
}

// resources returns the number of tables or groups left, by stage and bind point.
func (as *acls) resources(limit uint32, used byStage) (r sai.ACLResources) {
	for stage, s := range as.stages() {
		for _, p := range bindPoints() {
			if config.Stage(stage) == config.PreIngress && p != sai.ACLBindPointTypeSwitch {
				continue // SAI has no attribute for this bind point
			}
			r = append(r, sai.ACLResource{Stage: s, BindPoint: p, Available: limit - used[stage]})
		}
	}
	return r
}

// An aclTable is the state that the store keeps for an ACL_TABLE object.
type aclTable struct {
	o       *object
	stage   config.Stage
	size    uint32
	entries uint32
	bind    []sai.Enum // bind point types
	actions []sai.Enum // allowed action types
	text    string     // attributes at creation: they decide the order of tables of equal priority
}

// An aclGroup is the state that the store keeps for an ACL_TABLE_GROUP object.
type aclGroup struct {
	stage   config.Stage
	bind    []sai.Enum
	members []*object // in the order of their creation
}

// An aclEntry is the state that the store keeps for an ACL_ENTRY object.
type aclEntry struct {
	table *aclTable
	index uint32 // flow index of alternate marking
	marks bool   // the entry has a flow index
}

// allowsField rejects a match that the table was not created for.
func (t *aclTable) allowsField(c *core, a sai.Attr, f sai.Field) error {
	if a.ID != sai.ACLEntryAttrFieldACLRangeType {
		if !t.o.flag(tableField(a.ID)) {
			return badValue(a.ID, sai.StatusInvalidParameter, "the table does not have the field")
		}
		return nil
	}
	types, _ := t.o.attr(sai.ACLTableAttrFieldACLRangeType).(sai.Enums)
	oids, _ := f.Data.(sai.OIDs)
	for _, oid := range oids {
		if o := c.objects[oid]; o != nil && !slices.Contains(types, o.enum(sai.ACLRangeAttrType)) {
			return badValue(a.ID, sai.StatusInvalidParameter, "the table does not have ranges of %s",
				sai.EnumName(sai.ACLRangeAttrType, o.enum(sai.ACLRangeAttrType)))
		}
	}
	return nil
}

// allowsAction rejects an action that the table was not created for.
func (t *aclTable) allowsAction(known map[sai.AttrID]aclmap.Action, a sai.Attr) error {
	if !slices.Contains(t.actions, known[a.ID].Listed) {
		return badValue(a.ID, sai.StatusInvalidParameter, "the table does not have the action")
	}
	return nil
}

// entriesLeft returns how many more entries fit into a table.
func (as *acls) entriesLeft(t *aclTable) uint32 {
	return min(t.size-t.entries, as.prof.ACL.Entries-as.entriesUsed[t.stage])
}

// tableField returns a table's attribute for a field of entries. SAI numbers both in the same order.
func tableField(entry sai.AttrID) sai.AttrID {
	return entry - sai.AttrID(sai.ObjectTypeACLEntry)<<32 + sai.AttrID(sai.ObjectTypeACLTable)<<32
}

// markFlows holds the matches that ACL entries for flows of alternate marking have in addition to their attributes.
type markFlows struct {
	of      map[uint32]altmark.ChipFlowOf // settings by flow index
	entries map[uint32][]sai.OID          // entries by the flow index that they name
}

func newMarkFlows() markFlows {
	return markFlows{of: map[uint32]altmark.ChipFlowOf{}, entries: map[uint32][]sai.OID{}}
}
