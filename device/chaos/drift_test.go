package chaos

import (
	"strconv"
	"testing"

	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/drift"
)

// On a live switch, repeated changes in single places heal by themselves, without a new chip, and the daemons report
// their number.
func TestDriftOfLiveSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("processes that wait for each other: nothing for the race detector")
	}
	t.Parallel()
	p := startPlant(t)
	config := devicetest.TwoPorts()
	p.load(config)
	p.until("the session", func() bool { return p.active("s") })
	p.ready()
	healed := func(name string) int {
		n, _ := strconv.Atoi(p.row(swss.StateDB, drift.Table, name)[drift.FieldHealed])
		return n
	}
	del := func(db swss.DBName, pattern string) {
		client := p.redis.DB(db).Client()
		keys, err := client.Keys(t.Context(), pattern).Result()
		if err != nil || len(keys) == 0 {
			t.Fatal(pattern, keys, err)
		}
		devicetest.NoError(t, client.Del(t.Context(), keys[0]).Err())
	}
	del(swss.ApplDB, "ACL_RULE_TABLE:TAM:all")
	p.until("tammgrd has healed it", func() bool { return healed("tammgrd") == 1 })
	del(swss.StateDB, "VLAN_TABLE|Vlan10")
	p.until("tammgrd has healed it", func() bool { return healed("tammgrd") == 2 })
	del(swss.ASICDB, "ASIC_STATE:SAI_OBJECT_TYPE_ACL_ENTRY:*")
	p.until("orchagent has healed it", func() bool { return healed("orchagent") == 1 })
	p.ready()
	p.same(config)
	if n := p.chips.Load(); n != 1 || !p.active("s") {
		t.Errorf("syncd has had %d chips, the session is active: %t", n, p.active("s"))
	}
}
