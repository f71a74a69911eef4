package sairedis

import (
	"context"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/flex"
	"tamtam/sai/redis/protocol"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// doubler is a plug-in in the style of SONiC's: it selects the database by its argument, reads rows that were just
// polled, and writes others.
const doubler = `
redis.call('SELECT', ARGV[1])
for i = table.getn(KEYS), 1, -1 do
  local octets = redis.call('HGET', ARGV[2] .. ':' .. KEYS[i], 'SAI_PORT_STAT_IF_IN_OCTETS')
  redis.call('HSET', 'RATES:' .. KEYS[i], 'TWICE', 2 * octets, 'DELTA', ARGV[3], 'KEYS', table.getn(KEYS))
end
redis.call('SELECT', 0)
return {'log'}`

// A group's plug-ins run after each poll, with the objects of their type that were polled. A plug-in that is missing,
// or fails, affects neither the counters nor the other plug-ins.
func TestPlugins(t *testing.T) {
	redises(t, func(t *testing.T, r *swss.Redis) {
		ctx := context.Background()
		g := newRig(t, r, saitest.New(saitest.Options{Ports: portCount, Queues: 2}), ServerOptions{})
		g.createSwitch()
		counters := r.DB(swss.CountersDB).Client()
		load := func(text string) string {
			digest, err := counters.ScriptLoad(ctx, text).Result()
			g.must("SCRIPT LOAD", err)
			return digest
		}
		broken, missing := load("return redis.call('HGET', 'COUNTERS')"), strings.Repeat("ab", 20)
		port := g.ports()[3]
		queue := g.get(sai.Obj(sai.ObjectTypePort, port), sai.PortAttrQoSQueueList).(sai.OIDs)[0]
		list := strings.Join([]string{missing, "", broken, load(doubler)}, ",") + ","
		g.must("group", g.group("PORT_STAT_COUNTER",
			swss.Pair{Field: flex.FieldPollInterval, Value: "2000"},
			swss.Pair{Field: flex.FieldStatus, Value: "enable"},
			swss.Pair{Field: "PORT_PLUGIN_LIST", Value: list}))
		g.must("start", g.pollList("PORT_STAT_COUNTER", flex.FieldPortCounters, "SAI_PORT_STAT_IF_IN_OCTETS", port))
		g.must("start", g.pollList("PORT_STAT_COUNTER", flex.FieldQueueCounters, "SAI_QUEUE_STAT_PACKETS", queue))
		for i, octets := range []uint64{21, 50} {
			g.fake.PokeStat(sai.Obj(sai.ObjectTypePort, g.rid(port)), sai.PortStatIfInOctets, octets)
			g.poll(time.Duration(2*i) * time.Second)
			want := []string{"DELTA=2000 KEYS=1 TWICE=42", "DELTA=2000 KEYS=1 TWICE=100"}[i]
			if got := g.row(swss.CountersDB, "RATES:"+port.String()); got != want {
				t.Errorf("poll %d: the plug-in's row is %q, want %q", i, got, want)
			}
		}
		if got := g.row(swss.CountersDB, "RATES:"+queue.String()); got != "" {
			t.Errorf("a plug-in of ports has run on a queue: %q", got)
		}
		g.must("group", g.group("PORT_STAT_COUNTER", swss.Pair{Field: "PORT_PLUGIN_LIST", Value: ""}))
		g.fake.PokeStat(sai.Obj(sai.ObjectTypePort, g.rid(port)), sai.PortStatIfInOctets, 60)
		g.poll(4 * time.Second)
		if got := g.row(swss.CountersDB, "RATES:"+port.String()); !strings.Contains(got, "TWICE=100") {
			t.Errorf("a plug-in that is not listed any more has run: %q", got)
		}
	})
}

// A poll of an object that exists only in the view begins when the view is applied. It ends with a view that is
// abandoned.
func TestPollOfObjectInView(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{TempView: true})
	g.must("INIT_VIEW", g.client.InitView(ctx))
	g.createSwitch()
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	begin := func() (vid sai.OID) {
		g.restartClient()
		g.must("INIT_VIEW", g.client.InitView(ctx))
		g.createSwitch()
		table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
		vid = g.create(sai.ObjectTypeACLCounter, attrs(sai.ACLCounterAttrTableID, table))
		g.must("group", g.group(aclGroup, swss.Pair{Field: flex.FieldPollInterval, Value: "1000"},
			swss.Pair{Field: flex.FieldStatus, Value: "enable"}))
		g.must("start", g.pollList(aclGroup, flex.FieldACLCounters, strings.Join(aclField, ","), vid))
		g.poll(0)
		if got := g.row(swss.CountersDB, "COUNTERS:"+vid.String()); got != "" {
			t.Errorf("before APPLY_VIEW the row is %q", got)
		}
		return vid
	}
	abandoned := begin()
	vid := begin()
	g.must("APPLY_VIEW", g.client.ApplyView(ctx))
	g.count(sai.Obj(sai.ObjectTypeACLCounter, g.rid(vid)), 3)
	g.poll(2 * time.Second)
	want := "SAI_ACL_COUNTER_ATTR_BYTES=300 SAI_ACL_COUNTER_ATTR_PACKETS=3"
	if got := g.row(swss.CountersDB, "COUNTERS:"+vid.String()); got != want {
		t.Errorf("after APPLY_VIEW the row is %q, want %q", got, want)
	}
	if g.server.Counters.Groups[aclGroup].Counters[abandoned] != nil {
		t.Error("a counter of the abandoned view is still polled")
	}
}

// group sends the fields of a counter group, as SONiC's orchagent does.
func (g *rig) group(name string, fields ...swss.Pair) error {
	ctx := context.Background()
	if err := g.client.acquire(ctx); err != nil {
		return err
	}
	defer g.client.release()
	return g.client.flex(ctx, protocol.Message{Key: name, Op: protocol.OpSetGroup, Fields: fields})
}
