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

// sent is the latest Set as text: one line for each operation.
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

func TestConfigurationCommands(t *testing.T) {
	const group = "/openconfig-tam:tam/flowgroups/flowgroup[name=tcp_port_236]"
	for _, tt := range []struct {
		mode kit.Mode
		line string
		want string
	}{
		{kit.ModeTAM, "switch-id 2020", "update /openconfig-tam:tam/switch/config/switch-id 2020\n"},
		{kit.ModeTAM, "no switch-id", "delete /openconfig-tam:tam/switch/config/switch-id\n"},
		{kit.ModeTAM, "no enterprise-id 7", "delete /openconfig-tam:tam/switch/config/enterprise-id\n"},
		{kit.ModeTAM, "collector c1 ip 2001:DB8::0:1 port 9", `update /openconfig-tam:tam/collectors/collector[name=c1] ` +
			`{"openconfig-tam:config":{"ip":"2001:db8::1","name":"c1","port":9,"protocol":"UDP"},"openconfig-tam:name":"c1"}` +
			"\n"},
		{kit.ModeTAM, "no collector MOD_Col_m16", "delete /openconfig-tam:tam/collectors/collector[name=MOD_Col_m16]\n"},
		{kit.ModeTAM, "sampler s1 rate 100", `update /openconfig-tam:tam/samplers/sampler[name=s1] ` +
			`{"openconfig-tam:config":{"name":"s1","sampling-rate":100},"openconfig-tam:name":"s1"}` + "\n"},
		{kit.ModeTAM, "flow-group new protocol tcp dst-l4-port 80-90 src-ip 10.0.0.0/8 tcp-flags ack,syn ethertype ipv4",
			`update /openconfig-tam:tam/flowgroups/flowgroup[name=new] ` +
				`{"openconfig-tam:config":{"id":1,"name":"new"},"openconfig-tam:ipv4":{"config":{"protocol":6,` +
				`"source-address":"10.0.0.0/8"}},` +
				`"openconfig-tam:l2":{"config":{"ethertype":2048}},"openconfig-tam:name":"new",` +
				`"openconfig-tam:transport":{"config":{"destination-port":"80..90","tcp-flags":["TCP_SYN","TCP_ACK"]}}}` + "\n"},
		{kit.ModeTAM, "flow-group tcp_port_239 dscp 1 src-mac 00:AA:BB:CC:DD:EE",
			`update /openconfig-tam:tam/flowgroups/flowgroup[name=tcp_port_239] ` +
				`{"openconfig-tam:config":{"name":"tcp_port_239"},"openconfig-tam:ipv6":{"config":{"dscp":1}},` +
				`"openconfig-tam:l2":{"config":{"source-mac":"00:aa:bb:cc:dd:ee","source-mac-mask":"ff:ff:ff:ff:ff:ff"}},` +
				`"openconfig-tam:name":"tcp_port_239"}` + "\n"},
		{kit.ModeTAM, "no flow-group tcp_port_236", "delete " + group + "\n"},
		{kit.ModeTAM, "no flow-group tcp_port_236 src-ip dst-l4-port", "delete " + group + "/ipv4/config/source-address\n" +
			"delete " + group + "/ipv6/config/source-address\ndelete " + group + "/transport/config/destination-port\n"},
		{modeTailStamp, "session s flowgroup g",
			`replace /openconfig-tam:tam/tailstamping-sessions/tailstamping-session[name=s] ` +
				`{"openconfig-tam:config":{"flowgroup":"g","name":"s"},"openconfig-tam:name":"s"}` + "\n"},
		{modeTailStamp, "session s flowgroup g clamp-mss 2",
			`replace /openconfig-tam:tam/tailstamping-sessions/tailstamping-session[name=s] ` +
				`{"openconfig-tam:config":{"flowgroup":"g","name":"s","tamtam-tailstamp:clamp-mss":2},"openconfig-tam:name":"s"}` +
				"\n"},
		{modeTailStamp, "enable", `update /openconfig-tam:tam/features/feature[feature-ref=TAILSTAMPING] ` +
			`{"openconfig-tam:config":{"feature-ref":"TAILSTAMPING","status":"ACTIVE"},` +
			`"openconfig-tam:feature-ref":"TAILSTAMPING"}` + "\n"},
		{modeTailStamp, "no enable", `update /openconfig-tam:tam/features/feature[feature-ref=TAILSTAMPING] ` +
			`{"openconfig-tam:config":{"feature-ref":"TAILSTAMPING","status":"INACTIVE"},` +
			`"openconfig-tam:feature-ref":"TAILSTAMPING"}` + "\n"},
		{kit.ModeInterface, "flow-group tcp_port_236", "update " + group + `/config/interfaces ["Ethernet4"]` + "\n"},
		{kit.ModeInterface, "no flow-group tcp_port_236", "delete " + group + "/config/interfaces[.=Ethernet4]\n"},
		{kit.ModeInterface, "mtu 1500",
			"update /openconfig-interfaces:interfaces/interface[name=Ethernet4]/config/mtu 1500\n"},
		{kit.ModeInterface, "no mtu", "delete /openconfig-interfaces:interfaces/interface[name=Ethernet4]/config/mtu\n"},
		{kit.ModeInterface, "shutdown",
			"update /openconfig-interfaces:interfaces/interface[name=Ethernet4]/config/enabled false\n"},
		{kit.ModeInterface, "no shutdown",
			"update /openconfig-interfaces:interfaces/interface[name=Ethernet4]/config/enabled true\n"},
		{kit.ModeInterface, "channel-group 1",
			"update /openconfig-interfaces:interfaces/interface[name=PortChannel1]/aggregation/members/" +
				"member[interface=Ethernet4] " +
				`{"tamtam-interfaces:config":{"interface":"Ethernet4"},"tamtam-interfaces:interface":"Ethernet4"}` + "\n"},
		{kit.ModeInterface, "no switchport access Vlan",
			"delete /tamtam-interfaces:vlans/vlan[vlan-id=10]/members/member[interface=Ethernet4]\n"},
		{kit.ModeConfig, "interface breakout port Eth2/1 mode 4x25g",
			"update /openconfig-interfaces:interfaces/interface[name=Ethernet4]/breakout-mode/groups/group[index=1] " +
				`{"tamtam-interfaces:config":{"breakout-speed":"SPEED_25GB","index":1,"num-breakouts":4},` +
				`"tamtam-interfaces:index":1}` + "\n"},
		{kit.ModeConfig, "no interface breakout port Ethernet4",
			"delete /openconfig-interfaces:interfaces/interface[name=Ethernet4]/breakout-mode/groups/group[index=1]\n"},
		{kit.ModeConfig, "no interface Vlan 10", "delete /tamtam-interfaces:vlans/vlan[vlan-id=10]\n"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			s := newSession(t)
			s.server.load(t, switchTree)
			s.session.Mode = tt.mode
			s.session.Interface = "Ethernet4"
			s.do(t, tt.line)
			if diff := cmp.Diff(tt.want, s.sent()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusedCommands(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
	for _, tt := range []struct {
		mode       kit.Mode
		line, want string
	}{
		{kit.ModeTAM, "no collector c9", "%Error: Collector c9 does not exist"},
		{kit.ModeTAM, "no flow-group g9", "%Error: Flow group g9 does not exist"},
		{kit.ModeTAM, "flow-group g src-ip 1.1.1.1 dst-ip ::1",
			"%Error: Address ::1 of dst-ip is not of the family ipv4 that the rest of the command names"},
		{modeTailStamp, "no session x", "%Error: Tail-stamping session x does not exist"},
		{kit.ModeConfig, "interface Ethernet99", "%Error: Interface Ethernet99 does not exist"},
		{kit.ModeConfig, "interface Eth9/9", "%Error: No interface has the name or alias Eth9/9"},
		{kit.ModeInterface, "no flow-group tcp_port_239", "%Error: Flow group tcp_port_239 is not attached to Ethernet4"},
		{kit.ModeInterface, "flow-group g9", "%Error: Flow group g9 does not exist"},
		{kit.ModeInterface, "no channel-group", "%Error: Ethernet4 is in no port channel"},
	} {
		s.session.Mode, s.session.Interface = tt.mode, "Ethernet4"
		if got := s.fails(t, tt.line); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.line, got, tt.want)
		}
	}
	s.session.Mode, s.session.Interface = kit.ModeInterface, "Vlan10"
	if got, want := s.fails(t, "mtu 1500"), "%Error: Vlan10 has no mtu: it is for Ethernet and PortChannel"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(s.server.sets) > 0 {
		t.Errorf("refused commands sent %v", s.server.sets)
	}
}

func TestServerReasonIsShown(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
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
	s.server.load(t, switchTree)
	s.session.Mode, s.session.Interface = kit.ModeInterface, "Ethernet4"
	s.do(t, "no flow-group tcp_port_236", "interface Ethernet20", "no flow-group tcp_port_236")
	const want = "%Warning: flow group tcp_port_236 is attached to no interface now: it matches on all of them\n"
	if s.err.String() != want {
		t.Errorf("warned %q, want %q", s.err, want)
	}
}

// New flow groups get the lowest ids that are free, in a script and outside.
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

// The running configuration, run on an empty switch, makes the same
// configuration; and so does that switch's.
func TestRunningConfigurationRoundTrip(t *testing.T) {
	first := newSession(t)
	first.server.load(t, switchTree)
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
	// On the switch itself it changes nothing.
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

// With Echo a script leaves what a session at a terminal leaves, and goes on after errors.
func TestEchoShowsASession(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
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
	s.server.load(t, switchTree)
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

// fakeConsole types keys and keeps what was written.
type fakeConsole struct {
	io.Reader
	bytes.Buffer
}

func (c *fakeConsole) Read(b []byte) (int, error) { return c.Reader.Read(b) }
func (c *fakeConsole) raw() (func(), error)       { return func() {}, nil }
func (c *fakeConsole) size() (width, height int)  { return 200, 50 }

func TestInteractiveSession(t *testing.T) {
	s := newSession(t)
	s.server.load(t, switchTree)
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
			"\x1b[A\r" + // the line above again
			"exit\rexit\rexit\rnever\r")}
	if err := s.interact(t.Context(), con); err != nil {
		t.Fatal(err)
	}
	if got, want := s.out.String(), "Enterprise ID  : 1234\nEnterprise ID  : 1234\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if got, want := s.err.String(), "               ^\n%Error: Invalid input detected at \"^\" marker\n"; got != want {
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
