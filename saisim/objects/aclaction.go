package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/objects/qosmap"
)

// addAction adds an action to the row of an entry.
func (as *acls) addAction(r *config.ACLEntry, t *aclTable, a sai.Attr, param sai.Value) error {
	if err := t.allowsAction(as.actions, a); err != nil {
		return err
	}
	x := config.ACLAction{Kind: as.actions[a.ID].Kind}
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
	case sai.Bool: // INT_INSERT, INT_DELETE, PACKET_TRIM_DISABLE
		if x.Kind != config.ActNoTrim || !v {
			return nil
		}
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
