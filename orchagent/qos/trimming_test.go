package qos

import (
	"testing"

	"tamtam/orch"
	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// action returns what the only buffer profile of the ASIC makes of packets that queues do not admit.
func (b *bench) action() string {
	b.T.Helper()
	k := b.orch.objects[profileRow].key
	return sai.EnumName(sai.BufferProfileAttrPacketAdmissionFailAction,
		b.Attr(k, sai.BufferProfileAttrPacketAdmissionFailAction).(sai.Enum))
}

var profileRow = orch.Row(schema.AppBufferProfile, "f")

// Whether a profile trims changes in place: queues keep it.
func TestTrimOfAProfile(t *testing.T) {
	b := newBench(t)
	const row = "BUFFER_PROFILE_TABLE:f pool=p static_th=900"
	b.do("BUFFER_POOL_TABLE:p type=egress size=1000000", row, "BUFFER_QUEUE_TABLE:Ethernet0:1 profile=f")
	was := b.orch.objects[profileRow].key
	for _, tt := range []struct{ row, want string }{
		{row + " packet_discard_action=trim", "SAI_BUFFER_PROFILE_PACKET_ADMISSION_FAIL_ACTION_DROP_AND_TRIM"},
		{row + " packet_discard_action=drop", "SAI_BUFFER_PROFILE_PACKET_ADMISSION_FAIL_ACTION_DROP"},
	} {
		b.Rec.Reset()
		b.do(tt.row)
		if got := b.action(); got != tt.want || len(b.Calls()) != 1 || b.orch.objects[profileRow].key != was {
			t.Errorf("%s: %s with %d calls", tt.row, got, len(b.Calls()))
		}
	}
}

// An ASIC without trimming has no such attribute, and a profile that trims is refused.
func TestTrimUnsupported(t *testing.T) {
	b := &bench{Bench: orchtest.Started(t, saitest.Options{Ports: 1, Queues: 8,
		Unsupported: []sai.AttrID{sai.BufferProfileAttrPacketAdmissionFailAction}})}
	_, ports := b.CreateSwitch()
	b.ports = orchtest.NewPorts(ports)
	var err error
	if b.orch, err = New(b.Ctx, Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports}); err != nil {
		t.Fatal(err)
	}
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.do("BUFFER_POOL_TABLE:p type=egress size=1000000", "BUFFER_PROFILE_TABLE:f pool=p static_th=9",
		"BUFFER_PROFILE_TABLE:g pool=p static_th=9 packet_discard_action=trim")
	b.WantStatus(schema.AppBufferProfile, "f", "active")
	b.WantStatus(schema.AppBufferProfile, "g",
		`failed: packet_discard_action "trim": the ASIC cannot trim packets, want drop`)
}

// A list of profiles waits for all its profiles, follows one that is created again, and ends with its row.
func TestProfileLists(t *testing.T) {
	b := newBench(t)
	port := sai.Obj(sai.ObjectTypePort, b.ports.OIDs["Ethernet0"])
	want := func(what string, profiles ...string) {
		t.Helper()
		list, _ := b.Attr(port, sai.PortAttrQoSEgressBufferProfileList).(sai.OIDs)
		ok := len(list) == len(profiles)
		for i := range min(len(list), len(profiles)) {
			ok = ok && list[i] == b.orch.objects[orch.Row(schema.AppBufferProfile, profiles[i])].key.OID
		}
		if !ok {
			t.Errorf("%s: %v, want %v", what, list, profiles)
		}
	}
	const key = "Ethernet0"
	b.do("BUFFER_POOL_TABLE:p type=egress size=1000000", "BUFFER_PROFILE_TABLE:f pool=p static_th=9",
		"BUFFER_PORT_EGRESS_PROFILE_LIST_TABLE:Ethernet0 profile_list=f,g")
	want("without the second profile")
	b.WantStatus(schema.AppBufferEgress, key, "pending: BUFFER_PROFILE_TABLE g is not in the ASIC")
	b.do("BUFFER_PROFILE_TABLE:g pool=p static_th=9")
	want("with both", "f", "g")
	b.do("-BUFFER_PROFILE_TABLE:g", "BUFFER_PROFILE_TABLE:g pool=p dynamic_th=1")
	want("with another second profile", "f", "g")
	b.do("-BUFFER_PORT_EGRESS_PROFILE_LIST_TABLE:Ethernet0")
	want("without the row")
	b.emptyAll()
}
