package cli

import (
	"bytes"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"

	"tamtam/cli/kit"

	"github.com/google/go-cmp/cmp"
)

// flyMonTree is a switch with a task and a query in effect, a plan, and a task
// that waits.
const flyMonTree = `{"tam": {
"features": {"feature": [{"feature-ref": "FLYMON", "config": {"feature-ref": "FLYMON", "status": "ACTIVE"}}]},
"features-state": {"feature": [{"feature-ref": "FLYMON", "state": {"feature-ref": "FLYMON", "op-status": "ACTIVE"}}]},
"flymon-tasks": {"flymon-task": [
  {"name": "wait", "config": {"name": "wait", "flowgroup": "f2", "key": "src-ip", "attribute": "frequency(bytes)",
   "algorithm": "auto", "memory": 49152, "allocation": "accurate",
     "epoch": 1000, "threshold": 0, "readout": "banked", "share": "1", "plan": false},
   "state": {"name": "wait", "status": "pending", "reason": "flow group f2 is not active"}},
  {"name": "m1", "config": {"name": "m1", "filter": "dst-port=80", "key": "src-ip,dst-port", "attribute": "frequency",
   "algorithm": "auto", "memory": 30000, "allocation": "accurate",
     "epoch": 100, "threshold": 1000, "readout": "banked", "share": "1/2", "plan": false, "rows": 2},
   "state": {"name": "m1", "filter": "dst-port=80", "key": "src-ip,dst-port", "attribute": "frequency",
    "algorithm": "auto", "status": "active",
     "placement": {"planned": false, "algorithm": "cms", "rows": 2, "buckets": 32768, "banks": 2, "bytes": "262144",
      "groups": [0, 4],
       "units": ["0.1:0+16384", "4.0:32768+16384"], "hash-units": ["0.0=src-ip,dst-port", "4.2=src-ip,dst-port"],
        "rules": 21, "tcam-entries": 8,
       "expected": "at most 0.02 % of the packets too many, with 86 %"},
     "last-epoch": {"epoch": "17000000091", "start": "1700000009100000000", "end": "1700000009200000000",
      "flags": ["first", "digests-lost"], "load": "0.25", "full": "0.0", "flows-from": "digests"}},
   "metrics": {"metric": [
     {"quantity": "packets", "state": {"quantity": "packets", "estimate": "123456.0", "lower": "123456.0",
      "upper": "123456.0", "confidence": "1.0", "bound": "counted", "saturated": false}},
     {"quantity": "entropy", "state": {"quantity": "entropy", "estimate": "8.1234", "bound": "no bound is known",
      "saturated": true, "exact": "8.0"}},
     {"quantity": "heavy-flows", "state": {"quantity": "heavy-flows", "estimate": "2.0", "saturated": false,
      "exact": "0.0"}}]},
   "flows": {"flow": [
     {"flow": "10.0.0.9,80", "state": {"flow": "10.0.0.9,80", "estimate": "1000.0", "lower": "997.5", "upper": "1000.0",
      "confidence": "0.865", "bound": "Markov", "saturated": false, "exact": "999.0"}},
     {"flow": "10.0.0.10,80", "state": {"flow": "10.0.0.10,80", "estimate": "1000.0", "lower": "997.5",
      "upper": "1000.0", "confidence": "0.865", "bound": "Markov", "saturated": false, "exact": "1000.0"}},
     {"flow": "10.0.0.1,80", "state": {"flow": "10.0.0.1,80", "estimate": "20000.0", "lower": "19997.5",
      "upper": "20002.5", "confidence": "0.865", "bound": "Markov", "saturated": false}}]},
   "changes": {"change": [
     {"flow": "10.0.0.9,80", "state": {"flow": "10.0.0.9,80", "estimate": "900.0", "lower": "897.5", "upper": "902.5",
      "confidence": "0.73", "bound": "Markov", "saturated": false, "before": "1900.0", "after": "1000.0",
       "flags": ["digests-lost"]}},
     {"flow": "10.0.0.1,80", "state": {"flow": "10.0.0.1,80", "estimate": "19000.0", "saturated": true, "bound": "none",
      "before": "1000.0", "after": "20000.0"}}]},
   "distribution": {"bin": [
     {"size": "16", "state": {"size": "16", "estimate": "0.3333", "saturated": false}},
     {"size": "2", "state": {"size": "2", "estimate": "17.25", "saturated": false, "exact": "0.0"}}]}},
  {"name": "dry", "config": {"name": "dry", "key": "none", "attribute": "distinct(src-ip)", "algorithm": "hll",
   "memory": 512, "allocation": "efficient",
     "epoch": 0, "threshold": 0, "readout": "banked", "share": "1", "plan": true},
   "state": {"name": "dry", "status": "active", "placement": {"planned": true, "algorithm": "hll", "rows": 1,
    "buckets": 512, "banks": 1, "bytes": "2048", "groups": [8], "units": ["8.0:0+512"],
     "hash-units": ["8.0=src-ip"]}}}]},
"flymon-queries": {"flymon-query": [
  {"name": "m1", "config": {"name": "m1", "task": "m1", "flow": "10.0.0.9,80"}, "state": {"name": "m1", "task": "m1",
   "flow": "10.0.0.9,80", "status": "active",
     "answer": {"epoch": "17000000091", "start": "1700000009100000000", "end": "1700000009200000000", "flags": ["live"],
       "estimate": "1000.0", "lower": "997.5", "upper": "1000.0", "confidence": "0.865", "bound": "Markov",
        "saturated": false, "exact": "999.0"}}},
  {"name": "bad", "config": {"name": "bad", "task": "m1", "flow": "80"}, "state": {"name": "bad", "status": "failed",
   "reason": "flow \"80\", want a value for each of src-ip,dst-port"}}]},
"flymon-groups": {"flymon-group": [
  {"number": 4, "state": {"number": 4, "tasks": 1, "hash-units": ["0=free", "1=free", "2=src-ip,dst-port"],
   "free-buckets": ["0=32768", "1=65536", "2=65536"], "largest-free": ["0=32768", "1=65536", "2=65536"]}},
  {"number": 0, "state": {"number": 0, "tasks": 0, "hash-units": ["0=free"], "free-buckets": ["0=1024", "1=1024"],
   "largest-free": ["0=1024", "1=1024"]}}]}
}}`

func TestFlyMonShow(t *testing.T) {
	s := newSession(t)
	s.server.load(t, flyMonTree)
	golden(t, "flymon", s.do(t, "show tam flymon", "show tam flymon task", "show tam flymon task m1",
		"show tam flymon task dry", "show tam flymon task wait",
		"show tam flymon query", "show tam flymon query m1", "show tam flymon groups", "show running-configuration tam",
		"show tam flymon query m1 | json"))
	for line, want := range map[string]string{
		"show tam flymon task m9":  "%Error: FlyMon task m9 does not exist",
		"show tam flymon query m9": "%Error: FlyMon query m9 does not exist",
	} {
		if got := s.fails(t, line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestFlyMonCommands(t *testing.T) {
	const task = "/openconfig-tam:tam/tamtam-flymon:flymon-tasks/flymon-task[name=m1]"
	const query = "/openconfig-tam:tam/tamtam-flymon:flymon-queries/flymon-query[name=m1]"
	for _, tt := range []struct {
		mode       kit.Mode
		line, want string
	}{
		{modeFlyMon, "task m1 key src-ip/24 attribute frequency", "replace " + task +
			` {"tamtam-flymon:config":{"attribute":"frequency","key":"src-ip/24","name":"m1"},"tamtam-flymon:name":"m1"}` +
			"\n"},
		{modeFlyMon,
			"task m1 key none attribute distinct(src-ip) plan pinned epoch 0 share 1/4 rows 1 algo h memory 4096 readout l " +
				"alloc e threshold 5 filter src-ip=10.0.0.0/8,dst-port=1-9", "replace " + task +
				` {"tamtam-flymon:config":{"algorithm":"hll","allocation":"efficient","attribute":"distinct(src-ip)","epoch":0,` +
				`"filter":"src-ip=10.0.0.0/8,dst-port=1-9","key":"none","memory":4096,"name":"m1","pinned":true,"plan":true,` +
				`"readout":"live","rows":1,"share":"1/4","threshold":5},"tamtam-flymon:name":"m1"}` + "\n"},
		{kit.ModeConfig, "tam flymon task m1 key 5-t attribute max(queue-d flowgroup f1", "replace " + task +
			` {"tamtam-flymon:config":{"attribute":"max(queue-delay)","flowgroup":"f1","key":"5-tuple","name":"m1"},` +
			`"tamtam-flymon:name":"m1"}` + "\n"},
		{modeFlyMon, "query m1 task m1 flow 10.0.0.1,80", "replace " + query +
			` {"tamtam-flymon:config":{"flow":"10.0.0.1,80","name":"m1","task":"m1"},"tamtam-flymon:name":"m1"}` + "\n"},
		{kit.ModeConfig, "tam flymon query m1 task m1 flow ::1", "replace " + query +
			` {"tamtam-flymon:config":{"flow":"::1","name":"m1","task":"m1"},"tamtam-flymon:name":"m1"}` + "\n"},
		{modeFlyMon, "no task m1", "delete " + task + "\n"},
		{kit.ModeConfig, "no tam flymon task m1", "delete " + task + "\n"},
		{modeFlyMon, "no query m1", "delete " + query + "\n"},
		{kit.ModeConfig, "no tam flymon query m1", "delete " + query + "\n"},
		{modeFlyMon, "enable", `update /openconfig-tam:tam/features/feature[feature-ref=FLYMON] ` +
			`{"openconfig-tam:config":{"feature-ref":"FLYMON","status":"ACTIVE"},"openconfig-tam:feature-ref":"FLYMON"}` + "\n"},
		{modeFlyMon, "no enable", `update /openconfig-tam:tam/features/feature[feature-ref=FLYMON] ` +
			`{"openconfig-tam:config":{"feature-ref":"FLYMON","status":"INACTIVE"},"openconfig-tam:feature-ref":"FLYMON"}` +
			"\n"},
	} {
		s := newSession(t)
		s.server.load(t, flyMonTree)
		s.session.Mode = tt.mode
		s.do(t, tt.line)
		if diff := cmp.Diff(tt.want, s.sent()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestFlyMonBadWords(t *testing.T) {
	s := newSession(t)
	s.server.load(t, flyMonTree)
	s.session.Mode = modeFlyMon
	const x = "task x key src-ip attribute frequency "
	for line, want := range map[string]string{
		"no task m9":                         "FlyMon task m9 does not exist",
		"no query m9":                        "FlyMon query m9 does not exist",
		"task x attribute frequency":         `invalid input`,
		"task x key src-ip":                  "Incomplete command, expected attribute",
		"task x key src-ip attribute max(":   `"max(" could be: max(queue-length), max(queue-delay)`,
		x + "memory 0":                       `"0" is not a number from 1 to 67108864`,
		x + "rows 4":                         `"4" is not a number from 1 to 3`,
		x + "epoch 3600001":                  `is not a number from 0 to 3600000`,
		x + "algorithm sumax":                `"sumax" could be: sumax-sum, sumax-max`,
		x + "algorithm univmon":              `"univmon" is not one of: auto, cms,`,
		x + "share 1/3":                      `"1/3" is not a share of the packets: 1, 1/2, 1/4`,
		x + "share 1/256":                    `"1/256" is not a share`,
		x + "allocation exact":               `"exact" is not one of: accurate, efficient`,
		"query q task m1":                    "Incomplete command, expected flow",
		"query q task m1 flow 10.0.0.1, 80 ": "The command ends before this word",
	} {
		if got := s.fails(t, line); !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%s: %s\nwant %s", line, got, want)
		}
	}
	if len(s.server.sets) > 0 {
		t.Errorf("refused commands sent %v", s.server.sets)
	}
}

func TestFlyMonHelpAndCompletion(t *testing.T) {
	s := newSession(t)
	s.server.load(t, flyMonTree)
	for _, tt := range []struct {
		mode         kit.Mode
		before, want string
	}{
		{kit.ModeExec, "show tam flymon ", `  groups  What of the CMU groups is in use
  query   Flows that are answered for
  task    What is measured
  watch   Show it again and again, until Ctrl-C
  <cr>
  |       Filter the output
`},
		{kit.ModeExec, "show tam flymon task ", `  watch   Show it again and again, until Ctrl-C
  <name>  All of this one
      dry
      m1
      wait
  <cr>
  |       Filter the output
`},
		{modeFlyMon, "", `  do      Run a command of the exec mode
  enable  Activate the feature
  end     Back to exec mode
  exit    Leave this mode; in exec mode, the shell
  no      Remove or reset
  query   A flow that is answered for in each epoch
  task    What is measured of which packets
`},
		{kit.ModeConfig, "tam flymon ", `  query  A flow that is answered for in each epoch
  task   What is measured of which packets
`},
		{modeFlyMon, "task m1 key src-ip attribute ", `  frequency                                           Packets
  frequency(bytes)                                    Bytes of frames, FCS included
  max(queue-length)                                   Bytes in the queue, without FCS
  max(queue-delay)                                    Nanoseconds in the queue
  max(size)                                           Bytes of a frame, FCS included
  max(interval)                                       Nanoseconds between two packets
  <distinct(KEY) | existence(KEY) | similarity(KEY)>  Of a key such as src-ip,dst-port
`},
		{modeFlyMon, "task m1 key src-ip attribute frequency plan share ",
			`  <1 | 1/2 | 1/4 ... 1/128>  Part of the packets that is looked at, for tasks of the same packets; default 1
`},
		{modeFlyMon, "task m1 key src-ip attribute frequency plan share 1 ", `  algorithm         How it is measured
  allocation        How memory is rounded
  change-threshold  From where on the change of a flow's count from one epoch to the next is heavy
  epoch             Milliseconds that are counted at a time; default 1000, 0: no end
  filter            Only packets with src-ip=PREFIX, dst-ip=PREFIX, src-port=N-M, dst-port=N-M, protocol=N, ip=4
  flowgroup         Only packets of this flow group
  memory            Buckets of all rows; default 49152
  pinned            Never move it to make room for another task
  readout           What is read
  rows              Rows of the sketch; default those that the algorithm has
  threshold         From where on a flow is heavy, or has too many values
  translation       How addresses are translated
  <cr>
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
		"no task w":                               "no task wait ",
		"task m1 k":                               "task m1 key ",
		"task m1 key 5":                           "task m1 key 5-tuple ",
		"task m1 key 5-tuple attr":                "task m1 key 5-tuple attribute ",
		"task m1 key 5-tuple attribute max(s":     "task m1 key 5-tuple attribute max(size) ",
		"task m1 key none attribute frequency al": "task m1 key none attribute frequency al",
		"query m1 t":                              "query m1 task ",
	} {
		s.session.Mode = modeFlyMon
		if got, _ := s.completion(t.Context(), before); got != want {
			t.Errorf("%q is completed to %q, want %q", before, got, want)
		}
	}
}

// What orchagent writes is what show commands show.
func TestSwitchFlyMon(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, switchScript)
	row(t, r, swss.StateDB, schema.StateTAMFeature, schema.FeatureFlyMon, swss.FieldValues{"op-status": "ACTIVE"})
	row(t, r, swss.StateDB, schema.StateTAMFlyMonTask, "hh", swss.FieldValues{"status": "active"})
	row(t, r, swss.StateDB, schema.StateTAMFlyMonTask, "dry", swss.FieldValues{"status": "failed",
		"reason": "memory: 65536 buckets in one CMU of group 3, want 131072"})
	task, err := schema.ParseFlyMonTask("hh", map[string]string{
		"filter": "src-ip=10.0.0.0/8,dst-port=1-1023", "key": "5-tuple", "attribute": "frequency", "threshold": "1000",
		"memory": "65536", "epoch": "100",
	})
	if err != nil {
		t.Fatal(err)
	}
	row(t, r, swss.ApplDB, schema.AppTAMFlyMonTask, "hh", task.Fields())
	row(t, r, swss.ApplDB, schema.AppTAMFlyMonQuery, "q1", schema.FlyMonQuery{Task: "hh",
		Flow: "10.0.0.1,10.0.0.2,1000,80,6"}.Fields())
	place := schema.FlyMonPlacement{
		Algorithm: flymon.CMS, Rows: 3, Buckets: 98304, Banks: 2, Bytes: 786432, Groups: []int{0},
		Units: []string{"0.0:0+32768", "0.1:0+32768", "0.2:0+32768"},
		Keys:  []string{"0.0=5-tuple"}, Rules: 17, Tcam: 6, Expected: "at most 0.008 % of the packets too many",
	}
	row(t, r, swss.CountersDB, schema.CountersFlyMonPlace, "hh", place.Fields())
	exact, flow := 1999.0, "10.0.0.1,10.0.0.2,1000,80,6"
	heavy := flymon.Estimate{Value: 2000, Lower: 1990, Upper: 2000, Confidence: 0.95,
		Bound: "Count-Min: at most e/w of all packets too many", Exact: &exact}
	result := schema.FlyMonResult{Epoch: 17000000091, Start: 1700000009100000000, End: 1700000009200000000, Load: 0.125,
		Flows: "digests", Metrics: map[string]flymon.Estimate{
			flymon.MetricPackets: {Value: 5000, Lower: 5000, Upper: 5000, Confidence: 1}, flymon.MetricHeavy: {Value: 1},
		}}
	row(t, r, swss.CountersDB, schema.CountersFlyMonResult, "hh", result.Fields())
	row(t, r, swss.CountersDB, schema.CountersFlyMonFlows, "hh",
		swss.FieldValues{flow: schema.FormatFlyMonEstimate(heavy)})
	row(t, r, swss.CountersDB, schema.CountersFlyMonAnswer, "q1", swss.FieldValues{
		"TASK": "hh", "FLOW": flow, "EPOCH": "17000000091", "START": "1700000009100000000", "END": "1700000009200000000",
		"FLAGS": "", "ESTIMATE": schema.FormatFlyMonEstimate(heavy),
	})
	group := schema.FlyMonGroup{Tasks: 1, Keys: []string{"5-tuple", "", ""}, Free: []uint32{0, 0, 0},
		Most: []uint32{0, 0, 0}}
	row(t, r, swss.CountersDB, schema.CountersFlyMonGroup, "0", group.Fields())
	golden(t, "switch_flymon", s.do(t, "show tam flymon", "show tam flymon task", "show tam flymon task hh",
		"show tam flymon query", "show tam flymon groups",
		"show tam flymon query q1 | json"))
}
