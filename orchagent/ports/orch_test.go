package ports

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/schema"
	"tamtam/swss"
)

type poller struct{ polled map[sai.OID]bool }

func (p *poller) SetGroup(context.Context, string, time.Duration, bool) error { return nil }

func (p *poller) StartPoll(_ context.Context, _, _ string, _ []string, objs ...sai.OID) error {
	for _, o := range objs {
		p.polled[o] = true
	}
	return nil
}

func (p *poller) StopPoll(_ context.Context, _ string, objs ...sai.OID) error {
	for _, o := range objs {
		delete(p.polled, o)
	}
	return nil
}

// bench is an Orch on a fake ASIC with four ports of four lanes.
type bench struct {
	t      *testing.T
	ctx    context.Context
	redis  *swss.Redis
	fake   *saitest.Fake
	rec    *saitest.Recorder
	poller *poller
	daemon *orch.Daemon
	orch   *Orch
	told   [][]string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	b := &bench{t: t, ctx: t.Context(), redis: r, fake: saitest.New(saitest.Options{Ports: 4}), poller: &poller{polled: map[sai.OID]bool{}}}
	b.rec = saitest.NewRecorder(b.fake)
	b.daemon = orch.NewDaemon(orch.Orchagent, r, orch.Options{})
	t.Cleanup(func() { b.daemon.Close() })
	b.orch, err = New(b.ctx, Config{SAI: b.rec, Daemon: b.daemon, Redis: r, Poller: b.poller, MAC: sai.MAC{2, 0, 0, 0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	b.orch.Changes().Subscribe(func(_ context.Context, names []string) { b.told = append(b.told, slices.Clone(names)) })
	return b
}

// newSwitch is a bench with Ethernet0 and Ethernet4 on the first eight lanes,
// its start over.
func newSwitch(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.port("Ethernet0", "1,2,3,4")
	b.port("Ethernet4", "5,6,7,8")
	b.set(schema.AppPort, schema.PortConfigDone, "count", "2")
	b.step()
	if err := b.orch.ViewApplied(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.step()
	b.rec.Reset()
	b.told = nil
	return b
}

func (b *bench) step() {
	b.t.Helper()
	if _, err := b.daemon.Step(b.ctx, time.Unix(1700000000, 0)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) set(table, key string, fields ...string) {
	b.t.Helper()
	var pairs []swss.Pair
	for i := 0; i < len(fields); i += 2 {
		pairs = append(pairs, swss.Pair{Field: fields[i], Value: fields[i+1]})
	}
	if err := swss.NewProducerState(b.redis.DB(swss.ApplDB), table).Set(b.ctx, key, pairs); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) del(table, key string) {
	b.t.Helper()
	if err := swss.NewProducerState(b.redis.DB(swss.ApplDB), table).Del(b.ctx, key); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) port(name, lanes string) {
	b.set(schema.AppPort, name, "lanes", lanes, "speed", "100000", "mtu", "9100", "admin_status", "up")
}

func (b *bench) row(db swss.DBName, table, key string) swss.FieldValues {
	b.t.Helper()
	row, _, err := swss.NewTable(b.redis.DB(db), table).Get(b.ctx, key)
	if err != nil {
		b.t.Fatal(err)
	}
	return row
}

func (b *bench) wantStatus(table, key, want string) {
	b.t.Helper()
	row := b.row(swss.StateDB, table, key)
	if got := strings.TrimSuffix(row["status"]+": "+row["reason"], ": "); !strings.Contains(got, want) || want == "" && len(row) > 0 {
		b.t.Errorf("status of %s|%s = %q, want %q", table, key, got, want)
	}
}

var short = strings.NewReplacer("SAI_OBJECT_TYPE_", "", "SAI_BRIDGE_PORT_TYPE_", "", "SAI_BRIDGE_PORT_ATTR_", "", "SAI_PORT_ATTR_", "",
	"SAI_HOSTIF_ATTR_", "", "SAI_HOSTIF_TYPE_", "", "SAI_VLAN_MEMBER_ATTR_", "", "SAI_VLAN_ATTR_", "", "SAI_LAG_MEMBER_ATTR_", "",
	"SAI_LAG_ATTR_", "", "SAI_HOSTIF_VLAN_TAG_", "", "SAI_FDB_FLUSH_ATTR_", "", "SAI_BRIDGE_PORT_FDB_LEARNING_MODE_", "",
	"SAI_VLAN_TAGGING_MODE_", "", "SAI_SWITCH_ATTR_", "")

// calls returns the changing calls since the last time, with objects named by
// type and number.
func (b *bench) calls() []string {
	b.t.Helper()
	var out []string
	for _, l := range b.rec.Lines() {
		if l[0] == 'g' {
			continue
		}
		parts := strings.Split(short.Replace(l), "|")
		for i, p := range parts {
			at := strings.Index(p, "oid:0x")
			if at < 0 {
				continue
			}
			oid, err := sai.ParseOID(p[at:])
			if err != nil {
				b.t.Fatal(err)
			}
			parts[i] = p[:at] + fmt.Sprintf("#%d", uint32(oid))
		}
		out = append(out, strings.Join(parts, "|"))
	}
	b.rec.Reset()
	return out
}

func (b *bench) wantCalls(want ...string) {
	b.t.Helper()
	got := b.calls()
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			b.t.Errorf("call %d\n got %s\nwant %s", i+1, g, w)
		}
	}
}

// The switch is created; what the ASIC puts into the default VLAN and bridge is
// taken out; configured ports are named, set and brought up; the others go once
// the first view is complete.
func TestStart(t *testing.T) {
	b := newBench(t)
	b.wantCalls(
		"c|SWITCH:#0|INIT_SWITCH=true|SRC_MAC_ADDRESS=02:00:00:00:00:01|FDB_EVENT_NOTIFY=0x1|PORT_STATE_CHANGE_NOTIFY=0x1|SWITCH_SHUTDOWN_REQUEST_NOTIFY=0x1",
		"r|VLAN_MEMBER:#0", "r|VLAN_MEMBER:#1", "r|VLAN_MEMBER:#2", "r|VLAN_MEMBER:#3",
		"r|BRIDGE_PORT:#0", "r|BRIDGE_PORT:#1", "r|BRIDGE_PORT:#2", "r|BRIDGE_PORT:#3")
	b.port("Ethernet4", "5,6,7,8")
	b.step()
	b.wantCalls()
	b.wantStatus(schema.StatePort, "Ethernet4", "pending: waiting for the port configuration to be complete")
	b.set(schema.AppPort, schema.PortConfigDone, "count", "1")
	b.step()
	b.wantCalls(
		"c|HOSTIF:#0|TYPE=NETDEV|OBJ_ID=#2|NAME=Ethernet4",
		"s|PORT:#2|SPEED=100000", "s|PORT:#2|MTU=9122", "s|PORT:#2|ADMIN_STATE=true",
		"s|HOSTIF:#0|OPER_STATUS=false")
	b.wantStatus(schema.StatePort, "Ethernet4", "active")
	if err := b.orch.ViewApplied(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.step()
	b.wantCalls("r|PORT:#1", "r|PORT:#3", "r|PORT:#4")
	if got := b.row(swss.ApplDB, schema.AppPort, portInitDone); len(got) == 0 {
		t.Error("no PORT_TABLE:PortInitDone")
	}
	oid, _, _ := b.orch.Port("Ethernet4")
	if got := b.row(swss.CountersDB, schema.CountersPortNameMap, "")["Ethernet4"]; got != oid.String() || !b.poller.polled[oid] {
		t.Errorf("name map has %q, polled: %v", got, b.poller.polled)
	}
}

// One port of four lanes becomes two of two lanes: others let go, the port goes,
// the new ones are created, and what was on the port is there again.
func TestBreakout(t *testing.T) {
	b := newSwitch(t)
	b.set(schema.AppVLAN, "Vlan10", "vlanid", "10")
	b.set(schema.AppVLANMember, "Vlan10:Ethernet0", "tagging_mode", "untagged")
	b.step()
	b.calls()
	b.told = nil
	b.port("Ethernet0", "1,2")
	b.port("Ethernet2", "3,4")
	b.step()
	b.wantCalls(
		"r|VLAN_MEMBER:#4", "s|PORT:#1|PORT_VLAN_ID=1",
		"s|BRIDGE_PORT:#4|ADMIN_STATE=false", "f|FDB_FLUSH|BRIDGE_PORT_ID=#4", "r|BRIDGE_PORT:#4", "s|HOSTIF:#0|VLAN_TAG=STRIP",
		"r|HOSTIF:#0", "s|PORT:#1|ADMIN_STATE=false", "r|PORT:#1",
		"c|PORT:#5|HW_LANE_LIST=2:1,2|SPEED=100000", "c|HOSTIF:#2|TYPE=NETDEV|OBJ_ID=#5|NAME=Ethernet0", "s|PORT:#5|MTU=9122", "s|PORT:#5|ADMIN_STATE=true",
		"s|HOSTIF:#2|OPER_STATUS=false",
		"c|PORT:#6|HW_LANE_LIST=2:3,4|SPEED=100000", "c|HOSTIF:#3|TYPE=NETDEV|OBJ_ID=#6|NAME=Ethernet2", "s|PORT:#6|MTU=9122", "s|PORT:#6|ADMIN_STATE=true",
		"s|HOSTIF:#3|OPER_STATUS=false",
		"c|BRIDGE_PORT:#5|TYPE=PORT|PORT_ID=#5|ADMIN_STATE=true|FDB_LEARNING_MODE=HW", "s|HOSTIF:#2|VLAN_TAG=KEEP",
		"c|VLAN_MEMBER:#5|VLAN_ID=#1|BRIDGE_PORT_ID=#5|VLAN_TAGGING_MODE=UNTAGGED", "s|PORT:#5|PORT_VLAN_ID=10")
	if len(b.told) != 2 || b.told[0][0] != "Ethernet0" || !slices.Equal(b.told[1], []string{"Ethernet0", "Ethernet2"}) {
		t.Errorf("told %v", b.told)
	}
	b.wantStatus(schema.StateVLANMember, "Vlan10|Ethernet0", "active")
}

// Rows that exclude each other are decided by name, in every order.
func TestConflicts(t *testing.T) {
	b := newSwitch(t)
	b.port("Ethernet1", "4,9")
	b.set(schema.AppLAG, "PortChannel2", "admin_status", "up")
	b.set(schema.AppLAGMember, "PortChannel2:Ethernet0", "status", "enabled")
	b.set(schema.AppVLAN, "Vlan10", "vlanid", "10")
	b.set(schema.AppVLANMember, "Vlan10:Ethernet0", "tagging_mode", "tagged")
	b.step()
	b.wantStatus(schema.StatePort, "Ethernet1", "pending: lane 4 is used by Ethernet0")
	b.wantStatus(schema.StateLAGMember, "PortChannel2|Ethernet0", "active")
	b.wantStatus(schema.StateVLANMember, "Vlan10|Ethernet0", "pending: Ethernet0 is a member of PortChannel2")
	b.set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled")
	b.step()
	b.wantStatus(schema.StateLAGMember, "PortChannel1|Ethernet0", "active")
	b.wantStatus(schema.StateLAGMember, "PortChannel2|Ethernet0", "pending: Ethernet0 is a member of PortChannel1")
}

func TestLAG(t *testing.T) {
	b := newSwitch(t)
	b.set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "disabled")
	b.step()
	b.wantCalls("c|LAG:#0", "c|LAG_MEMBER:#0|LAG_ID=#0|PORT_ID=#2|EGRESS_DISABLE=true|INGRESS_DISABLE=true")
	_, members, ok := b.orch.LAG("PortChannel1")
	if _, lag, _ := b.orch.Port("Ethernet4"); !ok || lag != "PortChannel1" || !slices.Equal(members, []string{"Ethernet4"}) {
		t.Errorf("member of %q, members %v", lag, members)
	}
	b.set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "enabled")
	b.step()
	b.wantCalls("s|LAG_MEMBER:#0|EGRESS_DISABLE=false", "s|LAG_MEMBER:#0|INGRESS_DISABLE=false")
	b.told = nil
	b.del(schema.AppLAG, "PortChannel1")
	b.step()
	b.wantCalls("r|LAG_MEMBER:#0", "r|LAG:#0")
	b.wantStatus(schema.StateLAG, "PortChannel1", "")
	b.wantStatus(schema.StateLAGMember, "PortChannel1|Ethernet4", "pending: no PortChannel PortChannel1")
	if len(b.told) != 2 || !slices.Contains(b.told[0], "PortChannel1") {
		t.Errorf("told %v", b.told)
	}
}

func TestOperStatus(t *testing.T) {
	b := newSwitch(t)
	b.set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled")
	b.step()
	b.calls()
	oid, _, _ := b.orch.Port("Ethernet0")
	for _, tt := range []struct {
		oper sai.Enum
		want string
	}{{sai.PortOperStatusUp, "up"}, {sai.PortOperStatusDown, "down"}} {
		if err := b.orch.Notify(b.ctx, sai.PortState{Port: oid, Oper: tt.oper}); err != nil {
			t.Fatal(err)
		}
		b.wantCalls(fmt.Sprintf("s|HOSTIF:#0|OPER_STATUS=%v", tt.want == "up"))
		for _, row := range []swss.FieldValues{
			b.row(swss.ApplDB, schema.AppPort, "Ethernet0"), b.row(swss.StateDB, schema.StatePort, "Ethernet0"),
			b.row(swss.ApplDB, schema.AppLAG, "PortChannel1"), b.row(swss.StateDB, schema.StateLAG, "PortChannel1"),
		} {
			if row["oper_status"] != tt.want {
				t.Errorf("oper_status = %q, want %q", row["oper_status"], tt.want)
			}
		}
	}
}

// What changes of a port is set, and nothing else.
func TestPortChanges(t *testing.T) {
	b := newSwitch(t)
	b.set(schema.AppPort, "Ethernet0", "lanes", "4,3,2,1", "speed", "40000", "mtu", "1500", "admin_status", "down")
	b.step()
	b.wantCalls("s|PORT:#1|SPEED=40000", "s|PORT:#1|MTU=1522", "s|PORT:#1|ADMIN_STATE=false")
	b.set(schema.AppPort, "Ethernet0", "lanes", "x")
	b.step()
	b.wantStatus(schema.StatePort, "Ethernet0", `failed: lanes "x": want the port's hardware lanes`)
	if _, _, ok := b.orch.Port("Ethernet0"); ok {
		t.Error("a port whose row is invalid is still there")
	}
}

// Whatever call fails: what was done for the object is undone, the row says why,
// and writing it again succeeds.
func TestEveryFailureIsUndone(t *testing.T) {
	rows := func(b *bench) {
		b.port("Ethernet8", "9,10")
		b.set(schema.AppVLAN, "Vlan10", "vlanid", "10")
		b.set(schema.AppVLANMember, "Vlan10:Ethernet8", "tagging_mode", "untagged")
		b.set(schema.AppLAG, "PortChannel1", "admin_status", "up")
		b.set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "enabled")
	}
	states := [][2]string{
		{schema.StatePort, "Ethernet8"}, {schema.StateVLAN, "Vlan10"}, {schema.StateVLANMember, "Vlan10|Ethernet8"},
		{schema.StateLAG, "PortChannel1"}, {schema.StateLAGMember, "PortChannel1|Ethernet4"},
	}
	for n := 1; ; n++ {
		b := newSwitch(t)
		b.rec.FailAt(n, sai.StatusFailure)
		rows(b)
		b.step()
		if b.rec.Changes() < n {
			if n < 8 {
				t.Errorf("only %d calls", n)
			}
			break
		}
		failed := slices.ContainsFunc(states, func(s [2]string) bool {
			row := b.row(swss.StateDB, s[0], s[1])
			return row["status"] == "failed" && strings.Contains(row["reason"], "SAI_STATUS_FAILURE")
		})
		warned := b.rec.Lines()[slices.Index(b.rec.Lines(), "E|SAI_STATUS_FAILURE")-1]
		if !failed && !strings.Contains(warned, "HOSTIF_ATTR_OPER_STATUS") {
			t.Errorf("call %d failed and no row says so: %s", n, warned)
		}
		b.rec.FailAt(0, 0)
		rows(b)
		b.step()
		for _, s := range states {
			b.wantStatus(s[0], s[1], "active")
		}
		for _, table := range []string{schema.AppVLANMember, schema.AppVLAN, schema.AppLAGMember, schema.AppLAG, schema.AppPort} {
			for _, key := range []string{"Vlan10:Ethernet8", "Vlan10", "PortChannel1:Ethernet4", "PortChannel1", "Ethernet8"} {
				b.del(table, key)
			}
		}
		b.step()
		if left := b.fake.Created(); len(left) != 2 { // the host interfaces of Ethernet0 and Ethernet4
			t.Errorf("call %d failed; left behind: %v", n, left)
		}
	}
}
