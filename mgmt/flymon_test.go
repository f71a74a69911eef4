package mgmt

import (
	"encoding/json"
	"maps"
	"testing"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	flyMonTasks = "/tam/flymon-tasks"
	flyMonHH    = flyMonTasks + "/flymon-task[name=hh]"
	flyMonQ1    = "/tam/flymon-queries/flymon-query[name=q1]"
)

// flyMonitored returns the rows of a switch with an active task, a query of this task, a pending task, and a plan.
func flyMonitored() map[string]string {
	rows := someSwitch()
	maps.Copy(rows, map[string]string{
		"CONFIG_DB TAM_FLYMON_TASK_TABLE|hh": "flowgroup=f1 key=src-ip,dst-port attribute=frequency threshold=1000",
		"APPL_DB TAM_FLYMON_TASK_TABLE:hh": "flowgroup=f1 filter=src-ip=13.92.96.32/32,dst-port=236 key=src-ip,dst-port " +
			"attribute=frequency algorithm=auto memory=49152 " +
			"allocation=accurate epoch=1000 threshold=1000 change-threshold=0 readout=banked translation=tcam share=1 " +
			"pinned=false plan=false",
		"STATE_DB TAM_STATE_FLYMON_TASK_TABLE|hh":  "status=active reason= since=2026-01-02T03:04:05Z by=orchagent",
		"CONFIG_DB TAM_FLYMON_QUERY_TABLE|q1":      "task=hh flow=13.92.96.32,236",
		"APPL_DB TAM_FLYMON_QUERY_TABLE:q1":        "task=hh flow=13.92.96.32,236",
		"STATE_DB TAM_STATE_FLYMON_QUERY_TABLE|q1": "status=active reason= since=2026-01-02T03:04:05Z by=orchagent",
	})
	return rows
}

func exactly(e flymon.Estimate, exact float64) flymon.Estimate {
	e.Exact = &exact
	return e
}

// measured writes the results of one epoch of the task and its query as orchagent does.
func (b *bed) measured(epoch uint64) {
	b.t.Helper()
	start := int64(epoch) * 1_000_000_000
	flow := exactly(flymon.Estimate{Value: float64(epoch) + 0.5, Lower: float64(epoch) - 20, Upper: float64(epoch) + 0.5,
		Confidence: 0.95, Bound: "Markov"}, float64(epoch))
	b.set(schema.CountersFlyMonResult, "hh", schema.FlyMonResult{
		Epoch: epoch, Start: start, End: start + 1_000_000_000, Flags: flymon.FlagFirst | flymon.FlagDigests, Load: 0.25,
		Flows: "digests", DigestsLost: 7, FlowsCut: 2,
		Metrics: map[string]flymon.Estimate{
			flymon.MetricPackets: {Value: 100, Lower: 100, Upper: 100, Confidence: 1},
			flymon.MetricEntropy: {Value: 1.23456789, Saturated: true},
		},
	}.Fields())
	b.set(schema.CountersFlyMonFlows, "hh", swss.FieldValues{"13.92.96.32,236": schema.FormatFlyMonEstimate(flow)})
	b.set(schema.CountersFlyMonSizes, "hh", swss.FieldValues{"1": schema.FormatFlyMonEstimate(flymon.Estimate{Value: 60}),
		"2": schema.FormatFlyMonEstimate(flymon.Estimate{Value: 0.4})})
	b.set(schema.CountersFlyMonAnswer, "q1", swss.FieldValues{
		"TASK": "hh", "FLOW": "13.92.96.32,236", "EPOCH": "9", "START": "9000000000", "END": "10000000000", "FLAGS": "",
		"ESTIMATE": schema.FormatFlyMonEstimate(flow),
	})
}

func (b *bed) set(table, key string, fields swss.FieldValues) {
	b.t.Helper()
	if err := swss.NewTable(b.redis.DB(swss.CountersDB), table).Set(b.ctx, key, fields); err != nil {
		b.t.Fatal(err)
	}
}

// The results of an epoch are sent when they arrive, with one delete of each flow that is no longer heavy.
func TestFlyMonOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(flyMonitored())
	b.measured(9)
	estimate := flyMonHH + "/flows/flow[flow=13.92.96.32,236]/state/estimate"
	s := b.subscribe(streamOf(subOf(onChange, flyMonHH+"/flows/flow[flow=*]/state/estimate")))
	s.want("U "+estimate+` "9.5"`, "S")
	b.measured(10)
	s.want("U " + estimate + ` "10.5"`)
	if err := b.redis.DB(swss.CountersDB).Client().HDel(b.ctx, schema.CountersFlyMonFlows+":hh",
		"13.92.96.32,236").Err(); err != nil {
		t.Fatal(err)
	}
	s.want("D " + estimate)
	answer := b.subscribe(streamOf(subOf(onChange, flyMonQ1+"/state/answer/exact")))
	answer.want("U "+flyMonQ1+`/state/answer/exact "10.0"`, "S")
	epoch := b.subscribe(streamOf(subOf(onChange, flyMonHH+"/state/last-epoch/epoch")))
	epoch.want("U "+flyMonHH+`/state/last-epoch/epoch "10"`, "S")
	b.measured(11)
	answer.want("U " + flyMonQ1 + `/state/answer/exact "11.0"`)
	epoch.want("U " + flyMonHH + `/state/last-epoch/epoch "11"`)
}

// A decimal64 is rounded to its fraction digits and has the form of RFC 7950.
func TestDecimal(t *testing.T) {
	m := offline(t)
	amount := m.Find(flyMonTasks + "/flymon-task/metrics/metric/state/estimate")
	part := m.Find(flyMonTasks + "/flymon-task/state/last-epoch/load")
	for _, tt := range []struct {
		leaf     *tree.Node
		in, want string // empty if the value is refused
	}{
		{amount, "0", "0.0"}, {amount, "12", "12.0"}, {amount, "-0.5", "-0.5"}, {amount, "1.23456", "1.2346"},
		{amount, "1e3", "1000.0"}, {amount, "-0.00001", "0.0"},
		{amount, "922337203685477", "922337203685477.0"}, {amount, "1e15", ""}, {amount, "NaN", ""}, {amount, "Inf", ""},
		{amount, "", ""}, {amount, "1,5", ""},
		{part, "0.1234567", "0.123457"}, {part, "1", "1.0"}, {part, "0.000001", "0.000001"}, {part, "1.0000001", "1.0"},
		{part, "1.1", ""}, {part, "-0.1", ""}, {part, "0.9999999", "1.0"},
	} {
		got, err := tt.leaf.Check(tt.in)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s %q is %q, %v, want %q", tt.leaf.Name, tt.in, got, err, tt.want)
		}
		if err != nil {
			continue
		}
		if again, err := tt.leaf.Check(got); again != got {
			t.Errorf("%s %q is %q when read again: %v", tt.leaf.Name, got, again, err)
		}
		for ietf, enc := range map[bool]gpb.Encoding{false: gpb.Encoding_JSON, true: gpb.Encoding_JSON_IETF} {
			val := tt.leaf.Typed([]string{got}, enc)
			v := decoded(t, append(val.GetJsonVal(), val.GetJsonIetfVal()...))
			if _, number := v.(json.Number); number == ietf {
				t.Errorf("%s %q is %v in JSON (IETF: %v)", tt.leaf.Name, got, v, ietf)
			}
			if back, err := tt.leaf.FromJSON(v); err != nil || tree.First(back) != got {
				t.Errorf("%s %q comes back from JSON as %q, %v", tt.leaf.Name, got, back, err)
			}
		}
		if back, err := tt.leaf.FromScalar(tt.leaf.Typed([]string{got}, gpb.Encoding_PROTO)); err != nil ||
			tree.First(back) != got {
			t.Errorf("%s %q comes back from protobuf as %q, %v", tt.leaf.Name, got, back, err)
		}
	}
}
