package forward_test

import (
	"maps"
	"slices"
	"testing"

	"tamtam/orch/forward"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// Unapplied contents are listed as they come and go, after a restart, and after STATE_DB was emptied.
func TestUnappliedIsListed(t *testing.T) {
	r := swsstest.Start(t)
	b := forwardtest.New(t, r, forward.ReportUnapplied)
	listed := func() (lines []string) {
		t.Helper()
		rows, err := swss.NewTable(r.DB(swss.StateDB), schema.StateUnapplied).Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			for _, kind := range slices.Sorted(maps.Keys(rows[key])) {
				lines = append(lines, key+" "+kind+": "+rows[key][kind])
			}
		}
		return lines
	}
	check := func(want ...string) {
		t.Helper()
		if got := listed(); !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
	if err := r.DB(swss.ConfigDB).Client().HSet(t.Context(), swss.KeyMark, "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	b.Do("PORT|Ethernet0 lanes=0 speed=100000", "VLAN|Vlan5 vlanid=5")
	check()
	b.Do("PORT|Ethernet0 lanes=0 speed=100000 mtuu=1500 tpid=0x9100", "PROT|Ethernet0 lanes=0", "PROT|Ethernet4 lanes=1",
		"VNET|Vnet1 NULL=NULL")
	want := []string{
		"PORT|Ethernet0 no-effect: tpid has no effect in this switch",
		"PORT|Ethernet0 unknown: there is no field mtuu; the nearest is mtu",
		"PROT unknown: there is no table PROT; the nearest is PORT",
		"VNET not-implemented: the table VNET is not implemented",
	}
	check(want...)
	b.Do("restart")
	check(want...)
	if err := r.DB(swss.StateDB).Client().FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	b.Restart()
	b.Do("-PROT|Ethernet0", "PORT|Ethernet0 lanes=0 speed=100000 mtu=1500")
	check(want[2:]...)
	b.Do("-PROT|Ethernet4", "-VNET|Vnet1", "VLAN|Vlan5 vlanid=5 vlanidd=5")
	check("VLAN|Vlan5 unknown: there is no field vlanidd; the nearest is vlanid")
}
