package qos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// whole contains a used row of every table.
var whole = []string{
	"DSCP_TO_TC_MAP_TABLE:AZURE 0=0 46=5", "DOT1P_TO_TC_MAP_TABLE:AZURE 7=7", "TC_TO_QUEUE_MAP_TABLE:AZURE 5=3",
	"PORT_QOS_MAP_TABLE:Ethernet0,Ethernet4 dscp_to_tc_map=AZURE dot1p_to_tc_map=AZURE tc_to_queue_map=AZURE " +
		"tc_to_pg_map=AZURE tc_to_dscp_map=AZURE pfc_to_pg_map=AZURE pfc_to_queue_map=AZURE pfc_enable=3,4 scheduler=s2",
	"TC_TO_PRIORITY_GROUP_MAP_TABLE:AZURE 3=3", "TC_TO_DSCP_MAP_TABLE:AZURE 5=10",
	"MAP_PFC_PRIORITY_TO_QUEUE_TABLE:AZURE 4=2",
	"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP_TABLE:AZURE 4=3",
	"SCHEDULER_TABLE:s0 type=STRICT", "SCHEDULER_TABLE:s1 type=DWRR weight=7",
	"SCHEDULER_TABLE:s2 pir=1000 pbs=2000 cir=10 cbs=20 meter_type=packets",
	"WRED_PROFILE_TABLE:w ecn=ecn_all wred_green_enable=true green_min_threshold=1000 green_max_threshold=2000 " +
		"green_drop_probability=5",
	"QUEUE_TABLE:Ethernet0:0-1 scheduler=s1 wred_profile=w", "QUEUE_TABLE:Ethernet0,Ethernet4:7 scheduler=s0",
	"BUFFER_POOL_TABLE:p type=egress mode=dynamic size=1000000", "BUFFER_PROFILE_TABLE:f pool=p size=0 dynamic_th=-2 " +
		"packet_discard_action=trim",
	"BUFFER_QUEUE_TABLE:Ethernet4:0-1 profile=f",
	"BUFFER_POOL_TABLE:in type=ingress mode=dynamic size=500000 xoff=2000",
	"BUFFER_PROFILE_TABLE:lossless pool=in size=0 static_th=900 xoff=700 xon=300 xon_offset=100",
	"BUFFER_PG_TABLE:Ethernet4:3-4 profile=lossless",
	"BUFFER_PORT_INGRESS_PROFILE_LIST_TABLE:Ethernet0 profile_list=lossless",
	"BUFFER_PROFILE_TABLE:g pool=p size=0 dynamic_th=-2",
	"BUFFER_PORT_EGRESS_PROFILE_LIST_TABLE:Ethernet0 profile_list=g",
}

// drops is the attribute of a buffer profile that does not trim.
const drops = "SAI_BUFFER_PROFILE_ATTR_PACKET_ADMISSION_FAIL_ACTION=" +
	"SAI_BUFFER_PROFILE_PACKET_ADMISSION_FAIL_ACTION_DROP"

var wholeASIC = []string{
	"Ethernet0 SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL=24",
	"Ethernet0 SAI_PORT_ATTR_QOS_DOT1P_TO_TC_MAP=DOT1P_TO_TC_MAP_TABLE:AZURE",
	"Ethernet0 SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP=DSCP_TO_TC_MAP_TABLE:AZURE",
	"Ethernet0 SAI_PORT_ATTR_QOS_EGRESS_BUFFER_PROFILE_LIST=BUFFER_PROFILE_TABLE:g",
	"Ethernet0 SAI_PORT_ATTR_QOS_INGRESS_BUFFER_PROFILE_LIST=BUFFER_PROFILE_TABLE:lossless",
	"Ethernet0 SAI_PORT_ATTR_QOS_PFC_PRIORITY_TO_PRIORITY_GROUP_MAP=PFC_PRIORITY_TO_PRIORITY_GROUP_MAP_TABLE:AZURE",
	"Ethernet0 SAI_PORT_ATTR_QOS_PFC_PRIORITY_TO_QUEUE_MAP=MAP_PFC_PRIORITY_TO_QUEUE_TABLE:AZURE",
	"Ethernet0 SAI_PORT_ATTR_QOS_SCHEDULER_PROFILE_ID=SCHEDULER_TABLE:s2",
	"Ethernet0 SAI_PORT_ATTR_QOS_TC_AND_COLOR_TO_DSCP_MAP=TC_TO_DSCP_MAP_TABLE:AZURE",
	"Ethernet0 SAI_PORT_ATTR_QOS_TC_TO_PRIORITY_GROUP_MAP=TC_TO_PRIORITY_GROUP_MAP_TABLE:AZURE",
	"Ethernet0 SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP=TC_TO_QUEUE_MAP_TABLE:AZURE",
	"Ethernet0:0 SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID=SCHEDULER_TABLE:s1",
	"Ethernet0:0 SAI_QUEUE_ATTR_WRED_PROFILE_ID=WRED_PROFILE_TABLE:w",
	"Ethernet0:1 SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID=SCHEDULER_TABLE:s1",
	"Ethernet0:1 SAI_QUEUE_ATTR_WRED_PROFILE_ID=WRED_PROFILE_TABLE:w",
	"Ethernet0:7 SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID=SCHEDULER_TABLE:s0",
	"Ethernet4 SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL=24",
	"Ethernet4 SAI_PORT_ATTR_QOS_DOT1P_TO_TC_MAP=DOT1P_TO_TC_MAP_TABLE:AZURE",
	"Ethernet4 SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP=DSCP_TO_TC_MAP_TABLE:AZURE",
	"Ethernet4 SAI_PORT_ATTR_QOS_PFC_PRIORITY_TO_PRIORITY_GROUP_MAP=PFC_PRIORITY_TO_PRIORITY_GROUP_MAP_TABLE:AZURE",
	"Ethernet4 SAI_PORT_ATTR_QOS_PFC_PRIORITY_TO_QUEUE_MAP=MAP_PFC_PRIORITY_TO_QUEUE_TABLE:AZURE",
	"Ethernet4 SAI_PORT_ATTR_QOS_SCHEDULER_PROFILE_ID=SCHEDULER_TABLE:s2",
	"Ethernet4 SAI_PORT_ATTR_QOS_TC_AND_COLOR_TO_DSCP_MAP=TC_TO_DSCP_MAP_TABLE:AZURE",
	"Ethernet4 SAI_PORT_ATTR_QOS_TC_TO_PRIORITY_GROUP_MAP=TC_TO_PRIORITY_GROUP_MAP_TABLE:AZURE",
	"Ethernet4 SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP=TC_TO_QUEUE_MAP_TABLE:AZURE",
	"Ethernet4:0 SAI_QUEUE_ATTR_BUFFER_PROFILE_ID=BUFFER_PROFILE_TABLE:f",
	"Ethernet4:1 SAI_QUEUE_ATTR_BUFFER_PROFILE_ID=BUFFER_PROFILE_TABLE:f",
	"Ethernet4:7 SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID=SCHEDULER_TABLE:s0",
	"Ethernet4:group3 SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE=BUFFER_PROFILE_TABLE:lossless",
	"Ethernet4:group4 SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE=BUFFER_PROFILE_TABLE:lossless",
	"SAI_OBJECT_TYPE_BUFFER_POOL SAI_BUFFER_POOL_ATTR_TYPE=SAI_BUFFER_POOL_TYPE_EGRESS " +
		"SAI_BUFFER_POOL_ATTR_SIZE=1000000 SAI_BUFFER_POOL_ATTR_THRESHOLD_MODE=SAI_BUFFER_POOL_THRESHOLD_MODE_DYNAMIC",
	"SAI_OBJECT_TYPE_BUFFER_POOL SAI_BUFFER_POOL_ATTR_TYPE=SAI_BUFFER_POOL_TYPE_INGRESS " +
		"SAI_BUFFER_POOL_ATTR_SIZE=500000 SAI_BUFFER_POOL_ATTR_THRESHOLD_MODE=SAI_BUFFER_POOL_THRESHOLD_MODE_DYNAMIC " +
		"SAI_BUFFER_POOL_ATTR_XOFF_SIZE=2000",
	"SAI_OBJECT_TYPE_BUFFER_PROFILE SAI_BUFFER_PROFILE_ATTR_POOL_ID=BUFFER_POOL_TABLE:in " +
		"SAI_BUFFER_PROFILE_ATTR_RESERVED_BUFFER_SIZE=0 " +
		"SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE=SAI_BUFFER_PROFILE_THRESHOLD_MODE_STATIC " +
		"SAI_BUFFER_PROFILE_ATTR_SHARED_STATIC_TH=900 SAI_BUFFER_PROFILE_ATTR_XOFF_TH=700 " +
		"SAI_BUFFER_PROFILE_ATTR_XON_TH=300 SAI_BUFFER_PROFILE_ATTR_XON_OFFSET_TH=100 " + drops,
	"SAI_OBJECT_TYPE_BUFFER_PROFILE SAI_BUFFER_PROFILE_ATTR_POOL_ID=BUFFER_POOL_TABLE:p " +
		"SAI_BUFFER_PROFILE_ATTR_RESERVED_BUFFER_SIZE=0 " +
		"SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE=SAI_BUFFER_PROFILE_THRESHOLD_MODE_DYNAMIC " +
		"SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH=-2 " + drops,
	"SAI_OBJECT_TYPE_BUFFER_PROFILE SAI_BUFFER_PROFILE_ATTR_POOL_ID=BUFFER_POOL_TABLE:p " +
		"SAI_BUFFER_PROFILE_ATTR_RESERVED_BUFFER_SIZE=0 " +
		"SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE=SAI_BUFFER_PROFILE_THRESHOLD_MODE_DYNAMIC " +
		"SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH=-2 " + drops + "_AND_TRIM",
	"SAI_OBJECT_TYPE_QOS_MAP SAI_QOS_MAP_ATTR_TYPE=SAI_QOS_MAP_TYPE_DOT1P_TO_TC SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST=7 to 7",
	"SAI_OBJECT_TYPE_QOS_MAP SAI_QOS_MAP_ATTR_TYPE=SAI_QOS_MAP_TYPE_DSCP_TO_TC SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST=0 to " +
		"0, 46 to 5",
	"SAI_OBJECT_TYPE_QOS_MAP SAI_QOS_MAP_ATTR_TYPE=SAI_QOS_MAP_TYPE_PFC_PRIORITY_TO_PRIORITY_GROUP " +
		"SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST=4 to 3",
	"SAI_OBJECT_TYPE_QOS_MAP SAI_QOS_MAP_ATTR_TYPE=SAI_QOS_MAP_TYPE_PFC_PRIORITY_TO_QUEUE " +
		"SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST=4 to 2",
	"SAI_OBJECT_TYPE_QOS_MAP SAI_QOS_MAP_ATTR_TYPE=SAI_QOS_MAP_TYPE_TC_AND_COLOR_TO_DSCP " +
		"SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST=5 to 10",
	"SAI_OBJECT_TYPE_QOS_MAP SAI_QOS_MAP_ATTR_TYPE=SAI_QOS_MAP_TYPE_TC_TO_PRIORITY_GROUP " +
		"SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST=3 to 3",
	"SAI_OBJECT_TYPE_QOS_MAP SAI_QOS_MAP_ATTR_TYPE=SAI_QOS_MAP_TYPE_TC_TO_QUEUE SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST=5 to 3",
	"SAI_OBJECT_TYPE_SCHEDULER SAI_SCHEDULER_ATTR_SCHEDULING_TYPE=SAI_SCHEDULING_TYPE_DWRR " +
		"SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT=7",
	"SAI_OBJECT_TYPE_SCHEDULER SAI_SCHEDULER_ATTR_SCHEDULING_TYPE=SAI_SCHEDULING_TYPE_STRICT",
	"SAI_OBJECT_TYPE_SCHEDULER SAI_SCHEDULER_ATTR_SCHEDULING_TYPE=SAI_SCHEDULING_TYPE_WRR " +
		"SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT=1 SAI_SCHEDULER_ATTR_METER_TYPE=SAI_METER_TYPE_PACKETS " +
		"SAI_SCHEDULER_ATTR_MIN_BANDWIDTH_RATE=10 SAI_SCHEDULER_ATTR_MIN_BANDWIDTH_BURST_RATE=20 " +
		"SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE=1000 SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_BURST_RATE=2000",
	"SAI_OBJECT_TYPE_WRED SAI_WRED_ATTR_GREEN_ENABLE=true SAI_WRED_ATTR_GREEN_MIN_THRESHOLD=1000 " +
		"SAI_WRED_ATTR_GREEN_MAX_THRESHOLD=2000 SAI_WRED_ATTR_GREEN_DROP_PROBABILITY=5 " +
		"SAI_WRED_ATTR_ECN_MARK_MODE=SAI_ECN_MARK_MODE_ALL",
}

// plain abbreviates the maps in lines of the ASIC.
func plain(lines []string) []string {
	out := slices.Clone(lines)
	for i, l := range out {
		head, text, ok := strings.Cut(l, "MAP_TO_VALUE_LIST={")
		if !ok {
			continue
		}
		v, err := sai.ParseValue(sai.QoSMapAttrMapToValueList, "{"+text)
		if err != nil {
			out[i] = err.Error()
			continue
		}
		var words []string
		for _, e := range v.(sai.QoSMap) {
			sum := func(p sai.QoSMapParams) uint8 { return p.TC + p.DSCP + p.Dot1p + p.Queue + p.Prio + p.PG }
			words = append(words, fmt.Sprint(sum(e.Key), " to ", sum(e.Value)))
		}
		out[i] = head + "MAP_TO_VALUE_LIST=" + strings.Join(words, ", ")
	}
	return out
}

// emptyAll deletes all rows and checks that nothing stays.
func (b *bench) emptyAll() {
	b.T.Helper()
	b.deleteAll()
	if got := b.asic(); len(got) > 0 {
		b.T.Errorf("left in the ASIC: %v", got)
	}
}

func (b *bench) deleteAll() {
	b.T.Helper()
	var lines []string
	for k := range b.orch.ledger.Rows {
		lines = append(lines, "-"+k.Table+":"+k.Key)
	}
	slices.Sort(lines)
	b.do(lines...)
}

// changes contains lines that change rows back and forth.
var changes = append(slices.Clone(whole),
	"DSCP_TO_TC_MAP_TABLE:AZURE 1=1", "-DSCP_TO_TC_MAP_TABLE:AZURE", "-TC_TO_QUEUE_MAP_TABLE:AZURE",
	"-PORT_QOS_MAP_TABLE:Ethernet0,Ethernet4",
	"PORT_QOS_MAP_TABLE:Ethernet4 dscp_to_tc_map=AZURE", "-PORT_QOS_MAP_TABLE:Ethernet4",
	"SCHEDULER_TABLE:s0 type=WRR weight=2", "SCHEDULER_TABLE:s1 type=DWRR weight=9", "SCHEDULER_TABLE:s1 type=NONE",
	"-SCHEDULER_TABLE:s0",
	"QUEUE_TABLE:Ethernet0:0-1 scheduler=s0", "QUEUE_TABLE:Ethernet0:1-9 scheduler=s0",
	"QUEUE_TABLE:Ethernet0:0 wred_profile=w", "-QUEUE_TABLE:Ethernet0:0-1", "-QUEUE_TABLE:Ethernet0:0",
	"-WRED_PROFILE_TABLE:w", "WRED_PROFILE_TABLE:w wred_green_enable=true green_min_threshold=5 green_max_threshold=9",
	"BUFFER_POOL_TABLE:p type=both mode=static size=5", "-BUFFER_POOL_TABLE:p",
	"BUFFER_PROFILE_TABLE:f pool=p static_th=800", "-BUFFER_PROFILE_TABLE:f",
	"-BUFFER_QUEUE_TABLE:Ethernet4:0-1", "BUFFER_QUEUE_TABLE:Ethernet0:2 profile=f",
	"-TC_TO_PRIORITY_GROUP_MAP_TABLE:AZURE", "PORT_QOS_MAP_TABLE:Ethernet4 pfc_enable=7 scheduler=s1",
	"SCHEDULER_TABLE:s2 pir=2000", "-SCHEDULER_TABLE:s2", "BUFFER_POOL_TABLE:in type=ingress mode=static size=400000",
	"-BUFFER_POOL_TABLE:in", "BUFFER_PROFILE_TABLE:lossless pool=in size=0 dynamic_th=1", "-BUFFER_PROFILE_TABLE:lossless",
	"BUFFER_PG_TABLE:Ethernet4:4 profile=lossless", "-BUFFER_PG_TABLE:Ethernet4:3-4", "-BUFFER_PG_TABLE:Ethernet4:4",
	"BUFFER_PG_TABLE:Ethernet0:0 profile=none",
	"port- Ethernet0", "port+ Ethernet0", "port- Ethernet4", "port+ Ethernet4",
)

// Whatever the order of changes, ASIC and statuses equal those after writing only the last rows.
func TestConvergence(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 30}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		b := newBench(t)
		for range 30 {
			n := 1 + r.IntN(4)
			var lines []string
			for range n {
				lines = append(lines, changes[r.IntN(len(changes))])
			}
			b.do(lines...)
		}
		once := newBench(t)
		for _, name := range []string{"Ethernet0", "Ethernet4"} {
			if _, ok := b.ports.OIDs[name]; !ok {
				once.do("port- " + name)
			}
		}
		var rows []string
		for k, f := range b.orch.ledger.Rows {
			line := k.Table + ":" + k.Key
			for name, v := range f {
				line += " " + name + "=" + v
			}
			rows = append(rows, line)
		}
		once.do(rows...)
		if d := cmp.Diff(once.asic(), b.asic()); d != "" {
			t.Errorf("ASIC: %s", d)
		}
		if d := cmp.Diff(once.statuses(), b.statuses()); d != "" {
			t.Errorf("STATE_DB: %s", d)
		}
		b.emptyAll()
	})
}

// Whichever SAI call fails, permanently or for lack of capacity, nothing is left over, and everything is created when
// the rows are written again.
func TestEveryCallFails(t *testing.T) {
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusTableFull} {
		for n := 1; ; n++ {
			b := newBench(t)
			b.Rec.FailAt(n, status)
			b.do(whole...)
			b.do("SCHEDULER_TABLE:s1 type=STRICT",
				"WRED_PROFILE_TABLE:w wred_green_enable=true green_min_threshold=5 green_max_threshold=9")
			if b.Rec.Changes() < n {
				break
			}
			b.do(whole...)
			if d := cmp.Diff(wholeASIC, plain(b.asic())); d != "" {
				t.Fatalf("%s at call %d: %s", status, n, d)
			}
			b.emptyAll()
		}
	}
}

// Failed writes to COUNTERS_DB are repeated as soon as they can succeed, even if nothing else changes.
func TestCountersAreWrittenLater(t *testing.T) {
	b := newBench(t)
	db := b.Redis.DB(swss.CountersDB).Client()
	before := db.HGetAll(b.Ctx, schema.CountersQueueNameMap).Val()
	b.do("port- Ethernet4")
	db.Del(b.Ctx, schema.CountersQueueNameMap)
	db.Set(b.Ctx, schema.CountersQueueNameMap, "garbage", 0)
	b.do("port+ Ethernet4")
	db.Del(b.Ctx, schema.CountersQueueNameMap)
	b.Pass(retryPeriod)
	got := db.HGetAll(b.Ctx, schema.CountersQueueNameMap).Val()
	if len(got) == 0 || got["Ethernet4:3"] != before["Ethernet4:3"] {
		t.Errorf("the names are %v, want those of Ethernet4", got)
	}
}

// A removal that the ASIC refuses is repeated after a second, although no row changes.
func TestFailedRemovalIsRepeated(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t)
		b.do(whole...)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.deleteAll()
		if b.Rec.Changes() < n {
			break
		}
		b.Pass(time.Second)
		if got := b.asic(); len(got) > 0 {
			t.Errorf("call %d left %v", n, got)
		}
	}
}

// queuesUnknown is an ASIC whose ports do not return their queues.
type queuesUnknown struct {
	sai.API
	unknown bool
}

func (q *queuesUnknown) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if q.unknown && want[0].ID == sai.PortAttrQoSQueueList {
		return nil, sai.StatusFailure
	}
	return q.API.Get(ctx, k, want)
}

// If the queues of a port cannot be read, rows about them wait, with the reason. The queues are read again after a
// second, although no row changes.
func TestQueuesCannotBeRead(t *testing.T) {
	b := newBench(t)
	port := b.ports.Names()[0]
	asic := &queuesUnknown{API: b.orch.api, unknown: true}
	b.orch.api = asic
	queue := port + ":3"
	b.do("port- "+port, "port+ "+port)
	b.do("SCHEDULER_TABLE:s type=STRICT", "QUEUE_TABLE:"+queue+" scheduler=s")
	row := "QUEUE_TABLE|" + port + "|3"
	want := "pending: the queues of " + port + " could not be read: "
	if got := b.Status(row); !strings.HasPrefix(got, want) {
		t.Errorf("status %q, want %q", got, want)
	}
	asic.unknown = false
	b.Pass(2 * time.Second)
	if got := b.Status(row); got != "active" {
		t.Errorf("status %q", got)
	}
}
