// Package orchagenttest provides the parts of an orchagent below the orch of a TAM feature: ports and ACLs, on a fake
// ASIC. They are for the tests of that orch.
//
// What belongs here: the start of the orchs of such a test. All other code belongs to the tests of the feature.
package orchagenttest

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/orchtest"
	aclorch "tamtam/orchagent/acl"
	portsorch "tamtam/orchagent/ports"
	"tamtam/swss/schema"
)

// An Agent holds the ports and ACLs of an orchagent.
type Agent struct {
	Ports  *portsorch.Orch
	ACL    *aclorch.Orch
	Config feature.Config // for the orch of a feature

	bench *orchtest.Bench
}

// A Viewer is the orch of a feature.
type Viewer interface{ ViewApplied() }

// Start restarts a bench, and makes ports and ACLs from the rows in its Redis.
func Start(b *orchtest.Bench) *Agent {
	b.T.Helper()
	b.Start()
	ports, err := portsorch.New(b.Ctx, portsorch.Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Poller: b.Poller})
	if err != nil {
		b.T.Fatal(err)
	}
	acl, err := aclorch.New(b.Ctx, aclorch.Config{
		SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: ports, Poller: b.Poller, Switch: ports.Switch(),
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return &Agent{Ports: ports, ACL: acl, bench: b, Config: feature.Config{
		SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Switch: ports.Switch(), Features: orch.NewFeatures(b.Daemon),
	}}
}

// Make makes the orch of a feature with a config that contains that of the agent, and publishes the capabilities of the
// switch.
func Make[C, O any](a *Agent, make func(context.Context, C) (O, error), cfg C) O {
	a.bench.T.Helper()
	o, err := make(a.bench.Ctx, cfg)
	if err == nil {
		err = a.Config.Features.Publish(a.bench.Ctx)
	}
	if err != nil {
		a.bench.T.Fatal(err)
	}
	return o
}

// Apply applies the first view, made from the current rows of APPL_DB.
func (a *Agent) Apply(orchs ...Viewer) {
	b := a.bench
	b.T.Helper()
	b.Step()
	if err := a.Ports.ViewApplied(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	for _, o := range orchs {
		o.ViewApplied()
	}
	b.Daemon.Release()
	b.Step()
}

// WritePorts writes the rows of n ports: Ethernet0, Ethernet4 and so on.
func WritePorts(b *orchtest.Bench, n int) {
	b.T.Helper()
	for i := range n {
		b.Set(schema.AppPort, fmt.Sprint("Ethernet", 4*i),
			"lanes", fmt.Sprintf("%d,%d,%d,%d", 4*i+1, 4*i+2, 4*i+3, 4*i+4), "speed", "100000", "mtu", "9100",
			"admin_status", "up")
	}
	b.Set(schema.AppPort, schema.PortConfigDone, "count", fmt.Sprint(n))
}

// WriteTAMTable writes the row of the ACL table of flow groups.
func WriteTAMTable(b *orchtest.Bench) {
	b.T.Helper()
	b.Set(schema.AppACLTable, schema.TAMTable, "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "",
		"POLICY_DESC", "flow groups")
}

// A World provides the ids and routes that the orch of a feature gets from other orchs. Tests can change them at any
// time.
type World struct {
	IDs     schema.TAMSwitchInUse
	Renamed orch.Topic[struct{}]
	Routed  orch.Topic[struct{}]
}

// InUse returns the ids in use.
func (w *World) InUse() schema.TAMSwitchInUse { return w.IDs }

// IDChanges returns a topic that tests publish.
func (w *World) IDChanges() *orch.Topic[struct{}] { return &w.Renamed }

// Changes returns a topic that tests publish.
func (w *World) Changes() *orch.Topic[struct{}] { return &w.Routed }
