package daemons

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"tamtam/mgmt"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// An alarm is raised when a daemon has ended, is not ready, has detected drift, or is not the process that owns the
// databases. Further alarms are raised when databases are emptied, Redis is replaced, or the state of the ASIC is
// unknown. An alarm is cleared when its cause ends. Its time is the time at which it was raised.
func TestAlarms(t *testing.T) {
	r := swsstest.Start(t)
	state := r.DB(swss.StateDB)
	alarms := subscribeAlarms(t, r)
	a := NewAlarms(r)
	now := time.Unix(1_000_000, 0)
	alive, owners := map[string]*health{}, map[string]string{}
	for _, name := range daemons {
		alive[name] = newHealth(name)
		owners[name] = alive[name].owner
	}
	mark := func(name string) {
		if _, err := r.Claim(t.Context(), name, owners[name], swss.StateDB, swss.CountersDB); err != nil {
			t.Fatal(err)
		}
	}
	report := func(name, reason string) {
		h := alive[name]
		if h.report(reason); reason == "" {
			h.clock = func() time.Time { return h.state.Since.Add(debounceTime) }
		}
	}
	row := func(db swss.DBName, key string, fields ...any) {
		if err := r.DB(db).Client().HSet(t.Context(), key, fields...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	compared := func(s drift.State) {
		if err := swss.NewTable(state, drift.Table).Set(t.Context(), "syncd", s.Row()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range daemons {
		report(name, "")
		mark(name)
	}
	row(swss.ConfigDB, "PORT|Ethernet0", "speed", "100000")
	// A former mgmtd may have left an alarm.
	if err := swss.NewTable(state, schema.StateAlarm).Set(t.Context(), "old",
		swss.FieldValues{"text": "old"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		passes time.Duration
		do     func()
		want   string // "id severity text@seconds", by id
	}{
		{"all is well", 0, func() {}, ""},
		{"one waits", time.Second, func() { report("syncd", "Redis is full") }, "syncd-not-ready MAJOR Redis is full@1"},
		{"for something else", time.Second, func() { report("syncd", "Redis is away") },
			"syncd-not-ready MAJOR Redis is away@1"},
		{"for nothing", time.Second, func() { report("syncd", "") }, ""},
		{"drift, healed before anybody looked", time.Second, func() { compared(drift.State{Passes: 1, Drift: 2, Healed: 2}) },
			"syncd-drift WARNING drift was seen 2 times and healed 2 times since the process began@4"},
		{"a while later", alarmsStay - time.Second, func() {},
			"syncd-drift WARNING drift was seen 2 times and healed 2 times since the process began@4"},
		{"it is over", time.Second, func() {}, ""},
		{"drift that is there", time.Minute, func() {
			compared(drift.State{Passes: 2, Drift: 3, Healed: 2,
				Reason: "a row is gone"})
		},
			"syncd-drift WARNING drift was seen 3 times and healed 2 times since the process began; now: a row is gone@74"},
		{"and stays", time.Hour, func() {},
			"syncd-drift WARNING drift was seen 3 times and healed 2 times since the process began; now: a row is gone@74"},
		{"another process begins to count", alarmsStay, func() { compared(drift.State{Passes: 1}) }, ""},
		{"one is gone", 0, func() {
			delete(alive, "orchagent")
			if err := state.Client().Del(t.Context(), "TAMTAM_HEALTH|orchagent").Err(); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"for long", silentAfter + time.Second, func() {},
			"orchagent-silent CRITICAL nothing was heard of orchagent since 1970-01-12T14:48:04Z@3695"},
		{"it is said to be ready", time.Second, func() { row(swss.StateDB, "TAMTAM_HEALTH|orchagent", "state", "ready") },
			""},
		{"by nobody", time.Second, func() {},
			"orchagent-not-own MAJOR its row in STATE_DB does not end by itself: no daemon wrote it@3697"},
		{"it is there again", time.Second, func() {
			alive["orchagent"] = newHealth("orchagent")
			report("orchagent", "")
			owners["orchagent"] = alive["orchagent"].owner
			mark("orchagent")
		}, ""},
		{"another has the databases", time.Second, func() { owners["tammgrd"] = "another"; mark("tammgrd") }, ""},
		{"for more than a moment", time.Second, func() {},
			"tammgrd-not-own MAJOR the mark in STATE_DB is of process \"another\", its row of process \"mine\"@3700"},
		{"and goes", time.Second, func() { owners["tammgrd"] = alive["tammgrd"].owner; mark("tammgrd") }, ""},
		{"the state of the ASIC is unknown", time.Second, func() {
			row(swss.StateDB, "SWITCH_TABLE|switch", "status", "unknown", "reason", "syncd is gone")
		}, "switch-status-unknown CRITICAL syncd is gone@3702"},
		{"the alarm is lost with STATE_DB", time.Second, func() {
			if err := state.Client().Del(t.Context(), "TAMTAM_ALARM|switch-status-unknown").Err(); err != nil {
				t.Fatal(err)
			}
			a.lostAt(now, &swss.EmptiedError{DB: swss.StateDB})
		}, "STATE_DB-emptied MAJOR STATE_DB was emptied@3703\nswitch-status-unknown CRITICAL syncd is gone@3702"},
		{"the state is known", alarmsStay + time.Second, func() {
			row(swss.StateDB, "SWITCH_TABLE|switch", "status", "active",
				"reason", "")
		}, ""},
		{"drops persist at a port", 0, func() {
			row(swss.StateDB, "TAMTAM_PERSISTENT_DROPS|LOST|Ethernet0", "alerts", "2", "last_alert", "1970-01-12T14:00:00Z")
			row(swss.StateDB, "TAMTAM_PERSISTENT_DROPS|TTL|Ethernet0", "alerts", "1", "last_alert", "1970-01-12T14:01:00Z")
		}, "Ethernet0-persistent-drops WARNING persistent packet drops: counter LOST has 2 alerts, the last at " +
			"1970-01-12T14:00:00Z; counter TTL has 1 alerts, the last at 1970-01-12T14:01:00Z@3714"},
		{"and no longer", 0, func() {
			for _, counter := range []string{"LOST", "TTL"} {
				if err := state.Client().Del(t.Context(), "TAMTAM_PERSISTENT_DROPS|"+counter+"|Ethernet0").Err(); err != nil {
					t.Fatal(err)
				}
			}
		}, ""},
		{"Redis is another", time.Second, func() { a.lostAt(now, swss.ErrRestarted) },
			"Redis-restarted WARNING Redis was started again, maybe with older data@3715"},
		{"and is the same", alarmsStay + time.Second, func() {}, ""},
		{"there is no configuration", time.Second, func() {
			if err := r.DB(swss.ConfigDB).Client().Del(t.Context(), "PORT|Ethernet0").Err(); err != nil {
				t.Fatal(err)
			}
		}, "CONFIG_DB-emptied MAJOR CONFIG_DB is empty: no configuration has been loaded, or it was lost@3727"},
		{"there is one", time.Second, func() { row(swss.ConfigDB, "PORT|Ethernet0", "speed", "100000") }, ""},
		{"a port's MTU is above its wire's", time.Second, func() {
			row(swss.ConfigDB, "PORT|Ethernet0", "lanes", "0", "mtu", "1501")
			row(swss.ConfigDB, "PORT|Ethernet4", "lanes", "4", "speed", "100000", "mtu", "1500")
			row(swss.ApplDB, "PORT_TABLE:Ethernet0", "mtu", "1500")
			row(swss.StateDB, "TAMTAM_WIRE|Ethernet0", "interface", "eth0", "mtu", "1500")
			row(swss.StateDB, "TAMTAM_WIRE|Ethernet4", "interface", "eth1", "mtu", "1500")
			row(swss.StateDB, "TAMTAM_WIRE|Ethernet8", "interface", "eth2", "mtu", "1500")
		}, "Ethernet0-mtu-above-wire WARNING mtu 1501 is above the 1500 of its interface eth0, which is in force; " +
			"want mtu 1500, or a larger one at the interface@3729"},
		{"the wire takes it", time.Second, func() { row(swss.StateDB, "TAMTAM_WIRE|Ethernet0", "mtu", "9000") }, ""},
		{"the port's PortChannel has one above", time.Second, func() {
			row(swss.ConfigDB, "PORTCHANNEL|PortChannel1", "mtu", "9100")
			row(swss.ApplDB, "LAG_MEMBER_TABLE:PortChannel1:Ethernet0", "status", "enabled")
		}, "Ethernet0-mtu-above-wire WARNING mtu 9100 of PortChannel1 is above the 9000 of its interface eth0, " +
			"which is in force; want mtu 9000, or a larger one at the interface@3731"},
		{"a host has the gateway's address", 0, func() {
			row(swss.ConfigDB, "PORTCHANNEL|PortChannel1", "mtu", "9000")
			row(swss.StateDB, "HOST_ADDRESS_TABLE|Vlan10|10.0.0.1/24", "state", "conflict", "neigh", "02:00:00:00:00:99")
			row(swss.StateDB, "HOST_ADDRESS_TABLE|Vlan10|2001:db8::1/64", "state", "duplicate", "neigh", "")
			row(swss.StateDB, "HOST_ADDRESS_TABLE|Vlan20|10.0.1.1/24", "state", "usable", "neigh", "")
		}, "Vlan10-address-conflict MAJOR host 02:00:00:00:00:99 has address 10.0.0.1 too; " +
			"a host has address 2001:db8::1 too: want another address at the host, or at the switch@3731"},
		{"it has it no more", time.Second, func() {
			row(swss.StateDB, "HOST_ADDRESS_TABLE|Vlan10|10.0.0.1/24", "state", "usable", "neigh", "")
			row(swss.StateDB, "HOST_ADDRESS_TABLE|Vlan10|2001:db8::1/64", "state", "usable", "neigh", "")
		}, ""},
		{"it has none above", time.Second, func() { row(swss.ConfigDB, "PORTCHANNEL|PortChannel1", "mtu", "9000") }, ""},
	} {
		now = now.Add(tt.passes)
		tt.do()
		for _, h := range alive {
			h.renew(t.Context(), r)
		}
		if err := a.Look(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		rows, err := swss.NewTable(state, schema.StateAlarm).Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(rows)) {
			row := rows[id]
			at, _ := strings.CutSuffix(row[schema.AlarmCreated], "000000000")
			text := strings.ReplaceAll(row[schema.AlarmText], alive["tammgrd"].owner[:16], "mine")
			got = append(got, id+" "+row[schema.AlarmSeverity]+" "+text+"@"+strings.TrimLeft(strings.TrimPrefix(at, "100"), "0"))
		}
		if text := strings.Join(got, "\n"); text != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, text, tt.want)
		}
		alarms.are(rows)
	}
}

// A cleared alarm is in the history with the times at which it was raised and cleared. The history has a bounded number
// of alarms, the last ones, also after mgmtd was started again.
func TestAlarmHistory(t *testing.T) {
	r := swsstest.Start(t)
	a := NewAlarms(r)
	began := time.Unix(1_700_000_000, 0)
	look := func(after time.Duration) map[string]swss.FieldValues {
		t.Helper()
		if err := a.Look(t.Context(), began.Add(after)); err != nil {
			t.Fatal(err)
		}
		rows, err := a.history.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	a.lostAt(began, swss.ErrRestarted)
	if rows := look(0); len(rows) != 0 {
		t.Errorf("an alarm that is raised is in the history: %v", rows)
	}
	row := look(alarmsStay + time.Second)["1700000000000000000-Redis-restarted"]
	if row[schema.AlarmCleared] != "1700000011000000000" || row[schema.AlarmType] != schema.AlarmRestarted ||
		row[schema.AlarmText] == "" {
		t.Errorf("the history has %v", row)
	}
	for i := range schema.AlarmHistory {
		if i == schema.AlarmHistory/2 {
			a = NewAlarms(r)
		}
		at := began.Add(time.Minute).UnixNano() + int64(i)
		alarm := swss.FieldValues{schema.AlarmCreated: strconv.FormatInt(at, 10)}
		if err := a.rows.Set(t.Context(), strconv.Itoa(i), alarm); err != nil {
			t.Fatal(err)
		}
		look(2 * time.Minute)
	}
	rows := look(2 * time.Minute)
	if _, first := rows["1700000000000000000-Redis-restarted"]; first || len(rows) != schema.AlarmHistory {
		t.Errorf("the history has %d alarms, the first one is %v", len(rows), first)
	}
}

// If the clock is set back, an alarm is never raised in the future, nor cleared before it is raised. The alarm that is
// cleared last stays in a full history, although all others have later times.
func TestAlarmsWhenTheClockIsSetBack(t *testing.T) {
	r := swsstest.Start(t)
	a := NewAlarms(r)
	began := time.Unix(1_700_000_000, 0)
	full := map[string]swss.FieldValues{}
	for i := range schema.AlarmHistory {
		at := strconv.FormatInt(began.UnixNano()+int64(i), 10)
		full[at+"-x"] = swss.FieldValues{
			schema.AlarmCreated: at, schema.AlarmCleared: at, schema.AlarmNumber: strconv.Itoa(i + 1),
		}
	}
	if err := a.history.SetMany(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	trouble := []string{"a file is not in force"}
	a.troubles = func() []string { return trouble }
	look := func(now time.Time, table *swss.Table, key string) swss.FieldValues {
		t.Helper()
		if err := a.Look(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		row, _, err := table.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	const id = "mgmtd-file-not-in-force"
	if row := look(began, a.rows, id); row[schema.AlarmCreated] != nanoseconds(began) {
		t.Errorf("raised: %v", row)
	}
	back := began.Add(-time.Hour)
	if row := look(back, a.rows, id); row[schema.AlarmCreated] != nanoseconds(back) {
		t.Errorf("the clock was set back to %s: %v", nanoseconds(back), row)
	}
	trouble = nil
	row := look(back.Add(time.Minute), a.history, nanoseconds(back)+"-"+id)
	if row[schema.AlarmCleared] != nanoseconds(back.Add(time.Minute)) {
		t.Errorf("the history has %v", row)
	}
}

// Rows of alarms that another client deletes or changes are written again, and those that it creates are deleted.
func TestAlarmRowsAreRestored(t *testing.T) {
	r := swsstest.Start(t)
	a := NewAlarms(r)
	now := time.Unix(1_700_000_000, 0)
	trouble := "a file is not in force"
	a.troubles = func() []string { return []string{trouble} }
	const id = "mgmtd-file-not-in-force"
	look := func() map[string]swss.FieldValues {
		t.Helper()
		now = now.Add(time.Second)
		if err := a.Look(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		rows, err := a.rows.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	want := look()
	if want[id][schema.AlarmText] != trouble {
		t.Fatalf("alarms %v", want)
	}
	if err := a.rows.Del(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := look(); !reflect.DeepEqual(got, want) {
		t.Errorf("deleted: %v, want %v", got, want)
	}
	for name, row := range map[string]swss.FieldValues{
		"severity": {schema.AlarmSeverity: schema.SeverityWarning}, "time": {schema.AlarmCreated: "1"}, "more": {"x": "y"},
	} {
		if err := a.rows.Set(t.Context(), id, row); err != nil {
			t.Fatal(err)
		}
		if got := look(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if err := a.rows.Set(t.Context(), "nothing", swss.FieldValues{schema.AlarmText: "x"}); err != nil {
		t.Fatal(err)
	}
	if got := look(); !reflect.DeepEqual(got, want) {
		t.Errorf("created: %v, want %v", got, want)
	}
}

// receivedAlarms holds the alarms that a subscriber has received, by id.
type receivedAlarms struct {
	t     *testing.T
	rpc   gpb.GNMI_SubscribeClient
	rows  map[string]swss.FieldValues
	first bool // true after the sync_response has arrived
}

// subscribeAlarms subscribes to alarms of a server on the databases, on change.
func subscribeAlarms(t *testing.T, r *swss.Redis) *receivedAlarms {
	t.Helper()
	s, err := mgmt.NewServer(mgmt.Config{Redis: r, Addr: "127.0.0.1:0", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	conn, err := grpc.NewClient("passthrough:///"+s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		<-done
	})
	rpc, err := gpb.NewGNMIClient(conn).Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	path := &gpb.Path{Elem: []*gpb.PathElem{{Name: "health"}, {Name: "alarms"}}}
	list := &gpb.SubscriptionList{Encoding: gpb.Encoding_PROTO, Subscription: []*gpb.Subscription{
		{Path: path, Mode: gpb.SubscriptionMode_ON_CHANGE}}}
	if err := rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}); err != nil {
		t.Fatal(err)
	}
	return &receivedAlarms{t: t, rpc: rpc, rows: map[string]swss.FieldValues{}}
}

// next receives a message.
func (a *receivedAlarms) next() {
	a.t.Helper()
	m, err := a.rpc.Recv()
	if err != nil {
		a.t.Fatal(err)
	}
	a.first = a.first || m.GetSyncResponse()
	for _, d := range m.GetUpdate().GetDelete() {
		delete(a.rows, d.GetElem()[2].GetKey()["id"])
	}
	for _, u := range m.GetUpdate().GetUpdate() {
		el := u.GetPath().GetElem()
		id, leaf := el[2].GetKey()["id"], el[len(el)-1].GetName()
		if a.rows[id] == nil {
			a.rows[id] = swss.FieldValues{}
		}
		value := u.GetVal().GetStringVal()
		if n, ok := u.GetVal().GetValue().(*gpb.TypedValue_UintVal); ok {
			value = strconv.FormatUint(n.UintVal, 10)
		}
		if leaf != "id" {
			a.rows[id][leaf] = value
		}
	}
}

// are waits until the subscriber has exactly these rows.
func (a *receivedAlarms) are(want map[string]swss.FieldValues) {
	a.t.Helper()
	for !a.first || !reflect.DeepEqual(a.rows, want) {
		a.next()
	}
}
