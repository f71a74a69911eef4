package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"tamtam/cli/kit"
	"tamtam/cli/tam"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testFile returns the content of testdata/NAME.
func testFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

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

func TestUpText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "up 0 minutes", time.Minute: "up 1 minute", 24 * time.Hour: "up 1 day",
		15*24*time.Hour + time.Second: "up 2 weeks, 1 day",
	} {
		if got := upText(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// The output equals that in the seed design document, except for blanks at line ends.
func TestShowAsInTheDesignDocument(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
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

// The output of each show command as JSON has the facts and the rows of its text, and no others.
func TestJSONHasWhatIsShown(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	s.server.load(t,
		`{"routing":{"static-routes":{"route":[{"prefix":"10.0.0.0/8","config":{"prefix":"10.0.0.0/8"}}]}},`+
			`"fdb":{"state":{"aging-time":600}},"lldp":{"interfaces":{"interface":[{"name":"Ethernet0",`+
			`"neighbors":{"neighbor":[{"id":"1","state":{"id":"1"}}]}}]}}}`)
	s.server.load(t,
		`{"queues":{"queue":[{"name":"Ethernet0:0"}]},"priority-groups":{"priority-group":[{"name":"Ethernet0:3"}]},`+
			`"buffer-pools":{"buffer-pool":[{"name":"in"}]},"flow-control":{"ports":{"port":[{"name":"Ethernet0"}]}},`+
			`"schedulers":{"scheduler":[{"name":"s0","state":{"name":"s0"}}]},`+
			`"copp":{"groups":{"group":[{"name":"g","state":{"name":"g"}}]}},"mirror-sessions":{"mirror-session":[{"name":"m",`+
			`"state":{"name":"m"}}]}}`)
	for _, name := range []string{"altmark", "flymon", "tablerecord", "health"} {
		s.server.load(t, testFile(t, name+".json"))
	}
	s.server.load(t,
		`{"debug-counters":{"debug-counter":[{"name":"d","state":{"name":"d"}}]},`+
			`"debug-counter-capabilities":{"capability":[{"type":"PORT_INGRESS_DROPS","state":{"type":"PORT_INGRESS_DROPS"}}]}}`)
	s.server.load(t, `{"high-frequency-telemetry":{"groups":{"group":[{"profile":"p","type":"PORT",`+
		`"state":{"profile":"p","type":"PORT"}}]}}}`)
	s.server.load(t, `{"switch-hash":{"state":{"ecmp-field":["SRC_IP"]},"capabilities":{"state":{"field":["SRC_IP"]}}},`+
		`"tunnels":{"tunnel":[{"name":"t","state":{"name":"t","type":"IPINIP"}}]}}`)
	s.server.load(t, `{"switch-trimming":{"state":{"size":128,"counters":{"out-trim-pkts":"1"}},`+
		`"capabilities":{"state":{"capable":true}}}}`)
	s.server.load(t, `{"sflow":{"state":{"status":"active"}}}`)
	s.server.load(t, `{"outputs":{"output":[{"name":"o","state":{"name":"o","status":"active"}}]}}`)
	s.server.load(t,
		`{"configurations":{"configuration":[{"name":"startup","state":{"name":"startup"}},{"name":"0",`+
			`"state":{"name":"0"}}]}}`)
	s.server.load(t,
		`{"system":{"state":{"up-time":"5","current-datetime":"2026-03-01T12:00:00Z"}},`+
			`"components":{"component":[{"name":"chip",`+
			`"state":{"type":"INTEGRATED_CIRCUIT"}}]}}`)
	for _, f := range tam.Features() {
		s.server.load(t, `{"tam":{"features-state":{"feature":[{"feature-ref":"`+f.Ref+
			`","state":{"op-status":"ACTIVE"}}]}}}`)
	}
	s.server.load(t,
		`{"routing":{"routes":{"route":[{"prefix":"10.7.0.0/16","state":{"prefix":"10.7.0.0/16",`+
			`"next-hop":["10.0.0.7@Ethernet4"]}},{"prefix":"2001:db8:7::/48","state":{"prefix":"2001:db8:7::/48",`+
			`"next-hop":["2001:db8::7@Ethernet4"]}}]},`+
			`"static-routes":{"route":[{"prefix":"10.0.0.0/8","config":{"prefix":"10.0.0.0/8","next-hop":["10.0.0.3"]}}]},`+
			`"vrfs":{"vrf":[{"name":"Vrf1","config":{"name":"Vrf1"},"state":{"status":"active"}}]},`+
			`"interfaces":{"interface":[{"name":"Ethernet12","config":{"vrf":"Vrf1"}},`+
			`{"name":"Ethernet8.10","config":{"vlan":10},"state":{"status":"active"}},`+
			`{"name":"Ethernet4","addresses":{"address":[{"prefix":"10.0.0.1/24",`+
			`"state":{"status":"active"}}]}},{"name":"Ethernet8","addresses":{"address":[{"prefix":"2001:db8::1/64",`+
			`"state":{"status":"active"}}]}}]},`+
			`"neighbors":{"neighbor":[{"interface":"Ethernet4","address":"10.0.0.9","config":{"mac-address":`+
			`"02:00:00:00:00:09"},"state":{"status":"active"}},{"interface":"Ethernet8","address":"2001:db8::9",`+
			`"config":{"mac-address":"02:00:00:00:00:19"},"state":{"status":"active"}}]},`+
			`"host-neighbors":{"neighbor":[{"interface":"Ethernet4","address":"10.0.0.8","state":{"mac-address":`+
			`"02:00:00:00:00:08","neighbor-state":"REACHABLE"}}]}},`+
			`"debug-counters":{"debug-counter":[{"name":"m1","state":{"name":"m1","type":"PORT_INGRESS_DROPS"}}]},`+
			`"microbursts":{"queues":{"queue":[{"interface":"Ethernet4","queue":0,"state":{"interface":"Ethernet4",`+
			`"queue":0,"threshold":1600,"status":"active"}}]}},`+
			`"sflow":{"interfaces":{"interface":[{"name":"Ethernet8","state":{"name":"Ethernet8","sample-rate":512}}]},`+
			`"collectors":{"collector":[{"name":"sflow1","config":{"name":"sflow1","collector-ip":"10.9.9.9"}}]}}}`)
	empty := newSession(t)
	g := s.session.Grammar.Forms[kit.ModeExec]
	for i := range g {
		if g[i].Cmd.Show == nil || slices.ContainsFunc(g[i].Fixed, func(e kit.Element) bool {
			return e.Word == "packet-trace" || e.Word == "why" || e.Word == "drops"
		}) {
			continue // the output needs a chip; package device has the test
		}
		var line []string
		for _, e := range g[i].Fixed {
			switch {
			case e.ArgKind == nil:
				line = append(line, e.Word)
			case e.ArgKind == configurationNumber:
				line = append(line, "0")
			case slices.Equal(line, []string{"show", "interface"}):
				line = append(line, "Ethernet4")
			default:
				line = append(line, "m1")
			}
		}
		text := strings.Join(line, " ")
		if text == "show history" {
			continue // only a terminal has a history
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(s.do(t, text+" | json")), &v); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if len(v) == 0 {
			t.Errorf("%s | json is empty", text)
		}
		shown := s.do(t, text)
		if text != "show tam summary" && g[i].Fixed[1].Word != "running-configuration" { // they count, and translate
			rowsAreShown(t, text, shown, "", v)
		}
		// Words that the command has without any data are headings.
		_ = empty.Exec(t.Context(), text)
		headings := wordsOf(empty.out.String())
		empty.out.Reset()
		facts, _ := json.Marshal(v)
		for word := range wordsOf(shown) {
			if !headings[word] && !strings.Contains(plainFacts(string(facts)), word) && !derived[word] {
				t.Errorf("%s shows %q, which its JSON does not have", text, word)
			}
		}
	}
	if s.err.Len() > 0 {
		t.Errorf("warnings: %s", s.err)
	}
}

// plainFacts returns a text in which different spellings of a word are equal.
func plainFacts(text string) string {
	return strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(text))
}

// wordsOf returns the words of a text with a digit: names, numbers, addresses and times.
func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(plainFacts(text), func(r rune) bool {
		return !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == ':' || r == '/')
	}) {
		if w = strings.Trim(w, ".:/"); strings.ContainsFunc(w, unicode.IsDigit) {
			words[w] = true
		}
	}
	return words
}

// rowsAreShown checks that the text of a command contains the key of each entry of each list below v.
func rowsAreShown(t *testing.T, command, shown, list string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			entry, isEntry := e.(map[string]any)
			for _, key := range []string{listKeys[bareName(list)], "name", "address", "prefix"} {
				if composed[bareName(list)] {
					break
				}
				name, found := bare(entry).(map[string]any)[key]
				if isEntry && found && key != "id" { // the id of a neighbour is LLDP's own
					if !strings.Contains(plainFacts(shown), plainFacts(fmt.Sprint(name))) {
						t.Errorf("%s does not show %s %v, which its JSON has", command, list, name)
					}
					break
				}
			}
			rowsAreShown(t, command, shown, "", e)
		}
	case map[string]any:
		for name, below := range v {
			rowsAreShown(t, command, shown, name, below)
		}
	}
}

// composed holds the lists whose keys are shown in parts or in other words: an alarm's as resource and kind, a queue's
// as port and number, a route's network, a feature by its keyword. The chip of a platform is counted.
var composed = map[string]bool{"alarm": true, "queue": true, "priority-group": true,
	"feature": true, "component": true, "address": true}

// derived holds the words that commands compute from their data: numbers in other units, with fewer digits or in
// hexadecimal, times of day, the network of an address, and names that SONiC composes of a word and a number.
var derived = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields("0x12345678 0x86dd 3.1235 61.8 72.0 86.5 2.5 0.10 1/8 100ms 1s 20ns 5.12µs 2023 11 " +
		"14t22:13:29.000000801z 15t12:00:00z 15t11:59:58z 25g 1x100g vlan10 6343 l4 m1 0 1 10.0.0.0/24 2001:db8::/64 " +
		"00:11:22:00:00:00/ff:ff:ff:00:00:00 uc0 pg0 pg1 pg2 pg3") {
		words[w] = true
	}
	return words
}()
