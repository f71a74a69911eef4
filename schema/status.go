package schema

import (
	"strings"
	"time"
)

// Fields of the status rows in STATE_DB.
const (
	FieldStatus   = "status"
	FieldOpStatus = "op-status" // instead of status in TAM_STATE_FEATURES_TABLE
	FieldReason   = "reason"
	FieldSince    = "since"
	FieldBy       = "by"
)

// Processes that own a status row.
const (
	ByTAMMgr    = "tammgrd"
	ByOrchAgent = "orchagent"
)

// A StatusTable is a table of STATE_DB whose rows say what became of the rows of
// a table of CONFIG_DB, under the same keys.
type StatusTable struct {
	State  string
	Config string // "" where it depends on the key; see [StatusTable.Object]
	Field  string // that holds the status
	Good   string // the word for a row that is in force
	// Off is the word for a row that asks for nothing, where there is one. With
	// a reason beside it, the row asks for something and does not get it.
	Off string
}

// StatusTables returns all of them, in the order in which an operator looks for
// what is wrong: ports and what is made of them, forwarding, QoS, ACLs,
// telemetry. No daemon reports to another table (device tests hold that).
func StatusTables() []StatusTable {
	table := func(state, config string) StatusTable {
		return StatusTable{State: state, Config: config, Field: StatusField(state), Good: StatusActive}
	}
	feature := table(StateTAMFeature, CfgTAMFeature)
	feature.Good, feature.Off = FeatureActive, FeatureInactive
	return []StatusTable{
		table(StateSwitch, CfgSwitch),
		table(StateBreakout, CfgBreakout),
		table(StatePort, CfgPort),
		table(StateLAG, CfgPortChannel),
		table(StateLAGMember, CfgPortChannelMbr),
		table(StateVLAN, CfgVLAN),
		table(StateVLANMember, CfgVLANMember),

		table(StateInterface, ""),
		table(StateStaticRoute, CfgStaticRoute),
		table(StateNeigh, CfgNeigh),
		table(StateStaticFDB, CfgFDB),

		table(AppDSCPToTC, CfgDSCPToTC),
		table(AppDot1pToTC, CfgDot1pToTC),
		table(AppTCToQueue, CfgTCToQueue),
		table(AppPortQoS, CfgPortQoS),
		table(AppScheduler, CfgScheduler),
		table(AppWRED, CfgWRED),
		table(AppQueue, CfgQueue),
		table(AppBufferPool, CfgBufferPool),
		table(AppBufferProfile, CfgBufferProfile),
		table(AppBufferQueue, CfgBufferQueue),
		table(AppMirrorSession, CfgMirrorSession),
		table(AppCOPP, CfgCOPPGroup),
		table(StateCOPPTrap, CfgCOPPTrap),

		table(StateACLTableType, CfgACLTableType),
		table(StateACLTable, CfgACLTable),
		table(StateACLRule, CfgACLRule),
		table(StateFlexCounter, CfgFlexCounter),
		table(StateCRM, CfgCRM),

		table(StateTAMSwitch, CfgTAMSwitch),
		feature,
		table(StateTAMCollector, CfgTAMCollector),
		table(StateTAMSampler, CfgTAMSampler),
		table(StateTAMFlowGroup, CfgTAMFlowGroup),
		table(StateTAMTailStamp, CfgTAMTailStamp),
		table(StateTAMAltMark, CfgTAMAltMark),
		table(StateTAMFlyMonTask, CfgTAMFlyMonTask),
		table(StateTAMFlyMonQuery, CfgTAMFlyMonQuery),
		table(StateTAMTableRecord, CfgTAMTableRecord),
	}
}

// Object names the configured row that a status row speaks of: TABLE|key.
func (t StatusTable) Object(key string) string {
	config := t.Config
	if config == "" { // of interfaces there are four tables
		name, _, _ := strings.Cut(key, "|")
		config = InterfaceTable(name)
	}
	return config + "|" + key
}

// OK says whether a row of the table, by its status and reason, speaks of a row
// with which nothing is wrong. SONiC's words come in both cases.
func (t StatusTable) OK(status, reason string) bool {
	return strings.EqualFold(status, t.Good) || t.Off != "" && status == t.Off && reason == ""
}

// IsDescription says whether a field of a row holds words for people, which
// nothing but what shows them depends on.
func IsDescription(field string) bool {
	return strings.EqualFold(field, "description") || strings.EqualFold(field, "POLICY_DESC")
}

// StatusField is the field of stateTable's rows that holds the status.
func StatusField(stateTable string) string {
	if stateTable == StateTAMFeature {
		return FieldOpStatus
	}
	return FieldStatus
}

// Status is a row of STATE_DB: what became of a configured row.
type Status struct {
	Status string
	Reason string    // in words; empty when there is nothing to say
	Since  time.Time // when Status became what it is
	By     string    // the process that decides it: ByTAMMgr, ByOrchAgent
}

// ParseStatus reads a status row of stateTable; other fields are ignored.
func ParseStatus(stateTable, key string, fields map[string]string) (Status, error) {
	r := newReader(stateTable, key, fields, false)
	s := Status{Status: r.text(StatusField(stateTable)), Reason: r.text(FieldReason), By: r.text(FieldBy)}
	if v, ok := r.take(FieldSince); ok {
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			r.bad(FieldSince, v, "a time as in RFC 3339")
		}
		s.Since = t
	}
	return s, r.err()
}

// Fields formats the row for stateTable.
func (s Status) Fields(stateTable string) map[string]string {
	return map[string]string{
		StatusField(stateTable): s.Status,
		FieldReason:             s.Reason,
		FieldSince:              s.Since.UTC().Format(time.RFC3339Nano),
		FieldBy:                 s.By,
	}
}
