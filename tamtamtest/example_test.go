package tamtamtest_test

import (
	"testing"
	"time"

	"tamtam/tamtamtest"
)

const oneVLAN = `{
	"VLAN": {"Vlan10": {"vlanid": "10"}},
	"VLAN_MEMBER": {
		"Vlan10|Ethernet0": {"tagging_mode": "untagged"},
		"Vlan10|Ethernet1": {"tagging_mode": "untagged"}}}`

// A frame of 60 bytes from one host to another.
var frame = append([]byte{
	2, 0, 0, 0, 0, 0x22, // destination
	2, 0, 0, 0, 0, 0x11, // source
	0x08, 0x00, // EtherType of IPv4
	0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
}, make([]byte, 26)...)

func framesAreStamped(t testing.TB) {
	sw := tamtamtest.Start(t, oneVLAN)
	sw.Set("TAM_FEATURES_TABLE|TAILSTAMPING", "status", "ACTIVE")
	sw.Set("TAM_FLOWGROUP_TABLE|web", "id", "1")
	sw.Set("ACL_RULE|TAM|web", "IN_PORTS", "Ethernet0")
	sw.Set("TAM_TAILSTAMPING_TABLE|sla", "flowgroup", "web")
	for _, p := range sw.Problems() {
		t.Error(p)
	}

	sw.Send("Ethernet0", frame)
	sw.Advance(time.Millisecond)

	left := sw.Left("Ethernet1")
	if len(left) != 1 || len(left[0]) <= len(frame) {
		t.Errorf("%d frames left Ethernet1, want the one, longer by its record: %x", len(left), left)
	}
}

// One line starts a switch, rows configure it, and a frame passes through it.
func Example() {
	var t testing.TB // the t of your test
	framesAreStamped(t)
}
