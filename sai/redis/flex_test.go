package sairedis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

const aclGroup = "ACL_STAT_COUNTER"

var (
	start    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	aclField = []string{"SAI_ACL_COUNTER_ATTR_PACKETS", "SAI_ACL_COUNTER_ATTR_BYTES"}
)

func enable(yes bool) *bool { return &yes }

// row reads one hash as sorted text.
func (g *rig) row(db swss.DBName, key string) string {
	m, err := g.redis.DB(db).Client().HGetAll(context.Background(), key).Result()
	g.must(key, err)
	var s []string
	for _, f := range slices.Sorted(maps.Keys(m)) {
		s = append(s, f+"="+m[f])
	}
	return strings.Join(s, " ")
}

func (g *rig) counter() (vid sai.OID, real sai.Key) {
	g.Helper()
	table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	vid = g.create(sai.ObjectTypeACLCounter, attrs(sai.ACLCounterAttrTableID, table))
	return vid, sai.Obj(sai.ObjectTypeACLCounter, g.rid(vid))
}

// count sets the backend's counter to n packets.
func (g *rig) count(real sai.Key, n int) {
	g.fake.Poke(real, sai.Attr{ID: sai.ACLCounterAttrPackets, Value: sai.Uint(n)})
	g.fake.Poke(real, sai.Attr{ID: sai.ACLCounterAttrBytes, Value: sai.Uint(100 * n)})
}

func (g *rig) poll(after time.Duration) time.Duration {
	g.Helper()
	next, err := g.server.Counters.Poll(context.Background(), start.Add(after))
	g.must("Poll", err)
	if next.IsZero() {
		return 0
	}
	return next.Sub(start)
}

// Counters of the ASIC queue are read when due, at the group's interval.
func TestPollCounters(t *testing.T) {
	ctx := context.Background()
	now := start
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{Now: func() time.Time { return now }})
	g.createSwitch()
	vid, real := g.counter()
	g.must("group", g.client.SetCounterGroup(ctx, aclGroup, CounterGroup{Interval: 10 * time.Second,
		Mode: flex.StatsModeRead, Enabled: enable(false)}))
	g.must("start", g.client.StartPoll(ctx, aclGroup, flex.FieldACLCounters, aclField, vid))
	if got, want := g.row(swss.FlexCounterDB, "FLEX_COUNTER_GROUP_TABLE:"+aclGroup),
		"FLEX_COUNTER_STATUS=disable POLL_INTERVAL=10000 STATS_MODE=STATS_MODE_READ"; got != want {
		t.Errorf("group row %q, want %q", got, want)
	}
	if got, want := g.row(swss.FlexCounterDB, "FLEX_COUNTER_TABLE:"+aclGroup+":"+vid.String()),
		flex.FieldACLCounters+"="+strings.Join(aclField, ","); got != want {
		t.Errorf("counter row %q, want %q", got, want)
	}
	row := "COUNTERS:" + vid.String()
	value := func(n int) string {
		return fmt.Sprintf("SAI_ACL_COUNTER_ATTR_BYTES=%d SAI_ACL_COUNTER_ATTR_PACKETS=%d", 100*n, n)
	}
	g.count(real, 1)
	if next := g.poll(0); next != 0 || g.row(swss.CountersDB, row) != "" {
		t.Errorf("a disabled group is polled at %v; row %q", next, g.row(swss.CountersDB, row))
	}
	g.must("group", g.client.SetCounterGroup(ctx, aclGroup, CounterGroup{Enabled: enable(true)}))
	collected := ""
	for _, step := range []struct {
		at   time.Duration
		n    int // value in the ASIC
		want int // value in the row
		next time.Duration
	}{
		{0, 1, 1, 10 * time.Second},
		{4 * time.Second, 2, 1, 10 * time.Second},
		{10 * time.Second, 3, 3, 20 * time.Second},
		{21 * time.Second, 4, 4, 30 * time.Second},
		{75 * time.Second, 5, 5, 85 * time.Second},
	} {
		g.count(real, step.n)
		if now = start.Add(step.at); step.n == step.want {
			collected = aclGroup + "=" + now.Format(time.RFC3339Nano)
		}
		if next := g.poll(step.at); next != step.next {
			t.Errorf("at %v: next is at %v, want %v", step.at, next, step.next)
		}
		if got := g.row(swss.CountersDB, row); got != value(step.want) {
			t.Errorf("at %v: row %q, want %q", step.at, got, value(step.want))
		}
		if got := g.row(swss.CountersDB, schema.CountersCollected); got != collected {
			t.Errorf("at %v: collected at %q, want %q", step.at, got, collected)
		}
	}
	g.count(real, 6)
	g.must("PollAll", g.server.Counters.PollAll(ctx))
	if got := g.row(swss.CountersDB, row); got != value(6) {
		t.Errorf("after a poll of all: %q", got)
	}
	g.must("stop", g.client.StopPoll(ctx, aclGroup, vid))
	g.count(real, 7)
	g.must("PollAll", g.server.Counters.PollAll(ctx))
	if got := g.row(swss.CountersDB, row); got != value(6) {
		t.Errorf("the row of a stopped counter is %q: it must stay as it was", got)
	}
	if got := g.row(swss.FlexCounterDB, "FLEX_COUNTER_TABLE:"+aclGroup+":"+vid.String()); got != "" {
		t.Errorf("the counter row is left: %q", got)
	}
	g.must("del", g.client.DelCounterGroup(ctx, aclGroup))
	if next := g.poll(100 * time.Second); next != 0 {
		t.Errorf("a removed group is polled at %v", next)
	}
}

// Counters are also selected in the older way, by rows queued in FLEX_COUNTER_DB.
func TestFlexCounterTable(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{})
	g.createSwitch()
	port := g.ports()[2]
	real := sai.Obj(sai.ObjectTypePort, g.rid(port))
	g.fake.PokeStat(real, sai.PortStatIfInOctets, 640)
	queue := func(table, key, op string, fields ...swss.Pair) error {
		return swss.NewQueue(g.redis.DB(swss.FlexCounterDB), table).Push(ctx,
			swss.Entry{Key: key, Body: swss.EncodeFields(fields), Op: op})
	}
	counter := func(key, op string, fields ...swss.Pair) error {
		return queue("FLEX_COUNTER_TABLE", key, op, fields...)
	}
	group := []swss.Pair{{Field: flex.FieldPollInterval, Value: "1000"},
		{Field: flex.FieldStatsMode, Value: flex.StatsModeReadAndClear}, {Field: flex.FieldStatus, Value: "enable"}}
	g.must("group", queue("FLEX_COUNTER_GROUP_TABLE", "PORT_STAT_COUNTER", "SSET", group...))
	ids := []swss.Pair{{Field: flex.FieldPortCounters, Value: "SAI_PORT_STAT_IF_IN_OCTETS,SAI_PORT_STAT_IF_OUT_OCTETS"}}
	g.must("counter", counter("PORT_STAT_COUNTER:"+port.String(), "SSET", ids...))
	g.must("unknown", counter("PORT_STAT_COUNTER:oid:0x1000000009999", "SSET", ids...))
	g.must("nonsense", counter("PORT_STAT_COUNTER:"+port.String(), "SSET",
		swss.Pair{Field: flex.FieldPortCounters, Value: "NO_SUCH"}))
	if next := g.poll(0); next != time.Second {
		t.Errorf("next at %v", next)
	}
	if got, want := g.row(swss.CountersDB, "COUNTERS:"+port.String()),
		"SAI_PORT_STAT_IF_IN_OCTETS=640 SAI_PORT_STAT_IF_OUT_OCTETS=0"; got != want {
		t.Errorf("row %q, want %q", got, want)
	}
	g.poll(time.Second)
	if got, want := g.row(swss.CountersDB, "COUNTERS:"+port.String()),
		"SAI_PORT_STAT_IF_IN_OCTETS=0 SAI_PORT_STAT_IF_OUT_OCTETS=0"; got != want {
		t.Errorf("row after a read that clears %q, want %q", got, want)
	}
	if got := g.row(swss.FlexCounterDB, "FLEX_COUNTER_TABLE:PORT_STAT_COUNTER:oid:0x1000000009999"); got != "" {
		t.Errorf("an unknown object has the row %q", got)
	}
	g.must("del", counter("PORT_STAT_COUNTER:"+port.String(), "DDEL"))
	g.fake.PokeStat(real, sai.PortStatIfInOctets, 1)
	g.poll(2 * time.Second)
	if got := g.row(swss.CountersDB, "COUNTERS:"+port.String()); strings.Contains(got, "IN_OCTETS=1") {
		t.Errorf("a removed counter is still read: %q", got)
	}
}

// Counters survive a restart of syncd. Counters of objects that an applied view lacks end.
func TestCountersOverRestartAndView(t *testing.T) {
	ctx := context.Background()
	opts := ServerOptions{TempView: true}
	g := newRig(t, swsstest.Start(t), newFake(), opts)
	g.createSwitch()
	vid, _ := g.counter()
	g.must("group", g.client.SetCounterGroup(ctx, aclGroup, CounterGroup{Interval: time.Second, Enabled: enable(true)}))
	g.must("start", g.client.StartPoll(ctx, aclGroup, flex.FieldACLCounters, aclField, vid))
	g.fake = newFake()
	g.restartServer(opts)
	g.ports()
	g.count(sai.Obj(sai.ObjectTypeACLCounter, g.rid(vid)), 9)
	g.poll(0)
	if got := g.row(swss.CountersDB, "COUNTERS:"+vid.String()); !strings.Contains(got, "PACKETS=9") {
		t.Errorf("after a restart the row is %q", got)
	}
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	again := g.create(sai.ObjectTypeACLCounter, attrs(sai.ACLCounterAttrTableID, table))
	g.must("start", g.client.StartPoll(ctx, aclGroup, flex.FieldACLCounters, aclField, again))
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	g.redis.DB(swss.CountersDB).Client().FlushDB(ctx)
	g.poll(10 * time.Second)
	if got := g.row(swss.CountersDB, "COUNTERS:"+again.String()); !strings.Contains(got, "PACKETS=9") {
		t.Errorf("the row under the new virtual id is %q: the counter did not change, so it goes on counting", got)
	}
	if got := g.row(swss.CountersDB, "COUNTERS:"+vid.String()); got != "" {
		t.Errorf("the old virtual id is still read: %q", got)
	}
}

// The polls of a previous run are stopped when a view begins. A stock syncd would continue to read objects that are
// gone.
func TestViewStopsFormerPolls(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.createSwitch()
	port := g.ports()[0]
	g.must("group", g.client.SetCounterGroup(ctx, "PORT_STAT_COUNTER",
		CounterGroup{Interval: time.Second, Enabled: enable(true)}))
	g.must("start", g.client.StartPoll(ctx, "PORT_STAT_COUNTER", flex.FieldPortCounters,
		[]string{"SAI_PORT_STAT_IF_IN_OCTETS"}, port))
	if got := g.row(swss.FlexCounterDB, "FLEX_COUNTER_TABLE:PORT_STAT_COUNTER:"+port.String()); got == "" {
		t.Fatal("the port is not polled")
	}
	g.restartClient()
	g.must("INIT_VIEW", g.client.InitView(ctx))
	if got := g.row(swss.FlexCounterDB, "FLEX_COUNTER_TABLE:PORT_STAT_COUNTER:"+port.String()); got != "" {
		t.Errorf("still polled: %s", got)
	}
}

// For a group without plug-ins syncd computes what SONiC's plug-ins do: the rates of ports, and the highest values of
// watermarks since each clearing. A clearing writes 0.
func TestDerivedRows(t *testing.T) {
	now := start
	fake := saitest.New(saitest.Options{Ports: portCount, Queues: 8})
	g := newRig(t, swsstest.Start(t), fake, ServerOptions{Now: func() time.Time { return now }})
	g.createSwitch()
	port := g.ports()[2]
	real := sai.Obj(sai.ObjectTypePort, g.rid(port))
	queue := g.get(sai.Obj(sai.ObjectTypePort, port), sai.PortAttrQoSQueueList).(sai.OIDs)[0]
	realQueue := sai.Obj(sai.ObjectTypeQueue, g.rid(queue))
	on := CounterGroup{Interval: time.Second, Mode: flex.StatsModeRead, Enabled: enable(true)}
	for group, poll := range map[string]struct {
		field string
		stats []sai.StatID
		oid   sai.OID
	}{
		"PORT_STAT_COUNTER": {flex.FieldPortCounters, []sai.StatID{sai.PortStatIfInOctets, sai.PortStatIfInUcastPkts,
			sai.PortStatIfInNonUcastPkts, sai.PortStatIfOutOctets, sai.PortStatIfOutUcastPkts,
			sai.PortStatIfOutNonUcastPkts}, port},
		"QUEUE_WATERMARK_STAT_COUNTER": {flex.FieldQueueCounters,
			[]sai.StatID{sai.QueueStatSharedWatermarkBytes}, queue},
	} {
		var ids []string
		for _, id := range poll.stats {
			ids = append(ids, id.String())
		}
		g.must(group, g.client.SetCounterGroup(t.Context(), group, on))
		g.must(group, g.client.StartPoll(t.Context(), group, poll.field, ids, poll.oid))
	}
	rates, user, all := "RATES:"+port.String(), "USER_WATERMARKS:"+queue.String(), "PERSISTENT_WATERMARKS:"+queue.String()
	const field = "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"
	read := func(octets, packets, depth uint64) {
		t.Helper()
		g.fake.PokeStat(real, sai.PortStatIfInOctets, octets)
		g.fake.PokeStat(real, sai.PortStatIfInUcastPkts, packets)
		g.fake.PokeStat(realQueue, sai.QueueStatSharedWatermarkBytes, depth)
		g.poll(now.Sub(start))
		now = now.Add(2 * time.Second)
	}
	check := func(key, want string) {
		t.Helper()
		if got := g.row(swss.CountersDB, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	read(1000, 10, 700)
	check(rates, "") // one reading has no rate
	check(user, field+"=700")
	read(4000, 25, 300)
	check(rates, "RX_BPS=1500 RX_PPS=7.5 TX_BPS=0 TX_PPS=0")
	check(user, field+"=700")
	g.must("clear", g.redis.DB(swss.CountersDB).Client().HSet(t.Context(), user, field, "0").Err())
	read(4000, 25, 200)
	check(rates, "RX_BPS=0 RX_PPS=0 TX_BPS=0 TX_PPS=0")
	check(user, field+"=200")
	check(all, field+"=700")
	check("COUNTERS:"+queue.String(), field+"=700")
	read(10, 1, 0)
	check(rates, "") // the counters have begun again
}
