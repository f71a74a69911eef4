package sai

import (
	"strings"
	"testing"
)

func list(pairs ...any) []Attr {
	var l []Attr
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, Attr{pairs[i].(AttrID), pairs[i+1].(Value)})
	}
	return l
}

// world returns a validator with a switch, two ports, a table, a counter that is used by an entry, and a VLAN 10.
func world(t *testing.T) *Validator {
	t.Helper()
	v := NewValidator()
	create := func(typ ObjectType, o OID, a []Attr) {
		if err := v.CheckCreate(typ, a); err != nil {
			t.Fatal(err)
		}
		v.Created(Obj(typ, o), a)
	}
	create(ObjectTypeSwitch, 1, list(SwitchAttrInitSwitch, Bool(true)))
	v.Found(Obj(ObjectTypePort, 10))
	v.Found(Obj(ObjectTypePort, 11))
	create(ObjectTypeACLTable, 20, list(ACLTableAttrACLStage, ACLStageIngress))
	create(ObjectTypeACLCounter, 30, list(ACLCounterAttrTableID, OID(20)))
	create(ObjectTypeACLEntry, 40, list(ACLEntryAttrTableID, OID(20), ACLEntryAttrActionCounter, Do(OID(30)),
		ACLEntryAttrFieldInPorts, Match(OIDs{10, 11}, nil)))
	create(ObjectTypeVLAN, 50, list(VLANAttrVLANID, Uint(10)))
	return v
}

func TestCheckCreate(t *testing.T) {
	v := world(t)
	tam := list(TAMIntAttrType, TAMIntTypeIfa1Tailstamp, TAMIntAttrDeviceID, Uint(7),
		TAMIntAttrIntPresenceType, TAMIntPresenceTypeDSCP, TAMIntAttrInline, Bool(true))
	for _, tt := range []struct {
		name  string
		typ   ObjectType
		attrs []Attr
		want  Status
	}{
		{"condition holds, attribute missing", ObjectTypeTAMInt, tam, StatusMandatoryAttributeMissing},
		{"condition holds, attribute given", ObjectTypeTAMInt, append(tam, list(TAMIntAttrIntPresenceDSCPValue, Uint(3))...),
			StatusSuccess},
		{"wrong Go type", ObjectTypeACLTable, list(ACLTableAttrACLStage, Uint(0)), StatusInvalidParameter},
		{"attribute of another type", ObjectTypeACLTable, list(ACLTableAttrACLStage, ACLStageIngress, ACLEntryAttrPriority,
			Uint(1)), StatusFailure},
		{"null object", ObjectTypeACLCounter, list(ACLCounterAttrTableID, NullOID), StatusInvalidParameter},
		{"null object where allowed", ObjectTypeACLEntry, list(ACLEntryAttrTableID, OID(20), ACLEntryAttrActionTAMIntObject,
			Do(NullOID)), StatusSuccess},
		{"object twice in a list", ObjectTypeACLEntry, list(ACLEntryAttrTableID, OID(20), ACLEntryAttrFieldInPorts,
			Match(OIDs{10, 10}, nil)), StatusInvalidParameter},
		{"list item of the wrong type", ObjectTypeACLEntry, list(ACLEntryAttrTableID, OID(20), ACLEntryAttrFieldInPorts,
			Match(OIDs{10, 20}, nil)), StatusInvalidParameter},
		{"disabled field names nothing", ObjectTypeACLEntry, list(ACLEntryAttrTableID, OID(20), ACLEntryAttrFieldInPorts,
			Field{Data: OIDs{99}}), StatusSuccess},
		{"key in use", ObjectTypeVLAN, list(VLANAttrVLANID, Uint(10)), StatusInvalidParameter},
		{"key free", ObjectTypeVLAN, list(VLANAttrVLANID, Uint(11)), StatusSuccess},
		{"text of 15 bytes", ObjectTypeACLCounter, list(ACLCounterAttrTableID, OID(20), ACLCounterAttrLabel,
			Text("123456789012345")), StatusSuccess},
		{"text of 16 bytes", ObjectTypeACLCounter, list(ACLCounterAttrTableID, OID(20), ACLCounterAttrLabel,
			Text("1234567890123456")), StatusInvalidParameter},
		{"text with a control character", ObjectTypeACLCounter, list(ACLCounterAttrTableID, OID(20), ACLCounterAttrLabel,
			Text("a\tb")), StatusInvalidParameter},
		{"no text", ObjectTypeACLCounter, list(ACLCounterAttrTableID, OID(20), ACLCounterAttrLabel, Text("")),
			StatusInvalidParameter},
		{"an entry has no id", ObjectTypeFDBEntry, nil, StatusInvalidParameter},
		{"second switch", ObjectTypeSwitch, nil, StatusFailure},
	} {
		err := v.CheckCreate(tt.typ, tt.attrs)
		if s, _ := StatusOf(err); s != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), tt.typ.String()) {
			t.Errorf("%s: the error %q does not name the object", tt.name, err)
		}
	}
	if err := NewValidator().CheckCreate(ObjectTypeVLAN, list(VLANAttrVLANID, Uint(1))); err == nil {
		t.Error("an object before the switch is accepted")
	}
	err := NewValidator().CheckCreate(ObjectTypeSwitch, list(SwitchAttrInitSwitch, Bool(true), SwitchAttrIngressACL,
		OID(20)))
	if s, _ := StatusOf(err); s != StatusInvalidParameter {
		t.Errorf("an object named when the switch is created: %v", err)
	}
}

// References are counted on creates, sets and removes.
func TestReferences(t *testing.T) {
	v := world(t)
	entry, counter, table := Obj(ObjectTypeACLEntry, 40), Obj(ObjectTypeACLCounter, 30), Obj(ObjectTypeACLTable, 20)
	inUse := func(what string, k Key, want bool) {
		t.Helper()
		if got := v.CheckRemove(k) != nil; got != want {
			t.Errorf("%s: %s in use: %t, want %t", what, k, got, want)
		}
	}
	inUse("at first", counter, true)
	inUse("at first", Obj(ObjectTypePort, 10), true)
	off := Attr{ACLEntryAttrActionCounter, Action{}}
	if err := v.CheckSet(entry, off); err != nil {
		t.Fatal(err)
	}
	v.Changed(entry, off)
	inUse("action disabled", counter, false)
	inUse("action disabled", table, true)
	v.Changed(entry, Attr{ACLEntryAttrActionCounter, Do(OID(30))})
	inUse("action enabled", counter, true)
	v.Removed(entry)
	inUse("entry removed", Obj(ObjectTypePort, 10), false)
	v.Removed(counter)
	inUse("counter removed", table, false)
	if err := v.CheckSet(entry, off); err == nil {
		t.Error("set of a removed object is accepted")
	}
	vlan := Obj(ObjectTypeVLAN, 50)
	created, learned := FDBEntry{Switch: 1, MAC: MAC{2}, BV: 50}, FDBEntry{Switch: 1, MAC: MAC{4}, BV: 50}
	v.Created(EntryKey(created), nil)
	v.Found(EntryKey(learned))
	v.Removed(EntryKey(learned))
	inUse("an address that was learned is gone", vlan, true)
	v.Removed(EntryKey(created))
	inUse("one that was created is gone", vlan, false)
	v.Removed(vlan)
	if err := v.CheckCreate(ObjectTypeVLAN, list(VLANAttrVLANID, Uint(10))); err != nil {
		t.Errorf("the key of a removed object is still in use: %v", err)
	}
	v.Removed(Obj(ObjectTypeSwitch, 1))
	if v.Exists(table) || v.Switch() != NullOID {
		t.Error("objects survive the switch")
	}
}

func TestCheckSetAndGet(t *testing.T) {
	v := world(t)
	entry := Obj(ObjectTypeACLEntry, 40)
	for _, tt := range []struct {
		name string
		err  error
		want Status
	}{
		{"set", v.CheckSet(entry, Attr{ACLEntryAttrPriority, Uint(3)}), StatusSuccess},
		{"set of a create-only attribute", v.CheckSet(entry, Attr{ACLEntryAttrTableID, OID(20)}), StatusInvalidParameter},
		{"set of a read-only attribute", v.CheckSet(Obj(ObjectTypeACLTable, 20),
			Attr{ACLTableAttrAvailableACLEntry, Uint(1)}), StatusInvalidParameter},
		{"set of what does not exist", v.CheckSet(Obj(ObjectTypeACLEntry, 41), Attr{ACLEntryAttrPriority, Uint(3)}),
			StatusItemNotFound},
		{"set with a key of the wrong type", v.CheckSet(Obj(ObjectTypeACLEntry, 30), Attr{ACLEntryAttrPriority, Uint(3)}),
			StatusInvalidParameter},
		{"set of no value", v.CheckSet(entry, Attr{ACLEntryAttrPriority, nil}), StatusInvalidParameter},
		{"get", v.CheckGet(entry, []Attr{Want(ACLEntryAttrPriority, 1)}), StatusSuccess},
		{"get of a list", v.CheckGet(Obj(ObjectTypeACLTable, 20), []Attr{Want(ACLTableAttrEntryList, 1)}), StatusSuccess},
		{"get without room", v.CheckGet(Obj(ObjectTypeACLTable, 20), []Attr{Want(ACLTableAttrEntryList, 0)}), StatusSuccess},
		{"get of nothing", v.CheckGet(entry, nil), StatusInvalidParameter},
		{"get of an unknown attribute", v.CheckGet(entry, []Attr{{ID: 1<<32 | 0xffff}}), StatusFailure},
		{"stats", v.CheckStats(Obj(ObjectTypePort, 10), []StatID{PortStatIfInOctets}), StatusSuccess},
		{"stats of another type", v.CheckStats(entry, []StatID{PortStatIfInOctets}), StatusInvalidParameter},
		{"flush", v.CheckFlush(nil), StatusSuccess},
		{"flush of an unknown VLAN", v.CheckFlush(list(FDBFlushAttrBvID, OID(99))), StatusInvalidParameter},
		{"entry", v.CheckCreateEntry(FDBEntry{Switch: 1, BV: 50}, list(FDBEntryAttrType, FDBEntryTypeStatic)), StatusSuccess},
		{"entry of an unknown VLAN", v.CheckCreateEntry(FDBEntry{Switch: 1, BV: 51},
			list(FDBEntryAttrType, FDBEntryTypeStatic)), StatusInvalidParameter},
	} {
		if s, _ := StatusOf(tt.err); s != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, tt.err, tt.want)
		}
	}
}
