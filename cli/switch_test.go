package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt"
	"tamtam/swss"
	"tamtam/swss/schema"

	"tamtam/cli/kit"

	"github.com/google/go-cmp/cmp"
)

// newSwitch returns a Shell on the real northbound with its databases. No daemon runs, so tests write the rows of
// daemons.
func newSwitch(t *testing.T) (*session, *swss.Redis) {
	t.Helper()
	s, r := emptySwitch(t)
	row(t, r, swss.ConfigDB, schema.CfgDeviceMetadata, "localhost",
		swss.FieldValues{"mac": "00:11:22:33:07:e4", "hostname": "sonic"})
	for n, alias := range map[int]string{0: "Eth1", 4: "Eth2", 8: "Eth3"} {
		fields := swss.FieldValues{
			"lanes": fmt.Sprintf("%d,%d,%d,%d", n+1, n+2, n+3, n+4), "speed": "100000", "alias": alias,
			"index": fmt.Sprint(n/4 + 1), "mtu": "9100", "admin_status": "up",
		}
		row(t, r, swss.ConfigDB, schema.CfgPort, fmt.Sprintf("Ethernet%d", n), fields)
		row(t, r, swss.ApplDB, schema.AppPort, fmt.Sprintf("Ethernet%d", n), fields)
	}
	return s, r
}

// emptySwitch returns a switch with empty databases.
func emptySwitch(t *testing.T) (*session, *swss.Redis) {
	t.Helper()
	r, err := swss.OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	dir := t.TempDir()
	socket := filepath.Join(dir, "gnmi")
	srv, err := mgmt.NewServer(mgmt.Config{Redis: r, Socket: socket, Keep: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	s := &session{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	if s.Shell, err = New(kit.Config{Target: "unix:" + socket, Timeout: time.Minute, Out: s.out, Err: s.err}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, r
}

func row(t *testing.T, r *swss.Redis, db swss.DBName, table, key string, fields swss.FieldValues) {
	t.Helper()
	if err := swss.NewTable(r.DB(db), table).Set(t.Context(), key, fields); err != nil {
		t.Fatal(err)
	}
}

// ruleInForce writes a flow group's rule to APPL_DB as its manager does, with the names of ports.
func ruleInForce(t *testing.T, r *swss.Redis, group string) {
	t.Helper()
	fields, _, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgACLRule).Get(t.Context(), "TAM|"+group)
	if err != nil {
		t.Fatal(err)
	}
	tam, _ := schema.BuiltinACLType(schema.ACLTypeTAM)
	rule, err := schema.ParseACLRule(tam, "TAM|"+group, fields)
	if err != nil {
		t.Fatal(err)
	}
	row(t, r, swss.ApplDB, schema.AppACLRule, "TAM:"+group, rule.Fields())
}

// configDB returns all of CONFIG_DB that the shell writes, one line per row.
func configDB(t *testing.T, r *swss.Redis) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []string{
		schema.CfgTAMSwitch, schema.CfgTAMCollector, schema.CfgTAMFeature, schema.CfgTAMSampler, schema.CfgTAMFlowGroup,
		schema.CfgTAMTailStamp, schema.CfgTAMAltMark, schema.CfgTAMFlyMonTask, schema.CfgTAMFlyMonQuery,
		schema.CfgTAMTableRecord,
		schema.CfgACLRule, schema.CfgPort, schema.CfgPortChannel, schema.CfgPortChannelMbr, schema.CfgVLAN,
		schema.CfgVLANMember, schema.CfgBreakout,
		schema.CfgInterface, schema.CfgVLANInterface, schema.CfgLoopbackInterface, schema.CfgStaticRoute, schema.CfgNeigh,
		schema.CfgFDB, schema.CfgSwitch,
	} {
		tbl := swss.NewTable(r.DB(swss.ConfigDB), table)
		keys, err := tbl.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			fields, _, err := tbl.Get(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s|%s %v\n", table, k, fields)
		}
	}
	return b.String()
}

func (s *session) runScript(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.ExecFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
}

// The configuration by the shell is in CONFIG_DB in SONiC's form. The running configuration restores the same rows on
// another switch, and changes no row on this switch.
func TestSwitchRoundTrip(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, testFile(t, "switch.script"))
	rows := configDB(t, r)
	golden(t, "switch_config_db", rows)
	text := s.do(t, "show running-configuration")
	golden(t, "switch_running", text)

	other, otherRows := newSwitch(t)
	other.runScript(t, text)
	if diff := cmp.Diff(rows, configDB(t, otherRows)); diff != "" {
		t.Errorf("CONFIG_DB of the other switch (-here +there):\n%s", diff)
	}
	s.runScript(t, text)
	if diff := cmp.Diff(rows, configDB(t, r)); diff != "" {
		t.Errorf("CONFIG_DB after its own running configuration (-before +after):\n%s", diff)
	}
}

// The northbound's errors reach the user, and nothing is changed.
func TestSwitchRefusals(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, testFile(t, "switch.script"))
	before := configDB(t, r)
	for _, tt := range []struct {
		mode       kit.Mode
		line, want string
	}{
		{kit.ModeTAM, "no flow-group tcp_port_236", "http_236"},
		{kit.ModeTAM, "flow-group x id 1", "1"},
		{kit.ModeTAM, "flow-group tcp_port_236 src-ip 2001:db8::1", "IPv6"},
		{modeTailStamp, "session y flowgroup nowhere", "nowhere"},
		{kit.ModeTAM, "no flow-group wide", "in use by alt-mark-session am2"},
		{modeAltMark, "session y flowgroup nowhere role transit method step interval 0 mark dscp0",
			"there is no flowgroup nowhere"},
		{modeAltMark, "session y flowgroup wide role transit method step interval 0 mark dscp0",
			"wide is that of alt-mark-session am2 already"},
		{modeAltMark, "session am2 flowgroup wide role transit method double interval 0 mark dscp0", "mark2 is not given"},
		{modeAltMark, "session am2 flowgroup wide role transit method step interval 0 mark dscp0 clear",
			"only a terminator clears the mark"},
		{modeAltMark, "session am2 flowgroup wide role transit method muxed interval 0 mark dscp0 delay-max 250000000",
			"want less than L/4 = 250ms"},
		{kit.ModeTAM, "no flow-group wide", "flymon-task card"},
		{modeFlyMon, "no task hh", "in use by flymon-query q1"},
		{modeFlyMon, "task x key src-ip attribute frequency flowgroup nowhere", "there is no flowgroup nowhere"},
		{modeFlyMon, "task x key src-ip attribute frequency flowgroup wide filter any", "either filter or flowgroup"},
		{modeFlyMon, "task x key source attribute frequency", `key "source"`},
		{modeFlyMon, "task x key src-ip attribute frequency algorithm hll", "algorithm hll does not measure frequency"},
		{modeFlyMon, "query q1 task hh flow 10.0.0.1,10.0.0.2", "want a value for each of 5-tuple"},
		{modeFlyMon, "query q2 task x flow 10.0.0.1", "there is no flymon-task x"},
		{kit.ModeTAM, "no flow-group six", "tablerecord-session rec6"},
		{kit.ModeTAM, "no collector c1", "in use by tablerecord-session rec1"},
		{kit.ModeTAM, "no sampler s1", "in use by tablerecord-session rec1"},
		{modeTableRecord, "session y flow-group nowhere collector c1", "there is no flowgroup nowhere"},
		{modeTableRecord, "session y flow-group wide collector nowhere", "there is no collector nowhere"},
		{modeTableRecord, "session y flow-group six collector c1", "six is that of tablerecord-session rec6 already"},
		{modeTableRecord, "session y flow-group wide collector c6", "c6 takes TCP, want one of protocol UDP"},
		{modeTableRecord, "session y flow-group wide collector c7 source-ip 10.0.0.1",
			"10.0.0.1 cannot reach collector c7 at 2001:db8::7"},
		{modeTableRecord, "session y flow-group wide collector c1 mode exec+hit algorithm bnb",
			"want greedy or greedy-restarts where mode is exec+hit"},
		{kit.ModeInterface, "channel-group 9", "PortChannel9"},
		{kit.ModeInterface, "fast-rate", "Ethernet8 has no fast-rate: it is for PortChannel"},
		{kit.ModeInterface, "switchport access Vlan 9", "VLAN 9 does not exist"},
		{kit.ModeConfig, "no interface PortChannel 9", "PortChannel9 does not exist"},
		{kit.ModeConfig, "interface breakout port Ethernet4 mode 8x10G", "4 lanes"},
	} {
		s.session.Mode, s.session.Interface = tt.mode, "Ethernet8"
		got := s.fails(t, tt.line)
		t.Logf("%s: %s", tt.line, got)
		if !strings.Contains(got, tt.want) || !strings.HasPrefix(got, "%Error: ") {
			t.Errorf("%s: %s, want a mention of %q", tt.line, got, tt.want)
		}
	}
	if diff := cmp.Diff(before, configDB(t, r)); diff != "" {
		t.Errorf("CONFIG_DB changed:\n%s", diff)
	}
}

func TestSwitchUndo(t *testing.T) {
	s, r := newSwitch(t)
	empty := configDB(t, r)
	s.runScript(t, testFile(t, "switch.script"))
	s.runScript(t, `configure terminal
interface Ethernet4
 no flow-group tcp_port_236
 no flow-group six
 no switchport access Vlan
 no switchport trunk allowed Vlan 20
 mtu 9100
 no shutdown
interface Ethernet0
 no flow-group tcp_port_236
 no channel-group
 no description
interface Vlan 10
 no ip arp 10.0.0.2
 no ipv6 neighbor fe80::2
 no ip address 10.0.0.1/24
 no ipv6 address 2001:db8::1/64
interface Ethernet8
 no ip address 10.8.0.1/30
no interface Loopback 0
no ip route 10.9.0.0/16
no ip route 0.0.0.0/0
no ipv6 route 2001:db8:9::/48
no mac address-table 02:00:00:00:00:09 Vlan 10
no mac address-table aging-time
no interface Vlan 10
no interface Vlan 20
no interface PortChannel 1
no interface breakout port Ethernet8
tam
 tail-stamping
  no enable
  no session http_236
  no session v6
 alt-mark
  no enable
  no session am1
  no session am2
  no session am6
 flymon
  no enable
  no query q1
  no task hh
  no task card
 table-record
  no enable
  no session rec1
  exit
 exit
no tam flymon task dry
no tam table-record session rec6
tam
 no flow-group tcp_port_236
 no flow-group six
 no flow-group wide tcp-flags src-mac
 no flow-group wide
 no flow-group all
 no flow-group bare6
 no sampler s1
 no collector c1
 no collector c6
 no collector c7
 no switch-id
 no enterprise-id
end
`)
	// The rows of the switch and of the feature stay, without content.
	got := strings.NewReplacer("TAM_FEATURES_TABLE|TAILSTAMPING map[status:INACTIVE]\n", "",
		"TAM_FEATURES_TABLE|ALTMARK map[status:INACTIVE]\n", "", "TAM_FEATURES_TABLE|FLYMON map[status:INACTIVE]\n", "",
		"TAM_FEATURES_TABLE|TABLERECORD map[status:INACTIVE]\n", "", "TAM_SWITCH_TABLE|global map[]\n", "",
		"SWITCH|switch map[]\n", "").Replace(configDB(t, r))
	if diff := cmp.Diff(empty, got); diff != "" {
		t.Errorf("CONFIG_DB after everything was taken back (-want +got):\n%s", diff)
	}
}

func TestSwitchCannotStamp(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.StateDB, schema.StateSwitchCap, "switch", swss.FieldValues{
		schema.CapabilityField(schema.FeatureTailStamping): "false"})
	s.session.Mode = modeTailStamp
	got := s.fails(t, "enable")
	t.Log(got)
	if !strings.Contains(got, "UNSUPPORTED") {
		t.Errorf("%s, want UNSUPPORTED", got)
	}
}

// Saving an unconfirmed configuration warns that it is not confirmed.
func TestSaveUnconfirmed(t *testing.T) {
	s, _ := newSwitch(t)
	for _, tt := range []struct{ line, warning string }{
		{"write memory", ""},
		{"commit confirmed 5", "%Warning: without commit the switch goes back, at "},
		{"write memory", "%Warning: what was saved is not confirmed: "},
		{"commit", ""},
		{"write memory", ""},
	} {
		s.err.Reset()
		if err := s.Exec(t.Context(), tt.line); err != nil {
			t.Fatalf("%s: %v", tt.line, err)
		}
		if got := s.err.String(); tt.warning == "" && got != "" || !strings.HasPrefix(got, tt.warning) {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.warning)
		}
	}
}

// For a line of any length, an error shows the part around the mark, with the mark under it.
func TestLongLine(t *testing.T) {
	s, _ := newSwitch(t)
	long := strings.Repeat("é", 5000)
	for _, line := range []string{"show " + long, "write memory comment " + long,
		`show tam switch "` + long + `" | x` + long} {
		err := s.Exec(t.Context(), line)
		if err == nil || len(err.Error()) > 1000 {
			t.Fatalf("%.20s: %v", line, err)
		}
		lines := strings.Split(err.Error(), "\n")
		at := strings.Index(lines[2], "^")
		if shown := []rune(lines[1]); at < 0 || at > len(shown) || !strings.ContainsRune("éx\"", shown[at]) {
			t.Errorf("the mark is not under what is wrong:\n%v", err)
		}
	}
}
