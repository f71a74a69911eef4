package switchpage

import (
	"testing"

	"tamtam/collectord/page"
	"tamtam/swss"
)

// Who says by LLDP that he forwards for others is a switch; who says nothing may be anything.
func TestNeighbor(t *testing.T) {
	for enabled, want := range map[string]page.Node{
		"28 00": {}, "20 00": {}, "08 00": {}, "09 00": {}, // bridge, router, router and station
		"01 00": {Host: true}, "10 00": {Host: true}, "00 80": {Host: true},
		"00 00": {Unknown: true}, "": {Unknown: true}, "bridge": {Unknown: true},
	} {
		if got := neighbor("", swss.FieldValues{"lldp_rem_sys_cap_enabled": enabled}); got != want {
			t.Errorf("%q: %+v, want %+v", enabled, got, want)
		}
	}
}
