package device_test

import (
	"testing"
	"time"

	"tamtam/swss/schema"
)

// Statistics of priority groups and pools.
const (
	groupShared  = "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"
	groupRoom    = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"
	groupDropped = "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"
	poolHeld     = "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES"
)

// withGroups configures a pool for ingress, and puts frames with DSCP 8 into priority group 3 of Ethernet0 and
// Ethernet1 with a profile.
func (m measuredSwitch) withGroups(profile string) {
	m.Helper()
	m.write("BUFFER_POOL|in", "type=ingress mode=static size=60000 xoff=20000")
	m.write("BUFFER_PROFILE|pg", "pool=in "+profile)
	m.write("TC_TO_PRIORITY_GROUP_MAP|AZURE", "1=3")
	m.write("PORT_QOS_MAP|Ethernet0,Ethernet1,Ethernet3",
		"dscp_to_tc_map=AZURE tc_to_queue_map=AZURE tc_to_pg_map=AZURE")
	m.write("BUFFER_PG|Ethernet0,Ethernet1|3", "profile=pg")
	if s := m.state(schema.AppBufferPG, "Ethernet0,Ethernet1|3"); s["status"] != "active" {
		m.Fatalf("BUFFER_PG: %v", s)
	}
	m.pass(300 * time.Millisecond)
}

func (m measuredSwitch) group(table, name, stat string) int {
	m.Helper()
	return m.counted(table, schema.CountersPGNameMap, name, stat)
}

// As test_clear and test_lua_plugins of sonic-swss: the watermarks of a priority group and of its pool rise with the
// traffic, do not fall, and are cleared each by itself.
func TestPriorityGroupWatermarks(t *testing.T) {
	m := newMeasured(t)
	m.withGroups("size=0 static_th=30000")
	burst := func(n int) {
		m.race(n, dscp8, dscp8)
		m.pass(300 * time.Millisecond)
	}
	burst(40)
	high := m.group(userTable, "Ethernet0:3", groupShared)
	pool := m.counted(userTable, schema.CountersPoolNameMap, "in", poolHeld)
	if high < 10*1020 || high > 30000 || pool < high || pool > 60000 {
		t.Fatalf("40 frames at each of two ports for one: the group had %d bytes, the pool %d", high, pool)
	}
	for _, other := range []struct{ name, stat string }{
		{"Ethernet0:0", groupShared}, {"Ethernet0:3", groupRoom}, {"Ethernet3:3", groupShared},
	} {
		if n := m.group(userTable, other.name, other.stat); n != 0 {
			t.Errorf("%s of %s is %d, want 0", other.stat, other.name, n)
		}
	}
	burst(5)
	for _, table := range []string{userTable, persistentTable, periodicTable} {
		if n := m.group(table, "Ethernet0:3", groupShared); n != high {
			t.Errorf("%s: %d after a smaller burst, want %d", table, n, high)
		}
	}
	m.clear("USER", "PG_HEADROOM")
	if n := m.group(userTable, "Ethernet0:3", groupShared); n != high {
		t.Errorf("clearing the headroom made the watermark %d, want %d", n, high)
	}
	m.clear("USER", "PG_SHARED")
	m.clear("PERSISTENT", "BUFFER_POOL")
	burst(5)
	low := m.group(userTable, "Ethernet0:3", groupShared)
	if low <= 0 || low >= high || m.group(persistentTable, "Ethernet0:3", groupShared) != high {
		t.Errorf("cleared: %d, want more than 0 and less than %d, which the persistent one still is", low, high)
	}
	if n := m.counted(persistentTable, schema.CountersPoolNameMap, "in", poolHeld); n <= 0 || n >= pool {
		t.Errorf("the pool's persistent watermark is %d, want more than 0 and less than %d", n, pool)
	}
	if n := m.counted(userTable, schema.CountersPoolNameMap, "in", poolHeld); n != pool {
		t.Errorf("the pool's user watermark is %d, want %d", n, pool)
	}
}

// As test_pg_drop_counter.py of sonic-swss: a lossy priority group that is full drops, and counts what it drops.
func TestPriorityGroupDrops(t *testing.T) {
	m := newMeasured(t)
	m.withGroups("size=0 static_th=8000")
	if n := m.group(schema.CountersTable, "Ethernet0:3", groupDropped); n != 0 {
		t.Errorf("%d drops before any traffic", n)
	}
	sent := len(m.race(60, dscp8, dscp8))
	m.pass(300 * time.Millisecond)
	first, second := m.group(schema.CountersTable, "Ethernet0:3", groupDropped),
		m.group(schema.CountersTable, "Ethernet1:3", groupDropped)
	if first+second != 120-sent || first <= 0 || second <= 0 {
		t.Errorf("drops of %d and %d at two ports, %d of 120 frames were sent", first, second, sent)
	}
	if n := m.group(userTable, "Ethernet0:3", groupShared); n <= 0 || n > 8000 {
		t.Errorf("the group had %d bytes, want at most 8000", n)
	}
	if n := m.group(schema.CountersTable, "Ethernet0:0", groupDropped); n != 0 {
		t.Errorf("%d drops of a group without traffic", n)
	}
	m.race(60, dscp8, dscp8)
	m.pass(300 * time.Millisecond)
	if n := m.group(schema.CountersTable, "Ethernet0:3", groupDropped); n <= first {
		t.Errorf("%d drops after the same traffic again, want more than %d", n, first)
	}
}
