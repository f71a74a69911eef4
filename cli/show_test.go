package cli

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/cli/kit"
	"tamtam/cli/tam"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with testdata/NAME.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestShow(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	for name, line := range map[string]string{
		"switch":               "show tam switch",
		"summary":              "show tam summary",
		"collectors":           "show tam collectors",
		"collector":            "show tam collectors IFA_Col_i19",
		"samplers":             "show tam samplers",
		"sampler":              "show tam samplers aggresive",
		"flow_groups":          "show tam flow-groups",
		"flow_group":           "show tam flow-groups tcp_port_236",
		"features":             "show tam features",
		"feature":              "show tam features tail-stamping",
		"tail_stamping":        "show tam tail-stamping",
		"sessions":             "show tam tail-stamping sessions",
		"session":              "show tam tail-stamping sessions http_236",
		"session_pending":      "show tam tail-stamping sessions http_239",
		"interface_status":     "show interface status",
		"interface_status_one": "show interface status Eth6/1",
		"interface_counters":   "show interface counters",
		"interface_breakout":   "show interface breakout",
		"interface_descr":      "show interfaces description",
		"vlan":                 "show vlan",
		"vlan_config":          "show vlan config",
		"acl":                  "show acl",
		"running":              "show running-configuration",
		"running_tam":          "show running-configuration tam",
		"version":              "show version",
		"session_json":         "show tam tail-stamping sessions http_236 | json",
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, s.do(t, line)) })
	}
}

// What the switch does not say of itself is a dash.
func TestShowPlatformAndUptime(t *testing.T) {
	s := newSession(t)
	s.server.load(t,
		`{"system":{"state":{"hostname":"a"}},"components":{"component":[{"name":"chassis","state":{"type":"CHASSIS"}}]}}`)
	dashes := s.do(t, "show platform summary", "show uptime")
	s.server.load(t, `{"system":{"state":{"up-time":"788820000000000"}},"components":{"component":[
	 {"name":"chassis","state":{"type":"openconfig-platform-types:CHASSIS","model-name":"Sim-32",
	  "description":"x86_64-sim-r0",
	  "base-mac-address":"02:00:00:00:07:e4","software-version":"v1"}},
	 {"name":"chip","state":{"type":"openconfig-platform-types:INTEGRATED_CIRCUIT"}}]}}`)
	golden(t, "platform", dashes+s.do(t, "show platform summary", "show uptime"))
	for d, want := range map[time.Duration]string{
		0: "up 0 minutes", time.Minute: "up 1 minute", 24 * time.Hour: "up 1 day",
		15*24*time.Hour + time.Second: "up 2 weeks, 1 day",
	} {
		if got := upText(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// The seed document prints these; blanks at line ends aside they are exact.
func TestShowAsInTheDesignDocument(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	for line, want := range map[string]string{
		"show tam tail-stamping": `
Status             : Active
Switch ID          : 2020

`,
		"show tam tail-stamping sessions": `
Name           Flow Group
-----------    ----------------
http_236       tcp_port_236
http_239       tcp_port_239
`,
		"show tam tail-stamping sessions http_236": `
Session            : http_236
Flow Group Name    : tcp_port_236
   SRC IP          : 13.92.96.32
   DST IP          : 7.72.235.82
   DST L4 Port     : 236
`,
	} {
		if got := s.do(t, line); !strings.HasPrefix(got, want) {
			t.Errorf("%s printed %s\nwant it to begin with %s", line, got, want)
		}
	}
}

func TestShowFeatureThatIsRefused(t *testing.T) {
	s := newSession(t)
	s.server.load(t, `{"tam":{"switch":{"state":{"op-switch-id":5,"switch-id":6,"status":"pending",
	 "reason":"takes effect when no TAM feature is active"}},
	 "features-state":{"feature":[{"feature-ref":"TAILSTAMPING","state":{"op-status":"UNSUPPORTED",
	  "reason":"the ASIC cannot stamp"}}]}}}`)
	golden(t, "refused", s.do(t, "show tam tail-stamping", "show tam features", "show tam features tail-stamping",
		"show tam switch"))
}

func TestShowOnAnEmptySwitch(t *testing.T) {
	s := newSession(t)
	golden(t, "empty", s.do(t, "show tam switch", "show tam collectors", "show tam flow-groups", "show tam features",
		"show tam tail-stamping",
		"show tam tail-stamping sessions", "show tam summary", "show interface status", "show acl", "show vlan",
		"show running-configuration"))
	if got := s.fails(t, "show tam collectors c9"); got != "%Error: Collector c9 does not exist" {
		t.Error(got)
	}
}

// healthTree is of a switch on which somebody has deleted a row, and whose syncd is gone.
const healthTree = `{"health":{"daemons":{"daemon":[
 {"name":"tammgrd","state":{"name":"tammgrd","ready":false,"reason":"APPL_DB ACL_RULE_TABLE:TAM:web is missing",
  "since":"2026-01-15T11:59:58.5Z",
  "differences":"APPL_DB ACL_RULE_TABLE:TAM:web is missing","consistency":"drift","objects":"56","drift":"1",
   "healed":"0","last-pass":"2026-01-15T12:00:01Z"}},
 {"name":"orchagent","state":{"name":"orchagent","ready":true,"consistency":"consistent","objects":"230","drift":"3",
  "healed":"3","last-pass":"2026-01-15T12:00:02Z"}},
 {"name":"mgmtd","state":{"name":"mgmtd","ready":true}}]},
 "alarms":{"alarm":[{"id":"syncd-silent","state":{"id":"syncd-silent","resource":"syncd","severity":"CRITICAL",
  "type-id":"SILENT",
  "time-created":"1768478400000000000","text":"nothing was heard of syncd since 2026-01-15T11:59:50Z"}}]}}}`

func TestShowConsistency(t *testing.T) {
	s := newSession(t)
	s.server.load(t, healthTree)
	golden(t, "consistency", s.do(t, "show tam consistency"))
}

func TestShowAlarms(t *testing.T) {
	s := newSession(t)
	s.server.load(t, `{"health":{}}`)
	none := s.do(t, "show alarms")
	s.server.load(t, healthTree)
	golden(t, "alarms", none+s.do(t, "show alarms"))
}

// What has failed, what waits, and what no daemon applies; and a switch of which all is in force.
func TestShowNotInForce(t *testing.T) {
	s := newSession(t)
	s.server.load(t, `{"not-in-force":{}}`)
	lines := []string{"show failed", "show pending", "show unapplied"}
	none := s.do(t, lines...)
	s.server.load(t, `{"not-in-force":{"object":[
	 {"table":"PORT","key":"Ethernet12","state":{"status":"FAILED","reason":"speed 123: want 10000",
	  "since":"2026-01-15T11:59:50.25Z"}},
	 {"table":"PORT","key":"Ethernet4","state":{"status":"FAILED","reason":"lanes 9: there is no such lane",
	  "since":"2026-01-15T11:59:50Z",
	  "unapplied":["unknown: there is no field mtuu; the nearest is mtu"]}},
	 {"table":"VLAN_INTERFACE","key":"Vlan7|10.0.0.1/24","state":{"status":"PENDING","reason":"there is no VLAN Vlan7",
	  "since":"2026-01-15T12:00:00Z"}},
	 {"table":"VRF","key":"(all)","state":{"unapplied":["not-implemented: the table VRF is not implemented"]}}]}}`)
	golden(t, "notinforce", none+s.do(t, lines...))
	s.server.load(t, `{"config-rows":{"row":[
	 {"table":"VRF","key":"Vrf1","config":{"table":"VRF","key":"Vrf1"},"state":{"told":"NONE",
	  "unapplied":["not-implemented: the table VRF is not implemented"]}}]}}`)
	want := "! VRF|Vrf1: not-implemented: the table VRF is not implemented\n"
	if got := s.do(t, "show running-configuration"); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// One output that sends, one whose collector is away, one that cannot be.
func TestShowOutputs(t *testing.T) {
	s := newSession(t)
	s.server.load(t, `{"outputs":{}}`)
	none := s.do(t, "show outputs")
	s.server.load(t, `{"outputs":{"output":[
	 {"name":"otlp-grpc-192.0.2.1:4317","state":{"name":"otlp-grpc-192.0.2.1:4317","kind":"otlp","status":"failed",
	  "reason":"connection refused","since":"2026-01-15T11:59:58.5Z","sent":"7","dropped-full":"2","dropped-old":"3",
	   "waiting":"90","failures":"12"}},
	 {"name":"syslog-udp-192.0.2.2:514","state":{"name":"syslog-udp-192.0.2.2:514","kind":"syslog","status":"active",
	  "sent":"41","dropped-full":"0","waiting":"0","failures":"0"}},
	 {"name":"dial-out-all","state":{"name":"dial-out-all","kind":"dial-out","status":"invalid",
	  "since":"2026-01-15T11:59:50Z",
	  "reason":"TELEMETRY_CLIENT|Subscription_all: dst_group: want the NAME of a row DestinationGroup_NAME"}}]}}`)
	golden(t, "outputs", none+s.do(t, "show outputs"))
}

// PortChannels as SONiC's teamshow has them: by LACP and static, up, down, with members in, out and on their way.
func TestShowPortChannels(t *testing.T) {
	s := newSession(t)
	member := func(name, oper, mux, why string) string {
		lacp := ""
		if mux != "" {
			lacp = `,"mux":"` + mux + `","not-distributing-because":"` + why + `"`
		}
		return `{"interface":"` + name + `","state":{"interface":"` + name + `","oper-status":"` + oper + `"` + lacp + `}}`
	}
	lag := func(name, oper, kind, why string, members ...string) string {
		return `{"name":"` + name + `","state":{"name":"` + name + `","oper-status":"` + oper +
			`"},"aggregation":{"state":{"lag-type":"` +
			kind + `","not-up-because":"` + why + `"},"members":{"member":[` + strings.Join(members, ",") + `]}}}`
	}
	port := func(name, oper string) string {
		return `{"name":"` + name + `","state":{"name":"` + name + `","oper-status":"` + oper + `"}}`
	}
	s.server.load(t, `{"interfaces":{"interface":[`+strings.Join([]string{
		port("Ethernet0", "UP"), port("Ethernet4", "DOWN"),
		lag("PortChannel1", "UP", "LACP", "", member("Ethernet0", "UP", "DISTRIBUTING", ""),
			member("Ethernet4", "DOWN", "DETACHED", "the port is down")),
		lag("PortChannel2", "DOWN", "LACP", "1 of its members carry traffic, want 2",
			member("Ethernet8", "DOWN", "DISTRIBUTING", ""),
			member("Ethernet12", "COLLECTING", "COLLECTING", "partner 02:00:00:00:00:02 does not collect")),
		lag("PortChannel10", "UP", "STATIC", "", member("Ethernet0", "UP", "", ""), member("Ethernet4", "UP", "", ""),
			member("Ethernet16", "DOWN", "", "")),
	}, ",")+`]}}`)
	golden(t, "interface_portchannel", s.do(t, "show interfaces portchannel"))
}

func TestJSONIsTheOnlyThingOnStandardOutput(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	s.server.load(t,
		`{"routing":{"static-routes":{"route":[{"prefix":"10.0.0.0/8","config":{"prefix":"10.0.0.0/8"}}]}},`+
			`"fdb":{"state":{"aging-time":600}},"lldp":{"interfaces":{"interface":[{"name":"Ethernet0",`+
			`"neighbors":{"neighbor":[{"id":"1","state":{"id":"1"}}]}}]}}}`)
	s.server.load(t,
		`{"queues":{"queue":[{"name":"Ethernet0:0"}]},"schedulers":{"scheduler":[{"name":"s0","state":{"name":"s0"}}]},`+
			`"copp":{"groups":{"group":[{"name":"g","state":{"name":"g"}}]}},"mirror-sessions":{"mirror-session":[{"name":"m",`+
			`"state":{"name":"m"}}]}}`)
	s.server.load(t, altMarkTree)
	s.server.load(t, flyMonTree)
	s.server.load(t, recordTree(t))
	s.server.load(t,
		`{"debug-counters":{"debug-counter":[{"name":"d","state":{"name":"d"}}]},`+
			`"debug-counter-capabilities":{"capability":[{"type":"PORT_INGRESS_DROPS","state":{"type":"PORT_INGRESS_DROPS"}}]}}`)
	s.server.load(t, healthTree)
	s.server.load(t, `{"sflow":{"state":{"status":"active"}}}`)
	s.server.load(t, `{"outputs":{"output":[{"name":"o","state":{"name":"o","status":"active"}}]}}`)
	s.server.load(t,
		`{"configurations":{"configuration":[{"name":"startup","state":{"name":"startup"}},{"name":"0",`+
			`"state":{"name":"0"}}]}}`)
	s.server.load(t,
		`{"system":{"state":{"up-time":"5"}},"components":{"component":[{"name":"chip",`+
			`"state":{"type":"INTEGRATED_CIRCUIT"}}]}}`)
	for _, f := range tam.Features() {
		s.server.load(t, `{"tam":{"features-state":{"feature":[{"feature-ref":"`+f.Ref+
			`","state":{"op-status":"ACTIVE"}}]}}}`)
	}
	g := s.session.Grammar.Forms[kit.ModeExec]
	for i := range g {
		if g[i].Cmd.Show == nil || slices.ContainsFunc(g[i].Fixed, func(e kit.Element) bool {
			return e.Word == "packet-trace" || e.Word == "why" || e.Word == "drops"
		}) {
			continue // these need a chip; device has their test
		}
		var line []string
		for _, e := range g[i].Fixed {
			if e.ArgKind != nil {
				line = append(line, map[bool]string{true: "0", false: "m1"}[e.ArgKind == configurationNumber])
				continue
			}
			line = append(line, e.Word)
		}
		text := strings.Join(line, " ")
		var v map[string]any
		if err := json.Unmarshal([]byte(s.do(t, text+" | json")), &v); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if len(v) == 0 {
			t.Errorf("%s | json is empty", text)
		}
	}
	if s.err.Len() > 0 {
		t.Errorf("warnings: %s", s.err)
	}
}

func TestServerCannotSteerTheTerminal(t *testing.T) {
	s := newSession(t)
	s.server.load(t,
		`{"interfaces":{"interface":[{"name":"Ethernet0","config":{"name":"Ethernet0",`+
			`"description":"a\u001b[2J\nshutdown"}}]}}`)
	for _, line := range []string{"show interface status", "show running-configuration"} {
		got := s.do(t, line)
		if !strings.Contains(got, "a\ufffd[2J\ufffdshutdown") || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestPipes(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	for line, want := range map[string]string{
		"show tam collectors | include TCP":                "MOD_Col_m16        2001:db8::7      7076    TCP\n",
		"show tam collectors | exclude ^$|IFA|MOD | count": "Count: 2\n",
		"show tam collectors | begin ^MOD":                 "MOD_Col_m16        2001:db8::7      7076    TCP\n\n",
		"show tam switch | include Switch ID":              "Switch ID      : 2020\n",
		`show tam switch | include "Switch ID" | count`:    "Count: 1\n",
		"show tam switch|count":                            "",
		"show tam switch |count":                           "Count: 4\n",
		"show tam switch | json | include op-switch":       "      \"op-switch-id\": 2020,\n",
	} {
		if want == "" {
			s.fails(t, line)
			continue
		}
		if got := s.do(t, line); got != want {
			t.Errorf("%s:\n%q, want\n%q", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"show tam switch |":              "a filter is missing",
		"show tam switch | include (":    "missing closing )",
		"show tam switch | include":      "expected <expression>",
		"show tam switch | sort":         "invalid input",
		"show tam switch | count | json": "json comes first",
		"configure terminal | json":      "only the output of show commands",
		"| json":                         "a command is missing",
	} {
		if got := s.fails(t, line); !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%s: %s\nwant %q", line, got, want)
		}
	}
}
