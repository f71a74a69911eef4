package objects

import (
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/objects/qosmap"
)

// entryActions returns the action attributes of entries.
func entryActions() map[sai.AttrID]aclAction {
	return map[sai.AttrID]aclAction{
		sai.ACLEntryAttrActionPacketAction:              {sai.ACLActionTypePacketAction, config.ActPacket},
		sai.ACLEntryAttrActionCounter:                   {sai.ACLActionTypeCounter, config.ActCounter},
		sai.ACLEntryAttrActionRedirect:                  {sai.ACLActionTypeRedirect, config.ActRedirect},
		sai.ACLEntryAttrActionMirrorIngress:             {sai.ACLActionTypeMirrorIngress, config.ActMirrorIngress},
		sai.ACLEntryAttrActionMirrorEgress:              {sai.ACLActionTypeMirrorEgress, config.ActMirrorEgress},
		sai.ACLEntryAttrActionSetTC:                     {sai.ACLActionTypeSetTC, config.ActSetTC},
		sai.ACLEntryAttrActionSetDSCP:                   {sai.ACLActionTypeSetDSCP, config.ActSetDSCP},
		sai.ACLEntryAttrActionSetACLMetaData:            {sai.ACLActionTypeSetACLMetaData, config.ActSetMeta},
		sai.ACLEntryAttrActionSetDoNotLearn:             {sai.ACLActionTypeSetDoNotLearn, config.ActNoLearning},
		sai.ACLEntryAttrActionTAMIntObject:              {sai.ACLActionTypeTAMIntObject, config.ActStamp},
		sai.ACLEntryAttrActionTAMObject:                 {sai.ACLActionTypeTAMObject, config.ActTAM},
		sai.ACLEntryAttrActionIngressSamplepacketEnable: {sai.ACLActionTypeIngressSamplepacketEnable, config.ActSample},
		sai.ACLEntryAttrActionEgressSamplepacketEnable:  {sai.ACLActionTypeEgressSamplepacketEnable, config.ActSample},
		// They qualify the object above, and are not actions of their own in rows.
		sai.ACLEntryAttrActionIntInsert: {sai.ACLActionTypeIntInsert, config.NumACLActions},
		sai.ACLEntryAttrActionIntDelete: {sai.ACLActionTypeIntDelete, config.NumACLActions},
	}
}

// aclActions returns the actions of a stage.
func aclActions(stage config.Stage) (actions []sai.Enum) {
	for _, a := range entryActions() {
		early := a.listed == sai.ACLActionTypeTAMObject
		if stage == config.PreIngress {
			early = early || a.listed == sai.ACLActionTypeCounter || a.listed == sai.ACLActionTypeMirrorIngress
		}
		if early != (stage == config.PreIngress) {
			continue
		}
		switch a.listed {
		case sai.ACLActionTypeRedirect, sai.ACLActionTypeSetACLMetaData, sai.ACLActionTypeSetDoNotLearn,
			sai.ACLActionTypeMirrorIngress, sai.ACLActionTypeSetTC, sai.ACLActionTypeSetDSCP, sai.ACLActionTypeIntDelete,
			sai.ACLActionTypeIngressSamplepacketEnable:
			if stage == config.Egress {
				continue
			}
		case sai.ACLActionTypeMirrorEgress, sai.ACLActionTypeEgressSamplepacketEnable:
			if stage == config.Ingress {
				continue
			}
		}
		actions = append(actions, a.listed)
	}
	slices.Sort(actions)
	return actions
}

// allACLActions returns the actions of all stages.
func allACLActions() []sai.Enum {
	all := slices.Concat(aclActions(config.PreIngress), aclActions(config.Ingress), aclActions(config.Egress))
	slices.Sort(all)
	return slices.Compact(all)
}

func aclCapability(stage config.Stage) sai.ACLCapability {
	return sai.ACLCapability{Actions: aclActions(stage)}
}

// addAction adds an action to the row of an entry.
func (as *acls) addAction(r *config.ACLEntry, t *aclTable, a sai.Attr, param sai.Value) error {
	if err := t.allowsAction(as.actions, a); err != nil {
		return err
	}
	x := config.ACLAction{Kind: as.actions[a.ID].kind}
	switch v := param.(type) {
	case sai.Enum: // packet action
		does := config.PacketAction(v) // rows number packet actions in SAI's order
		if t.stage == config.Egress && does.Copies() {
			return badValue(a.ID, sai.StatusNotSupported, "egress entries do not copy to the CPU")
		}
		x.Number = uint64(does)
	case sai.Uint:
		if err := checkActionNumber(a, uint64(v)); err != nil {
			return err
		}
		x.Number = uint64(v)
	case sai.Bool: // INT_INSERT, INT_DELETE
		return nil
	case sai.OIDs:
		x.Of = configIDs(v)
	case sai.OID:
		x.Of = []config.ID{config.ID(v)}
		if skip, err := as.checkActionObject(t, a, v); skip || err != nil {
			return err
		}
	}
	r.Actions = append(r.Actions, x)
	return nil
}

// checkActionNumber rejects an action whose parameter is out of range.
func checkActionNumber(a sai.Attr, v uint64) error {
	switch {
	case a.ID == sai.ACLEntryAttrActionSetTC && v > qosmap.TrafficClasses-1:
		return badValue(a.ID, sai.StatusInvalidParameter, "traffic class %d, want 0 to %d", v, qosmap.TrafficClasses-1)
	case a.ID == sai.ACLEntryAttrActionSetDSCP && v > 63:
		return badValue(a.ID, sai.StatusInvalidParameter, "DSCP %d, want 0 to 63", v)
	}
	return nil
}

// checkActionObject rejects an action with an unsuitable object. none reports that the action names no object.
func (as *acls) checkActionObject(t *aclTable, a sai.Attr, v sai.OID) (none bool, err error) {
	switch a.ID {
	case sai.ACLEntryAttrActionCounter:
		if x := as.objects[v]; x == nil || x.ref(sai.ACLCounterAttrTableID) != t.o.key.OID {
			return false, badValue(a.ID, sai.StatusInvalidParameter, "the counter is one of another table")
		}
	case sai.ACLEntryAttrActionTAMIntObject:
		x, ok := row[config.TAMInt](as.core, v)
		if x.IFA.On && t.stage == config.Egress {
			return false, badValue(a.ID, sai.StatusNotSupported, "entries of egress tables have no objects of IFA2")
		}
		return !ok, nil
	case sai.ACLEntryAttrActionTAMObject:
		return v == sai.NullOID, nil
	case sai.ACLEntryAttrActionRedirect:
		if !as.redirectsTo(v) {
			return false, badValue(a.ID, sai.StatusNotSupported,
				"the chip redirects to ports, LAGs, bridge ports, next hops and their groups")
		}
	}
	return false, nil
}

// redirectsTo reports whether an entry can redirect to an object.
func (as *acls) redirectsTo(oid sai.OID) bool {
	_, port := row[config.Port](as.core, oid)
	_, lag := row[config.LAG](as.core, oid)
	_, bridgePort := row[config.BridgePort](as.core, oid)
	_, hop := row[config.NextHop](as.core, oid)
	_, group := row[config.HopGroup](as.core, oid)
	return port || lag || bridgePort || hop || group
}
