package tsorch

import (
	"fmt"
	"slices"
	"testing"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/orchtest"
	aclorch "tamtam/orchagent/acl"
	portsorch "tamtam/orchagent/ports"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// bench is a whole orchagent on a fake ASIC: ports, ACLs and tail-stamping.
type bench struct {
	*orchtest.Bench
	ports *portsorch.Orch
	acl   *aclorch.Orch
	ts    *Orch
}

// newBench makes a switch of four ports with the switch id 7.
func newBench(t testing.TB, opts saitest.Options) *bench { return newBenchOn(t, opts, nil) }

// newBenchOn puts a layer between the recorder and the fake.
func newBenchOn(t testing.TB, opts saitest.Options, layer func(sai.API) sai.API) *bench {
	t.Helper()
	opts.Ports = 4
	b := &bench{Bench: orchtest.New(t, opts)}
	b.Layer = layer
	b.start()
	b.Set(schema.AppTAMSwitch, schema.TAMGlobalKey, "op-switch-id", "7", "op-enterprise-id", "7")
	for i := range 4 {
		b.port(4*i, fmt.Sprintf("%d,%d,%d,%d", 4*i+1, 4*i+2, 4*i+3, 4*i+4))
	}
	b.Set(schema.AppPort, schema.PortConfigDone, "count", "4")
	b.viewApplied()
	b.Rec.Reset()
	return b
}

// start makes a new orchagent with a new ASIC on the same Redis.
func (b *bench) start() {
	b.T.Helper()
	b.Start()
	b.Poller.Lax = b.Layer != nil
	var err error
	b.ports, err = portsorch.New(b.Ctx, portsorch.Config{SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Poller: b.Poller})
	if err != nil {
		b.T.Fatal(err)
	}
	b.acl, err = aclorch.New(b.Ctx, aclorch.Config{
		SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Ports: b.ports, Poller: b.Poller, Switch: b.ports.Switch(),
	})
	if err != nil {
		b.T.Fatal(err)
	}
	features := orch.NewFeatures(b.Daemon)
	b.ts, err = New(b.Ctx, Config{Rules: b.acl, Config: feature.Config{
		SAI: b.Rec, Daemon: b.Daemon, Redis: b.Redis, Switch: b.ports.Switch(), Features: features,
	}})
	if err != nil {
		b.T.Fatal(err)
	}
	if err := features.Publish(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
}

// restart ends the orchagent and starts another.
func (b *bench) restart() {
	b.T.Helper()
	b.start()
	b.viewApplied()
}

// viewApplied ends the start: what is in APPL_DB by now is the first view.
func (b *bench) viewApplied() {
	b.T.Helper()
	b.Step()
	if err := b.ports.ViewApplied(b.Ctx); err != nil {
		b.T.Fatal(err)
	}
	b.Daemon.Release()
	b.Step()
}

func (b *bench) port(n int, lanes string) {
	b.Set(schema.AppPort, fmt.Sprintf("Ethernet%d", n), "lanes", lanes, "speed", "100000", "mtu", "9100", "admin_status",
		"up")
}

func (b *bench) activate() { b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE") }

func (b *bench) tamTable() {
	b.Set(schema.AppACLTable, "TAM", "TYPE", "TAM", "STAGE", "INGRESS", "PORTS", "", "POLICY_DESC", "flow groups")
}

func (b *bench) rule(name string, fields ...string) {
	b.Set(schema.AppACLRule, "TAM:"+name, append([]string{"PRIORITY", "100"}, fields...)...)
}

func (b *bench) session(name, rule string) {
	b.Set(schema.AppTAMTailStamp, name, "acl-table-name", "TAM", "acl-rule-name", rule)
}

func (b *bench) wantSession(name, want string) {
	b.T.Helper()
	b.WantStatus(schema.StateTAMTailStamp, name, want)
}

// statuses is what STATE_DB says of all rows.
func (b *bench) statuses() []string {
	b.T.Helper()
	return b.Statuses(
		schema.StatePort, schema.StateLAG, schema.StateLAGMember, schema.StateVLAN, schema.StateVLANMember,
		schema.StateACLTableType, schema.StateACLTable, schema.StateACLRule, schema.StateTAMFeature,
		schema.StateTAMTailStamp,
	)
}

// counterNames are the names that have ACL counters.
func (b *bench) counterNames() []string {
	b.T.Helper()
	var names []string
	for name := range b.Row(swss.CountersDB, schema.CountersACLRuleMap, "") {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
