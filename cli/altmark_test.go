package cli

import (
	"bytes"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"

	"tamtam/cli/kit"

	"github.com/google/go-cmp/cmp"
)

// altMarkTree is a switch with two sessions of alternate marking, and what a
// collector made of a path.
const altMarkTree = `{"tam": {
"features": {"feature": [{"feature-ref": "ALTMARK", "config": {"feature-ref": "ALTMARK", "status": "ACTIVE"}}]},
"features-state": {"feature": [{"feature-ref": "ALTMARK", "state": {"feature-ref": "ALTMARK", "op-status": "ACTIVE"}}]},
"alt-mark-sessions": {"alt-mark-session": [
  {"name": "m2", "config": {"name": "m2", "flowgroup": "f2", "role": "terminator", "method": "muxed", "interval": -3,
   "mark": "dscp0", "clear": true, "slot-sync": false, "delay-max": "1000000"},
   "state": {"name": "m2", "status": "pending", "reason": "flow group f2 is not active"}},
  {"name": "m1", "config": {"name": "m1", "flowgroup": "f1", "role": "initiator", "method": "double", "interval": 0,
   "mark": "dscp0", "mark2": "dscp1", "slot-sync": true},
   "state": {"name": "m1", "flowgroup": "f1", "role": "initiator", "method": "double", "interval": 0, "mark": "dscp0",
    "mark2": "dscp1", "slot-sync": true,
     "clock-error": "15625000", "delay-min": "0", "delay-max": "125000000", "guard": "140625000", "engine": "chip",
      "timing": "one clock cycle, 0.8 ns", "status": "active",
     "last-period": {"number": "1700000009", "colour": 1, "packets": "1000", "octets": "64000", "captures": 1,
      "timestamp": "1700000009000000801", "out-of-window": "0", "read-at": "1700000010500000123"}},
   "periods": {"period": [
     {"number": "1700000009", "state": {"number": "1700000009", "colour": 1, "packets": "1000", "octets": "64000",
      "captures": 1, "timestamp": "1700000009000000801", "out-of-window": "0", "read-at": "1700000010500000123"}},
     {"number": "1700000008", "state": {"number": "1700000008", "colour": 0, "packets": "77", "octets": "4928",
      "captures": 0, "out-of-window": "3", "read-at": "1700000009500000123", "flags": ["first", "out-of-window"]}}]}}]},
"alt-mark-results": {"alt-mark-result": [
  {"path": "p1", "from": "s1", "to": "s4", "state": {"path": "p1", "from": "s1", "to": "s4", "period": "1700000009",
   "status": "ok", "sent-packets": "1000", "received-packets": "998", "lost-packets": "2", "delay": "5120",
    "jitter": "-20"}},
  {"path": "p2", "from": "s1", "to": "s3", "state": {"path": "p2", "from": "s1", "to": "s3", "period": "1700000009",
   "status": "missing", "reasons": ["no report of s3"], "sent-packets": "5"}}]}
}}`

func TestAltMarkShow(t *testing.T) {
	s := newSession(t)
	s.server.load(t, altMarkTree)
	golden(t, "alt_mark", s.do(t, "show tam alt-mark", "show tam alt-mark sessions", "show tam alt-mark sessions m1",
		"show tam alt-mark sessions m2",
		"show tam alt-mark counters", "show tam alt-mark counters m1", "show tam alt-mark periods m1",
		"show tam alt-mark periods m2",
		"show tam alt-mark results", "show tam alt-mark results p1"))
	for line, want := range map[string]string{
		"show tam alt-mark sessions m9": "%Error: Alternate marking session m9 does not exist",
		"show tam alt-mark counters m9": "%Error: Alternate marking session m9 does not exist",
		"show tam alt-mark periods m9":  "%Error: Alternate marking session m9 does not exist",
		"show tam alt-mark results p9":  "%Error: There is no result of a path p9",
	} {
		if got := s.fails(t, line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestAltMarkCommands(t *testing.T) {
	const at = "/openconfig-tam:tam/tamtam-altmark:alt-mark-sessions/alt-mark-session[name=m1]"
	for line, want := range map[string]string{
		"session m1 flowgroup f1 role init method step interval -10 mark dscp3": "replace " + at +
			` {"tamtam-altmark:config":{"flowgroup":"f1","interval":-10,"mark":"dscp3","method":"step","name":"m1",` +
			`"role":"initiator"},"tamtam-altmark:name":"m1"}` + "\n",
		"session m1 flowgroup f1 role terminator method muxed interval 0 mark ipv6-altmark-l delay-max 5 clear slot-sync " +
			"off": "replace " + at +
			` {"tamtam-altmark:config":{"clear":true,"delay-max":"5","flowgroup":"f1","interval":0,"mark":"ipv6-altmark-l",` +
			`"method":"muxed","name":"m1","role":"terminator","slot-sync":false},"tamtam-altmark:name":"m1"}` + "\n",
		"no session m1": "delete " + at + "\n",
		"enable": `update /openconfig-tam:tam/features/feature[feature-ref=ALTMARK] ` +
			`{"openconfig-tam:config":{"feature-ref":"ALTMARK","status":"ACTIVE"},"openconfig-tam:feature-ref":"ALTMARK"}` +
			"\n",
		"no enable": `update /openconfig-tam:tam/features/feature[feature-ref=ALTMARK] ` +
			`{"openconfig-tam:config":{"feature-ref":"ALTMARK","status":"INACTIVE"},"openconfig-tam:feature-ref":"ALTMARK"}` +
			"\n",
	} {
		s := newSession(t)
		s.server.load(t, altMarkTree)
		s.session.Mode = modeAltMark
		s.do(t, line)
		if diff := cmp.Diff(want, s.sent()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestAltMarkBadWords(t *testing.T) {
	s := newSession(t)
	s.server.load(t, altMarkTree)
	s.session.Mode = modeAltMark
	const m3 = "session m3 flowgroup f1 role "
	for line, want := range map[string]string{
		"no session m9": "Alternate marking session m9 does not " +
			"exist",
		m3 + "observer": `"observer" is not one of: initiator, ` +
			`transit, terminator`,
		m3 + "transit method multi": `"multi" is not one of: step, pulse, ` +
			`double, muxed`,
		m3 + "transit method step interval 9": `"9" is not n of 2^n seconds, a number ` +
			`from -10 to 8`,
		m3 + "transit method step interval 0 mark ecn0":                       `"ecn0" is not one of: dscp0, dscp1,`,
		m3 + "transit method step interval 0 mark dscp":                       `"dscp" could be: dscp0, dscp1,`,
		m3 + "transit method step interval 0":                                 "Incomplete command, expected mark",
		m3 + "transit method step interval 0 mark dscp0 slot-sync maybe":      `"maybe" is not one of: on, off`,
		m3 + "initiator method step interval 0 mark dscp0 foreign-marks wash": `"wash" is not one of: count, clean, drop`,
		m3 + "initiator method step interval 0 mark dscp0 foreign-marks c":    `"c" could be: count, clean`,
		m3 + "initiator method step interval 0 mark dscp0 clock-trust believed": `"believed" is not one of: checked, ` +
			`declared`,
		m3 + "initiator method step interval 0 mark dscp0 clock-trust": "Incomplete command, expected " +
			"{checked|declared}",
		m3 + "transit method step interval 0 mark dscp0 delay-max 256000000001": `is not a number from 0 to 256000000000`,
	} {
		if got := s.fails(t, line); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %s", line, got, want)
		}
	}
	if len(s.server.sets) > 0 {
		t.Errorf("refused commands sent %v", s.server.sets)
	}
}

// A word that there is not is shown in its command, which names session and field.
func TestAltMarkBadWordShown(t *testing.T) {
	s := newSession(t)
	s.server.load(t, altMarkTree)
	s.session.Mode = modeAltMark
	const line = "session m3 flowgroup f1 role initiator method step interval 0 mark dscp0 "
	for field, word := range map[string]string{"foreign-marks": "wash", "clock-trust": "believed"} {
		want := "  " + line + field + " " + word + "\n  " + strings.Repeat(" ", len(line+field)+1) + "^"
		if got := s.fails(t, line+field+" "+word); !strings.Contains(got, want) {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// The mean delay has a column where sessions ask for it; where it is not known, a line says why.
func TestAltMarkShowMeanDelay(t *testing.T) {
	s := newSession(t)
	s.server.load(t, `{"tam": {"alt-mark-results": {"alt-mark-result": [
  {"path": "p1", "from": "s1", "to": "s4", "state": {"path": "p1", "from": "s1", "to": "s4", "period": "9",
   "status": "ok", "sent-packets": "3", "received-packets": "3", "lost-packets": "0", "mean-delay": "5120",
    "delay-sum": "15361"}},
  {"path": "p2", "from": "s1", "to": "s3", "state": {"path": "p2", "from": "s1", "to": "s3", "period": "9",
   "status": "ok", "sent-packets": "5", "received-packets": "4", "lost-packets": "1",
    "mean-delay-unknown": "1 of 5 packets were lost"}}]}}}`)
	got := s.do(t, "show tam alt-mark results")
	for _, want := range []string{
		"Delay       Jitter      Mean Delay\n", "3         3         0       -           -           5.12µs\n",
		"p2 s1-s3: mean delay not known: 1 of 5 packets were lost\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestAltMarkHelpAndCompletion(t *testing.T) {
	s := newSession(t)
	s.server.load(t, altMarkTree)
	for _, tt := range []struct {
		mode         kit.Mode
		before, want string
	}{
		{kit.ModeExec, "show tam alt-mark ", `  counters  Counters
  periods   The last periods of a session
  results   What a collector made of the reports
  sessions  Flow groups that are marked
  watch     Show it again and again, until Ctrl-C
  <cr>
  |         Filter the output
`},
		{kit.ModeExec, "show tam alt-mark periods ", `  <name>  Name of the session
      m1
      m2
`},
		{modeAltMark, "", `  do       Run a command of the exec mode
  enable   Activate the feature
  end      Back to exec mode
  exit     Leave this mode; in exec mode, the shell
  no       Remove or reset
  session  A flow group that is marked
`},
		{modeAltMark, "session m1 flowgroup f1 role ", `  initiator   Writes the mark
  transit     Reads it
  terminator  Reads it, and may clear it
`},
		{modeAltMark, "session m1 flowgroup f1 role terminator method muxed interval 0 mark dscp0 clear ",
			`  clock-error      Greatest error between two clocks; default 1/64 of the period
  clock-trust      What vouches for this switch's clock
  delay-max        Greatest delay from the initiator; default 1/8 of the period
  delay-min        Least delay from the initiator; default 0
  encap-dst        Destination of that header
  encap-header     Header of options that has the option
  encap-hop-limit  Hop limit with which packets leave; default 64
  encap-src        Source of a header with an AltMark option that is put around packets, or taken off
  flow-mon-id      Only packets with this FlowMonID in their AltMark option
  foreign-marks    What an initiator does with packets that come marked
  mark2            The bit of the pulse, of double marking
  mean-delay       Arrivals of all packets are summed up: their mean delay
  slot-sync        Clocks tell the slots of muxed marking
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
		"no session m":                             "no session m",
		"session m1 flowgroup f1 role t":           "session m1 flowgroup f1 role t",
		"session m1 flowgroup f1 role ter":         "session m1 flowgroup f1 role terminator ",
		"session m1 flowgroup f1 role init met":    "session m1 flowgroup f1 role init method ",
		"session m1 flowgroup f1 role init meth d": "session m1 flowgroup f1 role init meth double ",
	} {
		s.session.Mode = modeAltMark
		if got, _ := s.completion(t.Context(), before); got != want {
			t.Errorf("%q is completed to %q, want %q", before, got, want)
		}
	}
}

// What orchagent and a collector write is what show commands show.
func TestSwitchAltMark(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, switchScript)
	row(t, r, swss.StateDB, schema.StateTAMFeature, schema.FeatureAltMark, swss.FieldValues{"op-status": "ACTIVE"})
	row(t, r, swss.StateDB, schema.StateTAMAltMark, "am1", swss.FieldValues{"status": "active"})
	row(t, r, swss.StateDB, schema.StateTAMAltMark, "am2", swss.FieldValues{"status": "failed",
		"reason": "the chip has no profile left"})
	cfg, err := schema.ParseAltMarkSession("am1", map[string]string{
		"flowgroup": "tcp_port_236", "role": "initiator", "method": "double", "interval": "0", "mark": "dscp0",
		"mark2": "dscp1", "clock-error": "1000000",
	})
	if err != nil {
		t.Fatal(err)
	}
	flow := schema.AltMarkFlow{Name: "am1", Rule: schema.ACLRuleKey{Table: "TAM", Rule: "tcp_port_236"},
		Session: cfg.Session}
	ruleInForce(t, r, "tcp_port_236")
	row(t, r, swss.ApplDB, schema.AppTAMAltMark, "am1", flow.Fields())
	period := altmark.Period{Number: 1700000009, Colour: 1, Packets: 1000, Bytes: 64000, Captures: 1,
		Timestamp: altmark.Time{Seconds: 1700000009, Nanoseconds: 801},
		ReadAt:    altmark.Time{Seconds: 1700000010, Nanoseconds: 500_000_123}}
	counters := schema.AltMarkCounters{Engine: schema.AltMarkByChip, Timing: "one clock cycle, 0.8 ns", Guard: cfg.Guard(),
		Has: true, Period: period}
	row(t, r, swss.CountersDB, schema.CountersAltMark, "am1", counters.Fields())
	history := swss.FieldValues{}
	for _, p := range []altmark.Period{{Number: 1700000008, Packets: 900, Bytes: 57600,
		Flags: altmark.First | altmark.LateRead}, period} {
		f, v := schema.FormatAltMarkPeriod(p)
		history[f] = v
	}
	row(t, r, swss.CountersDB, schema.CountersAltMarkPast, "am1", history)
	sent, lost := uint64(1000), int64(-1)
	result := schema.AltMarkResult{Path: "p1", From: "s1", To: "s4", Period: 1700000009, Status: schema.AltMarkFlagged,
		Reasons: "s4: late-read; s1: first", Sent: &sent, Lost: &lost}
	row(t, r, swss.CountersDB, schema.CountersAltMarkPath, result.Key(), result.Fields())
	golden(t, "switch_alt_mark", s.do(t, "show tam alt-mark", "show tam alt-mark sessions",
		"show tam alt-mark sessions am1", "show tam alt-mark counters",
		"show tam alt-mark periods am1", "show tam alt-mark results", "show tam alt-mark results p1 | json"))
}
