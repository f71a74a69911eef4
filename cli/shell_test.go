package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// sent returns the latest Set as text, one line per operation.
func (s *session) sent() string {
	var b strings.Builder
	req := s.server.sets[len(s.server.sets)-1]
	for _, p := range req.Delete {
		fmt.Fprintf(&b, "delete %s\n", tree.PathText(p))
	}
	for op, list := range map[string][]*gpb.Update{"replace": req.Replace, "update": req.Update} {
		for _, u := range list {
			fmt.Fprintf(&b, "%s %s %s\n", op, tree.PathText(u.Path), u.Val.GetJsonIetfVal())
		}
	}
	return b.String()
}

func TestServerReasonIsShown(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	s.server.onSet = func(*gpb.SetRequest) error {
		return status.Error(codes.FailedPrecondition, "flow group tcp_port_236 is in use by tail-stamping session http_236")
	}
	s.session.Mode = kit.ModeTAM
	want := "%Error: Flow group tcp_port_236 is in use by tail-stamping session http_236"
	if got := s.fails(t, "no flow-group tcp_port_236"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestEnableThatTheSwitchRefuses(t *testing.T) {
	s := newSession(t)
	s.server.load(t,
		`{"tam":{"features-state":{"feature":[{"feature-ref":"TAILSTAMPING","state":{"op-status":"UNSUPPORTED",`+
			`"reason":"the ASIC cannot stamp"}}]}}}`)
	s.session.Mode = modeTailStamp
	if got, want := s.fails(t, "enable"), "%Error: Tail-stamping is not activated: the ASIC cannot stamp"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDetachFromTheLastInterfaceWarns(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	s.session.Mode, s.session.Interface = kit.ModeInterface, "Ethernet4"
	s.do(t, "no flow-group tcp_port_236", "interface Ethernet20", "no flow-group tcp_port_236")
	const want = "%Warning: flow group tcp_port_236 is attached to no interface now: it matches on all of them\n"
	if s.err.String() != want {
		t.Errorf("warned %q, want %q", s.err, want)
	}
}

// New flow groups get the lowest unused ids, in a script and outside.
func TestFlowGroupIDs(t *testing.T) {
	ids := func(s *session) string {
		var out []string
		for _, g := range (tree.Of(s.server.tree)).Sorted("tam", "flowgroups", "flowgroup") {
			out = append(out, g.Name()+"="+g.Text("config", "id"))
		}
		return strings.Join(out, " ")
	}
	lines := []string{"configure terminal", "tam", "flow-group b id 2", "flow-group a", "flow-group c", "no flow-group a",
		"flow-group d", "flow-group b priority 5"}
	want := "b=2 c=3 d=1"
	t.Run("one by one", func(t *testing.T) {
		s := newSession(t)
		s.do(t, lines...)
		if got := ids(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	t.Run("script", func(t *testing.T) {
		s := newSession(t)
		if err := s.ExecScript(t.Context(), "x", strings.NewReader(strings.Join(lines, "\n"))); err != nil {
			t.Fatal(err)
		}
		if got := ids(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	t.Run("somebody else is faster", func(t *testing.T) {
		s := newSession(t)
		s.session.Mode = kit.ModeTAM
		first := true
		s.server.onSet = func(*gpb.SetRequest) error {
			if !first {
				return nil
			}
			first = false
			s.server.load(t, `{"tam":{"flowgroups":{"flowgroup":[{"name":"z","config":{"name":"z","id":1}}]}}}`)
			return status.Error(codes.InvalidArgument, "id 1 is used by flow group z")
		}
		s.do(t, "flow-group a")
		if got, want := ids(s), "a=2 z=1"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// The running configuration restores the same configuration on an empty switch, and so does the running configuration
// of that switch.
func TestRunningConfigurationRoundTrip(t *testing.T) {
	first := newSession(t)
	first.server.load(t, testFile(t, "tam.json"))
	text := first.do(t, "show running-configuration")

	second := newSession(t)
	second.server.load(t,
		`{"interfaces":{"interface":[{"name":"Ethernet4","config":{"name":"Ethernet4"}},{"name":"Ethernet20",`+
			`"config":{"name":"Ethernet20"}}]}}`)
	file := filepath.Join(t.TempDir(), "running")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := second.ExecFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, second.do(t, "show running-configuration")); diff != "" {
		t.Errorf("running configuration (-first +second):\n%s", diff)
	}
	if got := second.Prompt(); got != "sonic# " {
		t.Errorf("the prompt after it is %q", got)
	}
	// On the original switch, the running configuration changes nothing.
	before := first.server.snapshot(t)
	if err := first.ExecFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	text = first.do(t, "show running-configuration")
	if diff := cmp.Diff(text, second.do(t, "show running-configuration")); diff != "" {
		t.Errorf("running configuration after its own replay (-first +second):\n%s\nbefore: %s", diff, before)
	}
}

func TestScriptStopsAtTheFirstError(t *testing.T) {
	s := newSession(t)
	file := filepath.Join(t.TempDir(), "commands")
	text := "configure terminal\n\n! comment\n  tam\n  switch-id 7\n  switch-id x\n  switch-id 8\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.ExecFile(t.Context(), file)
	want := file + ":6: %Error: \"x\" is not a number from 1 to 4294967295\n    switch-id x\n              ^"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if got, want := s.sent(), "update /openconfig-tam:tam/switch/config/switch-id 7\n"; got != want {
		t.Errorf("the last Set is %s, want %s", got, want)
	}
	if err := s.ExecFile(t.Context(), file+".absent"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("absent file: %v", err)
	}
}

// With Echo the output of a script equals that of a session at a terminal, and it continues after errors.
func TestEchoShowsASession(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	s.session.Config.Echo, s.session.Config.Err = true, s.session.Config.Out
	s.session.Config.In = strings.NewReader(
		"configure terminal\ntam\nswitch-id x\nno collector\nend\nshow tam switch | include Switch\n")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `sonic# configure terminal
sonic(config)# tam
sonic(config-tam)# switch-id x
                             ^
%Error: "x" is not a number from 1 to 4294967295
sonic(config-tam)# no collector
                                ^
%Error: Incomplete command, expected <name>
sonic(config-tam)# end
sonic# show tam switch | include Switch
Switch ID      : 2020
`
	if diff := cmp.Diff(want, s.out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRunReadsInputThatIsNoTerminal(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	s.session.Config.In = strings.NewReader("show tam switch | include Switch\nexit\nnever\n")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := s.out.String(), "Switch ID      : 2020\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.session.Finished = false
	s.session.Config.In = strings.NewReader("show tam switch | count\nnever\n")
	if err := s.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "standard input:2: ") {
		t.Errorf("error %v, want one in line 2", err)
	}
}

// fakeConsole types keys and records the output.
type fakeConsole struct {
	io.Reader
	bytes.Buffer
}

func (c *fakeConsole) Read(b []byte) (int, error) { return c.Reader.Read(b) }
func (c *fakeConsole) raw() (func(), error)       { return func() {}, nil }
func (c *fakeConsole) size() (width, height int)  { return 200, 50 }

func TestInteractiveSession(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	hist := filepath.Join(t.TempDir(), "history")
	s.session.Config.HistoryFile = hist
	con := &fakeConsole{Reader: strings.NewReader(
		"conf\t\r" + // TAB completes
			"foo\r" + // an error does not end the session
			"ta?\x15" + // ? helps; Ctrl-U erases
			"garbage\x03" + // Ctrl-C abandons the line
			"tam\r" +
			"flow-group \"a?\" src-\t\x15" + // ? inside quotes is a character, TAB lists choices
			"do show tam switch | include Ent\r" +
			"\x1b[A\r" + // cursor up recalls the line above
			"exit\rexit\rexit\rnever\r")}
	if err := s.interact(t.Context(), con); err != nil {
		t.Fatal(err)
	}
	if got, want := s.out.String(), "Enterprise ID  : 1234\nEnterprise ID  : 1234\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if got, want := s.err.String(), "               ^\n"+
		"%Error: Invalid input detected at \"^\" marker: type ? there for the words that may follow\n"; got != want {
		t.Errorf("errors %q, want %q", got, want)
	}
	for _, want := range []string{"configure ", "Telemetry and monitoring", "src-ip  src-l4-port  src-mac",
		"sonic(config-tam)# "} {
		if !strings.Contains(con.String(), want) {
			t.Errorf("the terminal does not show %q:\n%q", want, con.String())
		}
	}
	text, err := os.ReadFile(hist)
	if err != nil {
		t.Fatal(err)
	}
	want := "configure \nfoo\ntam\ndo show tam switch | include Ent\nexit\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestInteractiveSessionEndsWithItsContext(t *testing.T) {
	s := newSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	if err := s.interact(ctx, &fakeConsole{Reader: r}); err != nil {
		t.Fatal(err)
	}
}

// A name that is none, which a client of the databases has written, is not in the prompt.
func TestPromptIsNoOtherText(t *testing.T) {
	s := newSession(t)
	for name, want := range map[string]string{
		"leaf7": "leaf7# ", "leaf 7": "sonic# ", "a\u202eb": "sonic# ", "leaf#": "sonic# ", "-": "sonic# ",
		"a.b-c_d1": "a.b-c_d1# ",
	} {
		s.server.load(t, fmt.Sprintf(`{"system":{"config":{"hostname":%q}}}`, name))
		if got := s.nextPrompt(t.Context()); got != want {
			t.Errorf("%q gives the prompt %q, want %q", name, got, want)
		}
	}
}

// The prompt is the switch's name, whichever client changed it last.
func TestPromptIsTheHostname(t *testing.T) {
	s, _ := newSwitch(t)
	s.session.Config.Echo = true
	script := "configure terminal\nhostname leaf7\nexit\n"
	if err := s.ExecScript(t.Context(), "x", strings.NewReader(script)); err != nil {
		t.Fatal(err)
	}
	if got := s.nextPrompt(t.Context()); got != "leaf7# " {
		t.Errorf("the prompt is %q:\n%s", got, s.out)
	}
	if !strings.Contains(s.out.String(), "leaf7(config)# exit\n") {
		t.Errorf("the prompt does not change with the name:\n%s", s.out)
	}
}
