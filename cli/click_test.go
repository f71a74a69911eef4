package cli

import (
	"slices"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"

	"tamtam/cli/kit"
	"tamtam/cli/tam"

	"github.com/google/go-cmp/cmp"
)

// Each of SONiC's commands that are understood is lines that the shell knows.
func TestClicksAreCommands(t *testing.T) {
	g := kit.Compile(commandTable(submodes()), submodes())
	sample := strings.NewReplacer("mtu {i} {n}", "mtu {i} 1500", "\nmtu {n}", "\nmtu 1500", "sample-rate {i} {n}",
		"sample-rate {i} 256", "{i} sample-rate {n}", "{i} sample-rate 256", "{d}", "both", "{n}", "1", "{i}", "Ethernet0",
		"{p}", "10.0.0.1/24", "{m}", "4x25G", " {*}", "")
	for _, c := range clicks() {
		in := kit.ModeExec
		for line := range strings.SplitSeq(sample.Replace(c.ours), "\n") {
			_, _, err := g.Parse(in, line, kit.Split(line))
			needs := err != nil && strings.Contains(err.Error(), "ncomplete command") && strings.HasSuffix(c.ours, "{*}")
			if err != nil && !needs {
				t.Errorf("%s: %q: %v", c.theirs, line, err)
				break
			}
			switch word, _, _ := strings.Cut(line, " "); {
			case word == "configure":
				in = kit.ModeConfig
			case word == "tam":
				in = kit.ModeTAM
			case word == "interface" && !strings.Contains(line, "breakout"):
				in = kit.ModeInterface
			case slices.ContainsFunc(tam.Features(), func(f tam.Feature) bool { return f.Word == line }):
				in = kit.Mode(line)
			}
		}
	}
}

// What SONiC's words configure is in CONFIG_DB, and the shell is where it was.
func TestClicksConfigure(t *testing.T) {
	s, r := newSwitch(t)
	for _, line := range []string{
		"config tam collector add c9 ip 10.0.0.1 port 99", "config tam flow-group add web dst-l4-port 80",
		"config tam tail-stamping session add s1 flowgroup web", "config tam tail-stamping enable",
		"config interface mtu Ethernet0 1500", "config interface shutdown Eth2", "config vlan add 10",
		"config vlan member add -u 10 Ethernet0", "config interface ip add Ethernet8 10.1.0.1/24",
	} {
		s.do(t, line)
		if s.session.Mode != kit.ModeExec {
			t.Fatalf("behind %q the shell is in mode %q", line, s.session.Mode)
		}
	}
	for key, want := range map[string]string{
		"TAM_COLLECTORS_TABLE|c9": "port", "TAM_TAILSTAMPING_TABLE|s1": "flowgroup",
		"TAM_FEATURES_TABLE|TAILSTAMPING": "status",
		"VLAN_MEMBER|Vlan10|Ethernet0":    "tagging_mode", "INTERFACE|Ethernet8|10.1.0.1/24": "NULL",
	} {
		if row := r.DB(swss.ConfigDB).Client().HGetAll(t.Context(), key).Val(); row[want] == "" {
			t.Errorf("%s is %v", key, row)
		}
	}
	port, _, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgPort).Get(t.Context(), "Ethernet4")
	if err != nil || port["admin_status"] != "down" {
		t.Errorf("Ethernet4 is %v, %v", port, err)
	}
	if out := s.do(t, "show interfaces status Ethernet0 | count"); !strings.HasPrefix(out, "Count: ") {
		t.Errorf("a pipe: %q", out)
	}
	if err := s.Exec(t.Context(), "config interface mtu Ethernet0 15"); err == nil ||
		!strings.Contains(err.Error(), "68 to 9216") {
		t.Errorf("a wrong value: %v", err)
	}
	s.do(t, "config tam tail-stamping session del s1")
	if row := r.DB(swss.ConfigDB).Client().HGetAll(t.Context(), "TAM_TAILSTAMPING_TABLE|s1").Val(); len(row) > 0 {
		t.Errorf("what was deleted: %v", row)
	}
}

// What SONiC's words for routes, mirror sessions and the name configure is what the shell's own would.
func TestClicksOfRoutesAndMirrors(t *testing.T) {
	s, r := newSwitch(t)
	rowOf := func(key string) map[string]string {
		return r.DB(swss.ConfigDB).Client().HGetAll(t.Context(), key).Val()
	}
	want := func(line, key string, fields map[string]string) {
		t.Helper()
		s.do(t, line)
		if diff := cmp.Diff(fields, rowOf(key)); diff != "" {
			t.Errorf("behind %q %s is (-want +got):\n%s", line, key, diff)
		}
	}
	none := map[string]string{}
	route := "STATIC_ROUTE|10.7.0.0/16"
	want("config route add prefix vrf default 10.7.0.0/16 nexthop 10.0.0.2,10.0.0.3", route,
		map[string]string{"nexthop": "10.0.0.2,10.0.0.3"})
	want("config route add prefix 10.7.0.0/16 nexthop 10.0.0.4 dev Ethernet0", route,
		map[string]string{"nexthop": "10.0.0.2,10.0.0.3,10.0.0.4", "ifname": ",,Ethernet0"})
	want("config route del prefix 10.7.0.0/16 nexthop 10.0.0.3", route,
		map[string]string{"nexthop": "10.0.0.2,10.0.0.4", "ifname": ",Ethernet0"})
	if got := s.fails(t, "config route del prefix 10.7.0.0/16 nexthop 10.0.0.4"); !strings.Contains(got,
		"10.0.0.4@Ethernet0") {
		t.Errorf("a way without its interface: %s", got)
	}
	want("config route del prefix 10.7.0.0/16 nexthop 10.0.0.2", route,
		map[string]string{"nexthop": "10.0.0.4", "ifname": "Ethernet0"})
	want("config route del prefix 10.7.0.0/16 nexthop 10.0.0.4 dev Ethernet0", route, none)
	want("config route add prefix 10.7.0.0/16 nexthop dev null", route, map[string]string{"blackhole": "true"})
	want("config route del prefix 10.7.0.0/16 nexthop dev null", route, none)
	six := "STATIC_ROUTE|2001:db8::/64"
	want("config route add prefix 2001:db8::/64 nexthop dev Ethernet8", six, map[string]string{"ifname": "Ethernet8"})
	want("config route del prefix 2001:db8::/64", six, none)

	session := "MIRROR_SESSION|m"
	erspan := map[string]string{"type": "ERSPAN", "src_ip": "10.0.0.1", "dst_ip": "10.9.0.5", "dscp": "8", "ttl": "64"}
	want("config mirror_session add m 10.0.0.1 10.9.0.5 8 64", session, erspan)
	erspan["gre_type"], erspan["queue"], erspan["src_port"], erspan["direction"] = "0x6558", "3", "Ethernet0,Ethernet4",
		"RX"
	want("config mirror_session erspan add m 10.0.0.1 10.9.0.5 8 64 0x6558 3 Ethernet0,Ethernet4 rx", session, erspan)
	want("config mirror_session remove m", session, none)
	want("config mirror_session span add m Ethernet8 Ethernet0 both 2", session,
		map[string]string{"type": "SPAN", "dst_port": "Ethernet8", "src_port": "Ethernet0", "direction": "BOTH",
			"queue": "2"})

	want("config hostname leaf7", "DEVICE_METADATA|localhost", map[string]string{"hostname": "leaf7",
		"mac": "00:11:22:33:07:e4"})
	if one := s.do(t, "show interfaces counters -i Ethernet4"); !strings.Contains(one, "Ethernet4") ||
		strings.Contains(one, "Ethernet0") {
		t.Errorf("counters of one port:%s", one)
	}
}

// What SONiC's words cannot mean here is refused before anything is done, with what can.
func TestClicksThatAreRefused(t *testing.T) {
	s, r := newSwitch(t)
	for line, want := range map[string]string{
		"config route add prefix vrf Vrf-RED 10.7.0.0/16 nexthop 10.0.0.2":    "no VRF but default",
		"config route add prefix 10.7.0.0/16 nexthop vrf Vrf-RED 10.0.0.2":    "no VRF but default",
		"config route add prefix 10.7.0.0/16 nexthop 10.0.0.2,ten":            "\"ten\" is no address",
		"config route add prefix 10.7.0.0/16 nexthop 10.0.0.2 dev eth7":       "EthernetN",
		"config route add prefix 10.7.0.0/16 nexthop 10.0.0.2 dev null":       "not both",
		"config route add prefix 10.7.0.0/16 nexthop ,":                       "nexthop is empty",
		"config route add prefix 10.7.0.0/16":                                 "he nexthop is missing",
		"config route add prefix 10.7 nexthop 10.0.0.2":                       "\"10.7\" is no prefix",
		"config route del prefix 10.7.0.0/16 nexthop 10.0.0.2,10.0.0.3":       "ne way at a time",
		"config route del prefix 10.7.0.0/16":                                 "does not exist",
		"config mirror_session add m 10.0.0.1":                                "<dst_ip>",
		"config mirror_session add m 10.0.0.1 10.9.0.5 8 64 0x6558 3 Eth0":    "[queue]",
		"config mirror_session erspan add m 10.0.0.1 10.9.0.5 8 64 --policer": "copies every packet whole",
		"config mirror_session span add m Ethernet8 Ethernet0 sideways":       "direction",
		"config mirror_session remove nobody":                                 "does not exist",
		"config dropcounters install d PORT_INGRESS_DROPS":                    "want NAME TYPE",
		"config dropcounters add-reasons d [TTL,,ACL_ANY]":                    "reason is empty",
		"config hostname two_words!":                                          "hostname",
		"show interfaces counters -p 5":                                       "-p",
	} {
		if got := s.fails(t, line); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %q in it", line, got, want)
		}
	}
	for _, table := range []string{"STATIC_ROUTE|*", "MIRROR_SESSION|*"} {
		if keys := r.DB(swss.ConfigDB).Client().Keys(t.Context(), table).Val(); len(keys) > 0 {
			t.Errorf("written all the same: %v", keys)
		}
	}
}
