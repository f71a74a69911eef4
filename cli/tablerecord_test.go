package cli

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"

	"tamtam/cli/kit"

	"github.com/google/go-cmp/cmp"
)

// chipPlan is a plan of a few tables, one that hits and one that must be recorded.
const chipPlan = `{"id":305419896,"program":"demo","pipeline":"switch","phv":"16+8","mode":"exec+hit",
 "algorithm":"greedy","stages":24,"stages_why":"the chip's",
"must_record":["chip.acl"],"recorded":[{"table":"ingress.b","bits":1,"container":1,"stage":2,"hit":3},
 {"table":"chip.acl","bits":2,"container":0,"stage":6,"ran":10,"hit":11},
{"table":"chip.fdb","bits":1,"container":0,"stage":11,"ran":9}],"entropy":2.25,"entropy_equation2":2.5,"bound":2.75,
 "optimal":false,"entropy_full":3.1234567,
"recovery":0.6180339887,"sets":1234,"solves":5,"seconds":0,"probabilities_from":"uniform","graph":{"pipeline":"switch",
 "init":"ingress.b","placed":true,"stages":24,"version":18446744073709551615,
"nodes":[{"id":"ingress.b","kind":"table"},{"id":"b.gate","kind":"cond"},{"id":"chip.acl","kind":"table"},
 {"id":"chip.fdb","kind":"table"}],
"edges":[["ingress.b","chip.acl","hit"],["ingress.b","chip.acl","miss"],["chip.acl","EXIT","a<b"]]}}`

// recordTree is a switch with a session that records, one that waits, and one whose
// plan says more than it should.
func recordTree(t *testing.T) string {
	t.Helper()
	quoted, err := json.Marshal(chipPlan)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("PLAN", string(quoted)).Replace(`{"tam": {
"features": {"feature": [{"feature-ref": "TABLERECORD", "config": {"feature-ref": "TABLERECORD", "status": "ACTIVE"}}]},
"features-state": {"feature": [{"feature-ref": "TABLERECORD", "state": {"feature-ref": "TABLERECORD",
 "op-status": "ACTIVE"}}]},
"samplers": {"sampler": [{"name": "some", "config": {"name": "some", "sampling-rate": 10}}]},
"collectors": {"collector": [{"name": "c1", "config": {"name": "c1"}}]},
"tablerecord-sessions": {"tablerecord-session": [
  {"name": "wait", "config": {"name": "wait", "flowgroup": "f2", "collector": "c1", "sampler": "none", "phv": "16+16",
   "mode": "exec", "algorithm": "bnb", "probabilities": "counted",
     "encapsulation": "erspan", "truncate": 0, "source-ip": "10.0.0.1"},
   "state": {"name": "wait", "status": "pending", "reason": "sampler none is not configured",
    "since": "2026-01-02T03:04:05Z"}},
  {"name": "m1", "config": {"name": "m1", "flowgroup": "f1", "collector": "c1", "sampler": "some", "phv": "16+8",
   "mode": "exec+hit", "algorithm": "greedy", "probabilities": "uniform",
     "must-record": ["chip.acl"], "encapsulation": "udp", "truncate": 128},
   "state": {"name": "m1", "flowgroup": "f1", "collector-address": "10.0.0.9:7000", "sampling-rate": 10, "phv": "16+8",
    "status": "active", "since": "2026-01-02T03:04:05Z",
     "counters": {"matched": "1000", "not-sampled": "900", "recorded": "103", "lost": "3"},
     "plan": {"id": 305419896, "phv": "16+8", "mode": "exec+hit", "algorithm": "greedy", "bits": 4, "entropy": "2.25",
      "entropy-full": "3.123457", "bound": "2.75", "optimal": false,
       "recovery": "0.618034", "tables": ["ingress.b", "chip.acl", "chip.fdb"], "json": PLAN}}},
  {"name": "odd", "config": {"name": "odd", "flowgroup": "f3", "collector": "c1", "phv": "16+16", "mode": "exec",
   "algorithm": "greedy", "probabilities": "uniform",
     "encapsulation": "udp", "truncate": 128},
   "state": {"name": "odd", "sampling-rate": 1, "status": "active", "plan": {"entropy": "2.0", "json": "{"}}}]}
}}`)
}

func TestTableRecordShow(t *testing.T) {
	s := newSession(t)
	s.server.load(t, recordTree(t))
	golden(t, "table_record", s.do(t, "show tam table-record", "show tam table-record m1", "show tam table-record wait",
		"show tam table-record odd",
		"show tam table-record plan m1", "show running-configuration tam"))
	for line, want := range map[string]string{
		"show tam table-record r9":      "%Error: Table recording session r9 does not exist",
		"show tam table-record plan r9": "%Error: Table recording session r9 does not exist",
		"show tam table-record plan wait": "%Error: Table recording session wait has no plan: it is pending: sampler none " +
			"is not configured",
		"show tam table-record plan odd": "%Error: The plan is no JSON: unexpected EOF",
	} {
		if got := s.fails(t, line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// What `show tam table-record plan NAME | json` prints is the plan itself: a reader
// of records has from it all that the switch records by, to the last bit.
func TestTableRecordPlanJSON(t *testing.T) {
	s := newSession(t)
	s.server.load(t, recordTree(t))
	var got, want record.Plan
	for text, into := range map[string]*record.Plan{s.do(t, "show tam table-record plan m1 | json"): &got,
		chipPlan: &want} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	got.Seal()
	if want.Seal(); got.ID != want.ID {
		t.Errorf("it seals to %08x, want %08x", got.ID, want.ID)
	}
}

func TestTableRecordCommands(t *testing.T) {
	const at = "/openconfig-tam:tam/tamtam-tablerecord:tablerecord-sessions/tablerecord-session[name=m1]"
	feature := func(status string) string {
		return `update /openconfig-tam:tam/features/feature[feature-ref=TABLERECORD] ` +
			`{"openconfig-tam:config":{"feature-ref":"TABLERECORD","status":"` + status +
			`"},"openconfig-tam:feature-ref":"TABLERECORD"}` + "\n"
	}
	for _, tt := range []struct {
		mode       kit.Mode
		line, want string
	}{
		{modeTableRecord, "session m1 flow-group f1 collector c1", "replace " + at +
			` {"tamtam-tablerecord:config":{"collector":"c1","flowgroup":"f1","name":"m1"},"tamtam-tablerecord:name":"m1"}` +
			"\n"},
		{modeTableRecord,
			"session m1 flow-group f1 collector c1 truncate 0 mode exec+h alg greedy-r phv 8+16+32 must chip.acl,ingress.b " +
				"prob c encap e source 10.0.0.1 sampler some ident true", "replace " + at +
				` {"tamtam-tablerecord:config":{"algorithm":"greedy-restarts","collector":"c1","encapsulation":"erspan",` +
				`"flowgroup":"f1","identities":true,"mode":"exec+hit","must-record":["chip.acl","ingress.b"],` +
				`"name":"m1","phv":"8+16+32","probabilities":"counted","sampler":"some","source-ip":"10.0.0.1","truncate":0},` +
				`"tamtam-tablerecord:name":"m1"}` + "\n"},
		{kit.ModeConfig, "tam table-record session m1 flow-group f1 collector c1 truncate 0x100", "replace " + at +
			` {"tamtam-tablerecord:config":{"collector":"c1","flowgroup":"f1","name":"m1","truncate":256},` +
			`"tamtam-tablerecord:name":"m1"}` + "\n"},
		{modeTableRecord, "no session m1", "delete " + at + "\n"},
		{kit.ModeConfig, "no tam table-record session m1", "delete " + at + "\n"},
		{modeTableRecord, "enable", feature("ACTIVE")},
		{modeTableRecord, "no enable", feature("INACTIVE")},
	} {
		s := newSession(t)
		s.server.load(t, recordTree(t))
		s.session.Mode = tt.mode
		s.do(t, tt.line)
		if diff := cmp.Diff(tt.want, s.sent()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestTableRecordBadWords(t *testing.T) {
	s := newSession(t)
	s.server.load(t, recordTree(t))
	s.session.Mode = modeTableRecord
	const x = "session x flow-group f1 collector c1 "
	for line, want := range map[string]string{
		"no session r9":           "Table recording session r9 does not exist",
		"session x flow-group f1": "Incomplete command, expected collector",
		"session x collector c1":  "invalid input",
		x + "phv 16+17": `"16+17" are no containers: want widths of 8, 16 or 32 bits joined by +, as in ` +
			`16+16`,
		x + "phv 16,16":                  `"16,16" are no containers`,
		x + "mode e":                     `"e" could be: exec, exec+hit, exec+action`,
		x + "mode hit":                   `"hit" is not one of: exec, exec+hit, exec+action`,
		x + "algorithm brute":            `"brute" is not one of: greedy, greedy-restarts, bnb`,
		x + "must-record a,,b":           "tables are names with commas between",
		x + "must-record a, b":           "tables are names with commas between",
		x + "probabilities random":       `"random" is not one of: uniform, counted`,
		x + "encapsulation gre":          `"gre" is not one of: udp, erspan`,
		x + "truncate 63":                `"63" is not a number of bytes from 64 to 9216, or 0 for whole packets`,
		x + "truncate 9217":              `"9217" is not a number of bytes`,
		x + "source-ip 10.0.0.0/8":       `"10.0.0.0/8" is not an IPv4 or IPv6 address`,
		x + "phv 16+16 phv 8":            "invalid input",
		"session a|b flow-group f":       `a name holds visible ASCII characters without "|"`,
		"do show tam table-record plan ": "Incomplete command, expected <name>",
	} {
		if got := s.fails(t, line); !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%s: %s\nwant %s", line, got, want)
		}
	}
	if len(s.server.sets) > 0 {
		t.Errorf("refused commands sent %v", s.server.sets)
	}
}

func TestTableRecordHelpAndCompletion(t *testing.T) {
	s := newSession(t)
	s.server.load(t, recordTree(t))
	for _, tt := range []struct {
		mode         kit.Mode
		before, want string
	}{
		{kit.ModeExec, "show tam table-record ", `  plan    Which tables write which bits of the record
  watch   Show it again and again, until Ctrl-C
  <name>  All of this session
      m1
      odd
      wait
  <cr>
  |       Filter the output
`},
		{modeTableRecord, "", `  do       Run a command of the exec mode
  enable   Activate the feature
  end      Back to exec mode
  exit     Leave this mode; in exec mode, the shell
  no       Remove or reset
  session  A flow group whose paths are recorded
`},
		{modeTableRecord, "session m1 flow-group f1 collector ", `  <name>  Name of the collector
      c1
`},
		{modeTableRecord, "session m1 flow-group f1 collector c1 ", `  algorithm      How tables are chosen
  encapsulation  What copies travel in
  identities     Whether records name the entries that a packet hit; default false
  mode           What is recorded
  must-record    Tables that are recorded whatever they add
  phv            Containers of the record; default 16+16
  probabilities  How likely the paths are
  sampler        One packet in how many; default every one
  source-ip      Source of what is sent; default the switch's own address
  truncate       Bytes of a packet that are sent; default 128, 0: all
  <cr>
`},
		{modeTableRecord, "session m1 flow-group f1 collector c1 must-record ",
			`  <TABLE,...>  Tables that are recorded whatever they add
      chip.acl
      chip.fdb
      ingress.b
`},
		{modeTableRecord, "session m1 flow-group f1 collector c1 must-record ingress.b,c",
			`  <TABLE,...>  Tables that are recorded whatever they add
      chip.acl
      chip.fdb
`},
	} {
		s.session.Mode = tt.mode
		var out bytes.Buffer
		s.help(t.Context(), &out, tt.before)
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.before, diff)
		}
	}
	for before, want := range map[string]string{
		"no session w":         "no session wait ",
		"session m1 fl":        "session m1 flow-group ",
		"session m1 fl f coll": "session m1 fl f collector ",
		"session m1 flow-group f1 collector c1 sampler s": "session m1 flow-group f1 collector c1 sampler some ",
		"session m1 flow-group f1 collector c1 algorithm g": "session m1 flow-group f1 collector c1 algorithm " +
			"greedy",
		"session m1 flow-group f1 collector c1 must-record i": "session m1 flow-group f1 collector c1 must-record " +
			"ingress.b ",
		"session m1 flow-group f1 collector c1 must-record chip.acl,c": "session m1 flow-group f1 collector c1 must-record " +
			"chip.acl,chip.",
		"session m1 flow-group f1 collector c1 must-record x,i": "session m1 flow-group f1 collector c1 must-record " +
			"x,ingress.b ",
		"do show tam table-record plan w": "do show tam table-record plan wait ",
	} {
		s.session.Mode = modeTableRecord
		if got, _ := s.completion(t.Context(), before); got != want {
			t.Errorf("%q is completed to %q, want %q", before, got, want)
		}
	}
}

// What orchagent writes is what show commands show.
func TestSwitchTableRecord(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, switchScript)
	row(t, r, swss.StateDB, schema.StateTAMFeature, schema.FeatureTableRecord, swss.FieldValues{"op-status": "ACTIVE"})
	row(t, r, swss.StateDB, schema.StateTAMTableRecord, "rec1", swss.FieldValues{"status": "active",
		"since": "2026-01-02T03:04:05Z"})
	row(t, r, swss.StateDB, schema.StateTAMTableRecord, "rec6", swss.FieldValues{"status": "failed",
		"reason": "phv 32+32+32: the chip has 64 record bits"})
	plan := &record.Plan{}
	if err := json.Unmarshal([]byte(chipPlan), plan); err != nil {
		t.Fatal(err)
	}
	fields, err := schema.RecordPlanFields(plan)
	if err != nil {
		t.Fatal(err)
	}
	row(t, r, swss.CountersDB, schema.CountersRecordPlan, "rec1", fields)
	row(t, r, swss.CountersDB, schema.CountersRecord, "rec1", schema.Counters{Counts: map[string]uint64{
		"MATCHED": 1000, "NOT_SAMPLED": 990, "RECORDED": 11, "LOST": 1}}.Fields())
	cfg, err := schema.ParseRecordSession("rec1", map[string]string{"flowgroup": "tcp_port_236", "collector": "c1",
		"sampler": "s1", "phv": "16+8", "mode": "exec+hit", "must-record": "chip.acl,chip.fdb"})
	if err != nil {
		t.Fatal(err)
	}
	flow := schema.RecordFlow{Rule: schema.ACLRuleKey{Table: "TAM", Rule: "tcp_port_236"}, Sampling: 100,
		CollectorName: "c1", SamplerName: "s1", RecordSettings: cfg.RecordSettings}
	fields = flow.Fields()
	fields["collector"] = "192.168.78.121:7071"
	row(t, r, swss.ApplDB, schema.AppTAMTableRecord, "rec1", fields)
	ruleInForce(t, r, "tcp_port_236")
	golden(t, "switch_table_record", s.do(t, "show tam table-record", "show tam table-record rec1",
		"show tam table-record rec6", "show tam table-record plan rec1"))
	s.session.Mode = modeTableRecord
	const before = "session rec6 flow-group six collector c7 must-record chip.acl,i"
	if got, _ := s.completion(t.Context(), before); got != before+"ngress.b " {
		t.Errorf("%q is completed to %q: tables are those of any session's plan", before, got)
	}
	s.session.Mode = kit.ModeExec
	var read record.Plan
	if err := json.Unmarshal([]byte(s.do(t, "show tam table-record plan rec1 | json")), &read); err != nil ||
		!reflect.DeepEqual(&read, plan) {
		t.Errorf("%v: got\n%+v\nwant\n%+v", err, &read, plan)
	}
}
