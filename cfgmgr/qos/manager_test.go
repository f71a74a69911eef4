package qos

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// forwarded returns the tables of APPL_DB and STATE_DB.
func forwarded() (names []string) {
	for _, t := range tables {
		names = append(names, t+"_TABLE")
	}
	return append(names, schema.AppCOPP, schema.StateCOPPTrap)
}

func newBench(t testing.TB, r *swss.Redis) *forwardtest.Bench {
	return forwardtest.New(t, r, func(d *orch.Daemon, r *swss.Redis) { New(d, r) })
}

const (
	port0 = "PORT|Ethernet0 lanes=0 speed=1000"
	port4 = "PORT|Ethernet4 lanes=4 speed=1000"
	dscp  = "DSCP_TO_TC_MAP|AZURE 46=5"
	sched = "SCHEDULER|s0 type=STRICT"
	pool  = "BUFFER_POOL|p type=egress size=100000"
)

// Any sequence of rows and restarts has the same result as applying the last version of each row once.
func TestConvergence(t *testing.T) {
	lines := []string{
		port0, port4, "-PORT|Ethernet0", "-PORT|Ethernet4", "PORTCHANNEL|PortChannel1 admin_status=up",
		"-PORTCHANNEL|PortChannel1",
		dscp, "DSCP_TO_TC_MAP|AZURE 64=1", "-DSCP_TO_TC_MAP|AZURE", "PORT_QOS_MAP|Ethernet0 dscp_to_tc_map=AZURE",
		"PORT_QOS_MAP|Ethernet0,Ethernet4 dscp_to_tc_map=AZURE", "-PORT_QOS_MAP|Ethernet0",
		sched, "SCHEDULER|s0 type=NONE", "-SCHEDULER|s0", "QUEUE|Ethernet0|0-2 scheduler=s0",
		"QUEUE|Ethernet0,Ethernet4|2 scheduler=s0", "QUEUE|Ethernet0|2 scheduler=s0", "-QUEUE|Ethernet0|0-2",
		"-QUEUE|Ethernet0|2",
		pool, "-BUFFER_POOL|p", "BUFFER_PROFILE|f pool=p static_th=9", "BUFFER_PROFILE|f pool=p",
		"BUFFER_QUEUE|Ethernet0|0 profile=f", "-BUFFER_QUEUE|Ethernet0|0", "BUFFER_POOL|p type=ingress size=100000 xoff=10",
		"BUFFER_PROFILE|f pool=p static_th=9 xoff=7", "BUFFER_PG|Ethernet0|0-3 profile=f", "BUFFER_PG|Ethernet0|3 profile=f",
		"-BUFFER_PG|Ethernet0|0-3", "TC_TO_PRIORITY_GROUP_MAP|AZURE 5=3", "-TC_TO_PRIORITY_GROUP_MAP|AZURE",
		"PORT_QOS_MAP|Ethernet0 tc_to_pg_map=AZURE pfc_enable=3,4",
		"MIRROR_SESSION|a type=SPAN dst_port=Ethernet4 src_port=Ethernet0",
		"MIRROR_SESSION|b src_ip=10.0.0.1 dst_ip=10.0.0.2 src_port=Ethernet0,PortChannel1", "-MIRROR_SESSION|a",
		"-MIRROR_SESSION|b",
		"COPP_GROUP|g trap_action=copy", "-COPP_GROUP|g", "COPP_TRAP|arp NULL=NULL", "COPP_GROUP|queue4_group2 cir=9",
		"-COPP_TRAP|arp", "-COPP_GROUP|queue4_group2", "FEATURE|lldp state=enabled", "-FEATURE|lldp",
		"COPP_TRAP|a trap_ids=stp trap_group=g always_enabled=true", "COPP_TRAP|b trap_ids=stp trap_group=g",
		"FEATURE|b state=enabled", "-FEATURE|b", "-COPP_TRAP|a",
		"restart", "step", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 40}, func(t *testing.T, seed uint64) {
		t.Parallel()
		fresh := func(t *testing.T) *forwardtest.Bench { return newBench(t, swsstest.Start(t)) }
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 40, forwarded(), forwarded())
	})
}

// Every default is valid, its group is a default, and no trap is in two groups.
func TestCOPPDefaults(t *testing.T) {
	groups, traps := coppDefaults()
	of := map[string]string{}
	for key, fields := range traps {
		row, err := schema.ParseCOPPTrap(key, fields)
		if err != nil || groups[row.Group] == nil {
			t.Errorf("%s: %v, in group %q", key, err, row.Group)
		}
		for _, id := range row.Traps {
			if other := of[id]; other != "" {
				t.Errorf("trap %s is of %s and %s", id, key, other)
			}
			of[id] = key
		}
	}
	for key, fields := range groups {
		if g, err := schema.ParseCOPPGroup(key, fields); err != nil || !g.Policed() || *g.CIR != *g.CBS || g.Red != "drop" {
			t.Errorf("%s: %+v, %v", key, g, err)
		}
	}
}

var update = flag.Bool("update", false, "write the results into the transcripts")

// The outcomes of rows are in testdata/*.rows.
func TestRules(t *testing.T) {
	forwardtest.Transcript{
		Managers: func(d *orch.Daemon, r *swss.Redis) { New(d, r) },
		Appl:     forwarded(), State: forwarded(), Update: *update,
	}.Run(t)
}

// A trap that the ASIC has refused is failed with the reason, also a default one, until the ASIC accepts it. It stays
// in its group, so that orchagent tries it again.
func TestRefusedTraps(t *testing.T) {
	r := swsstest.Start(t)
	b := newBench(t, r)
	for _, line := range []string{port0, "COPP_GROUP|g trap_action=copy",
		"COPP_TRAP|a trap_ids=stp,udld trap_group=g always_enabled=true"} {
		b.Do(line)
	}
	b.Step()
	state := swss.NewTable(r.DB(swss.StateDB), schema.StateCOPPTrap)
	want := func(what string, statuses map[string]string) {
		t.Helper()
		for key, want := range statuses {
			row, _, err := state.Get(t.Context(), key)
			if got := row[schema.FieldStatus] + ": " + row[schema.FieldReason]; err != nil || got != want {
				t.Errorf("%s: COPP_TRAP|%s is %q, want %q", what, key, got, want)
			}
		}
		const group = "g queue=0 trap_action=copy trap_ids=stp,udld trap_priority=0"
		if groups := b.ApplOf(schema.AppCOPP); !slices.Contains(groups, group) {
			t.Errorf("%s: the groups are %q", what, groups)
		}
	}
	report := func(id, why string) {
		t.Helper()
		if err := state.Set(t.Context(), id, swss.FieldValues{schema.FieldHWError: why}); err != nil {
			t.Fatal(err)
		}
		b.Step()
	}
	want("all are accepted", map[string]string{"a": "active: ", "arp": "active: "})
	report("udld", "trap udld: no")
	report("arp_req", "trap arp_req: no")
	want("two are refused", map[string]string{
		"a": "failed: trap udld: no; the row's other traps are in the group", "arp": "failed: trap arp_req: no"})
	report("stp", "trap stp: no")
	want("three are refused", map[string]string{"a": "failed: trap stp: no; trap udld: no"})
	for _, id := range []string{"stp", "udld", "arp_req"} {
		report(id, "")
	}
	want("all are accepted again", map[string]string{"a": "active: ", "arp": "active: "})
}
