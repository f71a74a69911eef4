package sflow

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// appl contains the tables of APPL_DB. STATE_DB has tables of the same names.
var appl = []string{schema.AppSFlow, schema.AppSFlowCollector, schema.AppSFlowSession}

// newBench starts the manager with an sflowd whose state is *is.
func newBench(t testing.TB, is *Agent) *forwardtest.Bench {
	return forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) {
		New(d, r).Agent = func(context.Context) (Agent, error) { return *is, nil }
	})
}

const (
	port0 = "PORT|Ethernet0 lanes=0 speed=10000"
	port4 = "PORT|Ethernet4 lanes=4 speed=25000"
	up    = "SFLOW|global admin_state=up"
	c1    = "SFLOW_COLLECTOR|c1 collector_ip=192.0.2.1"
	c2    = "SFLOW_COLLECTOR|c2 collector_ip=2001:db8::1 collector_port=7000 collector_vrf=mgmt"
	agent = "counters:SFLOW_COUNTERS:sflowd agent-address=10.0.0.9"
	sent1 = "counters:SFLOW_COLLECTOR_COUNTERS:c1 datagrams=1 last-error="
)

// The status follows the reports of sflowd within a second. Without sflowd, no row is active.
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

// Any sequence of rows and restarts has the same result as applying the last version of each row once.
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
		fresh := func(t *testing.T) *forwardtest.Bench { return newBench(t, new(Agent)) }
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 40, appl, appl)
	})
}

var update = flag.Bool("update", false, "write the results into the transcripts")

// The outcomes of rows are in testdata/*.rows.
func TestRules(t *testing.T) {
	forwardtest.Transcript{
		Managers: func(d *orch.Daemon, r *swss.Redis) {
			New(d, r).Agent = func(context.Context) (Agent, error) { return Agent{}, nil }
		},
		Appl: appl, State: appl, Update: *update,
	}.Run(t)
}
