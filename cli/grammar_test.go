package cli

import (
	"fmt"
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

func TestModesAndPrompts(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
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
	s.server.load(t, testFile(t, "tam.json"))
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

// In the table itself, every keyword and parameter has help, and every command has an action.
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

func TestControlCharactersAreRefused(t *testing.T) {
	const want = "%Error: The line holds control characters or is not UTF-8"
	if got := newSession(t).fails(t, "show\x00tam"); got != want {
		t.Errorf("%s, want %s", got, want)
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
	s := &Shell{session: &kit.Session{Grammar: g, Client: &kit.Client{}}}
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

// Text goes to the end of the line, with all that has a meaning elsewhere. Quotes around all of it are left out.
func TestTextToTheEndOfTheLine(t *testing.T) {
	s, _ := newSwitch(t)
	for typed, want := range map[string]string{
		"to spine 1": "to spine 1", `"to spine 1"`: "to spine 1", "uplink": "uplink",
		`rack 3 | 19" rail`: `rack 3 | 19" rail`, "a  b   ": "a  b", `"a" and "b"`: `"a" and "b"`,
	} {
		s.session.Mode, s.session.Interface = kit.ModeInterface, "Ethernet0"
		s.do(t, "description "+typed)
		got := s.do(t, "do show interface Ethernet0 | include Description")
		if got != "Description    : "+want+"\n" {
			t.Errorf("description %s: %q, want %q", typed, got, want)
		}
		running := s.do(t, "do show running-configuration | include description")
		s.session.Mode = kit.ModeInterface
		s.do(t, strings.TrimSpace(running))
		if again := s.do(t, "do show interface Ethernet0 | include Description"); again != got {
			t.Errorf("the running configuration makes %q of %q", again, got)
		}
	}
}

// A question mark at the end of a line of a script is an error that names the line. Where free text is expected, it is
// a part of the text.
func TestQuestionMarksInScripts(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	for _, line := range []string{"show tam switch ?", "show tam switch?", "show ?", "?",
		"configure\ntam\nsampler web? rate 1",
		"configure\ntam\nno flow-group tcp_port_236?"} {
		s.session.Mode = kit.ModeExec
		err := s.ExecScript(t.Context(), "script", strings.NewReader("\n"+line+"\n"))
		want := fmt.Sprintf("script:%d: %%Error: \"?\" asks for help", 2+strings.Count(line, "\n"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
	if len(s.server.sets) > 0 {
		t.Errorf("sent %s", s.sent())
	}
	s.session.Mode = kit.ModeInterface
	s.session.Interface = "Ethernet4"
	for line, want := range map[string]string{
		"description why?": `"why?"`, "description is it up?": `"is it up?"`, "description ?": `"?"`,
	} {
		s.server.sets = nil
		if s.do(t, line); !strings.Contains(s.sent(), want) {
			t.Errorf("%s sends %s, want %s", line, s.sent(), want)
		}
	}
	if got := s.do(t, "do show tam switch | include Enterprises?"); !strings.Contains(got, "Enterprise ID") {
		t.Errorf("an expression with a question mark: %q", got)
	}
}

// A keyword may be written with other dashes than its own. Completion and output have its own spelling.
func TestOtherSpellings(t *testing.T) {
	answer := func(mode kit.Mode, line string) string {
		s := newSession(t)
		s.server.load(t, testFile(t, "tam.json"))
		s.session.Mode = mode
		if out := s.do(t, line); len(s.server.sets) == 0 {
			return out
		}
		return s.sent()
	}
	for _, m := range []struct {
		mode       kit.Mode
		typed, own string
	}{
		{kit.ModeTAM, "flowgroup g1 dst-ip 1.1.1.1", "flow-group g1 dst-ip 1.1.1.1"},
		{modeTailStamp, "session x1 flow-group tcp_port_236", "session x1 flowgroup tcp_port_236"},
		{kit.ModeExec, "show tam flowgroups", "show tam flow-groups"},
		{kit.ModeExec, "show tam tailstamping", "show tam tail-stamping"},
	} {
		if typed, own := answer(m.mode, m.typed), answer(m.mode, m.own); typed != own || own == "" {
			t.Errorf("%s: %s, want that of %s: %s", m.typed, typed, m.own, own)
		}
	}
}

// Help lists each word once, at every place of every command.
func TestHelpListsEachWordOnce(t *testing.T) {
	s := newSession(t)
	for mode, forms := range s.session.Grammar.Forms {
		seen := map[string]bool{}
		for _, form := range forms {
			var before []kit.Token
			for _, e := range form.Fixed {
				if e.ArgKind != nil {
					break
				}
				before = append(before, kit.Token{Text: e.Word})
				line := fmt.Sprint(before)
				if seen[line] {
					continue
				}
				seen[line] = true
				words := map[string]bool{}
				for _, c := range s.candidatesIn(t.Context(), mode, before, kit.Token{}) {
					if c.text != "" && words[c.text] {
						t.Errorf("mode %q: %v ? lists %s twice", mode, line, c.text)
					}
					words[c.text] = true
				}
			}
		}
	}
}
