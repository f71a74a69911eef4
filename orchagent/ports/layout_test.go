package ports

import (
	"context"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// RouterPort returns the object for a router interface, or the reason why there is none.
func TestRouterPort(t *testing.T) {
	b := newSwitch(t)
	says := func(name, want string) {
		t.Helper()
		p, err := b.orch.RouterPort(name)
		got := p.Key.Type.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	says("Ethernet0", "SAI_OBJECT_TYPE_PORT")
	says("Ethernet8", "port Ethernet8 is not in the ASIC")
	says("Vlan10", "VLAN Vlan10 is not in the ASIC")

	// Users of the port are notified before the bridge port is created.
	first := -1
	b.orch.Layout().Subscribe(func(context.Context, struct{}) {
		if _, err := b.orch.RouterPort("Ethernet0"); err != nil && first < 0 {
			first = len(b.Rec.LiveOf(sai.ObjectTypeBridgePort))
		}
	})
	b.Set(schema.AppVLAN, "Vlan10", "vlanid", "10", "mtu", "1500")
	b.Set(schema.AppVLANMember, "Vlan10:Ethernet0", "tagging_mode", "untagged")
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up", "mtu", "9100")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "enabled")
	b.Step()
	says("Ethernet0", "Ethernet0 is a member of Vlan10")
	says("Ethernet4", "Ethernet4 is a member of PortChannel1")
	says("PortChannel1", "SAI_OBJECT_TYPE_LAG")
	says("Vlan10", "SAI_OBJECT_TYPE_VLAN")
	if p, _ := b.orch.RouterPort("Vlan10"); p.MTU != 1500 {
		t.Errorf("the VLAN has an MTU of %d", p.MTU)
	}
	if first != 0 {
		t.Errorf("told with %d bridge ports in the ASIC", first)
	}
	if _, bp, err := b.orch.BridgePort("Vlan10", "Ethernet0"); err != nil || b.orch.BridgePortName(bp) != "Ethernet0" ||
		b.orch.BridgePortOf("Ethernet0") != bp {
		t.Errorf("bridge port %s, %v", bp, err)
	}

	// The user of an FDB entry is notified while the member still exists.
	live := -1
	b.orch.Layout().Subscribe(func(context.Context, struct{}) {
		if _, _, err := b.orch.BridgePort("Vlan10", "Ethernet0"); err != nil && live < 0 {
			live = len(b.Rec.LiveOf(sai.ObjectTypeVLANMember))
		}
	})
	b.Del(schema.AppVLANMember, "Vlan10:Ethernet0")
	b.Step()
	says("Ethernet0", "SAI_OBJECT_TYPE_PORT")
	if live != 1 {
		t.Errorf("told with %d VLAN members in the ASIC", live)
	}
}

// SWITCH_TABLE is applied to the switch. Unchanged values are not set again.
func TestSwitchSettings(t *testing.T) {
	b := newSwitch(t)
	set := func(fields ...string) string {
		t.Helper()
		b.Rec.Reset()
		b.Set(schema.AppSwitch, schema.SwitchKey, fields...)
		b.Step()
		return b.Rec.Text()
	}
	const sw = "s|SAI_OBJECT_TYPE_SWITCH:oid:0x2100000000|SAI_SWITCH_ATTR_"
	for _, tt := range []struct {
		fields []string
		want   string
	}{
		{[]string{"fdb_aging_time", "600"}, sw + "FDB_AGING_TIME=600"},
		{[]string{"fdb_aging_time", "600", "ecmp_hash_seed", "0"}, ""},
		{[]string{"fdb_aging_time", "30", "ecmp_hash_seed", "7"}, sw + "FDB_AGING_TIME=30\n" + sw +
			"ECMP_DEFAULT_HASH_SEED=7"},
	} {
		if got := set(tt.fields...); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.fields, got, tt.want)
		}
	}
}

// The status of the switch reports an address that is not valid or that the ASIC refuses. A refused one is set again
// after a second, although no row changes.
func TestSwitchAddress(t *testing.T) {
	b := newSwitch(t)
	b.Set(schema.AppSwitch, schema.SwitchKey, "fdb_aging_time", "600")
	b.Step()
	config := swss.NewTable(b.Redis.DB(swss.ConfigDB), schema.CfgDeviceMetadata)
	set := func(mac string) {
		t.Helper()
		if err := config.Set(b.Ctx, schema.MetadataKey, swss.FieldValues{"mac": mac}); err != nil {
			t.Fatal(err)
		}
		b.Step()
	}
	want := func(status string, mac sai.MAC) {
		t.Helper()
		got := b.Status(schema.StateSwitch + "|" + schema.SwitchKey)
		if !strings.HasPrefix(got, status) || b.orch.MAC() != mac {
			t.Errorf("status %q, address %s; want %q, %s", got, schema.MAC(b.orch.MAC()), status, schema.MAC(mac))
		}
	}
	const refused = "failed: set the switch's MAC: "
	two, three := sai.MAC{2, 0, 0, 0, 0, 2}, sai.MAC{2, 0, 0, 0, 0, 3}
	set(schema.MAC(two).String())
	want("active", two)
	b.Rec.FailAt(1, sai.StatusFailure)
	set(schema.MAC(three).String())
	want(refused, two)
	b.Set(schema.AppSwitch, schema.SwitchKey, "fdb_aging_time", "30") // another setting does not hide it
	b.Step()
	want(refused, two)
	b.Pass(retryPeriod)
	want("active", three)
	set("02:00:00:00:00")
	_, err := schema.ParseDeviceMetadata(schema.MetadataKey, map[string]string{"mac": "02:00:00:00:00"})
	want("failed: DEVICE_METADATA|localhost: "+schema.Reason(err)+"; the switch has 00:00:00:00:00:00", sai.MAC{})
	set(schema.MAC(two).String())
	want("active", two)
}
