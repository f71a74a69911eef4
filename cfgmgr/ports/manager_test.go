package ports

import (
	"flag"
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

func newBench(t testing.TB, r *swss.Redis) *forwardtest.Bench {
	return forwardtest.New(t, r, func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

const (
	port0 = "PORT|Ethernet0 lanes=0 speed=1000 alias=Eth1"
	port4 = "PORT|Ethernet4 lanes=4 speed=1000 admin_status=up mtu=1500"
	lag1  = "PORTCHANNEL|PortChannel1 admin_status=up"
	lag2  = "PORTCHANNEL|PortChannel2 admin_status=up"
	vlan1 = "VLAN|Vlan10 vlanid=10"
	vlan2 = "VLAN|Vlan20 vlanid=20"
)

// SONiC's show commands read in the status rows what teamd writes there: whether LACP is active, and whether a member
// is selected. This holds for static PortChannels and for rows that wait, too.
func TestTeamd(t *testing.T) {
	b := forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) { New(d, r).LACP = true })
	b.Do(port0, port4, lag1, "PORTCHANNEL|PortChannel2 admin_status=up static=true fallback=true",
		"PORTCHANNEL_MEMBER|PortChannel1|Ethernet0 NULL=NULL", "PORTCHANNEL_MEMBER|PortChannel2|Ethernet4 NULL=NULL",
		"PORTCHANNEL_MEMBER|PortChannel2|Ethernet8 NULL=NULL")
	check := func(selected, state string) {
		t.Helper()
		for key, want := range map[string]string{
			"LAG_TABLE|PortChannel1":                  "runner.active=true runner.fallback=false",
			"LAG_TABLE|PortChannel2":                  "runner.active=false runner.fallback=true",
			"LAG_MEMBER_TABLE|PortChannel1|Ethernet0": "runner.aggregator.selected=" + selected + " runner.state=" + state,
			"LAG_MEMBER_TABLE|PortChannel2|Ethernet4": "runner.aggregator.selected=true",
			"LAG_MEMBER_TABLE|PortChannel2|Ethernet8": "runner.aggregator.selected=false",
		} {
			table, key, _ := strings.Cut(key, "|")
			row, _, err := swss.NewTable(b.Redis().DB(swss.StateDB), table).Get(t.Context(), key)
			for _, pair := range strings.Fields(want) {
				if f, v, _ := strings.Cut(pair, "="); err != nil || row[f] != v {
					t.Errorf("%s %s: %s is %q, want %q; %v", table, key, f, row[f], v, err)
				}
			}
		}
	}
	check("false", "")
	b.Do("state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0 mux=distributing incarnation=2/11 runner.state=current")
	check("true", "current")
	b.Do("state:LACP_MEMBER_TABLE|PortChannel1|Ethernet0 mux=distributing incarnation=2/12 runner.state=current")
	check("false", "")
}

// The configuration decides whether a PortChannel speaks LACP. If it does, a member carries traffic only if LACP
// reports so. A restart of tammgrd changes none of that.
func TestLACP(t *testing.T) {
	const on, off = "FEATURE|teamd state=enabled", "FEATURE|teamd state=disabled"
	one := []string{port0, port4, "PORTCHANNEL_MEMBER|PortChannel1|Eth1 NULL=NULL",
		"PORTCHANNEL_MEMBER|PortChannel1|Ethernet4 NULL=NULL"}
	for _, tt := range []struct {
		name    string
		daemon  bool // whether LACP runs on this switch
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

// Fields that orchagent writes into the rows of ports are not deleted.
func TestForeignFields(t *testing.T) {
	b := newBench(t, swsstest.Start(t))
	b.Do(port0)
	b.Appl(applTables...)
	b.Do("restart", "appl+:PORT_TABLE:Ethernet0 oper_status=up", "PORT|Ethernet0 lanes=0 speed=1000 mtu=2000")
	want := []string{"Ethernet0 admin_status=down lanes=0 mtu=2000 oper_status=up speed=1000", "PortConfigDone count=1"}
	if d := cmp.Diff(want, b.ApplOf("PORT_TABLE")); d != "" {
		t.Error(d)
	}
}

// Any sequence of rows and restarts has the same result as applying the last version of each row once.
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

var update = flag.Bool("update", false, "write the results into the transcripts")

// The outcomes of rows are in testdata/*.rows.
func TestRules(t *testing.T) {
	forwardtest.Transcript{
		Managers: func(d *orch.Daemon, r *swss.Redis) { New(d, r) },
		Appl:     applTables, State: stateTables, Update: *update,
	}.Run(t)
}
