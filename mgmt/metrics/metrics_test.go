package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// put writes rows "DB KEY" -> "field=value ...", each field once.
func put(t *testing.T, r *swss.Redis, rows map[string]string) {
	t.Helper()
	for at, text := range rows {
		db, key, _ := strings.Cut(at, " ")
		var fields []any
		for _, f := range strings.Fields(text) {
			name, value, _ := strings.Cut(f, "=")
			fields = append(fields, name, value)
		}
		if err := r.DB(swss.DBName(db)).Client().HSet(t.Context(), key, fields...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// scrape returns the text that Prometheus reads, and its lines with values.
func scrape(t *testing.T, r *swss.Redis) (text string, values []string) {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(New(r, []string{"orchagent", "syncd"})).ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body.String())
	}
	for _, line := range strings.Split(w.Body.String(), "\n") {
		if line != "" && line[0] != '#' {
			values = append(values, line)
		}
	}
	return w.Body.String(), values
}

var rows = map[string]string{
	"STATE_DB TAMTAM_HEALTH|orchagent":      "state=ready",
	"STATE_DB TAMTAM_HEALTH|hostd":          "state=waiting",
	"STATE_DB TAMTAM_CONSISTENCY|orchagent": "objects=119 drift=2 healed=1",
	"STATE_DB TAMTAM_WIRE|Ethernet0": "status=up received=9 sent=? lost-ring-full=2 dropped-acl=0 " +
		"dropped-ttl=N/A",
	"STATE_DB TAMTAM_ALARM|syncd-silent":      "severity=CRITICAL",
	"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|a": "status=active",
	"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|b": "status=active",
	"STATE_DB TAM_STATE_TAILSTAMPING_TABLE|c": "status=failed reason=no",
	"APPL_DB PORT_TABLE:Ethernet0":            "oper_status=up",
	"APPL_DB PORT_TABLE:Ethernet4":            "oper_status=down",
	"COUNTERS_DB COUNTERS_PORT_NAME_MAP":      "Ethernet0=oid:0x1 Ethernet4=oid:0x2",
	"COUNTERS_DB COUNTERS:oid:0x1": "SAI_PORT_STAT_IF_IN_OCTETS=640 " +
		"SAI_PORT_STAT_IF_IN_UCAST_PKTS=10 SAI_PORT_STAT_IF_OUT_DISCARDS=0 SAI_PORT_STAT_IF_IN_ERRORS=many",
	"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:dns":        "MATCHED_PACKETS=5 STAMPED_PACKETS=3 NOT_STAMPED_MTU=2",
	"COUNTERS_DB TAM_IFA_COUNTERS:edge":                "MATCHED=7 HOP_LIMIT=1 COUNTED_SINCE=2026-01-01T00:00:00Z",
	"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:\xff\xfe_x": "MATCHED_PACKETS=5",
}

// Known values are exported, and no others: a missing or unreadable value is not exported as 0.
func TestMetrics(t *testing.T) {
	r := swsstest.Start(t)
	put(t, r, rows)
	_, got := scrape(t, r)
	want := []string{
		`tamtam_alarms{severity="CRITICAL"} 1`,
		`tamtam_daemon_compared_objects{daemon="orchagent"} 119`,
		`tamtam_daemon_drift_total{daemon="orchagent"} 2`,
		`tamtam_daemon_healed_total{daemon="orchagent"} 1`,
		`tamtam_daemon_heard{daemon="hostd"} 1`,
		`tamtam_daemon_heard{daemon="orchagent"} 1`,
		`tamtam_daemon_heard{daemon="syncd"} 0`,
		`tamtam_daemon_ready{daemon="hostd"} 0`,
		`tamtam_daemon_ready{daemon="orchagent"} 1`,
		`tamtam_ifa_packets_total{outcome="hop_limit",session="edge"} 1`,
		`tamtam_ifa_packets_total{outcome="matched",session="edge"} 7`,
		`tamtam_port_bytes_total{direction="in",port="Ethernet0"} 640`,
		`tamtam_port_discards_total{direction="out",port="Ethernet0"} 0`,
		`tamtam_port_packets_total{cast="ucast",direction="in",port="Ethernet0"} 10`,
		`tamtam_port_up{port="Ethernet0"} 1`,
		`tamtam_port_up{port="Ethernet4"} 0`,
		`tamtam_redis_up 1`,
		`tamtam_rows{status="active",table="TAM_TAILSTAMPING_TABLE"} 2`,
		`tamtam_rows{status="failed",table="TAM_TAILSTAMPING_TABLE"} 1`,
		`tamtam_series_left_out{table="TAM_TAILSTAMPING_COUNTERS"} 1`,
		`tamtam_tailstamp_packets_total{outcome="exceeds_mtu",session="dns"} 2`,
		`tamtam_tailstamp_packets_total{outcome="matched",session="dns"} 5`,
		`tamtam_tailstamp_packets_total{outcome="stamped",session="dns"} 3`,
		`tamtam_wire_dropped_frames_total{port="Ethernet0",reason="acl"} 0`,
		`tamtam_wire_frames_total{direction="in",port="Ethernet0"} 9`,
		`tamtam_wire_lost_frames_total{port="Ethernet0",reason="ring-full"} 2`,
		`tamtam_wire_up{port="Ethernet0"} 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Many rows make a bounded number of series, and the omitted rows are counted.
func TestSeriesAreBounded(t *testing.T) {
	r := swsstest.Start(t)
	many := map[string]string{}
	for i := range mostSeries + 7 {
		many[fmt.Sprintf("COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:S%04d", i)] = "MATCHED_PACKETS=1"
	}
	for i := range 100 {
		many[fmt.Sprintf("STATE_DB TAM_STATE_TAILSTAMPING_TABLE|%d", i)] = fmt.Sprintf("status=word%d", i)
	}
	put(t, r, many)
	_, got := scrape(t, r)
	if want := `tamtam_series_left_out{table="TAM_TAILSTAMPING_COUNTERS"} 7`; !slices.Contains(got, want) {
		t.Errorf("no %s", want)
	}
	if want := `tamtam_rows{status="other",table="TAM_TAILSTAMPING_TABLE"} 92`; !slices.Contains(got, want) {
		t.Errorf("no %s", want)
	}
}

// What features measure is exported with the labels of its row. A period or epoch is a gauge, and a flag or status is
// 1. A field that is missing, is no number, or is in a row with another key has no value.
func TestMeasured(t *testing.T) {
	r := swsstest.Start(t)
	put(t, r, measuredRows)
	objects := map[string]any{"l3": "oid:0x30", "all": "oid:0x31 oid:0x21"}
	if err := r.DB(swss.CountersDB).Client().HSet(t.Context(), schema.CountersDebugOIDMap, objects).Err(); err != nil {
		t.Fatal(err)
	}
	_, got := scrape(t, r)
	want := strings.Fields(`
tamtam_acl_rule_packets_total{rule="web:0",table="TAM"}=9
tamtam_altmark_encap_packets_total{outcome="too_long",session="v"}=3
tamtam_altmark_path_delay_seconds{from="l1",path="web",to="l2"}=0.0015
tamtam_altmark_path_lost_packets{from="l1",path="web",to="l2"}=-2
tamtam_altmark_path_packets{from="l1",path="web",point="first",to="l2"}=10
tamtam_altmark_path_period{from="l1",path="web",to="l2"}=41
tamtam_altmark_path_status{from="l1",path="web",status="flagged",to="l2"}=1
tamtam_altmark_period{session="v"}=41
tamtam_altmark_period_bytes{session="v"}=5000
tamtam_altmark_period_flag{flag="gap",session="v"}=1
tamtam_altmark_period_flag{flag="late",session="v"}=1
tamtam_altmark_period_packets{session="v"}=50
tamtam_altmark_period_read_timestamp_seconds{session="v"}=41.5
tamtam_debug_dropped_packets_total{counter="all",port=""}=8
tamtam_debug_dropped_packets_total{counter="l3",port="Ethernet0"}=6
tamtam_dropmonitor_flows{session="d"}=2
tamtam_dropmonitor_messages_total{outcome="sent",session="d"}=4
tamtam_dropmonitor_packets_total{outcome="dropped",session="d"}=7
tamtam_flymon_answer{query="q",task="big"}=12
tamtam_flymon_answer_confidence_ratio{query="q",task="big"}=0.95
tamtam_flymon_answer_lower{query="q",task="big"}=10
tamtam_flymon_answer_saturated{query="q",task="big"}=0
tamtam_flymon_answer_upper{query="q",task="big"}=14
tamtam_flymon_buckets{task="big"}=1024
tamtam_flymon_epoch{task="big"}=7
tamtam_flymon_epoch_end_timestamp_seconds{task="big"}=1.5
tamtam_flymon_estimate_exact{metric="cardinality",task="big"}=100
tamtam_flymon_estimate_saturated{metric="cardinality",task="big"}=1
tamtam_flymon_full_ratio{task="big"}=0
tamtam_flymon_group_free_buckets{cmu="0",group="2"}=64
tamtam_flymon_group_free_buckets{cmu="1",group="2"}=0
tamtam_flymon_group_tasks{group="2"}=1
tamtam_flymon_left_out{task="big",what="flows"}=3
tamtam_flymon_load_ratio{task="big"}=0.25
tamtam_host_packets_total{count="received",daemon="hostd"}=5
tamtam_ifa_transit_packets_total{device="device",outcome="inserted"}=4
tamtam_queue_bytes_total{outcome="dropped",port="Ethernet0",queue="3"}=128
tamtam_queue_occupancy_bytes{port="Ethernet0",queue="3"}=0
tamtam_queue_packets_total{outcome="sent",port="Ethernet0",queue="3"}=5
tamtam_record_packets_total{outcome="recorded",session="r"}=11
tamtam_record_plan_entropy{of="bound",session="r"}=3.5
tamtam_record_plan_width{session="r"}=12
tamtam_redis_up=1
tamtam_tailstamp_matched_bytes_total{session="dns"}=640
tamtam_tailstamp_syns_total{outcome="clamped",session="dns"}=2
tamtam_trap_packets_total{colour="red",group="arp"}=1`)
	for i, line := range got {
		got[i] = strings.Replace(line, " ", "=", 1)
	}
	if got = slices.DeleteFunc(got, func(line string) bool { return strings.Contains(line, "_daemon_") }); !slices.Equal(
		got, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var measuredRows = map[string]string{
	"COUNTERS_DB TAM_TAILSTAMPING_COUNTERS:dns": "MATCHED_BYTES=640 SYNS_CLAMPED=2",
	"COUNTERS_DB TAM_ALTMARK_COUNTERS:v": "ENGINE=chip PERIOD=41 PACKETS=50 BYTES=5000 READ_AT=41.500000000 " +
		"FLAGS=late,gap,late ENCAP_TOO_LONG=3",
	"COUNTERS_DB TAM_ALTMARK_RESULTS:web:l1:l2": "PERIOD=41 STATUS=flagged SENT=10 LOST=-2 DELAY=1500000",
	"COUNTERS_DB TAM_ALTMARK_RESULTS:web":       "PERIOD=41",
	"COUNTERS_DB TAM_FLYMON_PLACEMENT:big":      "BUCKETS=1024 BYTES=many",
	"COUNTERS_DB TAM_FLYMON_GROUPS:2":           "TASKS=1 FREE_BUCKETS=64,0",
	"COUNTERS_DB TAM_FLYMON_RESULTS:big": "EPOCH=7 END=1500000000 LOAD=0.25 FULL=0 FLOWS_CUT=3 " +
		`cardinality={"saturated":true,"exact":100} entropy=no`,
	"COUNTERS_DB TAM_FLYMON_ANSWERS:q": "TASK=big " +
		`ESTIMATE={"estimate":12,"lower":10,"upper":14,"confidence":0.95}`,
	"COUNTERS_DB TAM_TABLERECORD_COUNTERS:r":      "RECORDED=11 LOST=-1",
	"COUNTERS_DB TAM_TABLERECORD_PLANS:r":         "BITS=12 ENTROPY=NaN BOUND=3.5",
	"COUNTERS_DB TAM_DROP_MONITOR_COUNTERS:d":     "DROPPED_PACKETS=7 MESSAGES=4 FLOWS=2",
	"COUNTERS_DB TAM_IFA_TRANSIT_COUNTERS:device": "INSERTED=4",
	"COUNTERS_DB HOST_COUNTERS:hostd":             "received=5 since=now",
	"COUNTERS_DB COUNTERS_QUEUE_NAME_MAP":         "Ethernet0:3=oid:0x15 Ethernet0:4=oid:0x16",
	"COUNTERS_DB COUNTERS:oid:0x15": "SAI_QUEUE_STAT_PACKETS=5 SAI_QUEUE_STAT_DROPPED_BYTES=128 " +
		"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES=0",
	"COUNTERS_DB COUNTERS_POLICER_NAME_MAP":           "arp=oid:0x17",
	"COUNTERS_DB COUNTERS:oid:0x17":                   "SAI_POLICER_STAT_RED_PACKETS=1",
	"COUNTERS_DB ACL_COUNTER_RULE_MAP":                "TAM:web:0=oid:0x18",
	"COUNTERS_DB COUNTERS:oid:0x18":                   "SAI_ACL_COUNTER_ATTR_PACKETS=9",
	"COUNTERS_DB COUNTERS_DEBUG_NAME_PORT_STAT_MAP":   "l3=SAI_PORT_STAT_IN_DROP_REASON_RANGE_BASE",
	"COUNTERS_DB COUNTERS_DEBUG_NAME_SWITCH_STAT_MAP": "all=SAI_SWITCH_STAT_IN_DROP_REASON_RANGE_BASE",
	"COUNTERS_DB COUNTERS_PORT_NAME_MAP":              "Ethernet0=oid:0x1",
	"COUNTERS_DB COUNTERS:oid:0x1":                    "SAI_PORT_STAT_IN_DROP_REASON_RANGE_BASE=6",
	"COUNTERS_DB COUNTERS:oid:0x21":                   "SAI_SWITCH_STAT_IN_DROP_REASON_RANGE_BASE=8",
}

// The chip is asked for its drops if its daemon is heard. Without an answer nothing is known of them.
func TestDrops(t *testing.T) {
	r := swsstest.Start(t)
	c := New(r, []string{"syncd"})
	fails := errors.New("no answer")
	c.AskDrops(func(context.Context) (Drops, error) {
		if fails != nil {
			return Drops{}, fails
		}
		return Drops{Since: "now", Reasons: map[string]map[string]uint64{"Ethernet0": {"acl": 3}, "": {"ttl": 1}}}, nil
	})
	for i, want := range []string{"", "tamtam_drops_known=0 ", "tamtam_drops_known=1 " +
		"tamtam_dropped_packets_total, ttl=1 tamtam_dropped_packets_total,Ethernet0 acl=3 "} {
		switch i {
		case 1:
			put(t, r, map[string]string{"STATE_DB TAMTAM_HEALTH|syncd": "state=ready owner=one"})
		case 2:
			fails = nil
		}
		got := ""
		for _, f := range c.Read(t.Context(), time.Now()) {
			for _, p := range f.Points {
				if strings.Contains(f.Name, "drop") {
					got += f.Name
					if len(p.Labels) > 0 {
						got += "," + strings.Join(p.Labels, " ")
					}
					got += fmt.Sprintf("=%v ", p.Value)
				}
			}
		}
		if got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
}

// Without Redis there is only one value.
func TestRedisIsAway(t *testing.T) {
	cfg, err := swss.DefaultConfig("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	r := swss.Look(cfg)
	defer r.Close()
	if _, got := scrape(t, r); !slices.Equal(got, []string{"tamtam_redis_up 0"}) {
		t.Errorf("%q", got)
	}
}

// Prometheus' own tool accepts names, types and help.
func TestPromtoolAgrees(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	r := swsstest.Start(t)
	put(t, r, rows)
	put(t, r, measuredRows)
	text, _ := scrape(t, r)
	cmd := exec.Command("promtool", "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// A counter counts since it was first seen. If it falls, or another process counts, it has counted since it was last
// seen. Vanished counters are forgotten.
func TestStarts(t *testing.T) {
	s := starts{}
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	for i, c := range []struct {
		now   int64
		count uint64
		epoch string
		want  int64 // 0 if the counter is absent
	}{
		{1, 10, "a", 1}, {2, 20, "a", 1}, {3, 20, "a", 1}, {4, 5, "a", 3}, {5, 6, "a", 3}, {6, 700, "b", 5}, {7, 800, "b", 5},
		{8, 0, "", 0}, {9, 900, "b", 9},
	} {
		f := []Family{{Name: "x_total", Kind: Counter}}
		if c.want != 0 {
			f[0].Points = []Point{{Labels: []string{"l"}, Count: c.count, epoch: c.epoch}}
		}
		s.date(f, at(c.now))
		if c.want != 0 && !f[0].Points[0].Start.Equal(at(c.want)) {
			t.Errorf("look %d: since %v, want %v", i, f[0].Points[0].Start, at(c.want))
		}
	}
}

// Sent and lost messages of outputs are exported, and the usage of the ASIC.
func TestOutputsAndResources(t *testing.T) {
	r := swsstest.Start(t)
	put(t, r, map[string]string{
		"STATE_DB TAMTAM_OUTPUT|otlp-grpc-h:4317": "status=failed sent=7 sent-bytes=700 failures=2 waiting=3 " +
			"waiting-bytes=300 " +
			"dropped-full=1 dropped-old=2 dropped-refused=0 dropped-other=9",
		"STATE_DB TAMTAM_OUTPUT|syslog-x": "status=invalid",
		"COUNTERS_DB CRM:STATS":           "crm_stats_ipv4_route_used=5 crm_stats_ipv4_route_available=95",
	})
	_, got := scrape(t, r)
	for _, want := range []string{
		`tamtam_output_up{output="otlp-grpc-h:4317"} 0`, `tamtam_output_sent_total{output="otlp-grpc-h:4317"} 7`,
		`tamtam_output_dropped_total{output="otlp-grpc-h:4317",reason="old"} 2`, `tamtam_output_up{output="syslog-x"} 0`,
		`tamtam_output_waiting_bytes{output="otlp-grpc-h:4317"} 300`, `tamtam_resource_used{resource="ipv4_route"} 5`,
		`tamtam_resource_free{resource="ipv4_route"} 95`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if text := strings.Join(got, "\n"); strings.Contains(text, "other") ||
		strings.Contains(text, `sent_total{output="syslog-x"`) {
		t.Errorf("what nobody has counted is told:\n%s", text)
	}
}
