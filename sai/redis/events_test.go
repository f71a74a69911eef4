package sairedis

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Notifications reach the client as SONiC's JSON, with virtual ids. Learned FDB entries have rows while they exist,
// but are not configuration.
func TestNotifications(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	g := newRig(t, r, newFake(), ServerOptions{TempView: true})
	l := swss.NewListener(r)
	defer l.Close()
	src := g.client.Notifications(l)
	g.must("Sync", l.Sync(ctx))
	g.createSwitch()
	port, sw := g.ports()[0], sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID)
	vlan := g.get(sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	member := g.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrMemberList).(sai.OIDs)[0]
	bp := g.get(sai.Obj(sai.ObjectTypeVLANMember, member), sai.VLANMemberAttrBridgePortID).(sai.OID)
	view := g.view()
	entry := sai.FDBEntry{Switch: protocol.SwitchVID, MAC: sai.MAC{2, 0, 0, 0, 0, 9}, BV: vlan}
	realEntry := sai.MapEntry(entry, g.rid).(sai.FDBEntry)
	learned := attrs(sai.FDBEntryAttrBridgePortID, g.rid(bp))

	for _, tt := range []struct {
		n        sai.Notification
		op, data string
		want     sai.Notification
	}{
		{sai.PortState{Port: g.rid(port), Oper: sai.PortOperStatusUp}, "port_state_change",
			`[{"port_error_status":"SAI_PORT_ERROR_STATUS_CLEAR","port_id":"oid:0x1000000000002",` +
				`"port_state":"SAI_PORT_OPER_STATUS_UP"}]`,
			sai.PortState{Port: port, Oper: sai.PortOperStatusUp}},
		{sai.FDBEvent{Event: sai.FDBEventLearned, Entry: realEntry, Attrs: learned}, "fdb_event",
			`[{"fdb_entry":"{\"bvid\":\"` + vlan.String() +
				`\",\"mac\":\"02:00:00:00:00:09\",\"switch_id\":\"oid:0x21000000000000\"}","fdb_event":"SAI_FDB_EVENT_LEARNED",` +
				`"list":[{"id":"SAI_FDB_ENTRY_ATTR_BRIDGE_PORT_ID","value":"` + bp.String() + `"}]}]`,
			sai.FDBEvent{Event: sai.FDBEventLearned, Entry: entry, Attrs: attrs(sai.FDBEntryAttrBridgePortID, bp)}},
		{sai.ShutdownRequest{Switch: g.rid(protocol.SwitchVID)}, "switch_shutdown_request",
			`{"switch_id":"oid:0x21000000000000"}`, sai.ShutdownRequest{Switch: protocol.SwitchVID}},
	} {
		g.server.Notifier.Notify(ctx, tt.n)
		g.must("Sync", l.Sync(ctx))
		got, err := src.Pops(ctx)
		if err != nil || len(got) != 1 || got[0].Op != tt.op || got[0].Key != tt.data {
			t.Errorf("%T: received %+v, %v\nwant %s %s", tt.n, got, err, tt.op, tt.data)
			continue
		}
		parsed, err := ParseNotification(got[0])
		if err != nil || len(parsed) != 1 || !reflect.DeepEqual(parsed[0], tt.want) {
			t.Errorf("%T: parsed %+v, %v; want %+v", tt.n, parsed, err, tt.want)
		}
	}
	row := "ASIC_STATE:" + sai.FormatKey(sai.EntryKey(entry))
	if got := g.row(swss.ASICDB, row); !strings.Contains(got, "SAI_FDB_ENTRY_TYPE_DYNAMIC") {
		t.Errorf("row of the learned entry: %q", got)
	}
	if g.view() != view {
		t.Errorf("a learned entry counts as configuration")
	}
	g.server.Notifier.Notify(ctx, sai.FDBEvent{Event: sai.FDBEventAged, Entry: realEntry})
	if got := g.row(swss.ASICDB, row); got != "" {
		t.Errorf("row of the aged entry: %q", got)
	}
}

// However many addresses the ASIC learns and forgets while nothing is published, the rows and messages are then those
// of the addresses that it has. Addresses that came and went leave nothing. Nothing grows with the number of events.
func TestPendingNotificationsAreBounded(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	g := newRig(t, r, newFake(), ServerOptions{TempView: true})
	l := swss.NewListener(r)
	defer l.Close()
	src := g.client.Notifications(l)
	g.must("Sync", l.Sync(ctx))
	g.createSwitch()
	sw := sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID)
	vlan := g.get(sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	member := g.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrMemberList).(sai.OIDs)[0]
	bp := g.get(sai.Obj(sai.ObjectTypeVLANMember, member), sai.VLANMemberAttrBridgePortID).(sai.OID)
	nt := g.server.Notifier
	event := func(what sai.Enum, address int) sai.FDBEvent {
		mac := sai.MAC{2, 0, 0, byte(address >> 16), byte(address >> 8), byte(address)}
		return sai.FDBEvent{
			Event: what, Entry: sai.FDBEntry{Switch: g.rid(protocol.SwitchVID), MAC: mac, BV: g.rid(vlan)},
			Attrs: attrs(sai.FDBEntryAttrBridgePortID, g.rid(bp)),
		}
	}
	const published, table = 10, 3000
	for i := range published {
		nt.Notify(ctx, event(sai.FDBEventLearned, i))
	}
	g.must("Sync", l.Sync(ctx))
	need(src.Pops(ctx))(t)
	for round := range 4 { // the table is full of other addresses each time, and the last ones stay
		for i := range table {
			nt.Add(event(sai.FDBEventLearned, 1000+round*table+i), 1)
		}
		if round == 3 {
			break
		}
		for i := range table {
			nt.Add(event(sai.FDBEventAged, 1000+round*table+i), 1)
		}
	}
	for i := range published {
		nt.Add(event(sai.FDBEventAged, i), 1)
	}
	if n := len(nt.pending); n != table+published {
		t.Errorf("%d notifications are pending, want %d", n, table+published)
	}
	g.must("publish", nt.publish(ctx, math.MaxUint64, false))
	g.must("Sync", l.Sync(ctx))
	if got := need(src.Pops(ctx))(t); len(got) != table+published {
		t.Errorf("%d messages, want %d", len(got), table+published)
	}
	rows := r.DB(swss.ASICDB).Client().Keys(ctx, "ASIC_STATE:SAI_OBJECT_TYPE_FDB_ENTRY:*").Val()
	if len(rows) != table {
		t.Errorf("%d rows, want %d", len(rows), table)
	}
	if len(nt.pending) != 0 || len(nt.learned) != table {
		t.Errorf("%d pending and %d learned", len(nt.pending), len(nt.learned))
	}
}

// An address that comes and goes while others are published is not published.
func TestObsoleteNotificationIsNotPublished(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	g := newRig(t, r, newFake(), ServerOptions{TempView: true})
	g.createSwitch()
	vlan := g.get(sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID), sai.SwitchAttrDefaultVLANID).(sai.OID)
	entry := sai.FDBEntry{Switch: protocol.SwitchVID, MAC: sai.MAC{2, 0, 0, 0, 0, 9}, BV: vlan}
	event := sai.FDBEvent{Event: sai.FDBEventLearned, Entry: sai.MapEntry(entry, g.rid).(sai.FDBEntry)}
	nt := g.server.Notifier
	nt.Add(event, 1)
	list := []pendingNote{nt.pending[noteKey(event)]} // about to be published
	nt.Add(sai.FDBEvent{Event: sai.FDBEventAged, Entry: event.Entry}, 1)
	g.must("publish", nt.publishChunk(ctx, list, false))
	if got := g.row(swss.ASICDB, "ASIC_STATE:"+sai.FormatKey(sai.EntryKey(entry))); got != "" || len(nt.pending) > 0 {
		t.Errorf("row %q, pending %v", got, nt.pending)
	}
}

// A notification that Redis did not accept is published once Redis answers. An address that is forgotten meanwhile is
// reported as forgotten, since the first message may have been published.
func TestNotificationsWaitForRedis(t *testing.T) {
	ctx := context.Background()
	redis := swsstest.StartServer(t)
	g := newRig(t, redis.Open(), newFake(), ServerOptions{TempView: true})
	g.createSwitch()
	vlan := g.get(sai.Obj(sai.ObjectTypeSwitch, protocol.SwitchVID), sai.SwitchAttrDefaultVLANID).(sai.OID)
	entry := func(address byte) sai.FDBEntry {
		return sai.FDBEntry{Switch: protocol.SwitchVID, MAC: sai.MAC{2, 0, 0, 0, 0, address}, BV: vlan}
	}
	event := func(what sai.Enum, address byte) sai.FDBEvent {
		return sai.FDBEvent{Event: what, Entry: sai.MapEntry(entry(address), g.rid).(sai.FDBEntry)}
	}
	events := []sai.FDBEvent{
		event(sai.FDBEventLearned, 1), event(sai.FDBEventLearned, 2), event(sai.FDBEventAged, 2),
	}
	nt := g.server.Notifier
	redis.Stop()
	for _, e := range events {
		nt.Notify(ctx, e)
	}
	redis.Start()
	g.must("publish", nt.publish(ctx, math.MaxUint64, false))
	for address, want := range map[byte]bool{1: true, 2: false} {
		row := g.row(swss.ASICDB, "ASIC_STATE:"+sai.FormatKey(sai.EntryKey(entry(address))))
		if (row != "") != want {
			t.Errorf("row of address %d: %q", address, row)
		}
	}
	if n := len(nt.pending); n > 0 {
		t.Errorf("%d notifications are pending", n)
	}
}

// The states of the ports are published again, because a message may be lost.
func TestPortsAreSaidAgain(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	g := newRig(t, r, newFake(), ServerOptions{TempView: true})
	l := swss.NewListener(r)
	defer l.Close()
	src := g.client.Notifications(l)
	g.must("Sync", l.Sync(ctx))
	g.createSwitch()
	g.server.sayPorts(ctx)
	g.must("Sync", l.Sync(ctx))
	heard := need(src.Pops(ctx))(t)
	said := map[sai.OID]sai.Value{}
	for _, k := range heard {
		list, err := ParseNotification(k)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		said[list[0].(sai.PortState).Port] = list[0].(sai.PortState).Oper
	}
	for _, port := range g.ports() {
		if is := g.get(sai.Obj(sai.ObjectTypePort, port), sai.PortAttrOperStatus); said[port] != is {
			t.Errorf("%s is said to be %v, and is %v", port, said[port], is)
		}
	}
	if len(said) != len(g.ports()) || len(heard) != len(said) {
		t.Errorf("of %d ports %d notifications about %d", len(g.ports()), len(heard), len(said))
	}
}

// A notification about an object that the current request creates is kept until the object has its virtual id.
func TestNotificationDuringCreate(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	var server *Server
	talker := &talkingFake{Fake: newFake()}
	server = NewServer(r, talker, ServerOptions{})
	talker.notify = func(n sai.Notification) { server.Notifier.Notify(ctx, n) }
	l := swss.NewListener(r)
	defer l.Close()
	src := swss.NewNotificationConsumer(l, r.DB(swss.ASICDB), protocol.Notifications)
	noError(t, l.Sync(ctx))
	for _, q := range [][]string{
		{rawSwitch, `["SAI_SWITCH_ATTR_INIT_SWITCH","true"]`, "Screate"},
		{"SAI_OBJECT_TYPE_PORT:oid:0x1000000005000", `["SAI_PORT_ATTR_HW_LANE_LIST","1:77","SAI_PORT_ATTR_SPEED","1000"]`,
			"Screate"},
	} {
		noError(t, server.answer(ctx, swss.Peeked{Entry: entry(q)}))
	}
	noError(t, l.Sync(ctx))
	got, err := src.Pops(ctx)
	if err != nil || len(got) != 1 || !strings.Contains(got[0].Key, "oid:0x1000000005000") {
		t.Errorf("received %+v, %v", got, err)
	}
}

// A talkingFake reports the state of a port while it creates it.
type talkingFake struct {
	*saitest.Fake
	notify func(sai.Notification)
}

func (f *talkingFake) Create(ctx context.Context, t sai.ObjectType, a []sai.Attr) (sai.OID, error) {
	o, err := f.Fake.Create(ctx, t, a)
	if t == sai.ObjectTypePort && err == nil {
		f.notify(sai.PortState{Port: o, Oper: sai.PortOperStatusUp})
	}
	return o, err
}

// RESTARTQUERY ends Serve; the queue waits for the next syncd.
func TestRestartQuery(t *testing.T) {
	ctx := context.Background()
	r := swsstest.Start(t)
	s := NewServer(r, newFake(), ServerOptions{})
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	p := swss.NewNotificationProducer(r.DB(swss.ASICDB), protocol.RestartQuery)
	for {
		n := need(p.Send(ctx, "COLD", "COLD", nil))(t)
		if n > 0 {
			break
		}
	}
	if err := <-done; err != ErrShutdown {
		t.Errorf("Serve: %v, want %v", err, ErrShutdown)
	}
}

// A syncd that is killed at any step of a request leaves an ASIC_DB that its successor can replay. The request has
// been executed completely or not at all.
func TestKillInTheMiddle(t *testing.T) {
	ctx := context.Background()
	for n := 1; n <= 2; n++ {
		r := swsstest.Start(t)
		g := newRig(t, r, newFake(), ServerOptions{})
		g.createSwitch()
		table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
		g.stop()
		view := g.view()
		// The request reaches the backend, but its outcome is never written.
		killed := NewServer(r, g.fake, ServerOptions{})
		killed.processor.objects.Replace(g.server.processor.objects.IDs)
		words := []string{"SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x9000000002000",
			`["SAI_ACL_COUNTER_ATTR_TABLE_ID","` + table.String() + `"]`, "Screate"}
		if n == 2 {
			words = []string{"SAI_OBJECT_TYPE_ACL_TABLE:" + table.String(), "{}", "Dremove"}
		}
		if res := killed.processor.process(ctx, entry(words)); res.Status != sai.StatusSuccess {
			t.Fatalf("request: %v", res.Status)
		}
		g.fake = newFake()
		g.restartServer(ServerOptions{})
		g.ports()
		if got := g.view(); got != view {
			t.Errorf("view after the restart:\n%s\nwant\n%s", got, view)
		}
		if left := len(g.fake.Created()); left != 1 {
			t.Errorf("%d objects in the backend, want the table", left)
		}
	}
}

// The server survives an absence of Redis that keeps its data. A client that was waiting then detects that it must
// start again.
func TestRedisRestarts(t *testing.T) {
	ctx := context.Background()
	redis := swsstest.StartServer(t)
	g := newRig(t, redis.Open(), newFake(), ServerOptions{TempView: true})
	g.createSwitch()
	table := attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress)
	g.create(sai.ObjectTypeACLTable, table)
	redis.Stop()
	if _, err := g.client.Create(ctx, sai.ObjectTypeACLTable, table); err == nil {
		t.Error("a create without Redis succeeds")
	} else if _, ok := sai.StatusOf(err); ok {
		t.Errorf("a create without Redis has a status: %v", err)
	}
	redis.Start()
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	g.create(sai.ObjectTypeACLTable, table)
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	if n := len(g.fake.Created()); n != 1 {
		t.Errorf("%d objects in the backend, want 1", n)
	}
}
