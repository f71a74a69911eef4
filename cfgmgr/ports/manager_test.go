package ports

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

var (
	applTables  = []string{schema.AppPort, schema.AppLAG, schema.AppLAGMember, schema.AppVLAN, schema.AppVLANMember}
	stateTables = []string{
		schema.StatePort, schema.StateLAG, schema.StateLAGMember, schema.StateVLAN, schema.StateVLANMember,
		schema.StateBreakout,
	}
)

// fresh starts the manager on an empty server.
func fresh(t *testing.T) *forwardtest.Bench {
	return forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

const (
	port0 = "PORT|Ethernet0 lanes=0 speed=1000 alias=Eth1"
	port4 = "PORT|Ethernet4 lanes=4 speed=1000 admin_status=up mtu=1500"
	lag1  = "PORTCHANNEL|PortChannel1 admin_status=up"
	lag2  = "PORTCHANNEL|PortChannel2 admin_status=up"
	vlan1 = "VLAN|Vlan10 vlanid=10"
	vlan2 = "VLAN|Vlan20 vlanid=20"

	forwarded = "pending: waiting for orchagent (orchagent)"
)

// Each case writes rows, then looks at one table of APPL_DB and at statuses.
func TestRules(t *testing.T) {
	tests := []forwardtest.Case{
		{
			Name: "no ports", Table: "PORT_TABLE", Want: []string{"PortConfigDone count=0"},
		},
		{
			Name: "ports", Do: []string{port0, port4}, Table: "PORT_TABLE",
			Want: []string{
				"Ethernet0 admin_status=down alias=Eth1 lanes=0 mtu=9100 speed=1000",
				"Ethernet4 admin_status=up lanes=4 mtu=1500 speed=1000",
				"PortConfigDone count=2",
			},
			Status: map[string]string{"PORT_TABLE|Ethernet0": forwarded},
		},
		{
			Name: "an invalid port withdraws the old one", Do: []string{port0, "step", port0 + " mtu=1"}, Table: "PORT_TABLE",
			Want:   []string{"PortConfigDone count=0"},
			Status: map[string]string{"PORT_TABLE|Ethernet0": `failed: mtu "1": want a number in 68..9216 (tammgrd)`},
		},
		{
			Name: "a port without alias any more", Do: []string{port0, "step", "PORT|Ethernet0 lanes=0 speed=1000"},
			Table: "PORT_TABLE",
			Want:  []string{"Ethernet0 admin_status=down lanes=0 mtu=9100 speed=1000", "PortConfigDone count=1"},
		},
		{
			Name: "one lane, two ports: the smaller name has it",
			Do:   []string{"PORT|Ethernet10 lanes=1 speed=1", "step", "PORT|Ethernet9 lanes=1 speed=1"}, Table: "PORT_TABLE",
			Want:   []string{"Ethernet9 admin_status=down lanes=1 mtu=9100 speed=1", "PortConfigDone count=1"},
			Status: map[string]string{"PORT_TABLE|Ethernet10": `failed: lane 1 is already used by port "Ethernet9" (tammgrd)`},
		},
		{
			Name: "breakout", Do: []string{
				"PORT|Ethernet0 lanes=0,1,2,3 speed=100000", "BREAKOUT_CFG|Ethernet0 brkout_mode=1x100G", "step",
				"PORT|Ethernet0 lanes=0,1 speed=50000", "PORT|Ethernet2 lanes=2,3 speed=50000",
				"BREAKOUT_CFG|Ethernet0 brkout_mode=2x50G",
			},
			Table: "PORT_TABLE", Want: []string{
				"Ethernet0 admin_status=down lanes=0,1 mtu=9100 speed=50000",
				"Ethernet2 admin_status=down lanes=2,3 mtu=9100 speed=50000", "PortConfigDone count=2",
			},
			Status: map[string]string{"BREAKOUT_CFG|Ethernet0": "active (tammgrd)"},
		},
		{
			Name: "breakout modes that are not the ports'", Do: []string{
				port0, "BREAKOUT_CFG|Ethernet0 brkout_mode=2x1G", "BREAKOUT_CFG|Ethernet4 brkout_mode=1x10G[25G]", port4,
				"BREAKOUT_CFG|Ethernet8 brkout_mode=1x1G", "BREAKOUT_CFG|Ethernet12 brkout_mode=one",
				"PORT|Ethernet20 lanes=20,21 speed=1000", "BREAKOUT_CFG|Ethernet20 brkout_mode=1x1G(4)",
			},
			Status: map[string]string{
				"BREAKOUT_CFG|Ethernet0": "pending: 2x1G makes 2 ports, PORT has 1 from Ethernet0 on (tammgrd)",
				"BREAKOUT_CFG|Ethernet4": `pending: port "Ethernet4" has speed 1000, 1x10G[25G] makes ports of 10000 (tammgrd)`,
				"BREAKOUT_CFG|Ethernet8": `pending: port "Ethernet8" does not exist (tammgrd)`,
				"BREAKOUT_CFG|Ethernet12": `failed: brkout_mode "one": want a mode such as 1x100G[40G], 4x25G or ` +
					`2x25G(2)+1x50G(2) (tammgrd)`,
				"BREAKOUT_CFG|Ethernet20": "pending: ports Ethernet20 to Ethernet20 have 2 lanes, 1x1G(4) gives them 4 (tammgrd)",
			},
		},
		{
			Name: "PortChannel members, by name and alias",
			Do: []string{"PORTCHANNEL_MEMBER|PortChannel1|Eth1 NULL=NULL",
				"PORTCHANNEL_MEMBER|PortChannel1|Ethernet4 NULL=NULL", port0, port4, lag1},
			Table: "LAG_MEMBER_TABLE", Want: []string{"PortChannel1:Ethernet0 alias=Eth1 status=enabled",
				"PortChannel1:Ethernet4 status=enabled"},
			Status: map[string]string{"LAG_MEMBER_TABLE|PortChannel1|Eth1": forwarded, "LAG_TABLE|PortChannel1": forwarded},
		},
		{
			Name: "members of a PortChannel that is down",
			Do: []string{port0, "PORTCHANNEL|PortChannel1 admin_status=down",
				"PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL"},
			Table: "LAG_MEMBER_TABLE", Want: []string{"PortChannel1:Ethernet0 status=disabled"},
		},
		{
			Name: "the MTU of members is that of their PortChannel",
			Do: []string{port0, port4, "PORTCHANNEL|PortChannel1 mtu=4000",
				"PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL"},
			Table: "PORT_TABLE", Want: []string{
				"Ethernet0 admin_status=down alias=Eth1 lanes=0 mtu=4000 speed=1000",
				"Ethernet4 admin_status=up lanes=4 mtu=1500 speed=1000",
				"PortConfigDone count=2",
			},
		},
		{
			Name: "a port that leaves a PortChannel has its own MTU again",
			Do: []string{port4, lag1, "PORTCHANNEL_MEMBER|PortChannel1|Ethernet4 NULL=NULL", "step",
				"-PORTCHANNEL_MEMBER|PortChannel1|Ethernet4"},
			Table: "PORT_TABLE", Want: []string{"Ethernet4 admin_status=up lanes=4 mtu=1500 speed=1000",
				"PortConfigDone count=1"},
		},
		{
			Name: "an MTU above the wire's",
			Do: []string{
				port0, port4, "state:TAMTAM_WIRE|Ethernet0 mtu=1500 received=7", "state:TAMTAM_WIRE|Ethernet4 mtu=9000",
			},
			Table: "PORT_TABLE", Want: []string{
				"Ethernet0 admin_status=down alias=Eth1 lanes=0 mtu=1500 speed=1000",
				"Ethernet4 admin_status=up lanes=4 mtu=1500 speed=1000",
				"PortConfigDone count=2",
			},
		},
		{
			Name: "the wire's MTU grows, and is not known any more",
			Do: []string{
				port0, port4, "PORT|Ethernet4 lanes=4 speed=1000",
				"state:TAMTAM_WIRE|Ethernet0 mtu=1500", "state:TAMTAM_WIRE|Ethernet4 mtu=1500", "step",
				"state:TAMTAM_WIRE|Ethernet0 mtu=3000", "state:TAMTAM_WIRE|Ethernet4 status=missing",
			},
			Table: "PORT_TABLE", Want: []string{
				"Ethernet0 admin_status=down alias=Eth1 lanes=0 mtu=3000 speed=1000",
				"Ethernet4 admin_status=down lanes=4 mtu=9100 speed=1000",
				"PortConfigDone count=2",
			},
		},
		{
			Name: "members of nothing", Do: []string{"PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL",
				"PORTCHANNEL_MEMBER|PortChannel2|Ethernet0 NULL=NULL", lag2}, Table: "LAG_MEMBER_TABLE",
			Status: map[string]string{
				"LAG_MEMBER_TABLE|PortChannel1|Ethernet0": `pending: PortChannel "PortChannel1" does not exist (tammgrd)`,
				"LAG_MEMBER_TABLE|PortChannel2|Ethernet0": `pending: port "Ethernet0" does not exist (tammgrd)`,
			},
		},
		{
			Name: "a port in two PortChannels", Do: []string{port0, lag2, "PORTCHANNEL_MEMBER|PortChannel2|Ethernet0 NULL=NULL",
				"step", lag1, "PORTCHANNEL_MEMBER|PortChannel1|Eth1 NULL=NULL"},
			Table: "LAG_MEMBER_TABLE", Want: []string{"PortChannel1:Ethernet0 alias=Eth1 status=enabled"},
			Status: map[string]string{
				"LAG_MEMBER_TABLE|PortChannel2|Ethernet0": `failed: port "Ethernet0" is already a member of PortChannel ` +
					`"PortChannel1" (tammgrd)`},
		},
		{
			Name: "a member written twice", Do: []string{port0, lag1, "PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL",
				"PORTCHANNEL_MEMBER|PortChannel1|Eth1 NULL=NULL"},
			Table: "LAG_MEMBER_TABLE", Want: []string{"PortChannel1:Ethernet0 status=enabled"},
			Status: map[string]string{
				"LAG_MEMBER_TABLE|PortChannel1|Eth1": `failed: "Eth1" is port "Ethernet0", which has a row of its own (tammgrd)`},
		},
		{
			Name: "VLANs", Do: []string{vlan1, "VLAN|Vlan20 vlanid=10", "VLAN_MEMBER|Vlan10|Eth1 tagging_mode=tagged",
				"VLAN_MEMBER|Vlan20|Ethernet0 tagging_mode=tagged", "VLAN_MEMBER|Vlan10|PortChannel1 tagging_mode=untagged", lag1,
				port0},
			Table: "VLAN_MEMBER_TABLE", Want: []string{"Vlan10:Ethernet0 alias=Eth1 tagging_mode=tagged",
				"Vlan10:PortChannel1 tagging_mode=untagged"},
			Status: map[string]string{
				"VLAN_TABLE|Vlan10": forwarded, "VLAN_TABLE|Vlan20": `failed: vlanid "10": want 20 as in the key (tammgrd)`,
				"VLAN_MEMBER_TABLE|Vlan20|Ethernet0": `pending: VLAN "Vlan20" does not exist (tammgrd)`,
			},
		},
		{
			Name: "a port untagged in two VLANs",
			Do: []string{port0, vlan2, "VLAN_MEMBER|Vlan20|Ethernet0 tagging_mode=untagged", "step", vlan1,
				"VLAN_MEMBER|Vlan10|Ethernet0 tagging_mode=untagged"},
			Table: "VLAN_MEMBER_TABLE", Want: []string{"Vlan10:Ethernet0 tagging_mode=untagged"},
			Status: map[string]string{
				"VLAN_MEMBER_TABLE|Vlan20|Ethernet0": `failed: port "Ethernet0" is already untagged in VLAN "Vlan10" (tammgrd)`},
		},
		{
			Name: "a port of a PortChannel in a VLAN",
			Do: []string{port0, vlan1, "VLAN_MEMBER|Vlan10|Ethernet0 tagging_mode=untagged", "step", lag1,
				"PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL"},
			Table: "VLAN_MEMBER_TABLE",
			Status: map[string]string{
				"VLAN_MEMBER_TABLE|Vlan10|Ethernet0": `pending: port "Ethernet0" is a member of PortChannel "PortChannel1" ` +
					`(tammgrd)`},
		},
		{
			Name: "rows that are gone leave nothing",
			Do: []string{port0, vlan1, lag1, "VLAN_MEMBER|Vlan10|Ethernet0 tagging_mode=untagged", "step", "-VLAN|Vlan10",
				"-VLAN_MEMBER|Vlan10|Ethernet0", "-PORTCHANNEL|PortChannel1"},
			Table: "VLAN_TABLE",
			Status: map[string]string{"VLAN_TABLE|Vlan10": "", "VLAN_MEMBER_TABLE|Vlan10|Ethernet0": "",
				"LAG_TABLE|PortChannel1": ""},
		},
	}
	forwardtest.Check(t, fresh, tests, applTables, stateTables)
}

// Whether a PortChannel speaks LACP is configured; then its members do what LACP says of them, and nothing while it
// says nothing. tammgrd's restart changes none of that.
func TestLACP(t *testing.T) {
	const on, off = "FEATURE|teamd state=enabled", "FEATURE|teamd state=disabled"
	one := []string{port0, port4, "PORTCHANNEL_MEMBER|PortChannel1|Eth1 NULL=NULL",
		"PORTCHANNEL_MEMBER|PortChannel1|Ethernet4 NULL=NULL"}
	for _, tt := range []struct {
		name    string
		daemon  bool // somebody runs LACP on this switch
		do      []string
		lag     string
		members []string
	}{
		{"nobody runs it", false, []string{lag1}, "PortChannel1 admin_status=up mtu=9100", []string{"enabled", "enabled"}},
		{"nobody runs it, as SONiC's configuration wants", false, []string{lag1, on}, "PortChannel1 admin_status=up mtu=9100",
			[]string{"enabled", "enabled"}},
		{"somebody runs it, as SONiC's configuration wants", true, []string{lag1, on},
			"PortChannel1 admin_status=up incarnation=N/11 mtu=9100 protocol=lacp",
			[]string{"disabled incarnation=N/11", "disabled incarnation=N/11"}},
		{"somebody runs it", true, []string{lag1}, "PortChannel1 admin_status=up incarnation=N/11 mtu=9100 protocol=lacp",
			[]string{"disabled incarnation=N/11", "disabled incarnation=N/11"}},
		{"the feature is off", true, []string{lag1, off}, "PortChannel1 admin_status=up mtu=9100",
			[]string{"enabled", "enabled"}},
		{"a static one", true, []string{lag1 + " static=true min_links=2"},
			"PortChannel1 admin_status=up min_links=2 mtu=9100 static=true",
			[]string{"enabled", "enabled"}},
		{"what LACP says, by the names of ports", true, []string{lag1,
			"state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0 mux=distributing incarnation=2/11",
			"state:LACP_MEMBER_TABLE|PortChannel1|Ethernet4 mux=collecting incarnation=3/11"},
			"PortChannel1 admin_status=up incarnation=N/11 mtu=9100 protocol=lacp",
			[]string{"enabled incarnation=N/11", "disabled collecting=true incarnation=N/11"}},
		{"what LACP does not say any more", true,
			[]string{lag1, "state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0 mux=distributing incarnation=2/11",
				"state:LACP_MEMBER_TABLE|PortChannel1|Ethernet4 mux=attached incarnation=3/11", "step",
				"-state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0"},
			"PortChannel1 admin_status=up incarnation=N/11 mtu=9100 protocol=lacp",
			[]string{"disabled incarnation=N/11", "disabled incarnation=N/11"}},
		{"of another incarnation", true,
			[]string{lag1, "state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0 mux=distributing incarnation=2/12",
				"state:LACP_MEMBER_TABLE|PortChannel1|Ethernet4 mux=distributing"},
			"PortChannel1 admin_status=up incarnation=N/11 mtu=9100 protocol=lacp",
			[]string{"disabled incarnation=N/11", "disabled incarnation=N/11"}},
		{"down by configuration", true, []string{"PORTCHANNEL|PortChannel1 admin_status=down",
			"state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0 mux=distributing incarnation=2/11"},
			"PortChannel1 admin_status=down mtu=9100 protocol=lacp", []string{"disabled", "disabled"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) { New(d, r).LACP = tt.daemon })
			says := slices.IndexFunc(tt.do, func(l string) bool { return strings.HasPrefix(l, "state:") })
			if says < 0 {
				says = len(tt.do)
			}
			b.Do(append(slices.Clone(tt.do[:says]), one...)...)
			b.Do(tt.do[says:]...)
			for range 2 {
				if d := cmp.Diff([]string{tt.lag}, b.ApplOf("LAG_TABLE")); d != "" {
					t.Error(d)
				}
				var want []string
				for i, port := range []string{"Ethernet0 alias=Eth1", "Ethernet4"} {
					status, collecting, _ := strings.Cut(tt.members[i], " ")
					want = append(want, strings.Join(strings.Fields("PortChannel1:"+port+" "+collecting+" status="+status), " "))
				}
				if d := cmp.Diff(want, b.ApplOf("LAG_MEMBER_TABLE")); d != "" {
					t.Error(d)
				}
				b.Do("restart")
			}
		})
	}
}

// What orchagent writes into the rows of ports stays.
func TestForeignFields(t *testing.T) {
	b := fresh(t)
	b.Do(port0)
	b.Appl(applTables...)
	b.Do("restart", "appl+:PORT_TABLE:Ethernet0 oper_status=up", "PORT|Ethernet0 lanes=0 speed=1000 mtu=2000")
	want := []string{"Ethernet0 admin_status=down lanes=0 mtu=2000 oper_status=up speed=1000", "PortConfigDone count=1"}
	if d := cmp.Diff(want, b.ApplOf("PORT_TABLE")); d != "" {
		t.Error(d)
	}
}

// Any sequence of rows and restarts leads to what the last rows give when they
// are applied once.
func TestConvergence(t *testing.T) {
	lines := []string{
		port0, port4, "PORT|Ethernet4 lanes=0 speed=1000", "PORT|Ethernet0 lanes=4,0 speed=1000",
		"PORT|Ethernet0 lanes=0 speed=1000", "PORT|Ethernet0 lanes=x",
		"PORT|Ethernet12 lanes=0,4 speed=1 alias=Eth1", "-PORT|Ethernet0", "-PORT|Ethernet4", "-PORT|Ethernet12",
		lag1, "PORTCHANNEL|PortChannel1 mtu=1", "-PORTCHANNEL|PortChannel1", lag2, "-PORTCHANNEL|PortChannel2",
		"PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL", "PORTCHANNEL_MEMBER|PortChannel1|Eth1 NULL=NULL",
		"PORTCHANNEL_MEMBER|PortChannel2|Ethernet0 NULL=NULL",
		"-PORTCHANNEL_MEMBER|PortChannel1|Ethernet0", "-PORTCHANNEL_MEMBER|PortChannel1|Eth1",
		vlan1, vlan2, "VLAN|Vlan10 vlanid=7", "-VLAN|Vlan10", "-VLAN|Vlan20",
		"VLAN_MEMBER|Vlan10|Ethernet0 tagging_mode=untagged", "VLAN_MEMBER|Vlan20|Ethernet0 tagging_mode=untagged",
		"VLAN_MEMBER|Vlan20|Eth1 tagging_mode=tagged",
		"VLAN_MEMBER|Vlan10|PortChannel1 tagging_mode=untagged", "-VLAN_MEMBER|Vlan10|Ethernet0",
		"-VLAN_MEMBER|Vlan20|Ethernet0",
		"BREAKOUT_CFG|Ethernet0 brkout_mode=1x1G", "BREAKOUT_CFG|Ethernet0 brkout_mode=2x1G", "-BREAKOUT_CFG|Ethernet0",
		"state:TAMTAM_WIRE|Ethernet0 mtu=1500", "state:TAMTAM_WIRE|Ethernet4 mtu=1400",
		"state:TAMTAM_WIRE|Ethernet0 received=1", "-state:TAMTAM_WIRE|Ethernet4",
		"PORTCHANNEL|PortChannel1 static=true", "FEATURE|teamd state=disabled", "-FEATURE|teamd",
		"state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0 mux=distributing", "-state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0",
		"restart", "step", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 100}, func(t *testing.T, seed uint64) {
		t.Parallel()
		withLACP := func(t *testing.T) *forwardtest.Bench {
			return forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) { New(d, r).LACP = true })
		}
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), withLACP, lines, 40, applTables, stateTables)
	})
}
