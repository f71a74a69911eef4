package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/objects/aclmap"
)

// match returns the match of an enabled field.
func (as *acls) match(t *aclTable, a sai.Attr, f sai.Field) (config.ACLMatch, error) {
	m := config.ACLMatch{Field: as.fields[a.ID]}
	if err := t.allowsField(as.core, a, f); err != nil {
		return m, err
	}
	var err error
	switch m.Field {
	case config.FieldInPorts, config.FieldOutPorts:
		m.Of, err = as.matchPorts(a, f.Data)
	case config.FieldRanges:
		m.Of, err = as.matchRanges(a, f.Data)
	case config.FieldHasTag:
		if v, _ := f.Data.(sai.Bool); v {
			m.Value[1] = 1
		}
	case config.FieldIPType, config.FieldFragment, config.FieldTags:
		v, _ := f.Data.(sai.Enum)
		m.Value[1], err = aclmap.EnumValue(a, m.Field, v)
	case config.FieldTailstamp: // the kind's enums allow a single value
	default:
		m.Value, m.Mask, err = aclmap.Bits(a, m.Field.Bits(), f)
	}
	return m, err
}

// matchPorts returns the ids of front-panel ports, or of one LAG.
func (as *acls) matchPorts(a sai.Attr, v sai.Value) ([]config.ID, error) {
	oids, list := v.(sai.OIDs)
	if oid, ok := v.(sai.OID); ok && !list {
		oids = sai.OIDs{oid}
	}
	ids := configIDs(oids)
	for _, id := range ids {
		_, port := config.Find[config.Port](as.tables, id)
		_, lag := config.Find[config.LAG](as.tables, id)
		if !port && (!lag || len(ids) > 1) {
			return nil, badValue(a.ID, sai.StatusInvalidParameter, "%s is no front-panel port", sai.OID(id))
		}
	}
	return ids, nil
}

func (as *acls) matchRanges(a sai.Attr, v sai.Value) ([]config.ID, error) {
	oids, _ := v.(sai.OIDs)
	ids := configIDs(oids)
	for _, id := range ids {
		if _, ok := config.Find[config.ACLRange](as.tables, id); !ok {
			return nil, badValue(a.ID, sai.StatusInvalidParameter, "%s is no range", sai.OID(id))
		}
	}
	return ids, nil
}
