package tsorch

import (
	"fmt"
	"slices"
	"testing"

	"tamtam/orch/orchtest"
	aclorch "tamtam/orchagent/acl"
	"tamtam/orchagent/orchagenttest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// bench is an orchagent with ports, ACLs and tail-stamping on a fake ASIC.
type bench struct {
	*orchtest.Bench
	agent *orchagenttest.Agent
	acl   *aclorch.Orch
	ts    *Orch
}

// newBench makes a switch of four ports with the switch id 7.
func newBench(t testing.TB, opts saitest.Options) *bench { return newBenchOn(t, opts, nil) }

// newBenchOn makes a switch as newBench does, with a layer between the call recorder and the fake ASIC.
func newBenchOn(t testing.TB, opts saitest.Options, layer func(sai.API) sai.API) *bench {
	t.Helper()
	opts.Ports = 4
	b := &bench{Bench: orchtest.New(t, opts)}
	b.Layer = layer
	b.start()
	b.Set(schema.AppTAMSwitch, schema.TAMGlobalKey, "op-switch-id", "7", "op-enterprise-id", "7")
	orchagenttest.WritePorts(b.Bench, 4)
	b.agent.Apply()
	b.Rec.Reset()
	return b
}

// start makes a new orchagent with a new ASIC on the same Redis.
func (b *bench) start() {
	b.T.Helper()
	b.agent = orchagenttest.Start(b.Bench)
	b.Poller.Lax = b.Layer != nil
	b.acl = b.agent.ACL
	b.ts = orchagenttest.Make(b.agent, New, Config{Rules: b.acl, Config: b.agent.Config})
}

// restart ends the orchagent and starts another.
func (b *bench) restart() {
	b.T.Helper()
	b.start()
	b.agent.Apply()
}

func (b *bench) port(n int, lanes string) {
	b.Set(schema.AppPort, fmt.Sprintf("Ethernet%d", n), "lanes", lanes, "speed", "100000", "mtu", "9100", "admin_status",
		"up")
}

func (b *bench) activate() { b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE") }

func (b *bench) tamTable() {
	orchagenttest.WriteTAMTable(b.Bench)
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

// statuses returns the status of all rows in STATE_DB.
func (b *bench) statuses() []string {
	b.T.Helper()
	return b.Statuses(
		schema.StatePort, schema.StateLAG, schema.StateLAGMember, schema.StateVLAN, schema.StateVLANMember,
		schema.StateACLTableType, schema.StateACLTable, schema.StateACLRule, schema.StateTAMFeature,
		schema.StateTAMTailStamp,
	)
}

// counterNames returns the names that have ACL counters.
func (b *bench) counterNames() []string {
	b.T.Helper()
	var names []string
	for name := range b.Row(swss.CountersDB, schema.CountersACLRuleMap, "") {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
