package saitest

import (
	"context"
	"testing"

	"tamtam/sai"
)

// Contract runs the tests that every backend must pass. newAPI returns a backend without a switch. The switch must
// get at least four ports.
func Contract(t *testing.T, newAPI func() sai.API) {
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) {
			s := &session{T: t, api: newAPI()}
			s.sw = s.create(sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
			c.run(s)
		})
	}
}

// A session is one backend with a switch.
type session struct {
	*testing.T
	api sai.API
	sw  sai.OID
}

// attrs returns attributes built from alternating ids and values.
func attrs(pairs ...any) []sai.Attr {
	var l []sai.Attr
	for i := 0; i < len(pairs); i += 2 {
		l = append(l, sai.Attr{ID: pairs[i].(sai.AttrID), Value: pairs[i+1].(sai.Value)})
	}
	return l
}

func (s *session) create(t sai.ObjectType, a []sai.Attr) sai.OID {
	s.Helper()
	o, err := s.api.Create(context.Background(), t, a)
	if err != nil {
		s.Fatalf("create %s: %v", t, err)
	}
	if o == sai.NullOID {
		s.Fatalf("create %s gave the null object", t)
	}
	return o
}

// wantStatus checks the status of a call.
func (s *session) wantStatus(what string, err error, want sai.Status) {
	s.Helper()
	if got, ok := sai.StatusOf(err); !ok || got != want {
		s.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (s *session) get(k sai.Key, id sai.AttrID) sai.Value {
	s.Helper()
	got, err := s.api.Get(context.Background(), k, []sai.Attr{sai.Want(id, 256)})
	if err != nil {
		s.Fatalf("get %s of %s: %v", id, k, err)
	}
	return got[0].Value
}

func (s *session) ports() sai.OIDs {
	s.Helper()
	return s.get(sai.Obj(sai.ObjectTypeSwitch, s.sw), sai.SwitchAttrPortList).(sai.OIDs)
}

func (s *session) table() sai.OID {
	s.Helper()
	return s.create(sai.ObjectTypeACLTable, attrs(
		sai.ACLTableAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableAttrACLBindPointTypeList, sai.Enums{sai.ACLBindPointTypePort, sai.ACLBindPointTypeLAG},
		sai.ACLTableAttrFieldSrcIP, sai.Bool(true),
		sai.ACLTableAttrFieldL4DstPort, sai.Bool(true),
		sai.ACLTableAttrFieldInPorts, sai.Bool(true),
		sai.ACLTableAttrFieldACLRangeType, sai.Enums{sai.ACLRangeTypeL4SrcPortRange},
	))
}

func (s *session) tamInt() sai.OID {
	s.Helper()
	return s.create(sai.ObjectTypeTAMInt, tamInt())
}

func tamInt() []sai.Attr {
	return attrs(
		sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp,
		sai.TAMIntAttrDeviceID, sai.Uint(7),
		sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined,
		sai.TAMIntAttrInline, sai.Bool(true),
	)
}

var contract = []struct {
	name string
	run  func(*session)
}{
	{"the switch has what SONiC expects", switchDefaults},
	{"a second switch is refused", func(s *session) {
		_, err := s.api.Create(context.Background(), sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
		s.wantStatus("create switch", err, sai.StatusFailure)
	}},
	{"statuses of refused calls", refused},
	{"a tail-stamping rule comes and goes", tailstampRule},
	{"get gives what was set", getAfterSet},
	{"a list longer than the placeholder overflows", overflow},
	{"bulk items succeed and fail one by one", bulk},
	{"the statistics of a port start at zero", portStats},
	{"entries have keys instead of ids", fdbEntry},
	{"availability of an unknown extension is refused or zero", func(s *session) {
		n, err := s.api.Availability(context.Background(), sai.ObjectTypeGenericProgrammable,
			attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes("unknown.extension")))
		if err == nil && n != 0 {
			s.Errorf("availability %d, want 0", n)
		}
	}},
}

func switchDefaults(s *session) {
	sw := sai.Obj(sai.ObjectTypeSwitch, s.sw)
	if n := len(s.ports()); n < 4 || sai.Uint(n) != s.get(sw, sai.SwitchAttrNumberOfActivePorts) {
		s.Errorf("%d ports in the list, %v active", n, s.get(sw, sai.SwitchAttrNumberOfActivePorts))
	}
	vlan := s.get(sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	if id := s.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrVLANID); id != sai.Uint(1) {
		s.Errorf("default VLAN is %v, want 1", id)
	}
	members := s.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrMemberList).(sai.OIDs)
	if len(members) != len(s.ports()) {
		s.Errorf("%d members in the default VLAN, %d ports", len(members), len(s.ports()))
	}
	bridge := s.get(sw, sai.SwitchAttrDefault1qBridgeID).(sai.OID)
	if kind := s.get(sai.Obj(sai.ObjectTypeBridge, bridge), sai.BridgeAttrType); kind != sai.BridgeType1q {
		s.Errorf("default bridge is of type %v", kind)
	}
	for _, m := range members {
		k := sai.Obj(sai.ObjectTypeVLANMember, m)
		bp := s.get(k, sai.VLANMemberAttrBridgePortID).(sai.OID)
		s.wantStatus("remove a bridge port in use",
			s.api.Remove(context.Background(), sai.Obj(sai.ObjectTypeBridgePort, bp)), sai.StatusObjectInUse)
		s.wantStatus("remove VLAN member", s.api.Remove(context.Background(), k), sai.StatusSuccess)
		s.wantStatus("remove bridge port",
			s.api.Remove(context.Background(), sai.Obj(sai.ObjectTypeBridgePort, bp)), sai.StatusSuccess)
	}
	for _, id := range []sai.AttrID{sai.SwitchAttrCPUPort, sai.SwitchAttrDefaultVirtualRouterID} {
		if s.get(sw, id) == sai.NullOID {
			s.Errorf("%s is null", id)
		}
	}
	lo := s.get(sw, sai.SwitchAttrACLEntryMinimumPriority).(sai.Uint)
	hi := s.get(sw, sai.SwitchAttrACLEntryMaximumPriority).(sai.Uint)
	if lo >= hi {
		s.Errorf("ACL priorities %d..%d", lo, hi)
	}
	if c := s.get(sw, sai.SwitchAttrACLStageIngress).(sai.ACLCapability); len(c.Actions) == 0 {
		s.Errorf("no ACL actions at ingress")
	}
}

func refused(s *session) {
	ctx := context.Background()
	table, port := s.table(), s.ports()[0]
	for _, c := range []struct {
		name  string
		t     sai.ObjectType
		attrs []sai.Attr
		want  sai.Status
	}{
		{"ACL table without stage", sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrFieldSrcIP, sai.Bool(true)),
			sai.StatusMandatoryAttributeMissing},
		{"ACL entry without table", sai.ObjectTypeACLEntry, attrs(sai.ACLEntryAttrPriority, sai.Uint(9)),
			sai.StatusMandatoryAttributeMissing},
		{"range upside down", sai.ObjectTypeACLRange, attrs(
			sai.ACLRangeAttrType, sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeAttrLimit, sai.Range{Min: 20, Max: 10}),
			sai.StatusInvalidParameter},
		{"object of the wrong type", sai.ObjectTypeACLCounter, attrs(sai.ACLCounterAttrTableID, port),
			sai.StatusInvalidParameter},
		{"object that does not exist", sai.ObjectTypeACLCounter, attrs(sai.ACLCounterAttrTableID, sai.OID(0x7123456)),
			sai.StatusInvalidParameter},
		{"attribute twice", sai.ObjectTypeACLCounter,
			attrs(sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrTableID, table), sai.StatusInvalidParameter},
		{"read-only attribute", sai.ObjectTypeACLTable, attrs(
			sai.ACLTableAttrACLStage, sai.ACLStageIngress, sai.ACLTableAttrAvailableACLEntry, sai.Uint(1)),
			sai.StatusInvalidParameter},
		{"conditional attribute", sai.ObjectTypeTAMInt,
			append(tamInt(), attrs(sai.TAMIntAttrIntPresenceDSCPValue, sai.Uint(1))...), sai.StatusInvalidParameter},
		{"unknown enum value", sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.Enum(12345)),
			sai.StatusInvalidParameter},
	} {
		o, err := s.api.Create(ctx, c.t, c.attrs)
		s.wantStatus(c.name, err, c.want)
		if err == nil {
			_ = s.api.Remove(ctx, sai.Obj(c.t, o))
		}
	}
	k := sai.Obj(sai.ObjectTypeACLTable, table)
	s.wantStatus("set of a create-only attribute",
		s.api.Set(ctx, k, attrs(sai.ACLTableAttrFieldSrcIP, sai.Bool(false))[0]), sai.StatusInvalidParameter)
	s.wantStatus("remove", s.api.Remove(ctx, k), sai.StatusSuccess)
	s.wantStatus("remove again", s.api.Remove(ctx, k), sai.StatusItemNotFound)
}

func tailstampRule(s *session) {
	ctx := context.Background()
	table, port := s.table(), s.ports()[1]
	counter := s.create(sai.ObjectTypeACLCounter, attrs(
		sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrEnablePacketCount, sai.Bool(true),
		sai.ACLCounterAttrEnableByteCount, sai.Bool(true), sai.ACLCounterAttrLabel, sai.Text("ts.f1")))
	tam := s.tamInt()
	entry := s.create(sai.ObjectTypeACLEntry, attrs(
		sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(9), sai.ACLEntryAttrAdminState, sai.Bool(true),
		sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(53), sai.Uint(0xffff)),
		sai.ACLEntryAttrFieldInPorts, sai.Match(sai.OIDs{port}, nil),
		sai.ACLEntryAttrActionCounter, sai.Do(counter),
		sai.ACLEntryAttrActionTAMIntObject, sai.Do(tam),
		sai.ACLEntryAttrActionIntInsert, sai.Do(sai.Bool(true))))
	group := s.create(sai.ObjectTypeACLTableGroup, attrs(
		sai.ACLTableGroupAttrACLStage, sai.ACLStageIngress,
		sai.ACLTableGroupAttrACLBindPointTypeList, sai.Enums{sai.ACLBindPointTypePort},
		sai.ACLTableGroupAttrType, sai.ACLTableGroupTypeParallel))
	pk := sai.Obj(sai.ObjectTypePort, port)
	s.wantStatus("bind", s.api.Set(ctx, pk, sai.Attr{ID: sai.PortAttrIngressACL, Value: group}), sai.StatusSuccess)
	member := s.create(sai.ObjectTypeACLTableGroupMember, attrs(
		sai.ACLTableGroupMemberAttrACLTableGroupID, group, sai.ACLTableGroupMemberAttrACLTableID, table,
		sai.ACLTableGroupMemberAttrPriority, sai.Uint(100)))
	for _, k := range []sai.Key{
		sai.Obj(sai.ObjectTypeTAMInt, tam), sai.Obj(sai.ObjectTypeACLCounter, counter),
		sai.Obj(sai.ObjectTypeACLTable, table), sai.Obj(sai.ObjectTypeACLTableGroup, group),
	} {
		s.wantStatus("remove in use "+k.Type.String(), s.api.Remove(ctx, k), sai.StatusObjectInUse)
	}
	ek := sai.Obj(sai.ObjectTypeACLEntry, entry)
	off := sai.Attr{ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Action{}}
	s.wantStatus("disable the action", s.api.Set(ctx, ek, off), sai.StatusSuccess)
	s.wantStatus("remove the TAM object", s.api.Remove(ctx, sai.Obj(sai.ObjectTypeTAMInt, tam)), sai.StatusSuccess)
	s.wantStatus("remove the member",
		s.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTableGroupMember, member)), sai.StatusSuccess)
	s.wantStatus("unbind", s.api.Set(ctx, pk, sai.Attr{ID: sai.PortAttrIngressACL, Value: sai.NullOID}), sai.StatusSuccess)
	s.wantStatus("remove the group", s.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTableGroup, group)), sai.StatusSuccess)
	s.wantStatus("remove the entry", s.api.Remove(ctx, ek), sai.StatusSuccess)
	s.wantStatus("remove the counter", s.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLCounter, counter)), sai.StatusSuccess)
	s.wantStatus("remove the table", s.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTable, table)), sai.StatusSuccess)
}

func getAfterSet(s *session) {
	ctx := context.Background()
	entry := sai.Obj(sai.ObjectTypeACLEntry, s.create(sai.ObjectTypeACLEntry, attrs(
		sai.ACLEntryAttrTableID, s.table(), sai.ACLEntryAttrPriority, sai.Uint(9))))
	for _, a := range attrs(
		sai.ACLEntryAttrPriority, sai.Uint(10),
		sai.ACLEntryAttrFieldL4DstPort, sai.Match(sai.Uint(80), sai.Uint(0xffff)),
		sai.ACLEntryAttrFieldL4DstPort, sai.Field{},
		sai.ACLEntryAttrActionPacketAction, sai.Do(sai.PacketActionDrop),
		sai.ACLEntryAttrAdminState, sai.Bool(false),
	) {
		s.wantStatus("set", s.api.Set(ctx, entry, a), sai.StatusSuccess)
		if got := s.get(entry, a.ID); got != a.Value {
			s.Errorf("%s is %v after a set of %v", a.ID, got, a.Value)
		}
	}
}

func overflow(s *session) {
	got, err := s.api.Get(context.Background(), sai.Obj(sai.ObjectTypeSwitch, s.sw),
		[]sai.Attr{sai.Want(sai.SwitchAttrPortList, 2)})
	s.wantStatus("get with too little room", err, sai.StatusBufferOverflow)
	if len(got) != 1 {
		s.Fatalf("%d attributes with the overflow, want 1", len(got))
	}
	if n, _ := sai.ListLen(got[0].Value); n != len(s.ports()) {
		s.Errorf("the overflow tells of %d ports, there are %d", n, len(s.ports()))
	}
}

func bulk(s *session) {
	ctx := context.Background()
	table := s.table()
	good := attrs(sai.ACLCounterAttrTableID, table)
	oids, errs := s.api.BulkCreate(ctx, sai.ObjectTypeACLCounter, [][]sai.Attr{good, nil, good})
	if len(oids) != 3 || len(errs) != 3 {
		s.Fatalf("%d ids and %d errors for 3 items", len(oids), len(errs))
	}
	s.wantStatus("first", errs[0], sai.StatusSuccess)
	s.wantStatus("second", errs[1], sai.StatusMandatoryAttributeMissing)
	s.wantStatus("third", errs[2], sai.StatusSuccess)
	keys := []sai.Key{sai.Obj(sai.ObjectTypeACLCounter, oids[0]), sai.Obj(sai.ObjectTypeACLCounter, oids[2])}
	label := sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text("x")}
	for _, err := range s.api.BulkSet(ctx, keys, []sai.Attr{label, label}) {
		s.wantStatus("bulk set", err, sai.StatusSuccess)
	}
	for _, err := range s.api.BulkRemove(ctx, keys) {
		s.wantStatus("bulk remove", err, sai.StatusSuccess)
	}
	s.wantStatus("remove the table", s.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTable, table)), sai.StatusSuccess)
}

func portStats(s *session) {
	ids := []sai.StatID{sai.PortStatIfInOctets, sai.PortStatIfOutOctets}
	k := sai.Obj(sai.ObjectTypePort, s.ports()[0])
	n, err := s.api.Stats(context.Background(), k, ids)
	if err != nil || len(n) != 2 || n[0] != 0 || n[1] != 0 {
		s.Errorf("statistics %v, %v", n, err)
	}
	s.wantStatus("clear", s.api.ClearStats(context.Background(), k, ids), sai.StatusSuccess)
}

func fdbEntry(s *session) {
	ctx := context.Background()
	sw := sai.Obj(sai.ObjectTypeSwitch, s.sw)
	vlan := s.get(sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	member := s.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrMemberList).(sai.OIDs)[0]
	bp := s.get(sai.Obj(sai.ObjectTypeVLANMember, member), sai.VLANMemberAttrBridgePortID).(sai.OID)
	e := sai.FDBEntry{Switch: s.sw, MAC: sai.MAC{2, 0, 0, 0, 0, 1}, BV: vlan}
	a := attrs(sai.FDBEntryAttrType, sai.FDBEntryTypeStatic, sai.FDBEntryAttrBridgePortID, bp)
	s.wantStatus("create", s.api.CreateEntry(ctx, e, a), sai.StatusSuccess)
	s.wantStatus("create again", s.api.CreateEntry(ctx, e, a), sai.StatusItemAlreadyExists)
	other := e
	other.MAC[5] = 2
	bulk := s.api.BulkCreateEntries(ctx, []sai.Entry{e, other}, [][]sai.Attr{a, a})
	s.wantStatus("create again in bulk", bulk[0], sai.StatusItemAlreadyExists)
	s.wantStatus("create in bulk", bulk[1], sai.StatusSuccess)
	s.wantStatus("remove what was created in bulk",
		s.api.BulkRemove(ctx, []sai.Key{sai.EntryKey(other)})[0], sai.StatusSuccess)
	if got := s.get(sai.EntryKey(e), sai.FDBEntryAttrBridgePortID); got != bp {
		s.Errorf("bridge port %v, want %v", got, bp)
	}
	s.wantStatus("flush of dynamic entries", s.api.FlushFDB(ctx, nil), sai.StatusSuccess)
	s.wantStatus("remove", s.api.Remove(ctx, sai.EntryKey(e)), sai.StatusSuccess)
	s.wantStatus("remove again", s.api.Remove(ctx, sai.EntryKey(e)), sai.StatusItemNotFound)
}
