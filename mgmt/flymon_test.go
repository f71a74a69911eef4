package mgmt

import (
	"encoding/json"
	"maps"
	"strings"
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

// flyMonitored is a switch with a task in effect, a query of it, one that waits,
// and a plan.
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

// measured writes what orchagent does of an epoch of the task and of its query.
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

func TestFlyMonGet(t *testing.T) {
	b := newBed(t, nil)
	b.rows(flyMonitored())
	b.measured(9)
	b.set(schema.CountersFlyMonPlace, "hh", schema.FlyMonPlacement{
		Planned: true, Algorithm: flymon.CMS, Rows: 2, Buckets: 32768, Banks: 2, Bytes: 262144, Groups: []int{0, 4},
		Units: []string{"0.1:0+16384", "4.0:32768+16384"},
		Keys:  []string{"0.0=src-ip,dst-port", "4.2=src-ip,dst-port"}, Rules: 21, Tcam: 8,
		Expected: "at most 0.2 % of the packets too many",
	}.Fields())
	b.set(schema.CountersFlyMonGroup, "4", schema.FlyMonGroup{
		Tasks: 1, Keys: []string{"", "", "src-ip,dst-port"}, Free: []uint32{32768, 65536, 65536},
		Most: []uint32{32768, 65536, 65536},
	}.Fields())
	change := flymon.Change{Estimate: flymon.Estimate{Value: 70, Lower: 60, Upper: 70, Confidence: 0.75, Bound: "both",
		Flags: flymon.FlagDigests}, Before: 80, After: 10}
	b.set(schema.CountersFlyMonChange, "hh", swss.FieldValues{"13.92.96.32,236": schema.FormatFlyMonChange(change)})
	measurement := `"key":"src-ip,dst-port","attribute":"frequency","algorithm":"auto","memory":49152,` +
		`"allocation":"accurate","epoch":1000,"threshold":1000,"change-threshold":0,"readout":"banked",` +
		`"translation":"tcam","share":"1","pinned":false,"plan":false`
	flow := `"estimate":"9.5","lower":"-11.0","upper":"9.5","confidence":"0.95","bound":"Markov","saturated":false,` +
		`"exact":"9.0"`
	for _, c := range []struct{ path, want string }{
		{flyMonHH + "/config", `{"name":"hh","flowgroup":"f1",` + measurement + `}`},
		{flyMonHH + "/state", `{"name":"hh","flowgroup":"f1","filter":"src-ip=13.92.96.32/32,dst-port=236",
		 ` + measurement + `,"status":"active","status-number":1,"since":"2026-01-02T03:04:05Z",
			"last-epoch":{"epoch":"9","start":"9000000000","end":"10000000000","flags":["first","digests-lost"],"load":"0.25",
			 "full":"0.0","flows-from":"digests","digests-lost":"7","flows-cut":"2","changes-cut":"0"},
			"placement":{"planned":true,"algorithm":"cms","rows":2,"buckets":32768,"banks":2,"bytes":"262144","groups":[0,4],
			 "units":["0.1:0+16384","4.0:32768+16384"],
			"hash-units":["0.0=src-ip,dst-port","4.2=src-ip,dst-port"],"rules":21,"tcam-entries":8,
			 "expected":"at most 0.2 % of the packets too many"}}`},
		{flyMonHH + "/metrics", `{"metric":[{"quantity":"entropy","state":{"quantity":"entropy","estimate":"1.2346",
		 "saturated":true}},
			{"quantity":"packets","state":{"quantity":"packets","estimate":"100.0","lower":"100.0","upper":"100.0",
			 "confidence":"1.0","saturated":false}}]}`},
		{flyMonHH + "/flows", `{"flow":[{"flow":"13.92.96.32,236","state":{"flow":"13.92.96.32,236",` + flow + `}}]}`},
		{flyMonHH + "/changes", `{"change":[{"flow":"13.92.96.32,236","state":{"flow":"13.92.96.32,236","estimate":"70.0",
		 "lower":"60.0","upper":"70.0","confidence":"0.75",
			"bound":"both","saturated":false,"flags":["digests-lost"],"before":"80.0","after":"10.0"}}]}`},
		{flyMonHH + "/flows/flow[flow=13.92.96.32,236]/state/estimate", `"9.5"`},
		{flyMonHH + "/distribution",
			`{"bin":[{"size":"1","state":{"size":"1","estimate":"60.0","saturated":false}},{"size":"2","state":{"size":"2",` +
				`"estimate":"0.4","saturated":false}}]}`},
		{flyMonQ1 + "/state", `{"name":"q1","task":"hh","flow":"13.92.96.32,236","status":"active","status-number":1,
		 "since":"2026-01-02T03:04:05Z",
			"answer":{"task":"hh","flow":"13.92.96.32,236","epoch":"9","start":"9000000000","end":"10000000000",` + flow + `}}`},
		{"/tam/flymon-groups", `{"flymon-group":[{"number":4,"state":{"number":4,"tasks":1,"hash-units":["0=free","1=free",
		 "2=src-ip,dst-port"],
			"free-buckets":["0=32768","1=65536","2=65536"],"largest-free":["0=32768","1=65536","2=65536"]}}]}`},
	} {
		got, err := b.get(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		sameJSON(t, strings.NewReplacer("tamtam-flymon:", "", "tamtam-status:", "").Replace(got), c.want)
	}
	reply, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{
		path(flyMonHH + "/metrics/metric[quantity=*]/state/estimate")}, Encoding: gpb.Encoding_PROTO})
	if err != nil {
		t.Fatal(err)
	}
	ups := reply.GetNotification()[0].GetUpdate()
	if len(ups) != 2 || ups[0].GetVal().GetDoubleVal() != 1.2346 || ups[1].GetVal().GetDoubleVal() != 100 {
		t.Errorf("estimates as protobuf: %v, want doubles 1.2346 and 100", ups)
	}
	_, err = b.get(flyMonHH + "/metrics/metric[quantity=cardinality]")
	wantErr(t, err, "NotFound")
}

// What a database holds that is no estimate is left out.
func TestFlyMonBadRows(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"COUNTERS_DB TAM_FLYMON_RESULTS:hh": `packets={"estimate":1e300,"lower":-1,"upper":"x","confidence":1.5} ` +
			`bytes=nonsense members=null entropy={"estimate":null,"exact":[1],"saturated":"no","bound":7}` +
			` difference={"estimate":1e-9,"lower":0,"upper":0,"confidence":0} other={"estimate":1} similarity=[1]`,
		"COUNTERS_DB TAM_FLYMON_DISTRIBUTION:hh": `1={"estimate":-0.00001} -1={"estimate":1} two={"estimate":1} ` +
			`18446744073709551616={}`,
		"COUNTERS_DB TAM_FLYMON_ANSWERS:q1": `EPOCH=-1 ESTIMATE=[{"estimate":1}]`,
		"COUNTERS_DB TAM_FLYMON_GROUPS:3":   `TASKS=-1 KEYS=free;;free FREE_BUCKETS=,`,
	})
	got, err := b.get(flyMonHH + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, `{"tamtam-flymon:metric":[
		{"quantity":"difference","state":{"quantity":"difference","estimate":"0.0","saturated":false}},
		{"quantity":"entropy","state":{"quantity":"entropy","bound":"7"}},
		{"quantity":"packets","state":{"quantity":"packets","lower":"-1.0","saturated":false}}]}`)
	if got, err = b.get(flyMonHH + "/distribution"); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, `{"tamtam-flymon:bin":[{"size":"1","state":{"size":"1","estimate":"0.0","saturated":false}}]}`)
	if got, err = b.get("/tam/flymon-groups"); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, `{"tamtam-flymon:flymon-group":[{"number":3,"state":{"number":3,"hash-units":["0=free","1=free"]}}]}`)
}

func TestFlyMonSet(t *testing.T) {
	up := func(p, v string) *gpb.SetRequest { return &gpb.SetRequest{Update: []*gpb.Update{update(p, v)}} }
	const row, want = "TAM_FLYMON_TASK_TABLE|hh",
		"attribute=frequency epoch=100 filter=dst-port=1-1023 key=src-ip,dst-port memory=65536 share=1/2"
	b := newBed(t, nil)
	b.rows(someSwitch())
	b.mustSet(up(flyMonHH+"/config",
		`{"filter":"dst-port=1-1023","key":"src-ip,dst-port","attribute":"frequency","memory":65536,"epoch":100,`+
			`"share":"1/2"}`))
	b.mustSet(up(flyMonQ1+"/config", `{"task":"hh","flow":"10.0.0.1,80"}`))
	for _, tt := range []struct {
		name, code string
		req        *gpb.SetRequest
		words      []string
	}{
		{"nothing said", "InvalidArgument", up(flyMonTasks+"/flymon-task[name=x]/config", `{}`),
			[]string{"config/attribute: is missing"}},
		{"no such flow group", "InvalidArgument", up(flyMonTasks+"/flymon-task[name=x]/config",
			`{"flowgroup":"f2","key":"src-ip","attribute":"frequency"}`), []string{"there is no flowgroup f2"}},
		{"filter and flow group", "InvalidArgument", up(flyMonHH+"/config/flowgroup", `"f1"`),
			[]string{"[name=hh]", "either filter or flowgroup"}},
		{"no filter", "InvalidArgument", up(flyMonHH+"/config/filter", `"src=1"`),
			[]string{"[name=hh]", `filter "src=1"`, "src-ip=PREFIX"}},
		{"no key", "InvalidArgument", up(flyMonHH+"/config/key", `"port"`), []string{"[name=hh]", `key "port"`, "5-tuple"}},
		{"no attribute", "InvalidArgument", up(flyMonHH+"/config/attribute", `"distinct(none)"`),
			[]string{`attribute "distinct(none)"`}},
		{"an algorithm of another attribute", "InvalidArgument", up(flyMonHH+"/config/algorithm", `"hll"`),
			[]string{"algorithm hll does not measure frequency"}},
		{"no algorithm", "InvalidArgument", up(flyMonHH+"/config/algorithm", `"univmon"`),
			[]string{"config/algorithm", `"univmon" is none of auto, beaucoup`}},
		{"no memory", "InvalidArgument", up(flyMonHH+"/config/memory", `0`),
			[]string{"config/memory", `"0" is no number in 1..67108864`}},
		{"four rows", "InvalidArgument", up(flyMonHH+"/config/rows", `4`),
			[]string{"config/rows", `"4" is no number in 1..3`}},
		{"a third", "InvalidArgument", up(flyMonHH+"/config/share", `"1/3"`), []string{"config/share"}},
		{"live without an epoch", "InvalidArgument", up(flyMonHH+"/config", `{"readout":"live","epoch":0}`),
			[]string{"live without an epoch"}},
		{"state", "InvalidArgument", up(flyMonHH+"/state/placement/rows", `1`), []string{"state/placement/rows"}},
		{"a result", "InvalidArgument", &gpb.SetRequest{Delete: []*gpb.Path{path(flyMonHH + "/metrics")}},
			[]string{"metrics"}},
		{"a group", "InvalidArgument", &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/flymon-groups")}},
			[]string{"flymon-groups"}},
		{"a query of no task", "InvalidArgument", up(flyMonQ1+"/config/task", `"x"`), []string{"there is no flymon-task x"}},
		{"a query of no flow", "InvalidArgument", up("/tam/flymon-queries/flymon-query[name=q2]/config", `{"task":"hh"}`),
			[]string{"config/flow: is missing"}},
		{"a query of another key", "InvalidArgument", up(flyMonQ1+"/config/flow", `"10.0.0.1"`),
			[]string{"[name=q1]", `config/flow: flow "10.0.0.1", want a value for each of src-ip,dst-port`}},
		{"a query of a new task", "InvalidArgument", &gpb.SetRequest{Update: []*gpb.Update{
			update(flyMonTasks+"/flymon-task[name=x]/config", `{"attribute":"existence(protocol)"}`),
			update("/tam/flymon-queries/flymon-query[name=q2]/config", `{"task":"x","flow":"256"}`),
		}}, []string{"[name=q2]", `protocol "256", want a number of 8 bits`}},
		{"a task that is asked", "FailedPrecondition", &gpb.SetRequest{Delete: []*gpb.Path{path(flyMonHH)}},
			[]string{"in use by flymon-query q1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := b.client.Set(b.ctx, tt.req)
			wantErr(t, err, tt.code, tt.words...)
		})
	}
	if got := b.row(row); got != want {
		t.Errorf("task hh is\n%s\nwant\n%s", got, want)
	}
	b.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{update(flyMonHH,
		`{"name":"hh","config":{"name":"hh","flowgroup":"f1","attribute":"existence(src-ip)","plan":true}}`)}})
	if got, want := b.row(row), "attribute=existence(src-ip) flowgroup=f1 plan=true"; got != want {
		t.Errorf("task hh is\n%s\nwant\n%s", got, want)
	}
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=f1]"),
		path(sessions)}})
	wantErr(t, err, "FailedPrecondition", "in use by flymon-task hh")
	b.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path(flyMonTasks), path("/tam/flymon-queries")}})
	if got := b.row(row) + b.row("TAM_FLYMON_QUERY_TABLE|q1"); got != "" {
		t.Errorf("after the delete there is %s", got)
	}
}

// TestFlyMonOnChange: an epoch's results are sent as they come, with one delete of
// each flow that is heavy no more.
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

// TestDecimal: decimal64 rounds to its fraction digits and has the form of RFC 7950.
func TestDecimal(t *testing.T) {
	m := offline(t)
	amount := m.Find(flyMonTasks + "/flymon-task/metrics/metric/state/estimate")
	part := m.Find(flyMonTasks + "/flymon-task/state/last-epoch/load")
	for _, tt := range []struct {
		leaf     *tree.Node
		in, want string // "": refused
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
