package mgmt

import (
	"fmt"

	"tamtam/schema"
	"tamtam/swss"
)

// tableRecordModule is tamtam-tablerecord in the databases. Plans are sent on
// change: a session has a new one when the pipeline, or what is known of the paths,
// has changed.
func tableRecordModule() Module {
	const session = "{name}"
	plan := []Leaf{{"state/plan/tables", parted("TABLES", ",")}}
	for leaf, field := range map[string]string{
		"id": "ID", "phv": "PHV", "mode": "MODE", "algorithm": "ALGORITHM", "bits": "BITS", "entropy": "ENTROPY", "entropy-full": "ENTROPY_FULL",
		"bound": "BOUND", "optimal": "OPTIMAL", "recovery": "RECOVERY", "json": "PLAN",
	} {
		plan = append(plan, Leaf{"state/plan/" + leaf, text(field)})
	}
	return Module{Name: "tamtam-tablerecord", Groups: []Group{
		{Path: "/tam/tablerecord-sessions/tablerecord-session", Unique: []string{"config/flowgroup"}, Finish: collectorFits, Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMTableRecord, Key: session, Entry: true, Check: check(schema.ParseRecordSession),
				Leaves: append(recordLeaves("config"), Leaf{"config/flowgroup", text("flowgroup")}, Leaf{"config/collector", text("collector")},
					Leaf{"config/sampler", text("sampler")}),
			},
			{
				DB: swss.ApplDB, Table: schema.AppTAMTableRecord, Key: session,
				Leaves: append(recordLeaves("state"), Leaf{"state/flowgroup", text("acl-rule-name")}, Leaf{"state/collector-address", text("collector")},
					Leaf{"state/sampling-rate", text("sampling-rate")}),
			},
			{DB: swss.CountersDB, Table: schema.CountersRecord, Key: session, Counter: true, Leaves: []Leaf{
				{"state/counters/matched", text("MATCHED")}, {"state/counters/not-sampled", text("NOT_SAMPLED")},
				{"state/counters/recorded", text("RECORDED")}, {"state/counters/lost", text("LOST")},
			}},
			{DB: swss.CountersDB, Table: schema.CountersRecordPlan, Key: session, Leaves: plan},
		}},
	}}
}

func recordLeaves(at string) []Leaf {
	leaves := []Leaf{{at + "/must-record", list("must-record")}}
	for _, f := range []string{"phv", "mode", "algorithm", "probabilities", "encapsulation", "truncate", "source-ip"} {
		leaves = append(leaves, Leaf{at + "/" + f, text(f)})
	}
	return leaves
}

// collectorFits refuses a collector that no record can be sent to. That there is
// such a collector, and that the rows are good, is checked elsewhere.
func collectorFits(c *Change) error {
	row := c.Fields(schema.CfgTAMTableRecord)
	if row == nil || row["collector"] == "" {
		return nil
	}
	fields, err := c.Entry("/tam/collectors/collector", row["collector"], schema.CfgTAMCollector)
	if err != nil || fields == nil {
		return err
	}
	session, err := schema.ParseRecordSession(c.Keys()[0], row)
	if err != nil {
		return nil
	}
	collector, err := schema.ParseCollector(row["collector"], fields)
	if err != nil {
		return nil
	}
	if collector.Protocol != schema.ProtocolUDP {
		return fmt.Errorf("config/collector: %s takes %s, want one of protocol %s", collector.Name, collector.Protocol, schema.ProtocolUDP)
	}
	if a := session.Source; a.IsValid() && a.Is4() != collector.Addr.Unmap().Is4() {
		return fmt.Errorf("config/source-ip: %s cannot reach collector %s at %s, want an address of its family", a, collector.Name, collector.Addr)
	}
	return nil
}
