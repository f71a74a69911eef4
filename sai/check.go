package sai

import "fmt"

// CheckSet checks the change of an attribute.
func (v *Validator) CheckSet(k Key, a Attr) error {
	t := k.objectType()
	m := Meta(a.ID)
	if m == nil || a.ID.ObjectType() != t {
		return fault("set", t, a.ID, StatusFailure, "no such attribute of this type")
	}
	if err := v.checkExists("set", k); err != nil {
		return err
	}
	if !m.Has(CreateAndSet) && !m.Has(SetOnly) {
		return fault("set", t, a.ID, StatusInvalidParameter, "attribute cannot be changed")
	}
	return v.checkValue("set", m, a.Value)
}

// CheckRemove checks the removal of an object.
func (v *Validator) CheckRemove(k Key) error {
	t := k.objectType()
	if err := v.checkExists("remove", k); err != nil {
		return err
	}
	if n := v.refs[k.OID]; k.Entry == nil && n > 0 && t != ObjectTypeSwitch {
		return fault("remove", t, 0, StatusObjectInUse, fmt.Sprintf("%s is used by %d other objects", k.OID, n))
	}
	return nil
}

// CheckGet checks a get and its placeholders. A list without items is a question for its length.
func (v *Validator) CheckGet(k Key, want []Attr) error {
	t := k.objectType()
	if len(want) == 0 {
		return fault("get", t, 0, StatusInvalidParameter, "no attribute asked for")
	}
	for _, a := range want {
		m := Meta(a.ID)
		if m == nil || a.ID.ObjectType() != t {
			return fault("get", t, a.ID, StatusFailure, "no such attribute of this type")
		}
		some := a.Value
		if b, ok := some.(Bytes); ok {
			some = b[:min(len(b), 1)] // all bytes of a placeholder are equal, and a register read has many
		}
		text, err := m.append(v.scratch[:0], some)
		if err != nil {
			return fault("get", t, a.ID, StatusInvalidParameter, err.Error())
		}
		v.scratch = text[:0]
	}
	return v.checkExists("get", k)
}

// CheckStats checks a read or clear of statistics.
func (v *Validator) CheckStats(k Key, ids []StatID) error {
	t := k.objectType()
	if len(ids) == 0 {
		return fault("get stats", t, 0, StatusInvalidParameter, "no statistic asked for")
	}
	for _, id := range ids {
		if _, ok := metadata().statNames[id]; !ok || id.ObjectType() != t {
			return fault("get stats", t, 0, StatusInvalidParameter, fmt.Sprintf("%s is no statistic of this type", id))
		}
	}
	return v.checkExists("get stats", k)
}

func (v *Validator) checkExists(op string, k Key) error {
	t := k.objectType()
	if v.Exists(k) {
		return nil
	}
	if k.Entry != nil {
		return fault(op, t, 0, StatusItemNotFound, FormatEntry(k.Entry)+" does not exist")
	}
	if got, ok := v.types[k.OID]; ok {
		return fault(op, t, 0, StatusInvalidParameter, fmt.Sprintf("%s is a %s", k.OID, got))
	}
	return fault(op, t, 0, StatusItemNotFound, fmt.Sprintf("object %s does not exist", k.OID))
}

func (k Key) objectType() ObjectType {
	if k.Entry != nil {
		return k.Entry.EntryType()
	}
	return k.Type
}

func fault(op string, t ObjectType, id AttrID, s Status, reason string) error {
	return &CallError{Op: op, Type: t, Attr: id, Status: s, Reason: reason}
}

// CheckFlush checks the attributes of an FDB flush.
func (v *Validator) CheckFlush(attrs []Attr) error {
	if v.sw == NullOID {
		return fault("flush", ObjectTypeFDBFlush, 0, StatusInvalidParameter, "the switch must be created first")
	}
	for _, a := range attrs {
		m := Meta(a.ID)
		if m == nil || a.ID.ObjectType() != ObjectTypeFDBFlush {
			return fault("flush", ObjectTypeFDBFlush, a.ID, StatusFailure, "no such attribute of this type")
		}
		if err := v.checkValue("flush", m, a.Value); err != nil {
			return err
		}
	}
	return nil
}
