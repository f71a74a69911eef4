package mgmt

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	recordSessions = "/tam/tablerecord-sessions"
	recordR1       = recordSessions + "/tablerecord-session[name=r1]"
)

// recording returns the rows of a switch with an active session.
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

// somePlan returns a recording plan of two tables.
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

// recorded writes the plan and counters of the session as orchagent does.
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

// The leaf json holds the complete plan: a reader of records gets the plan by which the switch records.
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

// The status of a session and its plan are sent on change; counters are not.
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
	// The order is arbitrary: the pass for the previous change may have seen the deletion of the plan already.
	gone := append(s.next(), s.next()...)
	slices.Sort(gone)
	if want := []string{"D " + recordR1 + "/state/plan/id", "D " + recordR1 + "/state/plan/tables"}; !slices.Equal(gone,
		want) {
		t.Errorf("got %q, want %q", gone, want)
	}
}

// Counters are sampled, even if the target chooses the mode.
func TestTableRecordSample(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	b.rows(recording())
	b.recorded(somePlan(), 5, 0, 0, 0)
	const matched = recordR1 + "/state/counters/matched"
	list := streamOf(subOf(gpb.SubscriptionMode_TARGET_DEFINED, matched))
	s := b.subscribe(list)
	s.want("U "+matched+` "5"`, "S")
	b.recorded(somePlan(), 6, 0, 0, 0)
	clock.advance(definedSample)
	s.want("U " + matched + ` "6"`)
}
