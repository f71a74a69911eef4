package saitest

import (
	"context"
	"testing"

	"tamtam/sai"
)

// The recorder records calls, fails selected ones, including one item of a bulk call, and returns the objects that
// are left.
func TestRecorder(t *testing.T) {
	ctx := context.Background()
	r := NewRecorder(NewFake())
	if _, err := r.Create(ctx, sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true))); err != nil {
		t.Fatal(err)
	}
	r.Reset()
	table, err := r.Create(ctx, sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	if err != nil {
		t.Fatal(err)
	}
	r.FailAt(2, sai.StatusTableFull)
	counter := attrs(sai.ACLCounterAttrTableID, table)
	oids, errs := r.BulkCreate(ctx, sai.ObjectTypeACLCounter, [][]sai.Attr{counter, counter, counter})
	if errs[0] != nil || errs[1] != sai.StatusTableFull || errs[2] != nil || oids[0] == oids[2] {
		t.Errorf("ids %v, errors %v", oids, errs)
	}
	if n := r.Changes(); n != 3 {
		t.Errorf("%d changing calls, want 3", n)
	}
	k := sai.Obj(sai.ObjectTypeACLCounter, oids[0])
	if err := r.Set(ctx, k, sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text("a-b")}); err != nil {
		t.Error(err)
	}
	if _, err := r.Get(ctx, k, []sai.Attr{sai.Want(sai.ACLCounterAttrLabel, 1)}); err != nil {
		t.Error(err)
	}
	if err := r.Remove(ctx, k); err != nil {
		t.Error(err)
	}
	want := `c|SAI_OBJECT_TYPE_ACL_TABLE:oid:0x700000000|SAI_ACL_TABLE_ATTR_ACL_STAGE=SAI_ACL_STAGE_INGRESS
C|SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x900000000|SAI_ACL_COUNTER_ATTR_TABLE_ID=oid:0x700000000
C|SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x0|SAI_ACL_COUNTER_ATTR_TABLE_ID=oid:0x700000000
E|SAI_STATUS_TABLE_FULL
C|SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x900000001|SAI_ACL_COUNTER_ATTR_TABLE_ID=oid:0x700000000
s|SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x900000000|SAI_ACL_COUNTER_ATTR_LABEL=a\x2Db
g|SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x900000000|SAI_ACL_COUNTER_ATTR_LABEL=a\x2Db
r|SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x900000000`
	if got := r.Text(); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
	if live := r.LiveOf(sai.ObjectTypeACLCounter); len(live) != 1 || live[0].OID != oids[2] {
		t.Errorf("live counters %v", live)
	}
}

// The fake's tables have finite size, and it refuses unsupported attributes.
func TestFakeLimits(t *testing.T) {
	ctx := context.Background()
	f := New(Options{Ports: 4, ACLEntries: 1, Extensions: []string{"x"},
		Unsupported: []sai.AttrID{sai.ACLEntryAttrActionTAMIntObject}})
	s := &session{T: t, api: f}
	s.create(sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
	table := s.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	entry := attrs(sai.ACLEntryAttrTableID, table)
	first := s.create(sai.ObjectTypeACLEntry, entry)
	_, err := f.Create(ctx, sai.ObjectTypeACLEntry, entry)
	s.wantStatus("second entry", err, sai.StatusTableFull)
	s.wantStatus("remove", f.Remove(ctx, sai.Obj(sai.ObjectTypeACLEntry, first)), sai.StatusSuccess)
	second := s.create(sai.ObjectTypeACLEntry, entry)
	s.wantStatus("unsupported action", f.Set(ctx, sai.Obj(sai.ObjectTypeACLEntry, second),
		sai.Attr{ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Do(sai.NullOID)}), sai.StatusAttrNotSupported0)
	for name, want := range map[string]sai.Status{"x": sai.StatusSuccess, "y": sai.StatusNotSupported} {
		_, err := f.Create(ctx, sai.ObjectTypeGenericProgrammable, attrs(sai.GenericProgrammableAttrObjectName,
			sai.Bytes(name)))
		s.wantStatus("extension "+name, err, want)
	}
}
