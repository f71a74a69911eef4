package qos

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// The statistics of watermarks.
const (
	queueShared = "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"
	groupShared = "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"
	groupRoom   = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"
	poolUsed    = "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES"
	poolRoom    = "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES"
)

// A watermarkBench is a switch with one pool, whose watermarks are all 288.
type watermarkBench struct {
	*bench
	objects map[string]string // an object of each kind by its statistic
}

func newWatermarkBench(t *testing.T) *watermarkBench {
	b := &watermarkBench{bench: newBench(t)}
	b.do("BUFFER_POOL_TABLE:in type=ingress size=500000")
	named := func(table, name string) string { return b.Row(swss.CountersDB, table, "")[name] }
	queue, group := named(schema.CountersQueueNameMap, "Ethernet0:0"), named(schema.CountersPGNameMap, "Ethernet0:3")
	pool := named(schema.CountersPoolNameMap, "in")
	b.objects = map[string]string{
		queueShared: queue, groupShared: group, groupRoom: group, poolUsed: pool, poolRoom: pool,
	}
	for _, table := range watermarkTables {
		for stat, oid := range b.objects {
			if oid == "" {
				t.Fatalf("no object has %s", stat)
			}
			to := swss.NewTable(b.Redis.DB(swss.CountersDB), table)
			if err := to.Set(b.Ctx, oid, swss.FieldValues{stat: "288"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// cleared returns which watermarks are 0, as table and statistic.
func (b *watermarkBench) cleared() []string {
	b.T.Helper()
	var list []string
	for _, table := range watermarkTables {
		for _, stat := range slices.Sorted(maps.Keys(b.objects)) {
			switch v := b.Row(swss.CountersDB, table, b.objects[stat])[stat]; v {
			case "0":
				list = append(list, strings.TrimSuffix(table, "_WATERMARKS")+" "+stat)
			case "288":
			default:
				b.T.Errorf("%s %s is %q", table, stat, v)
			}
		}
	}
	return list
}

// request sends what SONiC's watermarkstat -c sends.
func (b *watermarkBench) request(op, what string) {
	b.T.Helper()
	producer := swss.NewNotificationProducer(b.Redis.DB(swss.ApplDB), "WATERMARK_CLEAR_REQUEST")
	if _, err := producer.Send(b.Ctx, op, what, nil); err != nil {
		b.T.Fatal(err)
	}
	b.Step()
}

// A request of SONiC's watermarkstat clears one watermark in one table, and leaves all others.
func TestClearWatermarks(t *testing.T) {
	for _, tt := range []struct{ op, what, clears string }{
		{"USER", "PG_SHARED", "USER " + groupShared},
		{"PERSISTENT", "PG_SHARED", "PERSISTENT " + groupShared},
		{"USER", "PG_HEADROOM", "USER " + groupRoom},
		{"PERSISTENT", "Q_SHARED_UNI", "PERSISTENT " + queueShared},
		{"USER", "Q_SHARED_UNI", "USER " + queueShared},
		{"USER", "Q_SHARED_MULTI", ""}, // all queues are unicast queues
		{"USER", "Q_SHARED_ALL", ""},
		{"USER", "BUFFER_POOL", "USER " + poolUsed},
		{"PERSISTENT", "HEADROOM_POOL", "PERSISTENT " + poolRoom},
		{"PERIODIC", "PG_SHARED", ""},
		{"USER", "EVERYTHING", ""},
	} {
		b := newWatermarkBench(t)
		b.request(tt.op, tt.what)
		if got := strings.Join(b.cleared(), ", "); got != tt.clears {
			t.Errorf("%s %s clears %q, want %q", tt.op, tt.what, got, tt.clears)
		}
	}
}

// The periodic watermarks begin again every two minutes, or as WATERMARK_TABLE has it. The others stay.
func TestPeriodicWatermarks(t *testing.T) {
	all := []string{"PERIODIC " + poolUsed, "PERIODIC " + poolRoom, "PERIODIC " + groupShared, "PERIODIC " + groupRoom,
		"PERIODIC " + queueShared}
	for _, tt := range []struct {
		row    string // of WATERMARK_TABLE
		after  time.Duration
		status string
	}{
		{"", 120 * time.Second, ""},
		{"interval=5", 5 * time.Second, "active"},
		{"interval=0", 120 * time.Second, `failed: interval "0": want a number in 1..4294967295`},
	} {
		b := newWatermarkBench(t)
		if tt.row != "" {
			field, value, _ := strings.Cut(tt.row, "=")
			table := swss.NewTable(b.Redis.DB(swss.ConfigDB), schema.CfgWatermark)
			if err := table.Set(b.Ctx, "TELEMETRY_INTERVAL", swss.FieldValues{field: value}); err != nil {
				t.Fatal(err)
			}
			b.Step()
			if got := b.Status("WATERMARK_TABLE|TELEMETRY_INTERVAL"); got != tt.status {
				t.Errorf("%s: status %q, want %q", tt.row, got, tt.status)
			}
		}
		b.Pass(tt.after - time.Second)
		if got := b.cleared(); len(got) > 0 {
			t.Errorf("%q: a second before its end, the period ended for %q", tt.row, got)
		}
		b.Pass(time.Second)
		if got := b.cleared(); !slices.Equal(got, all) {
			t.Errorf("%q: at its end, the period ended for %q, want %q", tt.row, got, all)
		}
	}
}

// A clearing writes no 0 for a watermark that is not polled: it would look like a measurement.
func TestClearOnlyWhatIsPolled(t *testing.T) {
	b := newWatermarkBench(t)
	flex := swss.NewTable(b.Redis.DB(swss.ConfigDB), schema.CfgFlexCounter)
	if err := flex.Set(b.Ctx, "PG_WATERMARK", swss.FieldValues{"FLEX_COUNTER_STATUS": "disable"}); err != nil {
		t.Fatal(err)
	}
	b.Step()
	b.request("USER", "PG_SHARED")
	if got := b.cleared(); len(got) > 0 {
		t.Errorf("cleared %q", got)
	}
}

// COUNTERS_DB has the names, ports and indexes of priority groups, and the names of buffer pools. Rows of removed
// objects are deleted. A pool that is recreated is another object.
func TestMapsOfGroupsAndPools(t *testing.T) {
	b := newWatermarkBench(t)
	group, pool := b.objects[groupShared], b.objects[poolUsed]
	if got := b.Row(swss.CountersDB, schema.CountersPGPortMap, "")[group]; got != b.ports.All["Ethernet0"].String() {
		t.Errorf("the port of the priority group is %q", got)
	}
	if got := b.Row(swss.CountersDB, schema.CountersPGIndexMap, "")[group]; got != "3" {
		t.Errorf("the index of the priority group is %q, want 3", got)
	}
	b.do("port- Ethernet0", "BUFFER_POOL_TABLE:in type=egress size=500000")
	for table, name := range map[string]string{
		schema.CountersPGNameMap: "Ethernet0:3", schema.CountersPGPortMap: group, schema.CountersPGIndexMap: group,
	} {
		if got := b.Row(swss.CountersDB, table, "")[name]; got != "" {
			t.Errorf("%s has %s=%s after the removal of the port", table, name, got)
		}
	}
	if got := b.Row(swss.CountersDB, schema.CountersPoolNameMap, "")["in"]; got == pool || got == "" {
		t.Errorf("the pool is %q, want another than %q", got, pool)
	}
	for _, oid := range []string{group, pool} {
		for _, table := range watermarkTables {
			if row := b.Row(swss.CountersDB, table, oid); len(row) > 0 {
				t.Errorf("%s has %v for a removed object", table, row)
			}
		}
	}
}
