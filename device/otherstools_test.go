package device_test

import (
	"testing"
	"time"

	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/tamtamtest"
)

// The first steps of SONiC's utilities work. Learned addresses are deleted when fdbclear publishes its request, and
// the chip's capabilities are where acl-loader reads them.
func TestOthersTools(t *testing.T) {
	racetest.Stepped(t)
	sw := tamtamtest.Start(t, `{
		"PORT": {"Ethernet0": {"lanes": "0", "speed": "10000", "admin_status": "up", "mtu": "1500"},
		         "Ethernet1": {"lanes": "1", "speed": "10000", "admin_status": "up", "mtu": "1500"}},
		"VLAN": {"Vlan10": {"vlanid": "10"}},
		"VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}, "Vlan10|Ethernet1": {"tagging_mode": "untagged"}},
		"FDB": {"Vlan10|02:00:00:00:00:33": {"port": "Ethernet1"}}}`)
	frame := append([]byte{2, 0, 0, 0, 0, 0x22, 2, 0, 0, 0, 0, 0x11, 0x08, 0}, make([]byte, 46)...)
	learned := func() bool { return sw.Row(swss.StateDB, "FDB_TABLE|Vlan10:02:00:00:00:00:11")["port"] == "Ethernet0" }
	sw.Send("Ethernet0", frame)
	sw.Advance(time.Millisecond)
	if !learned() {
		t.Fatal("the address is not learned")
	}
	fdbclear := sw.Sim().Redis.DB(swss.ApplDB).Client().Publish(t.Context(), "FLUSHFDBREQUEST", `["ALL","ALL"]`)
	devicetest.NoError(t, fdbclear.Err())
	sw.Advance(time.Millisecond)
	if learned() {
		t.Error("the address is still there behind fdbclear")
	}
	if got := sw.Row(swss.StateDB, "FDB_TABLE|Vlan10:02:00:00:00:00:33")["type"]; got != "static" {
		t.Errorf("the static address is %q behind fdbclear", got)
	}
	if got := sw.Row(swss.StateDB, "SWITCH_CAPABILITY|switch")["ACL_ACTION|PACKET_ACTION"]; got != "COPY,DROP,FORWARD" {
		t.Errorf("the words of PACKET_ACTION are %q", got)
	}
}
