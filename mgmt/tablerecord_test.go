package mgmt

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
	"tamtam/yang/tamyang"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	recordSessions = "/tam/tablerecord-sessions"
	recordR1       = recordSessions + "/tablerecord-session[name=r1]"
)

// recording is a switch with a session in effect.
func recording() map[string]string {
	rows := someSwitch()
	maps.Copy(rows, map[string]string{
		"CONFIG_DB TAM_COLLECTORS_TABLE|c1":     "ipaddress=10.0.0.9 ipaddress-type=ipv4 port=7000 protocol=UDP",
		"CONFIG_DB TAM_COLLECTORS_TABLE|tcp":    "ipaddress=10.0.0.9 ipaddress-type=ipv4 port=7000 protocol=TCP",
		"CONFIG_DB TAM_COLLECTORS_TABLE|six":    "ipaddress=2001:db8::9 ipaddress-type=ipv6 port=7000",
		"CONFIG_DB TAM_SAMPLINGRATE_TABLE|some": "sampling-rate=10",
		"CONFIG_DB TAM_TABLERECORD_TABLE|r1": "flowgroup=f1 collector=c1 sampler=some mode=exec+hit " +
			"must-record=chip.acl,ingress.a",
		"APPL_DB TAM_TABLERECORD_TABLE:r1": "acl-table-name=TAM acl-rule-name=f1 collector=10.0.0.9:7000 collector-name=c1 " +
			"sampling-rate=10 sampler-name=some phv=16+16 mode=exec+hit algorithm=greedy " +
			"must-record=chip.acl,ingress.a probabilities=uniform encapsulation=udp truncate=128 identities=false",
		"STATE_DB TAM_STATE_TABLERECORD_TABLE|r1": "status=active reason= since=2026-01-02T03:04:05Z by=orchagent",
	})
	return rows
}

// somePlan is a plan of two tables.
func somePlan() *record.Plan {
	at := func(bit int) *int { return &bit }
	p := &record.Plan{
		Pipeline: "switch", PHV: "16+16", Mode: record.ModeHit, Algorithm: record.Greedy, Stages: 24,
		Recorded: []record.Recorded{
			{Table: "chip.acl", Bits: 2, Container: 0, Stage: 6, Ran: at(0), Hit: at(1)},
			{Table: "ingress.a", Bits: 1, Container: 1, Stage: 2, Hit: at(3)},
		},
		Entropy: 2.25, Equation2: 2.5, Bound: 1e300, Full: 3.1234567, Recovery: 0.6180339887,
		Effort: record.Effort{Sets: 1 << 60}, Chances: record.Chances{ProbabilitiesFrom: schema.ProbabilitiesCounted},
		Graph: &record.Graph{Pipeline: "switch", Init: "chip.acl", Version: 1<<64 - 1,
			Nodes: []record.Node{{ID: "chip.acl", Kind: record.Table}},
			Edges: []record.Edge{{From: "chip.acl", To: record.Exit, Label: record.Hit}}},
	}
	p.Seal()
	return p
}

// recorded writes what orchagent does of the session.
func (b *bed) recorded(p *record.Plan, matched, notSampled, recorded, lost uint64) {
	b.t.Helper()
	fields, err := schema.RecordPlanFields(p)
	if err != nil {
		b.t.Fatal(err)
	}
	b.set(schema.CountersRecordPlan, "r1", fields)
	b.set(schema.CountersRecord, "r1", schema.Counters{Counts: map[string]uint64{
		"MATCHED": matched, "NOT_SAMPLED": notSampled, "RECORDED": recorded, "LOST": lost}}.Fields())
}

func TestTableRecordGet(t *testing.T) {
	b := newBed(t, nil)
	b.rows(recording())
	p := somePlan()
	p.ID = 305419896
	b.recorded(p, 1<<64-1, 90, 12, 1)
	whole, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(string(whole))
	if err != nil {
		t.Fatal(err)
	}
	settings := `"phv":"16+16","mode":"exec+hit","algorithm":"greedy","must-record":["chip.acl","ingress.a"],` +
		`"probabilities":"uniform","encapsulation":"udp","truncate":128,"identities":false`
	counters := `"counters":{"matched":"18446744073709551615","not-sampled":"90","recorded":"12","lost":"1"}`
	for _, c := range []struct{ path, want string }{
		{recordR1 + "/config", `{"name":"r1","flowgroup":"f1","collector":"c1","sampler":"some",` + settings + `}`},
		{recordR1 + "/state", `{"name":"r1","flowgroup":"f1","collector":"c1","collector-address":"10.0.0.9:7000",
			"sampler":"some","sampling-rate":10,` + settings + `,
			"status":"active","status-number":1,"since":"2026-01-02T03:04:05Z",` + counters + `,
			"plan":{"id":305419896,"phv":"16+16","mode":"exec+hit","algorithm":"greedy","probabilities":"counted","bits":3,
			 "entropy":"2.25","entropy-full":"3.123457",
			"optimal":false,"recovery":"0.618034","tables":["chip.acl","ingress.a"],"json":` + string(quoted) + `}}`},
		{recordR1 + "/state/counters/lost", `"1"`},
		{recordR1 + "/state/plan/tables", `["chip.acl","ingress.a"]`},
	} {
		got, err := b.get(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		sameJSON(t, strings.NewReplacer("tamtam-tablerecord:", "", "tamtam-status:", "").Replace(got), c.want)
	}
	all, err := b.get("/")
	if err != nil {
		t.Fatal(err)
	}
	dev := &tamyang.Device{}
	if err := tamyang.Unmarshal([]byte(all), dev); err != nil {
		t.Fatal(err)
	}
	if err := dev.Validate(); err != nil {
		t.Error(err)
	}
}

// The leaf json is the plan, whole: what a reader of records has of it is what the
// switch records by.
func TestTableRecordPlanIsWhole(t *testing.T) {
	b := newBed(t, nil)
	b.rows(recording())
	want := somePlan()
	b.recorded(want, 0, 0, 0, 0)
	for _, enc := range []gpb.Encoding{gpb.Encoding_PROTO, gpb.Encoding_JSON_IETF} {
		reply, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{path(recordR1 + "/state/plan/json")},
			Encoding: enc})
		if err != nil {
			t.Fatal(err)
		}
		v := reply.GetNotification()[0].GetUpdate()[0].GetVal()
		text := v.GetStringVal()
		if enc == gpb.Encoding_JSON_IETF {
			if err := json.Unmarshal(v.GetJsonIetfVal(), &text); err != nil {
				t.Fatal(err)
			}
		}
		got := &record.Plan{}
		if err := json.Unmarshal([]byte(text), got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", enc, got, want)
		}
		id := got.ID
		if got.Seal(); got.ID != id {
			t.Errorf("%s: the plan that was read seals to %08x, want %08x", enc, got.ID, id)
		}
	}
}

// What a database holds that is no session, no number, no plan is left out, and no default
// stands in its place.
func TestTableRecordBadRows(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{
		"CONFIG_DB TAM_TABLERECORD_TABLE|r1": "flowgroup=a|b collector= phv=17 mode=all algorithm=brute " +
			"must-record=,,x_y,z truncate=63 source-ip=here",
		"APPL_DB TAM_TABLERECORD_TABLE:r1":        "sampling-rate=-1 collector=nowhere phv=16+",
		"STATE_DB TAM_STATE_TABLERECORD_TABLE|r1": "status=so-so since=now",
		"COUNTERS_DB TAM_TABLERECORD_COUNTERS:r1": "MATCHED=-1 NOT_SAMPLED=many RECORDED=18446744073709551616 LOST=1",
		"COUNTERS_DB TAM_TABLERECORD_PLANS:r1": "ID=-1 PHV=7 BITS=65536 ENTROPY=NaN ENTROPY_FULL=-1 BOUND=+Inf " +
			"OPTIMAL=maybe RECOVERY=1.1 TABLES=,,a,,b_c, PLAN={",
	})
	behind, err := b.get(recordR1 + "/state/not-in-force")
	if want := `["it is not valid as it is configured: flowgroup \"a|b\": want `; err != nil ||
		!strings.HasPrefix(behind, want) {
		t.Errorf("%s, %v, want %s...", behind, err, want)
	}
	got, err := b.get(recordSessions)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, strings.NewReplacer("tamtam-tablerecord:", "", `,"tamtam-status:not-in-force":`+behind, "").Replace(got),
		`{"tablerecord-session":[{"name":"r1",
		"config":{"name":"r1","must-record":["x","y","z"],"probabilities":"uniform","encapsulation":"udp","identities":false},
		"state":{"name":"r1","collector-address":"nowhere","counters":{"lost":"1"},"plan":{"tables":["a","b c"],
		 "json":"{"}}}]}`)
}

func TestTableRecordSet(t *testing.T) {
	up := func(p, v string) *gpb.SetRequest { return &gpb.SetRequest{Update: []*gpb.Update{update(p, v)}} }
	del := func(p string) *gpb.SetRequest { return &gpb.SetRequest{Delete: []*gpb.Path{path(p)}} }
	const row, want = "TAM_TABLERECORD_TABLE|r1",
		"collector=c1 flowgroup=f1 must-record=ingress.b,chip.acl phv=8+32 sampler=some source-ip=10.0.0.1 truncate=0"
	const r2 = recordSessions + "/tablerecord-session[name=r2]/config"
	b := newBed(t, nil)
	rows := recording()
	delete(rows, "CONFIG_DB TAM_TABLERECORD_TABLE|r1")
	rows["CONFIG_DB TAM_FLOWGROUP_TABLE|f2"] = "table-name=TAM id=8"
	rows["CONFIG_DB ACL_RULE|TAM|f2"] = "PRIORITY=100 L4_DST_PORT=53"
	b.rows(rows)
	b.mustSet(up(recordR1+"/config",
		`{"flowgroup":"f1","collector":"c1","sampler":"some","phv":"8+32","must-record":["ingress.b","chip.acl"],`+
			`"truncate":0,"source-ip":"10.0.0.1"}`))
	for _, tt := range []struct {
		name, code string
		req        *gpb.SetRequest
		words      []string
	}{
		{"nothing said", "InvalidArgument", up(r2, `{}`), []string{"[name=r2]", "config/flowgroup: is missing",
			"config/collector: is missing"}},
		{"no such flow group", "InvalidArgument", up(r2, `{"flowgroup":"f9","collector":"c1"}`),
			[]string{"config/flowgroup: there is no flowgroup f9"}},
		{"no such collector", "InvalidArgument", up(r2, `{"flowgroup":"f2","collector":"c9"}`),
			[]string{"config/collector: there is no collector c9"}},
		{"no such sampler", "InvalidArgument", up(r2, `{"flowgroup":"f2","collector":"c1","sampler":"x"}`),
			[]string{"config/sampler: there is no sampler x"}},
		{"all of it at once", "InvalidArgument", up(r2, `{"flowgroup":"f9","collector":"c9","sampler":"x"}`),
			[]string{"no flowgroup f9", "no collector c9", "no sampler x"}},
		{"the flow group of another", "InvalidArgument", up(r2, `{"flowgroup":"f1","collector":"c1"}`),
			[]string{"[name=r2]", "config/flowgroup", "f1 is that of tablerecord-session r1 already"}},
		{"a collector over TCP", "InvalidArgument", up(r2, `{"flowgroup":"f2","collector":"tcp"}`),
			[]string{"config/collector: tcp takes TCP, want one of protocol UDP"}},
		{"families", "InvalidArgument", up(r2, `{"flowgroup":"f2","collector":"six","source-ip":"10.0.0.1"}`),
			[]string{"config/source-ip: 10.0.0.1 cannot reach collector six at 2001:db8::9"}},
		{"the collector becomes one over TCP", "FailedPrecondition",
			up("/tam/collectors/collector[name=c1]/config/protocol", `"TCP"`),
			[]string{"[name=c1]: in use by tablerecord-session r1: c1 takes TCP"}},
		{"the collector moves", "FailedPrecondition", up("/tam/collectors/collector[name=c1]/config/ip", `"2001:db8::9"`),
			[]string{"in use by tablerecord-session r1: 10.0.0.1 cannot reach"}},
		{"a collector of the same Set", "InvalidArgument", &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/collectors/collector[name=new]/config", `{"ip":"10.0.0.8","port":1,"protocol":"TCP"}`),
			update(recordR1+"/config/collector", `"new"`),
		}}, []string{"[name=r1]", "new takes TCP"}},
		{"containers", "InvalidArgument", up(recordR1+"/config/phv", `"16+17"`), []string{"config/phv"}},
		{"too many containers", "InvalidArgument", up(recordR1+"/config/phv", `"32`+strings.Repeat("+32", 32)+`"`),
			[]string{"[name=r1]", "phv", "1024 bits at most"}},
		{"no mode", "InvalidArgument", up(recordR1+"/config/mode", `"hit"`),
			[]string{"config/mode", `"hit" is none of exec, exec+action, exec+hit`}},
		{"no algorithm", "InvalidArgument", up(recordR1+"/config/algorithm", `"brute"`),
			[]string{"config/algorithm", `"brute" is none of bnb, greedy, greedy-restarts`}},
		{"bnb with hits", "InvalidArgument", up(recordR1+"/config", `{"mode":"exec+hit","algorithm":"bnb"}`),
			[]string{"[name=r1]", "algorithm", "greedy or greedy-restarts where mode is exec+hit"}},
		{"a table with a comma", "InvalidArgument", up(recordR1+"/config/must-record", `["a,b"]`),
			[]string{"config/must-record"}},
		{"too short", "InvalidArgument", up(recordR1+"/config/truncate", `63`),
			[]string{"config/truncate", `"63" is no number in 0|64..9216`}},
		{"a source that is none", "InvalidArgument", up(recordR1+"/config/source-ip", `"224.0.0.1"`),
			[]string{"[name=r1]", "source-ip", "a unicast IPv4 or IPv6 address"}},
		{"state", "InvalidArgument", up(recordR1+"/state/plan/bits", `1`), []string{"state/plan/bits"}},
		{"counters", "InvalidArgument", del(recordR1 + "/state/counters"), []string{"state/counters"}},
		{"the flow group goes", "FailedPrecondition", del("/tam/flowgroups/flowgroup[name=f1]"),
			[]string{"[name=f1]: in use by", "tablerecord-session r1"}},
		{"the collector goes", "FailedPrecondition", del("/tam/collectors/collector[name=c1]"),
			[]string{"[name=c1]: in use by tablerecord-session r1"}},
		{"all collectors go", "FailedPrecondition", del("/tam/collectors"),
			[]string{"[name=c1]: in use by tablerecord-session r1"}},
		{"the sampler goes", "FailedPrecondition", del("/tam/samplers/sampler[name=some]"),
			[]string{"[name=some]: in use by tablerecord-session r1"}},
		{"one of two is bad", "InvalidArgument", &gpb.SetRequest{Update: []*gpb.Update{
			update(recordR1+"/config/phv", `"32"`), update(r2, `{"flowgroup":"f2","collector":"c1","phv":"12"}`),
		}}, []string{"[name=r2]/config/phv"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := b.client.Set(b.ctx, tt.req)
			wantErr(t, err, tt.code, tt.words...)
		})
	}
	if got := b.row(row) + b.row("TAM_TABLERECORD_TABLE|r2"); got != want {
		t.Errorf("the sessions are\n%s\nwant r1 alone:\n%s", got, want)
	}
	// One Set makes all that a session refers to, and moves a flow group from one
	// session to another.
	b.mustSet(&gpb.SetRequest{
		Delete: []*gpb.Path{path(recordR1)},
		Update: []*gpb.Update{
			update("/tam/collectors/collector[name=new]/config", `{"ip":"10.0.0.8","port":1}`),
			update(r2, `{"flowgroup":"f1","collector":"new","mode":"exec+hit"}`),
		},
	})
	if got, want := b.row(row)+b.row("TAM_TABLERECORD_TABLE|r2"), "collector=new flowgroup=f1 mode=exec+hit"; got != want {
		t.Errorf("the sessions are\n%s\nwant r2 alone:\n%s", got, want)
	}
	b.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path(recordSessions), path("/tam/collectors"), path("/tam/samplers")}})
	if got := b.row("TAM_TABLERECORD_TABLE|r2"); got != "" {
		t.Errorf("after the delete there is %s", got)
	}
}

// TestTableRecordOnChange: what became of a session, and its plan, are sent as they
// change; counters are not.
func TestTableRecordOnChange(t *testing.T) {
	b := newBed(t, nil)
	b.rows(recording())
	p := somePlan()
	p.ID = 7
	b.recorded(p, 1, 0, 0, 0)
	s := b.subscribe(streamOf(subOf(onChange, recordR1+"/state/status"), subOf(onChange, recordR1+"/state/plan/id"),
		subOf(onChange, recordR1+"/state/plan/tables")))
	s.want("U "+recordR1+`/state/status "active"`, "U "+recordR1+`/state/plan/id 7`,
		"U "+recordR1+`/state/plan/tables ["chip.acl","ingress.a"]`, "S")
	p.ID, p.Recorded = 8, p.Recorded[:1]
	b.recorded(p, 2, 0, 0, 0)
	s.want("U "+recordR1+`/state/plan/id 8`, "U "+recordR1+`/state/plan/tables ["chip.acl"]`)
	b.rows(map[string]string{"STATE_DB TAM_STATE_TABLERECORD_TABLE|r1": "status=pending reason=no_way_to_10.0.0.9"})
	s.want("U " + recordR1 + `/state/status "pending"`)
	if err := b.redis.DB(swss.CountersDB).Client().Del(b.ctx, schema.CountersRecordPlan+":r1").Err(); err != nil {
		t.Fatal(err)
	}
	// In either order: what is sent for the change before may have seen the plan go already.
	gone := append(s.next(), s.next()...)
	slices.Sort(gone)
	if want := []string{"D " + recordR1 + "/state/plan/id", "D " + recordR1 + "/state/plan/tables"}; !slices.Equal(gone,
		want) {
		t.Errorf("got %q, want %q", gone, want)
	}
	bad := b.subscribe(streamOf(subOf(onChange, recordR1+"/state")))
	if _, err := bad.rpc.Recv(); err == nil {
		t.Error("counters were promised on change")
	} else {
		wantErr(t, err, "InvalidArgument", "counters")
	}
}

// TestTableRecordSample: counters are sampled, also where the target chooses.
func TestTableRecordSample(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(recording())
	b.recorded(somePlan(), 5, 0, 0, 0)
	const matched = recordR1 + "/state/counters/matched"
	list := streamOf(subOf(gpb.SubscriptionMode_TARGET_DEFINED, matched))
	list.Subscription[0].SampleInterval = uint64(time.Second)
	s := b.subscribe(list)
	s.want("U "+matched+` "5"`, "S")
	b.recorded(somePlan(), 6, 0, 0, 0)
	clock.advance(time.Second)
	s.want("U " + matched + ` "6"`)
}
