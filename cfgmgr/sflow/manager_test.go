package sflow

import (
	"context"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// appl are the tables of APPL_DB, and those of STATE_DB too.
var appl = []string{schema.AppSFlow, schema.AppSFlowCollector, schema.AppSFlowSession}

// newBench starts the manager beside an sflowd that is as is pointed to.
func newBench(t testing.TB, is *Agent) *forwardtest.Bench {
	return forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) {
		New(d, r).Agent = func(context.Context) (Agent, error) { return *is, nil }
	})
}

// fresh starts it beside an sflowd that is well.
func fresh(t *testing.T) *forwardtest.Bench { return newBench(t, new(Agent)) }

const (
	port0 = "PORT|Ethernet0 lanes=0 speed=10000"
	port4 = "PORT|Ethernet4 lanes=4 speed=25000"
	up    = "SFLOW|global admin_state=up"
	c1    = "SFLOW_COLLECTOR|c1 collector_ip=192.0.2.1"
	c2    = "SFLOW_COLLECTOR|c2 collector_ip=2001:db8::1 collector_port=7000 collector_vrf=mgmt"
	agent = "counters:SFLOW_COUNTERS:sflowd agent-address=10.0.0.9"
	sent1 = "counters:SFLOW_COLLECTOR_COUNTERS:c1 datagrams=1 last-error="
)

// Each case writes rows, then looks at one table of APPL_DB and at statuses.
func TestRules(t *testing.T) {
	cases := []forwardtest.Case{
		{
			Name: "the rate is the speed's; a port's row counts before that of all, that before the switch's",
			Do: []string{port0, port4, "SFLOW|global admin_state=up sample_direction=tx", "SFLOW_SESSION|all admin_state=down",
				"SFLOW_SESSION|Ethernet4 admin_state=up sample_rate=256 sample_direction=both"},
			Table: schema.AppSFlowSession, Want: []string{
				"Ethernet0 admin_state=down sample_direction=tx sample_rate=10000",
				"Ethernet4 admin_state=up sample_direction=both sample_rate=256",
			},
			Status: map[string]string{"SFLOW_SESSION_TABLE|all": "active (tammgrd)"},
		},
		{
			Name: "a row that is wrong leaves its port alone, and that of all each that does not say that it is sampled",
			Do: []string{port0, port4, up, "SFLOW_SESSION|Ethernet0 sample_rate=255",
				"SFLOW_SESSION|all sample_rate=1000", "SFLOW_SESSION|Ethernet8 sample_rate=1000",
				"SFLOW_SESSION|Vlan10 admin_state=up"},
			Table: schema.AppSFlowSession, Want: []string{"Ethernet4 admin_state=down sample_direction=rx sample_rate=25000"},
			Status: map[string]string{
				"SFLOW_SESSION_TABLE|Ethernet0": `failed: sample_rate "255": want a number in 256..8388608 (tammgrd)`,
				"SFLOW_SESSION_TABLE|all": `failed: sample_rate "1000": want no rate for all ports: each has its own ` +
					`(tammgrd)`,
				"SFLOW_SESSION_TABLE|Ethernet8": `pending: port "Ethernet8" does not exist (tammgrd)`,
				"SFLOW_SESSION_TABLE|Vlan10":    `failed: key "Vlan10": want EthernetN or all (tammgrd)`,
			},
		},
		{
			Name: "two collectors, the first by name of those that are right", Do: []string{up, agent, sent1, c1, c2,
				"SFLOW_COLLECTOR|c0 collector_ip=224.0.0.1", "SFLOW_COLLECTOR|c3 collector_ip=192.0.2.3"},
			Table: schema.AppSFlowCollector,
			Want: []string{"c1 collector_ip=192.0.2.1 collector_port=6343 collector_vrf=default",
				"c2 collector_ip=2001:db8::1 collector_port=7000 collector_vrf=mgmt"},
			Status: map[string]string{
				"SFLOW_COLLECTOR_TABLE|c0": `failed: collector_ip "224.0.0.1": want a unicast IPv4 or IPv6 address (tammgrd)`,
				"SFLOW_COLLECTOR_TABLE|c1": "active (tammgrd)",
				"SFLOW_COLLECTOR_TABLE|c2": "pending: sflowd has not taken it yet (tammgrd)",
				"SFLOW_COLLECTOR_TABLE|c3": "failed: there are 2 collectors before it by name, want at most 2 in all (tammgrd)",
				"SFLOW_TABLE|global":       "active (tammgrd)",
			},
		},
		{
			Name: "sFlow is down", Do: []string{port0, c1, "SFLOW_SESSION|Ethernet0 sample_rate=256",
				"SFLOW|global admin_state=down"},
			Table: schema.AppSFlowSession,
			Status: map[string]string{
				"SFLOW_TABLE|global":            "active (tammgrd)",
				"SFLOW_COLLECTOR_TABLE|c1":      "pending: " + down + " (tammgrd)",
				"SFLOW_SESSION_TABLE|Ethernet0": "pending: " + down + " (tammgrd)",
			},
		},
		{
			Name: "what is wrong with the switch's row", Do: []string{c1, "SFLOW|global admin_state=up polling_interval=4",
				"SFLOW|other admin_state=up"},
			Status: map[string]string{
				"SFLOW_TABLE|global":       `failed: polling_interval "4": want 0, or a number in 5..300 (tammgrd)`,
				"SFLOW_TABLE|other":        `failed: key "other": want global (tammgrd)`,
				"SFLOW_COLLECTOR_TABLE|c1": "pending: " + down + " (tammgrd)",
			},
		},
		{
			Name: "nobody to send to", Do: []string{up},
			Status: map[string]string{"SFLOW_TABLE|global": "pending: there is no collector: nothing is sent (tammgrd)"},
		},
		{
			Name: "no address", Do: []string{"SFLOW|global admin_state=up agent_id=Loopback0", c1},
			Status: map[string]string{
				"SFLOW_TABLE|global": "pending: sflowd has not taken it yet (tammgrd)"},
		},
	}
	for i := range cases { // what sflowd says is asked for in the step after
		cases[i].Do = append(cases[i].Do, "step")
	}
	forwardtest.Check(t, fresh, cases, appl, appl)
}

// What is sent is told as sflowd says it, a second later at most, and nothing is active without sflowd.
func TestSent(t *testing.T) {
	var is Agent
	b := newBench(t, &is)
	want := func(global, collector string) {
		t.Helper()
		b.Do("step")
		if g, c := b.Status("SFLOW_TABLE|global"),
			b.Status("SFLOW_COLLECTOR_TABLE|c1"); g != global+" (tammgrd)" || c != collector+" (tammgrd)" {
			t.Errorf("got %s, %s\nwant %s, %s", g, c, global, collector)
		}
	}
	b.Do("SFLOW|global admin_state=up agent_id=Loopback0", c1)
	want("pending: sflowd has not taken it yet", "pending: sflowd has not taken it yet")
	b.Do("counters:SFLOW_COUNTERS:sflowd agent-address=", "counters:SFLOW_COLLECTOR_COUNTERS:c1 datagrams=0 last-error=")
	want("pending: Loopback0, which agent_id names, has no address: nothing is sent",
		"pending: there was nothing to be sent yet")
	b.Do(agent, sent1)
	want("active", "active")
	b.Do("counters:SFLOW_COLLECTOR_COUNTERS:c1 datagrams=9 last-error=refused")
	want("active", "pending: the last datagram was not taken: refused")
	b.Do(sent1)
	is.Away = "sflowd is away"
	want("pending: sflowd is away", "pending: sflowd is away")
	is = Agent{Lacks: "no samples"}
	want("pending: no samples", "active")
	is = Agent{}
	want("active", "active")
	b.Do("restart")
	want("active", "active")
	b.Do("-"+c1, "SFLOW|global admin_state=up")
	if got := b.Status("SFLOW_COLLECTOR_TABLE|c1"); got != "" {
		t.Errorf("a collector that is gone is %s", got)
	}
}

// Any sequence of rows and restarts leads to what the last rows give when they are applied once.
func TestConvergence(t *testing.T) {
	lines := []string{
		port0, port4, "-PORT|Ethernet0", "PORT|Ethernet4 lanes=x", up, "SFLOW|global admin_state=down",
		"SFLOW|global polling_interval=x",
		"-SFLOW|global", c1, c2, "-SFLOW_COLLECTOR|c1", "SFLOW_COLLECTOR|c0 collector_ip=192.0.2.9", "-SFLOW_COLLECTOR|c0",
		"SFLOW_COLLECTOR|c1 collector_ip=none", "SFLOW_SESSION|all admin_state=down", "-SFLOW_SESSION|all",
		"SFLOW_SESSION|all sample_rate=1",
		"SFLOW_SESSION|Ethernet0 sample_rate=256", "SFLOW_SESSION|Ethernet0 sample_direction=up", "-SFLOW_SESSION|Ethernet0",
		"SFLOW_SESSION|Ethernet4 admin_state=up sample_direction=both", "-SFLOW_SESSION|Ethernet4", "restart", "step", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 40}, func(t *testing.T, seed uint64) {
		t.Parallel()
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 40, appl, appl)
	})
}
