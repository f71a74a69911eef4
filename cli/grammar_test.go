package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/cli/kit"
)

// Modes of features.
const (
	modeTailStamp   kit.Mode = "tail-stamping"
	modeAltMark     kit.Mode = "alt-mark"
	modeFlyMon      kit.Mode = "flymon"
	modeTableRecord kit.Mode = "table-record"
)

// at brings the session into a mode.
func (s *session) at(t *testing.T, m kit.Mode) {
	t.Helper()
	if m == kit.ModeInterface {
		s.server.load(t, `{"interfaces":{"interface":[{"name":"Ethernet0","config":{"name":"Ethernet0"}}]}}`)
		s.do(t, "end", "configure terminal", "interface Ethernet0")
		return
	}
	s.do(t, "end")
	s.session.Mode = m
}

func TestModesAndPrompts(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	for _, step := range []struct{ line, prompt string }{
		{"", "sonic# "},
		{"configure terminal", "sonic(config)# "},
		{"tam", "sonic(config-tam)# "},
		{"tail-stamping", "sonic(config-tam-ts)# "},
		{"exit", "sonic(config-tam)# "},
		{"do show tam switch", "sonic(config-tam)# "},
		{"show tam switch", "sonic(config-tam)# "},
		{"tail-stamping", "sonic(config-tam-ts)# "},
		{"no session http_239", "sonic(config-tam-ts)# "},
		{"no flow-group tcp_port_239", "sonic(config-tam)# "}, // a command of the parent mode
		{"alt-mark", "sonic(config-tam-am)# "},
		{"flymon", "sonic(config-tam-fm)# "},
		{"tail-stamping", "sonic(config-tam-ts)# "},
		{"interface Ethernet4", "sonic(conf-if-Ethernet4)# "},
		{"interface Eth6/1", "sonic(conf-if-Ethernet20)# "}, // an alias
		{"interface ethernet 4", "sonic(conf-if-Ethernet4)# "},
		{"interface PortChannel 7", "sonic(conf-if-PortChannel7)# "},
		{"interface Vlan 10", "sonic(conf-if-Vlan10)# "},
		{"! a comment", "sonic(conf-if-Vlan10)# "},
		{"# another", "sonic(conf-if-Vlan10)# "},
		{"exit", "sonic(config)# "},
		{"tam", "sonic(config-tam)# "},
		{"end", "sonic# "},
		{"conf", "sonic(config)# "},
		{"configure terminal", "sonic(config)# "},
		{"exit", "sonic# "},
	} {
		s.do(t, step.line)
		if got := s.Prompt(); got != step.prompt {
			t.Errorf("after %q the prompt is %q, want %q", step.line, got, step.prompt)
		}
	}
	if s.session.Finished {
		t.Error("finished before exit in exec mode")
	}
	if s.do(t, "exit"); !s.session.Finished {
		t.Error("not finished by exit in exec mode")
	}
}

func TestAbbreviations(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	for short, full := range map[string]string{
		"sh tam sw":              "show tam switch",
		"sho ta col IFA_Col_i19": "show tam collectors IFA_Col_i19",
		"sh tam feat tail":       "show tam features tail-stamping",
		"sh ta tai":              "show tam tail-stamping",
		"sh run tam":             "show running-configuration tam",
		"SHOW TAM SWITCH | j":    "show tam switch | json",
	} {
		if diff := cmp.Diff(s.do(t, full), s.do(t, short)); diff != "" {
			t.Errorf("%q is not %q:\n%s", short, full, diff)
		}
	}
}

func TestErrorsMarkThePlace(t *testing.T) {
	s := newSession(t)
	for _, tt := range []struct {
		mode kit.Mode
		line string
		want string
	}{
		{kit.ModeExec, "show tam foo", "%Error: Invalid input detected at \"^\" marker\n  show tam foo\n           ^"},
		{kit.ModeExec, "shw", "%Error: Invalid input detected at \"^\" marker\n  shw\n  ^"},
		{kit.ModeExec, "show tam s",
			"%Error: Ambiguous command, could be: switch, summary, samplers\n  show tam s\n           ^"},
		{kit.ModeExec, "show tam",
			"%Error: Incomplete command, expected switch | summary | collectors | samplers | flow-groups | features | " +
				"tail-stamping | alt-mark | ...\n  show tam \n           ^"},
		{kit.ModeExec, "show tam switch now",
			"%Error: Invalid input detected at \"^\" marker\n  show tam switch now\n                  ^"},
		{kit.ModeExec, `show tam collectors "c1`,
			"%Error: The closing quote is missing\n  show tam collectors \"c1\n                      ^"},
		{kit.ModeTAM, "e", "%Error: Ambiguous command, could be: exit, end, enterprise-id\n  e\n  ^"},
		{kit.ModeTAM, "switch-id 0", "%Error: \"0\" is not a number from 1 to 4294967295\n  switch-id 0\n            ^"},
		{kit.ModeTAM, "switch-id", "%Error: Incomplete command, expected <1-4294967295>\n  switch-id \n            ^"},
		{kit.ModeTAM, "collector c ip 1.2.3 port 1",
			"%Error: \"1.2.3\" is not an IPv4 or IPv6 address\n  collector c ip 1.2.3 port 1\n                 ^"},
		{kit.ModeTAM, "collector c ip 1.2.3.4 port 65536",
			"%Error: \"65536\" is not a number from 1 to 65535\n  collector c ip 1.2.3.4 port 65536\n                         " +
				"     ^"},
		{kit.ModeTAM, "collector c ip 1.2.3.4 port 1 protocol SCTP",
			"%Error: \"SCTP\" is not one of: UDP, TCP\n  collector c ip 1.2.3.4 port 1 protocol SCTP\n                        " +
				"                 ^"},
		{kit.ModeTAM, "flow-group g src-ip 10.0.0.1/8",
			"%Error: 10.0.0.1/8 has bits set behind the prefix: want 10.0.0.0/8\n  flow-group g src-ip 10.0.0.1/8\n           " +
				"           ^"},
		{kit.ModeTAM, "flow-group g src-ip 1.1.1.1 src-ip 2.2.2.2",
			"%Error: Invalid input detected at \"^\" marker\n  flow-group g src-ip 1.1.1.1 src-ip 2.2.2.2\n                   " +
				"           ^"},
		{kit.ModeTAM, "flow-group a|b",
			"%Error: A name holds visible ASCII characters without \"|\", not '|'\n  flow-group a|b\n             ^"},
		{kit.ModeTAM, "flow-group g dst-l4-port 9-8",
			"%Error: \"9-8\" is not a port or a range of ports such as 80 or 8000-8100\n  flow-group g dst-l4-port 9-8\n      " +
				"                     ^"},
		{kit.ModeTAM, "flow-group g tcp-flags syn,foo",
			"%Error: TCP flags are names with commas, each once: fin,syn,rst,psh,ack,urg\n  flow-group g tcp-flags syn,foo\n  " +
				"                       ^"},
		{kit.ModeConfig, "interface breakout port Ethernet0 mode 3x25G",
			"%Error: \"3x25G\" is not a breakout mode such as 1x100G, 2x50G or 4x25G\n  interface breakout port Ethernet0 " +
				"mode 3x25G\n                                         ^"},
		{kit.ModeInterface, "mtu 67", "%Error: \"67\" is not a number from 68 to 9216\n  mtu 67\n      ^"},
		{kit.ModeExec, "show\x00tam", "%Error: The line holds control characters or is not UTF-8"},
	} {
		s.at(t, tt.mode)
		if diff := cmp.Diff(tt.want, s.fails(t, tt.line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}
}

func TestHelp(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	for _, tt := range []struct {
		mode   kit.Mode
		before string
		want   string
	}{
		{kit.ModeExec, "", `  clear      Have counters count from zero again
  commit     Keep what is configured as one to come back to
  configure  Change the configuration
  copy       Put one configuration in the place of another
  end        Back to exec mode
  exit       Leave this mode; in exec mode, the shell
  rollback   Go back to an earlier configuration
  show       Show what is
  write      Save
`},
		{kit.ModeExec, "show tam s", `  samplers  One packet in how many
  summary   All of it on one page
  switch    Attributes of the switch that are in use
`},
		{kit.ModeExec, "show tam collectors ", `  watch   Show it again and again, until Ctrl-C
  <name>  Only this one
      IFA_Col_i19
      MOD_Col_m16
  <cr>
  |       Filter the output
`},
		{kit.ModeExec, "show tam switch | ", `  begin    From the first line that matches
  count    The number of lines that are not blank
  exclude  Only lines that do not match
  include  Only lines that match
  json     As one JSON document (RFC 7951); first in the pipe
  no-more  All at once, not a screen at a time
  yaml     As one YAML document; first in the pipe
`},
		{kit.ModeTAM, "collector c ip 1.1.1.1 port 9 ", `  protocol  Transport of the reports
  <cr>
`},
		{kit.ModeTAM, "collector c ip 1.1.1.1 port 9 protocol ", `  UDP  Default
  TCP
`},
		{kit.ModeTAM, "flow-group g src-ip 1.1.1.1 dst-ip ", `  <A.B.C.D[/len] | A:B::C[/len]>  Destination address or prefix
`},
		{modeTailStamp, "", `  do       Run a command of the exec mode
  enable   Activate the feature
  end      Back to exec mode
  exit     Leave this mode; in exec mode, the shell
  no       Remove or reset
  session  A flow group that is stamped
`},
		{modeTailStamp, "session x flowgroup tcp_port_23", `  <name>  Name of the flow group
      tcp_port_236
      tcp_port_239
`},
		{modeTailStamp, "no ", `  enable   Deactivate the feature
  session  A flow group that is stamped
`},
		{kit.ModeExec, "foo ", "%Error: no command continues \"foo\" here\n"},
	} {
		s.session.Mode = tt.mode
		var out bytes.Buffer
		s.help(t.Context(), &out, tt.before)
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.before, diff)
		}
	}
}

// A flow group's options are each offered until they are used.
func TestHelpForgetsUsedOptions(t *testing.T) {
	s := newSession(t)
	s.session.Mode = kit.ModeTAM
	var out bytes.Buffer
	s.help(t.Context(), &out, "flow-group g dst-ip 1.1.1.1 src-mac 00:11:22:33:44:55 ")
	for word, want := range map[string]bool{"dst-ip": false, "src-mac": false, "src-ip": true, "priority": true,
		"tcp-flags": true, "<cr>": true} {
		if got := strings.Contains(out.String(), "  "+word+" ") || strings.Contains(out.String(),
			"  "+word+"\n"); got != want {
			t.Errorf("offers %s: %v, want %v", word, got, want)
		}
	}
}

func TestCompletion(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	s.server.load(t, `{"tam":{"collectors":{"collector":[{"name":"odd?name","config":{"name":"odd?name"}}]}}}`)
	for _, tt := range []struct {
		mode    kit.Mode
		before  string
		want    string
		choices string
	}{
		{kit.ModeExec, "sh", "show ", ""},
		{kit.ModeExec, "show tam tai", "show tam tail-stamping ", ""},
		{kit.ModeExec, "show tam s", "show tam s", "samplers summary switch"},
		{kit.ModeExec, "show tam collectors I", "show tam collectors IFA_Col_i19 ", ""},
		{kit.ModeExec, "show tam collectors o", `show tam collectors "odd?name" `, ""},
		{kit.ModeExec, "show tam flow-groups t", "show tam flow-groups tcp_port_23", ""},
		{kit.ModeExec, "show tam flow-groups tcp_port_23", "show tam flow-groups tcp_port_23", "tcp_port_236 tcp_port_239"},
		{kit.ModeExec, "show tam switch | inc", "show tam switch | include ", ""},
		{kit.ModeExec, "show tam switch |inc", "show tam switch |include ", ""},
		{kit.ModeExec, "show foo b", "show foo b", ""},
		{modeTailStamp, "no session http_236", "no session http_236 ", ""},
		{kit.ModeConfig, "interface Ethernet2", "interface Ethernet20 ", ""},
		{kit.ModeConfig, "interface P", "interface PortChannel", ""},
		{kit.ModeTAM, "sho", "show ", ""},
		{kit.ModeTAM, "collector c ip 1.1.1.1 port 1 protocol t", "collector c ip 1.1.1.1 port 1 protocol TCP ", ""},
	} {
		s.session.Mode = tt.mode
		got, choices := s.completion(t.Context(), tt.before)
		if got != tt.want || strings.Join(choices, " ") != tt.choices {
			t.Errorf("%q: %q with choices %q, want %q with %q", tt.before, got, choices, tt.want, tt.choices)
		}
	}
}

// The table itself: every keyword and parameter explains itself, and every
// command has an action.
func TestCommandTable(t *testing.T) {
	for m, forms := range kit.Compile(commandTable(submodes()), submodes()).Forms {
		for _, p := range forms {
			if m != kit.ModePipe && (p.Cmd.Do == nil) == (p.Cmd.Show == nil) {
				t.Errorf("mode %q: %v has not exactly one action", m, p.Fixed)
			}
			elements := p.Fixed
			for _, o := range p.Options {
				elements = append(elements, o...)
			}
			for _, e := range elements {
				if e.Help == "" {
					t.Errorf("mode %q: %q%s has no help", m, e.Word, e.Name)
				}
			}
		}
	}
}

func TestQuoteRoundTrip(t *testing.T) {
	for _, s := range []string{"plain", "two words", `quo"te`, `back\slash`, "why?", "", "a|b", "!x", "#x", `\"`} {
		got := kit.Split(kit.Quote(s))
		if len(got) != 1 || got[0].Text != s || got[0].Open {
			t.Errorf("%q is written %s and read back as %+v", s, kit.Quote(s), got)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"show tam switch | include x", `flow-group "a b" src-ip 1.1.1.1`, "no session x", `"`, `\`, "| |", "a|b",
		"do do show", "\t ? ", "é \xff",
		"flow-group g src-mac 1/2 dst-mac x/y", "interface breakout port x mode 4x25G",
		"collector c ip ::ffff:1.2.3.4 port 0x10",
		"session r flow-group f collector c phv 16+8 truncate 0x40 must-record a,b", "show tam table-record \"plan\"", "16+",
		",", "0",
		"config tam collector add \"a\" ip 1.1.1.1 port 1", "config vlan member add -u 10 Ethernet0",
		"config interface mtu {n} {i}",
		"config route add prefix 10.0.0.0/8 nexthop 10.0.0.1,10.0.0.2 dev Ethernet0",
		"config mirror_session span add \"a b\" Ethernet0 x rx 3",
		"row T k a=b \"c=d e\"", "qos dscp-to-tc-map m 8:1", "show version watch 1s",
	} {
		f.Add(line)
	}
	g, theirs := kit.Compile(commandTable(submodes()), submodes()), clicks()
	kinds := []*kit.Kind{kit.IPAddress, kit.IPPrefix, kit.MACMatch, kit.PortMatch, kit.EtherType, kit.IPProtocol,
		kit.TCPFlags, kit.BreakoutMode}
	for _, o := range allObjects() {
		for _, l := range o.Leaves {
			if l.Kind != nil {
				kinds = append(kinds, l.Kind)
			}
		}
	}
	s := &Shell{session: &kit.Session{Grammar: g, Config: kit.Config{Hostname: "sonic"}, Client: &kit.Client{}}}
	f.Fuzz(func(t *testing.T, line string) {
		tokens := kit.Split(line)
		for _, tok := range tokens {
			if tok.Col < 0 || tok.End > len(line) || tok.Col >= tok.End {
				t.Fatalf("token %+v is not in %q", tok, line)
			}
		}
		parts, _ := kit.Stages(tokens)
		for _, m := range anywhere(submodes()) {
			_, _, err := g.Parse(m, line, parts[0])
			if err != nil && err.Error() == "" {
				t.Fatal("empty error")
			}
		}
		lines, err := translated(parts[0], theirs)
		if err != nil && err.Error() == "" {
			t.Fatal("empty error")
		}
		for _, ours := range lines {
			if again := kit.Split(ours); utf8Line(line) && len(again) > 0 && again[len(again)-1].Open {
				t.Fatalf("%q is translated to %q, whose last quote is open", line, ours)
			}
		}
		if _, err := kit.ParsePipes(s.session, line, parts[1:]); err != nil && err.Error() == "" {
			t.Fatal("empty error")
		}
		for _, k := range kinds {
			if v, err := k.Read(line); err == nil {
				if again, err := k.Read(v); err != nil || again != v {
					t.Fatalf("%s: %q is read as %q, and that as %q, %v", k.Label, line, v, again, err)
				}
			}
		}
		if utf8Line(line) {
			if got := kit.Split(kit.Quote(line)); len(got) != 1 || got[0].Text != line {
				t.Fatalf("%q is quoted as %s", line, kit.Quote(line))
			}
		}
	})
}

func utf8Line(s string) bool { return strings.ToValidUTF8(s, "") == s }
