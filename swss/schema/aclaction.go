package schema

import (
	"iter"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// ActionField is an action of an ACL rule, named as in ACL_RULE.
type ActionField uint8

// The actions of SONiC's ACL rules, and two of tamtam's own for sampling, for which SONiC has no word. Each comment
// names the member of [ACLAction] that holds the value.
const (
	ActionPacket            ActionField = iota // Word: FORWARD, DROP, COPY
	ActionRedirect                             // Redirect
	ActionDoNotNAT                             // no value
	ActionDisableTrim                          // no value
	ActionMirrorIngress                        // Name of a mirror session
	ActionMirrorEgress                         // Name of a mirror session
	ActionPolicer                              // Name of a policer
	ActionMetaData                             // Number
	ActionDSCP                                 // Number 0..63
	ActionFlowOp                               // Word: NOP, POSTCARD, INT, IOAM
	ActionINTSession                           // Name
	ActionDropReport                           // Number 0 or 1
	ActionTailDropReport                       // Number 0 or 1
	ActionFlowSamplePercent                    // Number 0..100
	ActionReportAllPackets                     // Number 0 or 1
	ActionSampleIngress                        // Number: the rate, one packet in Number
	ActionSampleEgress                         // Number: the rate, one packet in Number
	ActionCounter                              // only in table types
	actionCount
)

type actionClass uint8

const (
	classPacket actionClass = iota
	classMirror
	classDTel
)

type actionSpec struct {
	name  string
	class actionClass
}

var actionSpecs = [actionCount]actionSpec{
	ActionPacket:            {"PACKET_ACTION", classPacket},
	ActionRedirect:          {"REDIRECT_ACTION", classPacket},
	ActionDoNotNAT:          {"DO_NOT_NAT_ACTION", classPacket},
	ActionDisableTrim:       {"DISABLE_TRIM_ACTION", classPacket},
	ActionMirrorIngress:     {"MIRROR_INGRESS_ACTION", classMirror},
	ActionMirrorEgress:      {"MIRROR_EGRESS_ACTION", classMirror},
	ActionPolicer:           {"POLICER_ACTION", classPacket},
	ActionMetaData:          {"META_DATA_ACTION", classPacket},
	ActionDSCP:              {"DSCP_ACTION", classPacket},
	ActionFlowOp:            {"FLOW_OP", classDTel},
	ActionINTSession:        {"INT_SESSION", classDTel},
	ActionDropReport:        {"DROP_REPORT_ENABLE", classDTel},
	ActionTailDropReport:    {"TAIL_DROP_REPORT_ENABLE", classDTel},
	ActionFlowSamplePercent: {"FLOW_SAMPLE_PERCENT", classDTel},
	ActionReportAllPackets:  {"REPORT_ALL_PACKETS", classDTel},
	ActionSampleIngress:     {"SAMPLE_INGRESS_ACTION", classPacket},
	ActionSampleEgress:      {"SAMPLE_EGRESS_ACTION", classPacket},
	ActionCounter:           {"COUNTER", classPacket},
}

var actionByName = func() map[string]ActionField {
	m := make(map[string]ActionField, actionCount+1)
	for f := range actionCount {
		m[actionSpecs[f].name] = f
	}
	m["MIRROR_ACTION"] = ActionMirrorIngress
	return m
}()

// String returns the action's name in ACL_TABLE_TYPE.
func (a ActionField) String() string {
	if a < actionCount {
		return actionSpecs[a].name
	}
	return "ActionField(" + utoa(a) + ")"
}

// ActionSet is a set of actions.
type ActionSet uint32

// Actions returns the set of the given actions.
func Actions(fields ...ActionField) ActionSet {
	var s ActionSet
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

// Has reports whether a is in the set.
func (s ActionSet) Has(a ActionField) bool { return s>>a&1 == 1 }

// Fields returns the actions of the set in order.
func (s ActionSet) Fields() []ActionField {
	var out []ActionField
	for ; s != 0; s &= s - 1 {
		out = append(out, ActionField(bits.TrailingZeros32(uint32(s))))
	}
	return out
}

// Words of PACKET_ACTION. REDIRECT:target, DO_NOT_NAT and DISABLE_TRIM become separate actions.
const (
	PacketForward = "FORWARD"
	PacketDrop    = "DROP"
	PacketCopy    = "COPY"
)

// Fields of the row "switch" of SWITCH_CAPABILITY. The first is followed by the name of a stage.
const (
	FieldACLActions    = "ACL_ACTIONS|"
	FieldPacketActions = "ACL_ACTION|PACKET_ACTION"
)

// ACLAction is one action of a rule. See [ActionField] for the member that holds its value.
type ACLAction struct {
	Field    ActionField
	Word     string
	Name     string
	Number   uint32
	Redirect Redirect
}

// Redirect is where an ACL rule sends packets: a port, PortChannel or other named target, or next hops.
type Redirect struct {
	Name     string // port, PortChannel; in CONFIG_DB possibly an alias
	NextHops []NextHop
}

// NextHop is a neighbour and the interface or tunnel that leads to it.
type NextHop struct {
	Addr      netip.Addr
	Interface string
}

// String returns the target as in ACL_RULE.
func (t Redirect) String() string {
	if len(t.NextHops) == 0 {
		return t.Name
	}
	parts := make([]string, len(t.NextHops))
	for i, h := range t.NextHops {
		parts[i] = h.Addr.String() + "@" + h.Interface
	}
	return strings.Join(parts, ",")
}

const redirectWords = "a port, a PortChannel, or next hops such as 10.0.0.1@Ethernet0,10.0.0.3@Ethernet4"

func parseRedirect(v string) (Redirect, bool) {
	if !strings.Contains(v, "@") {
		return Redirect{Name: v}, validAlias(v)
	}
	var t Redirect
	for _, e := range splitList(v) {
		text, ifc, _ := strings.Cut(e, "@")
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" || !validAlias(ifc) {
			return Redirect{}, false
		}
		t.NextHops = append(t.NextHops, NextHop{Addr: a.Unmap(), Interface: ifc})
	}
	return t, len(t.NextHops) > 0
}

// parseAction parses the value v of field f. If v is invalid, want describes the valid form.
func parseAction(f ActionField, v string) (a ACLAction, want string) {
	a.Field = f
	switch f {
	case ActionPacket:
		return parsePacketAction(v)
	case ActionRedirect:
		t, ok := parseRedirect(v)
		if !ok {
			return a, redirectWords
		}
		a.Redirect = t
	case ActionMirrorIngress, ActionMirrorEgress, ActionPolicer, ActionINTSession:
		if !ValidName(v) {
			return a, nameWords
		}
		a.Name = v
	case ActionMetaData:
		return numberAction(a, v, 1<<32-1)
	case ActionDSCP:
		return numberAction(a, v, 63)
	case ActionFlowSamplePercent:
		return numberAction(a, v, 100)
	case ActionSampleIngress, ActionSampleEgress:
		return samplingAction(a, v)
	case ActionFlowOp:
		a.Word = strings.ToUpper(v)
		switch a.Word {
		case "NOP", "POSTCARD", "INT", "IOAM":
		default:
			return a, "NOP, POSTCARD, INT or IOAM"
		}
	case ActionDropReport, ActionTailDropReport, ActionReportAllPackets:
		switch strings.ToUpper(v) {
		case "TRUE":
			a.Number = 1
		case "FALSE":
		default:
			return a, "TRUE or FALSE"
		}
	default: // DO_NOT_NAT_ACTION, DISABLE_TRIM_ACTION, COUNTER occur only in table types
		return a, "PACKET_ACTION " + strings.TrimSuffix(f.String(), "_ACTION") + " instead of this field"
	}
	return a, ""
}

func numberAction(a ACLAction, v string, limit uint64) (ACLAction, string) {
	n, ok := cNumber(v)
	if !ok || n > limit {
		return a, rangeWords(0, limit)
	}
	a.Number = uint32(n)
	return a, ""
}

func samplingAction(a ACLAction, v string) (ACLAction, string) {
	a, want := numberAction(a, v, maxSFlowRate)
	if want != "" || a.Number < minSFlowRate {
		return a, rangeWords(minSFlowRate, maxSFlowRate)
	}
	return a, ""
}

func parsePacketAction(v string) (ACLAction, string) {
	word, target, hasTarget := strings.Cut(v, ":")
	word = strings.ToUpper(word)
	switch {
	case word == "REDIRECT" && hasTarget:
		t, ok := parseRedirect(target)
		if !ok {
			return ACLAction{}, "REDIRECT: and " + redirectWords
		}
		return ACLAction{Field: ActionRedirect, Redirect: t}, ""
	case hasTarget:
	case word == PacketForward, word == PacketDrop, word == PacketCopy:
		return ACLAction{Field: ActionPacket, Word: word}, ""
	case word == "DO_NOT_NAT":
		return ACLAction{Field: ActionDoNotNAT}, ""
	case word == "DISABLE_TRIM":
		return ACLAction{Field: ActionDisableTrim}, ""
	}
	return ACLAction{}, "FORWARD, DROP, COPY, REDIRECT:target, DO_NOT_NAT or DISABLE_TRIM"
}

// format writes the action into the fields of a rule, in canonical form.
func (a ACLAction) format(f map[string]string) {
	name := a.Field.String()
	switch a.Field {
	case ActionPacket, ActionFlowOp:
		f[name] = a.Word
	case ActionRedirect:
		f[name] = a.Redirect.String()
	case ActionDoNotNAT:
		f["PACKET_ACTION"] = "DO_NOT_NAT"
	case ActionDisableTrim:
		f["PACKET_ACTION"] = "DISABLE_TRIM"
	case ActionMirrorIngress, ActionMirrorEgress, ActionPolicer, ActionINTSession:
		f[name] = a.Name
	case ActionMetaData, ActionDSCP, ActionFlowSamplePercent, ActionSampleIngress, ActionSampleEgress:
		f[name] = strconv.FormatUint(uint64(a.Number), 10)
	case ActionDropReport, ActionTailDropReport, ActionReportAllPackets:
		f[name] = strings.ToUpper(strconv.FormatBool(a.Number == 1))
	}
}

// Samples reports whether the action samples packets.
func (a ActionField) Samples() bool { return a == ActionSampleIngress || a == ActionSampleEgress }

// sortedActions iterates over the fields that hold actions, in a fixed order.
func sortedActions() iter.Seq2[string, ActionField] {
	return func(yield func(string, ActionField) bool) {
		for f := range actionCount {
			if !yield(actionSpecs[f].name, f) {
				return
			}
		}
		yield("MIRROR_ACTION", ActionMirrorIngress)
	}
}
