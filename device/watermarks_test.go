package device_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A measuredSwitch is a switch with qosConfig whose watermarks and drops are polled every 100 ms.
type measuredSwitch struct{ qosSwitch }

func newMeasured(t *testing.T) measuredSwitch {
	m := measuredSwitch{newQoS(t)}
	for _, group := range []string{"QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK", "PG_DROP", "PORT"} {
		m.write("FLEX_COUNTER_TABLE|"+group, "POLL_INTERVAL=100 FLEX_COUNTER_STATUS=enable")
	}
	// A simulation polls at first when any timer is due.
	m.write("WATERMARK_TABLE|TELEMETRY_INTERVAL", "interval=1")
	m.pass(2 * time.Second)
	m.write("WATERMARK_TABLE|TELEMETRY_INTERVAL", "")
	return m
}

// write replaces a row of CONFIG_DB, or deletes it if there are no fields.
func (m measuredSwitch) write(row, fields string) {
	m.Helper()
	var values swss.FieldValues
	for f := range strings.FieldsSeq(fields) {
		if values == nil {
			values = swss.FieldValues{}
		}
		name, value, _ := strings.Cut(f, "=")
		values[name] = value
	}
	m.config(row, values)
}

// pass lets simulated time pass.
func (m measuredSwitch) pass(d time.Duration) {
	m.Helper()
	hz := m.Chip.Profile().ClockHz
	cycles := saisim.Cycle(uint64(d/time.Microsecond) * hz / 1_000_000)
	devicetest.NoError(m.T, m.Advance(m.Context(), m.Chip.Now()+cycles))
}

// clear sends the request of SONiC's watermarkstat -c.
func (m measuredSwitch) clear(op, what string) {
	m.Helper()
	producer := swss.NewNotificationProducer(m.Redis.DB(swss.ApplDB), "WATERMARK_CLEAR_REQUEST")
	_, err := producer.Send(m.Context(), op, what, nil)
	devicetest.NoError(m.T, err)
	devicetest.RunUntilIdle(m.T, m.Sim)
}

// counted returns a statistic of an object in a table of COUNTERS_DB, or -1 if there is none.
func (m measuredSwitch) counted(table, names, name, stat string) int {
	m.Helper()
	db := m.Redis.DB(swss.CountersDB).Client()
	oid, err := db.HGet(m.Context(), names, name).Result()
	if err != nil {
		m.Fatalf("%s %s: %v", names, name, err)
	}
	text, err := db.HGet(m.Context(), table+":"+oid, stat).Result()
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(text)
	devicetest.NoError(m.T, err)
	return n
}

// The tables of watermarks that a user clears, that a user clears separately, and that begin again by themselves.
const userTable, persistentTable, periodicTable = schema.UserWatermarks, schema.PersistentWatermarks,
	schema.PeriodicWatermarks

// watermarks returns the watermark of a queue in the three tables.
func (m measuredSwitch) watermarks(queue string) map[string]int {
	m.Helper()
	all := map[string]int{}
	for _, table := range []string{userTable, persistentTable, periodicTable} {
		all[table] = m.counted(table, schema.CountersQueueNameMap, queue, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")
	}
	return all
}

// As in test_watermark.py of sonic-swss, with traffic in place of poked counters: a watermark rises and does not fall,
// a clearing resets one table only, and the periodic ones begin again after the interval of WATERMARK_TABLE.
func TestQueueWatermarks(t *testing.T) {
	m := newMeasured(t)
	// burst sends n frames at once from each of two ports into queue 1 of Ethernet3, and waits for the next polls.
	burst := func(n int) {
		m.race(n, dscp8, dscp8)
		m.pass(300 * time.Millisecond)
	}
	want := func(what string, levels map[string]int) {
		t.Helper()
		if got := m.watermarks("Ethernet3:1"); !maps.Equal(got, levels) {
			t.Errorf("%s: %v, want %v", what, got, levels)
		}
	}
	burst(40)
	high := m.watermarks("Ethernet3:1")[userTable]
	if high < 20*1020 || high > 80*1020 {
		t.Fatalf("80 frames at twice the port's rate: a watermark of %d bytes", high)
	}
	want("the first burst", map[string]int{userTable: high, persistentTable: high, periodicTable: high})
	if got := m.watermarks("Ethernet3:2")[userTable]; got != 0 {
		t.Errorf("a queue without frames had %d bytes", got)
	}
	burst(10)
	want("a smaller burst", map[string]int{userTable: high, persistentTable: high, periodicTable: high})
	m.clear("USER", "Q_SHARED_MULTI")
	want("clearing other queues", map[string]int{userTable: high, persistentTable: high, periodicTable: high})
	m.clear("USER", "Q_SHARED_UNI")
	want("clearing the user's", map[string]int{userTable: 0, persistentTable: high, periodicTable: high})
	burst(10)
	low := m.watermarks("Ethernet3:1")[userTable]
	if low <= 0 || low >= high {
		t.Errorf("a burst of 10 has %d bytes, one of 40 %d", low, high)
	}
	m.write("WATERMARK_TABLE|TELEMETRY_INTERVAL", "interval=2")
	if s := m.state("WATERMARK_TABLE", "TELEMETRY_INTERVAL"); s["status"] != "active" {
		t.Errorf("WATERMARK_TABLE: %v", s)
	}
	m.pass(3 * time.Second)
	want("after the period", map[string]int{userTable: low, persistentTable: high, periodicTable: 0})
	m.clear("PERSISTENT", "Q_SHARED_UNI")
	want("clearing the persistent ones", map[string]int{userTable: low, persistentTable: 0, periodicTable: 0})
}

// A scheduler's peak rate shapes the queue, and leaves the port's other queues alone. What the chip refuses is a failed
// row with the reason.
func TestShapedQueue(t *testing.T) {
	m := newMeasured(t)
	m.write("SCHEDULER|one", "type=DWRR weight=1 pir=12500000 pbs=2048") // 100 Mbit/s: 12 frames in a millisecond
	if s := m.state(schema.AppScheduler, "one"); s["status"] != "active" {
		t.Fatalf("SCHEDULER: %v", s)
	}
	out := m.race(60, dscp8, dscp16)
	if n := countTOS(out, dscp8); n < 10 || n > 16 {
		t.Errorf("%d frames of the shaped queue left in a millisecond, want 12 and the burst", n)
	}
	if n := countTOS(out, dscp16); n != 60 {
		t.Errorf("%d frames of the other queue left, want 60", n)
	}
	m.write("SCHEDULER|huge", "pir=1000 pbs=1099511627776")
	if s := m.state(schema.AppScheduler, "huge"); s["status"] != "failed" ||
		!strings.Contains(s["reason"], "MAX_BANDWIDTH_BURST_RATE") {
		t.Errorf("a burst that is too large: %v", s)
	}
}

// Rows of ingress buffers and flow control are in force. Without them, the chip has its defaults again.
func TestIngressBuffersAreInForce(t *testing.T) {
	m := newMeasured(t)
	rows := [][2]string{
		{"BUFFER_POOL|in", "type=ingress mode=dynamic size=40000 xoff=8000"},
		{"BUFFER_PROFILE|lossless", "pool=in size=0 dynamic_th=0 xoff=8000 xon=4000 xon_offset=2000"},
		{"BUFFER_PG|Ethernet0|3-4", "profile=lossless"},
		{"TC_TO_PRIORITY_GROUP_MAP|AZURE", "3=3 4=4"}, {"MAP_PFC_PRIORITY_TO_QUEUE|AZURE", "3=3"},
		{"PORT_QOS_MAP|Ethernet2", "pfc_enable=3,4"},
		{"PORT|Ethernet2", "lanes=2 speed=10000"},
		{"PORT_QOS_MAP|Ethernet2", "tc_to_pg_map=AZURE pfc_to_queue_map=AZURE pfc_enable=3,4"},
	}
	for _, r := range rows {
		m.write(r[0], r[1])
	}
	for _, r := range rows {
		table, key, _ := strings.Cut(r[0], "|")
		if s := m.state(table+"_TABLE", key); table != "PORT" && s["status"] != "active" {
			t.Errorf("%s: %v", r[0], s)
		}
	}
	m.pass(300 * time.Millisecond)
	db := m.Redis.DB(swss.CountersDB).Client()
	if names := db.HGetAll(t.Context(), schema.CountersPoolNameMap).Val(); len(names) != 1 {
		t.Errorf("the pools are %v", names)
	}
	for _, r := range rows {
		if !strings.HasPrefix(r[0], "PORT|") {
			m.write(r[0], "")
		}
	}
	if left := db.HGetAll(t.Context(), schema.CountersPoolNameMap).Val(); len(left) > 0 {
		t.Errorf("pools without rows: %v", left)
	}
}
