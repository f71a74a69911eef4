package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Bind points of ACL table types.
const (
	BindPort        = "PORT"
	BindPortChannel = "PORTCHANNEL"
	BindSwitch      = "SWITCH" // only in built-in types
)

// ACLTableType defines the matches and actions of a table's rules, and the bind points of the table. It is a row of
// ACL_TABLE_TYPE, or a built-in type.
type ACLTableType struct {
	Name       string
	Matches    MatchSet
	Actions    ActionSet
	BindPoints []string // sorted
}

// ACLTypeControlPlane is the type of the tables that protect the CPU in software. They are not programmed into the
// ASIC.
const ACLTypeControlPlane = "CTRLPLANE"

// ACLTypeSample is the type of tables whose rules sample packets. It is tamtam's own.
const ACLTypeSample = "SAMPLE"

func l4Matches() MatchSet {
	return Matches(MatchL4SrcPort, MatchL4DstPort, MatchL4SrcPortRange, MatchL4DstPortRange, MatchTCPFlags)
}

func v4Matches() MatchSet {
	return Matches(MatchSrcIP, MatchDstIP, MatchICMPType, MatchICMPCode, MatchIPProtocol)
}

func v6Matches() MatchSet {
	return Matches(MatchSrcIPv6, MatchDstIPv6, MatchICMPv6Type, MatchICMPv6Code, MatchNextHeader)
}

// BuiltinACLTypes returns the table types that need no row.
func BuiltinACLTypes() []ACLTableType {
	both := []string{BindPort, BindPortChannel}
	port := []string{BindPort}
	packet := Actions(ActionPacket, ActionRedirect, ActionDoNotNAT, ActionDisableTrim, ActionPolicer, ActionCounter)
	mirror := Actions(ActionMirrorIngress, ActionMirrorEgress, ActionCounter)
	l2 := Matches(MatchEtherType, MatchVLANID, MatchIPType)
	l3 := l2 | v4Matches() | l4Matches()
	l3v6 := Matches(MatchVLANID, MatchIPType) | v6Matches() | l4Matches()
	dscp := Matches(MatchDSCP)
	sample := Actions(ActionSampleIngress, ActionSampleEgress, ActionPacket, ActionPolicer, ActionCounter)
	sets := Actions(ActionMetaData, ActionDSCP, ActionPacket, ActionCounter)
	tam := l3 | l3v6 | dscp | Matches(MatchSrcMAC, MatchDstMAC, MatchTTL, MatchIPv6FlowLabel, MatchTC, MatchInPorts)
	var all MatchSet
	for f := range matchCount {
		if !matchSpecs[f].tam {
			all |= 1 << f
		}
	}
	return []ACLTableType{
		{"L3", l3, packet, both},
		{"L3V6", l3v6, packet, both},
		{"L3V4V6", l3 | l3v6, packet, both},
		{"MIRROR", l3 | dscp, mirror, both},
		{"MIRRORV6", l3v6 | dscp | Matches(MatchEtherType), mirror, both},
		{"MIRROR_DSCP", dscp, mirror, both},
		{"PFCWD", Matches(MatchTC, MatchInPorts, MatchOutPorts), packet, port},
		{ACLTypeControlPlane, all, packet, nil},
		{"DTEL_FLOW_WATCHLIST", Matches(MatchEtherType, MatchSrcIP, MatchDstIP, MatchIPProtocol, MatchL4SrcPort,
			MatchL4DstPort, MatchTunnelVNI, MatchInnerEtherType, MatchInnerSrcIP, MatchInnerIPProtocol,
			MatchInnerL4SrcPort, MatchInnerL4DstPort),
			Actions(ActionFlowOp, ActionINTSession, ActionDropReport, ActionTailDropReport, ActionFlowSamplePercent,
				ActionReportAllPackets, ActionCounter), []string{BindSwitch}},
		{"MCLAG", l3 | Matches(MatchOutPorts), packet, both},
		{"MUX", l3 | l3v6 | Matches(MatchInPorts), packet, port},
		{"DROP", Matches(MatchTC, MatchInPorts), packet, port},
		{"MARK_META", l3 | dscp, sets, both},
		{"MARK_META_V6", l3v6 | dscp, sets, both},
		{"EGR_SET_DSCP", Matches(MatchMetaData), sets, both},
		{"UNDERLAY_SET_DSCP", l3 | dscp, sets, both},
		{"UNDERLAY_SET_DSCPV6", l3v6 | dscp, sets, both},
		{ACLTypeSample, l3 | l3v6 | dscp, sample, both},
		{ACLTypeTAM, tam, 0, both},
	}
}

var builtinACLTypes = func() map[string]ACLTableType {
	m := map[string]ACLTableType{}
	for _, t := range BuiltinACLTypes() {
		m[t.Name] = t
	}
	return m
}()

// BuiltinACLType returns the built-in type of that name.
func BuiltinACLType(name string) (ACLTableType, bool) {
	t, ok := builtinACLTypes[name]
	return t, ok
}

const (
	ownTypeForm = "a name that no built-in table type has, or TAM"
	wordsForm   = "a comma separated list"
)

// layout returns the layout of the row. Unknown words and unknown fields are errors, as in SONiC. A row of the built-in
// type TAM limits the matches of flow groups. SONiC's YANG modules require such a row, since they do not have the type.
func (t *ACLTableType) layout() layout {
	return layout{
		table: CfgACLTableType, upper: true,
		key: key{form: ownTypeForm, read: func(r *reader, key string) {
			k := named(&t.Name)
			k.parse(r, key)
			if _, ok := BuiltinACLType(key); ok && key != ACLTypeTAM {
				r.bad("", key, ownTypeForm)
			}
		}},
		fields: []field{
			own("MATCHES", "names of matches, separated by commas", "What the rules of a table may match.", t.readMatches,
				func() string { return joined(t.Matches.Fields()) }).must(""),
			own("ACTIONS", "names of actions, separated by commas", "What the rules of a table may do.", t.readActions,
				func() string { return joined(t.Actions.Fields()) }),
			own("BIND_POINTS", "PORT, PORTCHANNEL", "What a table may be bound to.", t.readBindPoints,
				func() string { return strings.Join(t.BindPoints, ",") }).must(""),
		},
		check: t.checkTAM,
	}
}

// checkTAM checks that a row of the type TAM has nothing that the built-in type lacks.
func (t *ACLTableType) checkTAM(r *reader) {
	tam := builtinACLTypes[ACLTypeTAM]
	if t.Name != tam.Name || r.err() != nil {
		return
	}
	for f := range matchCount {
		if t.Matches.Has(f) && !tam.Matches.Has(f) {
			r.bad("MATCHES", f.String(), "matches of flow groups: "+joined(tam.Matches.Fields()))
		}
	}
	if t.Actions != 0 {
		r.bad("ACTIONS", joined(t.Actions.Fields()), "no actions in the type TAM: its rules only match")
	}
	if points := strings.Join(t.BindPoints, ","); points != strings.Join(tam.BindPoints, ",") {
		r.bad("BIND_POINTS", points, strings.Join(tam.BindPoints, ",")+" in the type TAM")
	}
}

func (t *ACLTableType) readMatches(r *reader) {
	words := r.words("MATCHES")
	if len(words) == 0 {
		r.bad("MATCHES", "", wordsForm)
	}
	for _, w := range words {
		f, ok := matchByName[w]
		if !ok || matchSpecs[f].tam && t.Name != ACLTypeTAM {
			r.badWord("MATCHES", w, "names of matches", plainMatchNames())
			continue
		}
		t.Matches |= 1 << f
	}
}

func (t *ACLTableType) readActions(r *reader) {
	for _, w := range r.words("ACTIONS") {
		f, ok := actionByName[w]
		if !ok {
			r.badWord("ACTIONS", w, "names of actions", actionNames())
			continue
		}
		t.Actions |= 1 << f
	}
}

func (t *ACLTableType) readBindPoints(r *reader) {
	words := r.words("BIND_POINTS")
	if len(words) == 0 {
		r.bad("BIND_POINTS", "", wordsForm)
	}
	for _, w := range words {
		if w != BindPort && w != BindPortChannel {
			r.bad("BIND_POINTS", w, "PORT or PORTCHANNEL")
			continue
		}
		t.BindPoints = append(t.BindPoints, w)
	}
	slices.Sort(t.BindPoints)
}

// joined returns the names of matches or actions, separated by commas.
func joined[F fmt.Stringer](list []F) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.String()
	}
	return strings.Join(names, ",")
}

func (r *reader) words(field string) []string {
	v, _ := r.value(field)
	return splitList(strings.ToUpper(v))
}

func plainMatchNames() []string {
	var out []string
	for f := range matchCount {
		if !matchSpecs[f].tam {
			out = append(out, matchSpecs[f].name)
		}
	}
	return out
}

func actionNames() []string {
	var out []string
	for f := range actionCount {
		out = append(out, actionSpecs[f].name)
	}
	return out
}

// Stages of ACL tables.
const (
	StageIngress = "INGRESS"
	StageEgress  = "EGRESS"
	// StagePreIngress is the stage after the parser, before any forwarding decision. No row of ACL_TABLE uses it.
	StagePreIngress = "PRE_INGRESS"
)

// ACLTable is a row of ACL_TABLE and of APPL_DB ACL_TABLE_TABLE.
type ACLTable struct {
	Name   string
	Policy string // POLICY_DESC
	Type   string
	Stage  string   // StageIngress or StageEgress
	Ports  []string // sorted ports and PortChannels, in CONFIG_DB possibly aliases; for a TAM table, none means all
}

// layout returns the layout of the row. Unknown fields are errors, as in SONiC.
func (t *ACLTable) layout() layout {
	return layout{
		table: CfgACLTable, upper: true,
		key: named(&t.Name),
		fields: []field{
			text("POLICY_DESC", &t.Policy, "Words for people.").always(),
			name("TYPE", "", &t.Type, "What the rules may match and do: a built-in type, or a row of ACL_TABLE_TYPE.").
				must("an ACL table type such as L3 or TAM"),
			word("STAGE", StageIngress, []string{StageIngress, StageEgress}, &t.Stage, "Where on a packet's way the table is."),
			list("PORTS", "ports separated by commas", &t.Ports, validAlias,
				"Ports and PortChannels that the table is bound to; of a TAM table without it, all.").always(),
			ignored("SERVICES"),
		},
		check: func(r *reader) {
			if t.Type == ACLTypeTAM && t.Stage == StageEgress {
				r.bad("STAGE", StageEgress, "INGRESS in a table of type TAM")
			}
		},
	}
}

// ImplicitTAMTable returns the ACL table TAM that is used if none is configured.
func ImplicitTAMTable() ACLTable {
	return ACLTable{Name: TAMTable, Policy: "TAM flow groups", Type: ACLTypeTAM, Stage: StageIngress}
}
