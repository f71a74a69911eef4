package ports

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// If CONFIG_DB names a member by its alias, the status is reported under that alias. When CONFIG_DB uses the name
// again, the status is reported under the name.
func TestStatusOfAliases(t *testing.T) {
	b := newSwitch(t)
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled", "alias", "Eth1:1")
	b.Set(schema.AppVLAN, "Vlan10", "vlanid", "10")
	b.Set(schema.AppVLANMember, "Vlan10:Ethernet4", "tagging_mode", "tagged", "alias", "Eth2")
	b.Step()
	b.WantStatus(schema.StateLAGMember, "PortChannel1|Eth1:1", "active")
	b.WantStatus(schema.StateLAGMember, "PortChannel1|Ethernet0", "")
	b.WantStatus(schema.StateVLANMember, "Vlan10|Eth2", "active")
	b.Set(schema.AppVLANMember, "Vlan10:Ethernet4", "tagging_mode", "tagged", "alias", "")
	b.Del(schema.AppLAGMember, "PortChannel1:Ethernet0")
	b.Step()
	b.WantStatus(schema.StateLAGMember, "PortChannel1|Eth1:1", "")
	b.WantStatus(schema.StateVLANMember, "Vlan10|Eth2", "")
	b.WantStatus(schema.StateVLANMember, "Vlan10|Ethernet4", "active")
}

// A port or PortChannel that is not in the ASIC is not up, whatever it was before.
func TestOperStatusOfWhatIsGone(t *testing.T) {
	b := newSwitch(t)
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled")
	b.Step()
	oid, _, _ := b.orch.Port("Ethernet0")
	if err := b.orch.Notify(b.Ctx, sai.PortState{Port: oid, Oper: sai.PortOperStatusUp}); err != nil {
		t.Fatal(err)
	}
	want := func(word string) {
		t.Helper()
		for _, row := range []swss.FieldValues{
			b.Row(swss.ApplDB, schema.AppPort, "Ethernet0"), b.Row(swss.StateDB, schema.StatePort, "Ethernet0"),
			b.Row(swss.ApplDB, schema.AppLAG, "PortChannel1"), b.Row(swss.StateDB, schema.StateLAG, "PortChannel1"),
		} {
			if row["oper_status"] != word {
				t.Errorf("oper_status = %q, want %q", row["oper_status"], word)
			}
		}
	}
	want("up")
	b.port("Ethernet0", "no lanes")
	b.Step()
	want("down")

	// The manager has withdrawn the row and writes the reason to STATE_DB.
	state := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StatePort)
	b.port("Ethernet4", "5,6,7,8")
	b.Step()
	if err := state.Set(b.Ctx, "Ethernet4", swss.FieldValues{"status": "failed", "by": "tammgrd",
		"oper_status": "up"}); err != nil {
		t.Fatal(err)
	}
	b.Del(schema.AppPort, "Ethernet4")
	b.Step()
	if row := b.Row(swss.StateDB, schema.StatePort, "Ethernet4"); row["oper_status"] != "down" ||
		row["status"] != "failed" {
		t.Errorf("the row is %v", row)
	}
	if row := b.Row(swss.ApplDB, schema.AppPort, "Ethernet4"); len(row) > 0 {
		t.Errorf("the row is back: %v", row)
	}
}

// PortChannels do not go down and up while orchagent makes its view again.
func TestOperStatusWaitsForTheView(t *testing.T) {
	b := newBench(t)
	lags := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateLAG)
	if err := lags.Set(b.Ctx, "PortChannel1", swss.FieldValues{"oper_status": "up"}); err != nil {
		t.Fatal(err)
	}
	b.port("Ethernet0", "1,2,3,4")
	b.Set(schema.AppPort, schema.PortConfigDone, "count", "1")
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Step()
	if row := b.Row(swss.StateDB, schema.StateLAG, "PortChannel1"); row["oper_status"] != "up" {
		t.Errorf("oper_status = %q before the view is complete", row["oper_status"])
	}
	if err := b.orch.ViewApplied(b.Ctx); err != nil {
		t.Fatal(err)
	}
	b.Step()
	if row := b.Row(swss.StateDB, schema.StateLAG, "PortChannel1"); row["oper_status"] != "down" {
		t.Errorf("oper_status = %q; the PortChannel has no members", row["oper_status"])
	}
}

// An invalid row of FLEX_COUNTER_TABLE has no effect, and its status reports this.
func TestFlexCounterRow(t *testing.T) {
	b := newSwitch(t)
	flex := swss.NewTable(b.Redis.DB(swss.ConfigDB), schema.CfgFlexCounter)
	for _, tt := range []struct {
		row     swss.FieldValues
		want    string
		enabled bool
		ms      int64
	}{
		{swss.FieldValues{"FLEX_COUNTER_STATUS": "disable", "POLL_INTERVAL": "2000"}, "active", false, 2000},
		{swss.FieldValues{"FLEX_COUNTER_STATUS": "disable", "POLL_INTERVAL": "fast"},
			`failed: POLL_INTERVAL "fast": want a number in 10..3600000`, true, 1000},
		{nil, "", true, 1000},
	} {
		if err := flex.Del(b.Ctx, "PORT"); err != nil {
			t.Fatal(err)
		}
		if tt.row != nil {
			if err := flex.Set(b.Ctx, "PORT", tt.row); err != nil {
				t.Fatal(err)
			}
		}
		b.Step()
		b.WantStatus(schema.StateFlexCounter, "PORT", tt.want)
		if g := b.Poller.Groups["PORT_STAT_COUNTER"]; g.Enabled != tt.enabled || g.Interval.Milliseconds() != tt.ms {
			t.Errorf("%v: enabled %v, every %v", tt.row, g.Enabled, g.Interval)
		}
	}
}

// The row of a port or PortChannel contains the time of its last change, also after a restart. Until it changes, this
// is the time when it came to be. Changes that no orchagent saw have no time.
func TestLastChange(t *testing.T) {
	b := newSwitch(t)
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled")
	b.Step()
	oid, _, _ := b.orch.Port("Ethernet0")
	want := func(what, at string) {
		t.Helper()
		for table, name := range map[string]string{schema.AppPort: "Ethernet0", schema.AppLAG: "PortChannel1"} {
			if got := b.Row(swss.ApplDB, table, name)["last_change"]; got != at {
				t.Errorf("%s: last_change of %s is %q, want %q", what, name, got, at)
			}
		}
	}
	want("it has never changed", strconv.FormatInt(b.Daemon.TimeOfDay().UnixNano(), 10))
	turn := func(oper sai.Enum) string {
		t.Helper()
		if err := b.orch.Notify(b.Ctx, sai.PortState{Port: oid, Oper: oper}); err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(b.Daemon.TimeOfDay().UnixNano(), 10)
	}
	at := turn(sai.PortOperStatusUp)
	want("it came up", at)
	b.Step()
	if err := b.orch.Report(b.Ctx); err != nil {
		t.Fatal(err)
	}
	want("told anew", at)
	for _, table := range []string{schema.AppPort, schema.AppLAG} { // as when the state of the ASIC is unknown
		for _, name := range []string{"Ethernet0", "PortChannel1"} {
			key := table + ":" + name
			if c := b.Redis.DB(swss.ApplDB).Client(); c.Exists(b.Ctx, key).Val() == 1 {
				c.HSet(b.Ctx, key, "oper_status", schema.OperUnknown)
			}
		}
	}
	if err := b.orch.Report(b.Ctx); err != nil {
		t.Fatal(err)
	}
	want("it was not known what it is", "")
	if got := b.Row(swss.StateDB, schema.StatePort, "Ethernet0")[schema.FieldNetdevOperStatus]; got != schema.OperUp {
		t.Errorf("told anew: the status row has the state %q under portsyncd's name, want up", got)
	}
	want("it went down", turn(sai.PortOperStatusDown))
}

// A VLAN is up while its row requests it and at least one of its members, a port or PortChannel, is up. Its row
// contains the time of the last change.
func TestVLANOper(t *testing.T) {
	b := newSwitch(t)
	made := b.Now
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled")
	for _, name := range []string{"Vlan10", "Vlan20"} {
		b.Set(schema.AppVLAN, name, "admin_status", "up")
		b.Set(schema.AppVLANMember, name+":PortChannel1", "tagging_mode", "tagged")
	}
	b.Set(schema.AppVLANMember, "Vlan20:Ethernet4", "tagging_mode", "tagged")
	later := func(what func()) {
		b.Now = b.Now.Add(time.Minute)
		b.Step()
		what()
		b.Step()
	}
	notify := func(port string, oper sai.Enum) func() {
		return func() {
			oid, _, _ := b.orch.Port(port)
			if err := b.orch.Notify(b.Ctx, sai.PortState{Port: oid, Oper: oper}); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(what string, rows ...string) {
		t.Helper()
		var got []string
		for _, name := range []string{"Vlan10", "Vlan20"} {
			row := b.Row(swss.ApplDB, schema.AppVLAN, name)
			at, _ := strconv.ParseInt(row["last_change"], 10, 64)
			got = append(got, fmt.Sprintf("%s since %v", row["oper_status"], time.Unix(0, at).Sub(made).Minutes()))
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	b.Step()
	want("all ports are down", "down since 0", "down since 0")
	later(notify("Ethernet4", sai.PortOperStatusUp))
	want("a port comes up", "down since 0", "up since 1")
	later(notify("Ethernet0", sai.PortOperStatusUp))
	want("the PortChannel comes up", "up since 2", "up since 1")
	later(notify("Ethernet4", sai.PortOperStatusDown))
	want("the PortChannel still is", "up since 2", "up since 1")
	later(func() { b.Del(schema.AppVLANMember, "Vlan20:PortChannel1") })
	want("the PortChannel leaves", "up since 2", "down since 4")
	later(func() { b.Set(schema.AppVLANMember, "Vlan20:PortChannel1", "tagging_mode", "tagged") })
	later(func() { b.Set(schema.AppVLAN, "Vlan10", "admin_status", "down") })
	want("one has it again, one is taken down", "down since 6", "up since 5")
	later(func() { b.Set(schema.AppVLAN, "Vlan10", "admin_status", "up") })
	later(func() { b.Set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "disabled") })
	want("the PortChannel has no member that sends", "down since 8", "down since 8")
	later(func() { b.Del(schema.AppVLAN, "Vlan10") })
	later(func() { b.Set(schema.AppVLAN, "Vlan10", "admin_status", "up") })
	want("one was made again", "down since 10", "down since 8")
}

// The row of a port that is lost has the time of the last change again.
func TestLastChangeOfLostRow(t *testing.T) {
	b := newSwitch(t)
	oid, _, _ := b.orch.Port("Ethernet0")
	b.Now = b.Now.Add(time.Minute)
	b.Step()
	if err := b.orch.Notify(b.Ctx, sai.PortState{Port: oid, Oper: sai.PortOperStatusUp}); err != nil {
		t.Fatal(err)
	}
	was := b.Row(swss.ApplDB, schema.AppPort, "Ethernet0")
	b.Now = b.Now.Add(time.Minute)
	b.Redis.DB(swss.ApplDB).Client().Del(b.Ctx, schema.AppPort+":Ethernet0")
	b.port("Ethernet0", "1,2,3,4")
	b.Step()
	if got := b.Row(swss.ApplDB, schema.AppPort, "Ethernet0"); got["last_change"] != was["last_change"] {
		t.Errorf("last_change is %q, want %q", got["last_change"], was["last_change"])
	}
}

// A port's row has the number of changes of its state, and the times of the last ones, as SONiC's show command reads
// them. Its status row has the state under portsyncd's name.
func TestFlaps(t *testing.T) {
	b := newSwitch(t)
	oid, _, _ := b.orch.Port("Ethernet0")
	notify := func(oper sai.Enum) {
		t.Helper()
		b.Now = b.Now.Add(time.Minute)
		b.Step()
		if err := b.orch.Notify(b.Ctx, sai.PortState{Port: oid, Oper: oper}); err != nil {
			t.Fatal(err)
		}
		b.Step()
	}
	check := func(netdev, count, up, down string) {
		t.Helper()
		row := b.Row(swss.ApplDB, schema.AppPort, "Ethernet0")
		got := []string{b.Row(swss.StateDB, schema.StatePort, "Ethernet0")["netdev_oper_status"],
			row["flap_count"], row["last_up_time"], row["last_down_time"]}
		if diff := cmp.Diff([]string{netdev, count, up, down}, got); diff != "" {
			t.Error(diff)
		}
	}
	check("down", "", "", "")
	at := func() string { return b.Now.UTC().Format("Mon Jan 02 15:04:05 2006") }
	notify(sai.PortOperStatusUp)
	up := at()
	check("up", "1", up, "")
	notify(sai.PortOperStatusDown)
	check("down", "2", up, at())
}
