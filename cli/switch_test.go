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

// newSwitch is a Shell on the real northbound with its databases. No daemon
// runs: what daemons would write, the tests do.
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

// emptySwitch is one whose databases hold nothing.
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

// ruleInForce writes a flow group's rule into APPL_DB as its manager does, where it has the
// names of ports.
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

// configDB is all of CONFIG_DB that the shell writes, one line a row.
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

const switchScript = `configure terminal
tam
 switch-id 2020
 enterprise-id 77
 collector c1 ip 192.168.78.121 port 7071
 collector c6 ip 2001:db8::7 port 7076 protocol TCP
 collector c7 ip 2001:db8::7 port 7076
 sampler s1 rate 100
 flow-group tcp_port_236 src-ip 13.92.96.32 dst-ip 7.72.235.82 dst-l4-port 236 protocol tcp
 flow-group six src-ip 2001:db8::/32 dscp 46 hop-limit 64 flow-label 5 priority 99
 flow-group wide src-l4-port 1000-2000 tcp-flags syn,ack src-mac 00:11:22:00:00:00/ff:ff:ff:00:00:00` +
	` ethertype ipv4 dscp 3 ttl 9
 flow-group all
 flow-group bare6 ip-version ipv6 protocol udp
 tail-stamping
  session http_236 flowgroup tcp_port_236
  session v6 flowgroup six
  enable
 alt-mark
  session am6 flowgroup six role terminator method muxed interval -3 mark dscp5` +
	` clear slot-sync off delay-min 1000 delay-max 1000000
  session am1 flowgroup tcp_port_236 role initiator method double interval 0 mark dscp0 mark2 dscp1 clock-error 1000000
  session am2 flowgroup wide role transit method step interval 8 mark ipv4-reserved
  enable
 flymon
  task hh key 5-tuple attribute frequency filter src-ip=10.0.0.0/8,dst-port=1-1023 threshold 1000 memory 65536 epoch 100
  task card key none attribute distinct(src-ip&0xffff0000,dst-port) flowgroup wide algorithm hll` +
	` rows 1 allocation efficient share 1/8 readout live
  task dry key src-ip/24 attribute max(queue-length) epoch 0 plan
  query q1 task hh flow 10.0.0.1,10.0.0.2,1000,80,6
  enable
 table-record
  session rec1 flow-group tcp_port_236 collector c1 sampler s1 phv 16+8 mode exec+hit must-record chip.acl,chip.fdb
  session rec6 flow-group six collector c7 phv 32+32 algorithm bnb probabilities counted` +
	` encapsulation erspan truncate 0 source-ip 2001:db8::1
  enable
interface breakout port Ethernet8 mode 4x25G
interface PortChannel 1
 mtu 9000
 static
 min-links 2
 no static
 fast-rate
 fallback
interface Vlan 10
interface Vlan 20
interface Eth1
 description "to spine 1"
 channel-group 1
 flow-group tcp_port_236
interface Ethernet 4
 mtu 1500
 shutdown
 switchport access Vlan 10
 switchport trunk allowed Vlan 20
 flow-group tcp_port_236
 flow-group six
interface Vlan 10
 ip address 10.0.0.1/24
 ipv6 address 2001:db8::1/64
 ip arp 10.0.0.2 02:00:00:00:00:02
 ipv6 neighbor fe80::2 02:00:00:00:00:02
interface Ethernet 8
 ip address 10.8.0.1/30
interface Loopback 0
 ip address 10.255.0.1/32
ip route 10.9.0.0/16 10.0.0.2
ip route 10.9.0.0/16 10.8.0.2 interface Ethernet8 distance 5
ip route 0.0.0.0/0 interface Ethernet8
ipv6 route 2001:db8:9::/48 blackhole
mac address-table 02:00:00:00:00:09 Vlan 10 interface Eth2
mac address-table aging-time 300
end
`

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

// What the shell configures is in CONFIG_DB as SONiC has it; its running
// configuration makes the same rows on another switch, and changes none here.
func TestSwitchRoundTrip(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, switchScript)
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

// What daemons write is what show commands show.
func TestSwitchShow(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, switchScript)
	row(t, r, swss.ApplDB, schema.AppTAMSwitch, "global", swss.FieldValues{"switch-id": "2020", "enterprise-id": "77",
		"op-switch-id": "2020", "op-enterprise-id": "77"})
	row(t, r, swss.StateDB, schema.StateTAMSwitch, "global", swss.FieldValues{"status": "active"})
	row(t, r, swss.StateDB, schema.StateTAMFeature, schema.FeatureTailStamping, swss.FieldValues{"op-status": "ACTIVE"})
	row(t, r, swss.StateDB, schema.StateTAMTailStamp, "http_236", swss.FieldValues{"status": "active"})
	ruleInForce(t, r, "tcp_port_236")
	row(t, r, swss.ApplDB, schema.AppTAMTailStamp, "http_236", swss.FieldValues{"acl-table-name": "TAM",
		"acl-rule-name": "tcp_port_236"})
	row(t, r, swss.StateDB, schema.StateTAMTailStamp, "v6", swss.FieldValues{"status": "pending",
		"reason": "no free ACL entry"})
	row(t, r, swss.CountersDB, schema.CountersTailStamp, "http_236", swss.FieldValues{
		"MATCHED_PACKETS": "7656", "MATCHED_BYTES": "980000", "STAMPED_PACKETS": "7600",
		"NOT_STAMPED_NOT_TCP_UDP": "50", "NOT_STAMPED_NOT_ETHERNET_II": "0", "NOT_STAMPED_CUT": "0", "NOT_STAMPED_MTU": "6",
	})
	active := swss.FieldValues{"status": "active"}
	for _, key := range []string{"Vlan10", "Vlan10|10.0.0.1/24", "Vlan10|2001:db8::1/64", "Loopback0",
		"Loopback0|10.255.0.1/32"} {
		row(t, r, swss.StateDB, schema.StateInterface, key, active)
	}
	row(t, r, swss.StateDB, schema.StateInterface, "Ethernet8", swss.FieldValues{"status": "pending",
		"reason": `"Ethernet8" is a member of VLAN "Vlan20", and a port either bridges or routes`})
	row(t, r, swss.StateDB, schema.StateInterface, "Ethernet8|10.8.0.1/30",
		swss.FieldValues{"status": "pending", "reason": "Ethernet8 does not route"})
	row(t, r, swss.ApplDB, schema.AppRoute, "10.9.0.0/16", swss.FieldValues{"nexthop": "10.0.0.2", "ifname": "Vlan10",
		"protocol": "static"})
	row(t, r, swss.ApplDB, schema.AppRoute, "10.7.0.1", swss.FieldValues{"nexthop": "10.0.0.2,10.0.0.3",
		"ifname": "Vlan10,Vlan10", "protocol": "bgp"})
	row(t, r, swss.StateDB, schema.StateStaticRoute, "10.9.0.0/16", active)
	row(t, r, swss.StateDB, schema.StateStaticRoute, "0.0.0.0/0",
		swss.FieldValues{"status": "pending", "reason": "Ethernet8 does not route"})
	row(t, r, swss.StateDB, schema.StateNeigh, "Vlan10|10.0.0.2", active)
	row(t, r, swss.StateDB, schema.StateHostNeigh, "Vlan10|10.0.0.5",
		swss.FieldValues{"neigh": "02:00:00:00:00:05", "state": "REACHABLE", "confirmed": "2026-01-02T12:00:00Z"})
	row(t, r, swss.StateDB, schema.StateHostNeigh, "Vlan10|2001:db8::6",
		swss.FieldValues{"neigh": "", "state": "INCOMPLETE", "confirmed": ""})
	row(t, r, swss.ApplDB, schema.AppLLDPEntry, "Ethernet4", swss.FieldValues{"lldp_rem_sys_name": "s2",
		"lldp_rem_port_id":   "etp1",
		"lldp_rem_port_desc": "Ethernet0", "lldp_rem_chassis_id": "02:00:00:00:00:02", "lldp_rem_sys_desc": "",
		"lldp_rem_man_addr": ""})
	row(t, r, swss.StateDB, schema.StateFDB, "Vlan10:02:00:00:00:00:09",
		swss.FieldValues{"port": "Ethernet4", "type": "static"})
	row(t, r, swss.StateDB, schema.StateFDB, "Vlan10:02:00:00:00:00:0a",
		swss.FieldValues{"port": "Ethernet4", "type": "dynamic"})
	golden(t, "switch_show_ip", s.do(t, "show ip route", "show ipv6 route", "show ip interface", "show ipv6 interface",
		"show arp", "show ndp", "show neighbors", "show lldp neighbors", "show mac address-table"))
	golden(t, "switch_show", s.do(t,
		"show tam switch", "show tam summary", "show tam collectors", "show tam collectors c6", "show tam samplers",
		"show tam flow-groups",
		"show tam features", "show tam tail-stamping", "show tam tail-stamping sessions",
		"show tam tail-stamping sessions http_236",
		"show tam tail-stamping sessions v6", "show interface status", "show interface counters Ethernet4",
		"show interface breakout",
		"show vlan", "show acl", "show version | include openconfig-tam"))
}

// A route of a routing daemon is in the ASIC if orchagent, which is ready, does not list it; of one that is listed the
// reason is told, and of others nothing is known while orchagent is away or lists only some.
func TestRoutesOfARoutingDaemon(t *testing.T) {
	s, r := newSwitch(t)
	for _, key := range []string{"10.1.0.0/16", "10.2.0.1", "2001:db8::/32"} {
		hop := map[bool]string{true: "fe80::2", false: "10.0.0.2"}[strings.HasPrefix(key, "2001")]
		row(t, r, swss.ApplDB, schema.AppRoute, key, swss.FieldValues{"nexthop": hop, "ifname": "Ethernet0",
			"protocol": "bgp"})
	}
	pending := swss.FieldValues{"status": "pending", "reason": "no neighbour 10.0.0.2 on Ethernet0"}
	row(t, r, swss.StateDB, schema.StateRoute, "10.2.0.1", pending)
	row(t, r, swss.StateDB, schema.StateRoute, "2001:db8::/32", pending)
	want := func(what string, lines ...string) {
		t.Helper()
		got := s.do(t, "show ip route", "show ipv6 route")
		for _, line := range lines {
			if !strings.Contains(got, line) {
				t.Errorf("%s: lacks %q:\n%s", what, line, got)
			}
		}
	}
	const reason = "\n     pending: no neighbour 10.0.0.2 on Ethernet0"
	host, v6 := "R  10.2.0.1/32 via 10.0.0.2, Ethernet0"+reason, "R  2001:db8::/32 via fe80::2, Ethernet0"+reason
	want("orchagent is away", "R? 10.1.0.0/16", host, v6)
	row(t, r, swss.StateDB, schema.StateHealth, "orchagent", swss.FieldValues{schema.HealthState: schema.HealthReady})
	want("orchagent is ready", "R> 10.1.0.0/16", host, v6)
	row(t, r, swss.StateDB, schema.StateRoute, schema.MoreRows, swss.FieldValues{"status": "pending",
		"reason": schema.MoreReason(9)})
	want("orchagent lists some", "R? 10.1.0.0/16", host, v6)
}

// The northbound's refusals reach the user, and nothing is changed.
func TestSwitchRefusals(t *testing.T) {
	s, r := newSwitch(t)
	s.runScript(t, switchScript)
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
	s.runScript(t, switchScript)
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
	// What was said of the switch and of the feature stays, saying nothing.
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
	row(t, r, swss.ApplDB, schema.AppSwitch, "switch", swss.FieldValues{
		schema.CapabilityField(schema.FeatureTailStamping): "false"})
	s.session.Mode = modeTailStamp
	got := s.fails(t, "enable")
	t.Log(got)
	if !strings.Contains(got, "UNSUPPORTED") {
		t.Errorf("%s, want UNSUPPORTED", got)
	}
}

// Who saves what is not confirmed learns that it is not.
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

// Of a line of any length an error shows what is around the mark, and the mark is under it.
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
