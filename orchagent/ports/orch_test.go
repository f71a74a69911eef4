package ports

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/orch/orchtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// bench is an Orch on a fake ASIC with four ports of four lanes.
type bench struct {
	*orchtest.Bench
	orch     *Orch
	reported [][]string
}

func newBench(t *testing.T) *bench { return newBenchOn(t, nil) }

// newBenchOn puts a layer in front of the fake ASIC.
func newBenchOn(t *testing.T, layer func(sai.API) sai.API) *bench {
	t.Helper()
	b := &bench{Bench: orchtest.New(t, saitest.Options{Ports: 4})}
	b.Layer = layer
	b.Start()
	var err error
	b.orch, err = New(b.Ctx, Config{
		SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Poller: b.Poller, MAC: sai.MAC{2, 0, 0, 0, 0, 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.orch.Changes().Subscribe(
		func(_ context.Context, names []string) { b.reported = append(b.reported, slices.Clone(names)) },
	)
	return b
}

// newSwitch returns a bench with Ethernet0 and Ethernet4 on the first eight lanes, whose start is complete.
func newSwitch(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.port("Ethernet0", "1,2,3,4")
	b.port("Ethernet4", "5,6,7,8")
	b.Set(schema.AppPort, schema.PortConfigDone, "count", "2")
	b.Step()
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Step()
	b.Rec.Reset()
	b.reported = nil
	return b
}

func (b *bench) port(name, lanes string) {
	b.Set(schema.AppPort, name, "lanes", lanes, "speed", "100000", "mtu", "9100", "admin_status", "up")
}

// numbered matches the types of objects in calls, which are clear from the attribute.
var numbered = regexp.MustCompile(`[a-z_]+#|null`)

// calls returns the calls of [orchtest.Bench], with objects only as numbers.
func (b *bench) calls() []string {
	lines := b.Calls()
	for i, l := range lines {
		lines[i] = numbered.ReplaceAllString(l, "#")
	}
	return lines
}

func (b *bench) wantCalls(want ...string) {
	b.T.Helper()
	b.Compare(b.calls(), want)
}

// The switch is created, and the ASIC's members of the default VLAN and bridge are removed. Configured ports are named,
// set and brought up. The other ports are removed once the first view is complete.
func TestStart(t *testing.T) {
	b := newBench(t)
	b.wantCalls(
		"c|SWITCH:#0|INIT_SWITCH=true|SRC_MAC_ADDRESS=02:00:00:00:00:01|FDB_EVENT_NOTIFY=0x1|PORT_STATE_CHANGE_NOTIFY=0x1|"+
			"SWITCH_SHUTDOWN_REQUEST_NOTIFY=0x1",
		"r|VLAN_MEMBER:#0", "r|VLAN_MEMBER:#1", "r|VLAN_MEMBER:#2", "r|VLAN_MEMBER:#3",
		"r|BRIDGE_PORT:#0", "r|BRIDGE_PORT:#1", "r|BRIDGE_PORT:#2", "r|BRIDGE_PORT:#3")
	b.port("Ethernet4", "5,6,7,8")
	b.Step()
	b.wantCalls()
	b.WantStatus(schema.StatePort, "Ethernet4", "pending: waiting for the port configuration to be complete")
	b.Set(schema.AppPort, schema.PortConfigDone, "count", "1")
	b.Step()
	b.wantCalls(
		"c|HOSTIF:#0|TYPE=NETDEV|OBJ_ID=#2|NAME=Ethernet4",
		"s|PORT:#2|SPEED=100000", "s|PORT:#2|MTU=9122", "s|PORT:#2|ADMIN_STATE=true",
		"s|HOSTIF:#0|OPER_STATUS=false")
	b.WantStatus(schema.StatePort, "Ethernet4", "active")
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Step()
	b.wantCalls("R|PORT:#1", "R|PORT:#3", "R|PORT:#4")
	if got := b.Row(swss.ApplDB, schema.AppPort, schema.PortInitDone); len(got) == 0 {
		t.Error("no PORT_TABLE:PortInitDone")
	}
	oid, _, _ := b.orch.Port("Ethernet4")
	if got := b.Row(swss.CountersDB, schema.CountersPortNameMap, "")["Ethernet4"]; got != oid.String() ||
		!b.Poller.Polls(oid) {
		t.Errorf("name map has %q, polled: %v", got, b.Poller.Polls(oid))
	}
}

// A member receives before it sends, and ceases to send first. The PortChannel is up while its minimum number of
// members send on ports that are up. The row of each member contains its state.
func TestMinLinks(t *testing.T) {
	b := newSwitch(t)
	downs := []string{}
	b.orch.Downs().Subscribe(func(_ context.Context, name string) { downs = append(downs, name) })
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up", "min_links", "2")
	members := []string{"PortChannel1:Ethernet0", "PortChannel1:Ethernet4"}
	for _, m := range members {
		b.Set(schema.AppLAGMember, m, "status", "disabled")
		b.Step()
		port := b.orch.asic.ports[strings.TrimPrefix(m, "PortChannel1:")].oid
		if err := b.orch.Notify(b.Ctx, sai.PortState{Port: port, Oper: sai.PortOperStatusUp}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what, lag string, does ...string) {
		t.Helper()
		b.Step()
		row := b.Row(swss.ApplDB, schema.AppLAG, "PortChannel1")
		got := []string{row["oper_status"]}
		sending := len(does) - len(slices.DeleteFunc(slices.Clone(does), func(w string) bool { return w == "up" }))
		if want := strconv.Itoa(sending * 100000); row[schema.FieldActiveSpeed] != want {
			t.Errorf("%s: the speed is %q, want %s", what, row[schema.FieldActiveSpeed], want)
		}
		for _, m := range members {
			got = append(got, b.Row(swss.ApplDB, schema.AppLAGMember, m)["oper_status"])
		}
		if want := append([]string{lag}, does...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	want("both disabled", "down", "down", "down")
	b.Rec.Reset()
	b.Set(schema.AppLAGMember, members[0], "status", "disabled", "collecting", "true")
	want("one receives", "down", "collecting", "down")
	b.wantCalls("s|LAG_MEMBER:#0|INGRESS_DISABLE=false")
	b.Set(schema.AppLAGMember, members[0], "status", "enabled")
	want("one sends", "down", "up", "down")
	b.wantCalls("s|LAG_MEMBER:#0|EGRESS_DISABLE=false")
	b.Set(schema.AppLAGMember, members[1], "status", "enabled")
	want("both send", "up", "up", "up")
	if len(downs) != 0 {
		t.Errorf("gone down: %v", downs)
	}
	b.Rec.Reset()
	b.Del(schema.AppLAGMember, members[0])
	b.Set(schema.AppLAGMember, members[0], "status", "disabled")
	want("one is disabled", "down", "down", "up")
	b.wantCalls("s|LAG_MEMBER:#0|EGRESS_DISABLE=true", "s|LAG_MEMBER:#0|INGRESS_DISABLE=true")
	if !slices.Equal(downs, []string{"PortChannel1"}) {
		t.Errorf("gone down: %v", downs)
	}
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up", "min_links", "1")
	want("one is enough now", "up", "down", "up")
	b.Set(schema.AppPort, "Ethernet4", "lanes", "5,6,7,8", "speed", "50000", "mtu", "9100", "admin_status", "up")
	b.Step()
	if got := b.Row(swss.ApplDB, schema.AppLAG, "PortChannel1")[schema.FieldActiveSpeed]; got != "50000" {
		t.Errorf("the speed is %q after its port's has changed", got)
	}
}

func TestLAG(t *testing.T) {
	b := newSwitch(t)
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "disabled")
	b.Step()
	b.wantCalls("c|LAG:#0", "c|LAG_MEMBER:#0|LAG_ID=#0|PORT_ID=#2|EGRESS_DISABLE=true|INGRESS_DISABLE=true")
	_, members, ok := b.orch.LAG("PortChannel1")
	if _, lag, _ := b.orch.Port("Ethernet4"); !ok || lag != "PortChannel1" ||
		!slices.Equal(members, []string{"Ethernet4"}) {
		t.Errorf("member of %q, members %v", lag, members)
	}
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "enabled")
	b.Step()
	b.wantCalls("s|LAG_MEMBER:#0|INGRESS_DISABLE=false", "s|LAG_MEMBER:#0|EGRESS_DISABLE=false")
	b.reported = nil
	b.Del(schema.AppLAG, "PortChannel1")
	b.Step()
	b.wantCalls("r|LAG_MEMBER:#0", "r|LAG:#0")
	b.WantStatus(schema.StateLAG, "PortChannel1", "")
	b.WantStatus(schema.StateLAGMember, "PortChannel1|Ethernet4", "pending: no PortChannel PortChannel1")
	if len(b.reported) != 2 || !slices.Contains(b.reported[0], "PortChannel1") {
		t.Errorf("told %v", b.reported)
	}
}

func TestOperStatus(t *testing.T) {
	b := newSwitch(t)
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled")
	b.Step()
	b.calls()
	oid, _, _ := b.orch.Port("Ethernet0")
	for _, tt := range []struct {
		oper sai.Enum
		want string
	}{{sai.PortOperStatusUp, "up"}, {sai.PortOperStatusDown, "down"}} {
		if err := b.orch.Notify(b.Ctx, sai.PortState{Port: oid, Oper: tt.oper}); err != nil {
			t.Fatal(err)
		}
		b.wantCalls(fmt.Sprintf("s|HOSTIF:#0|OPER_STATUS=%v", tt.want == "up"))
		for _, row := range []swss.FieldValues{
			b.Row(swss.ApplDB, schema.AppPort, "Ethernet0"), b.Row(swss.StateDB, schema.StatePort, "Ethernet0"),
			b.Row(swss.ApplDB, schema.AppLAG, "PortChannel1"), b.Row(swss.StateDB, schema.StateLAG, "PortChannel1"),
		} {
			if row["oper_status"] != tt.want {
				t.Errorf("oper_status = %q, want %q", row["oper_status"], tt.want)
			}
		}
	}
}

// Whichever call fails, the object is undone, the status of the row contains the reason, and the object succeeds when
// the row is written again.
func TestEveryFailureIsUndone(t *testing.T) {
	rows := func(b *bench) {
		b.port("Ethernet8", "9,10")
		b.Set(schema.AppVLAN, "Vlan10", "vlanid", "10")
		b.Set(schema.AppVLANMember, "Vlan10:Ethernet8", "tagging_mode", "untagged")
		b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
		b.Set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "enabled")
	}
	states := [][2]string{
		{schema.StatePort, "Ethernet8"}, {schema.StateVLAN, "Vlan10"}, {schema.StateVLANMember, "Vlan10|Ethernet8"},
		{schema.StateLAG, "PortChannel1"}, {schema.StateLAGMember, "PortChannel1|Ethernet4"},
	}
	for n := 1; ; n++ {
		b := newSwitch(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		rows(b)
		b.Step()
		if b.Rec.Changes() < n {
			if n < 8 {
				t.Errorf("only %d calls", n)
			}
			break
		}
		failed := slices.ContainsFunc(states, func(s [2]string) bool {
			row := b.Row(swss.StateDB, s[0], s[1])
			return row["status"] == "failed" && strings.Contains(row["reason"], "SAI_STATUS_FAILURE")
		})
		warned := b.Rec.Lines()[slices.Index(b.Rec.Lines(), "E|SAI_STATUS_FAILURE")-1]
		if !failed && !strings.Contains(warned, "HOSTIF_ATTR_OPER_STATUS") {
			t.Errorf("call %d failed and no row says so: %s", n, warned)
		}
		b.Rec.FailAt(0, 0)
		rows(b)
		b.Step()
		for _, s := range states {
			b.WantStatus(s[0], s[1], "active")
		}
		for _, table := range []string{schema.AppVLANMember, schema.AppVLAN, schema.AppLAGMember, schema.AppLAG,
			schema.AppPort} {
			for _, key := range []string{"Vlan10:Ethernet8", "Vlan10", "PortChannel1:Ethernet4", "PortChannel1", "Ethernet8"} {
				b.Del(table, key)
			}
		}
		b.Step()
		if left := b.Fake.Created(); len(left) != 2 { // the host interfaces of Ethernet0 and Ethernet4
			t.Errorf("call %d failed; left behind: %v", n, left)
		}
	}
}

// A removal that the ASIC refuses is repeated after a second, although no row changes.
func TestFailedRemovalIsRepeated(t *testing.T) {
	for n := 1; ; n++ {
		b := newSwitch(t)
		b.port("Ethernet8", "9,10")
		b.Set(schema.AppVLAN, "Vlan10", "vlanid", "10")
		b.Set(schema.AppVLANMember, "Vlan10:Ethernet8", "tagging_mode", "untagged")
		b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
		b.Set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "enabled")
		b.Step()
		b.Rec.FailAt(n, sai.StatusFailure)
		b.Del(schema.AppVLANMember, "Vlan10:Ethernet8")
		b.Del(schema.AppVLAN, "Vlan10")
		b.Del(schema.AppLAGMember, "PortChannel1:Ethernet4")
		b.Del(schema.AppLAG, "PortChannel1")
		b.Del(schema.AppPort, "Ethernet8")
		b.Step()
		if b.Rec.Changes() < n {
			break
		}
		b.Pass(2 * time.Second)
		if left := b.Fake.Created(); len(left) != 2 { // the host interfaces of Ethernet0 and Ethernet4
			t.Errorf("call %d failed; left behind: %v", n, left)
		}
	}
}

// Failed writes to COUNTERS_DB are repeated as soon as they can succeed, even if nothing else changes.
func TestCountersAreWrittenLater(t *testing.T) {
	b := newSwitch(t)
	db := b.Redis.DB(swss.CountersDB).Client()
	before := db.HGetAll(b.Ctx, schema.CountersPortNameMap).Val()
	db.Set(b.Ctx, schema.CountersPortNameMap, "garbage", 0)
	b.port("Ethernet8", "9,10,11,12")
	b.Step()
	db.Del(b.Ctx, schema.CountersPortNameMap)
	db.HSet(b.Ctx, schema.CountersPortNameMap, before)
	b.Pass(retryPeriod)
	if got := db.HGetAll(b.Ctx, schema.CountersPortNameMap).Val(); len(got) != len(before)+1 {
		t.Errorf("the names are %v, want those of %v and of Ethernet8", got, before)
	}
}
