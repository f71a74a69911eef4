package models

import (
	"errors"
	"fmt"

	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// tableRecordModule returns the mapping of tamtam-tablerecord. Plans are sent on change. A session has a new plan when
// the pipeline, or the known set of paths, has changed.
func tableRecordModule() tree.Module {
	const session = "{name}"
	sessions := schema.TableOf(schema.CfgTAMTableRecord)
	return tree.Module{Name: "tamtam-tablerecord", Groups: []tree.Group{
		{Path: "/tam/collectors/collector", Finish: recordersFit},
		{Path: "/tam/tablerecord-sessions/tablerecord-session", Unique: []string{"config/flowgroup"}, Finish: collectorFits,
			Rows: []tree.Row{
				configRow(sessions, session),
				appliedRow(sessions, session, wanted(schema.CfgTAMTableRecord, schema.ParseRecordSession, recordWanted)),
				countersRow(schema.CountersRecord, session, "state/counters"),
				measuredRow(schema.CountersRecordPlan, session, "state/plan",
					map[string]tree.Codec{"tables": parted("TABLES", ",")}),
			}},
	}}
}

// recordWanted returns a session's target state, without the fields from its collector and its sampler.
func recordWanted(s schema.RecordSession) map[string]string {
	return schema.RecordFlow{
		Name: s.Name, Rule: schema.ACLRuleKey{Rule: s.FlowGroup}, CollectorName: s.Collector, SamplerName: s.Sampler,
		RecordSettings: s.RecordSettings,
	}.Fields()
}

// collectorFits refuses a session if no record can be sent to its collector. The existence of the collector, and the
// validity of the rows, are checked elsewhere.
func collectorFits(c tree.Change) error {
	row := c.Fields(schema.CfgTAMTableRecord)
	if row == nil || row["collector"] == "" {
		return nil
	}
	fields, err := c.Entry("/tam/collectors/collector", row["collector"], schema.CfgTAMCollector)
	if err != nil || fields == nil {
		return err
	}
	leaf, why := unfit(c.Keys()[0], row, row["collector"], fields)
	if why == nil {
		return nil
	}
	return fmt.Errorf("config/%s: %w", leaf, why)
}

// recordersFit refuses a change of a collector after which the records of a session could no longer be sent to it. A
// new collector is checked with its session.
func recordersFit(c tree.Change) error {
	fields := c.Fields(schema.CfgTAMCollector)
	if c.Created() || fields == nil || !c.Changed("config/protocol") && !c.Changed("config/ip") {
		return nil
	}
	sessions, err := c.Entries("/tam/tablerecord-sessions/tablerecord-session", schema.CfgTAMTableRecord)
	if err != nil {
		return err
	}
	for _, name := range tree.SortedKeys(sessions) {
		if sessions[name]["collector"] != c.Keys()[0] || c.Unknown("/tam/tablerecord-sessions/tablerecord-session", name) {
			continue
		}
		_, why := unfit(name, sessions[name], c.Keys()[0], fields)
		if why != nil && !c.Sees("/tam/tablerecord-sessions/tablerecord-session", name) {
			return tree.Refused(errors.New("in use by " + tree.Hidden))
		}
		if why != nil {
			return tree.Refused(fmt.Errorf("in use by tablerecord-session %s: %w", name, why))
		}
	}
	return nil
}

// unfit returns why the records of a session cannot be sent to a collector, and the wrong leaf of the session. Rows
// that are invalid by themselves are skipped.
func unfit(session string, row map[string]string, collector string, fields map[string]string) (leaf string, why error) {
	s, err := schema.ParseRecordSession(session, row)
	if err != nil {
		return "", nil
	}
	to, err := schema.ParseCollector(collector, fields)
	switch {
	case err != nil:
		return "", nil
	case to.Protocol != schema.ProtocolUDP:
		return "collector", fmt.Errorf("%s takes %s, want one of protocol %s", collector, to.Protocol, schema.ProtocolUDP)
	case s.Source.IsValid() && s.Source.Is4() != to.Addr.Is4():
		return "source-ip", fmt.Errorf("%s cannot reach collector %s at %s, want an address of its family", s.Source,
			collector, to.Addr)
	}
	return "", nil
}
