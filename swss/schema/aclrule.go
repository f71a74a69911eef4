package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// ACLRuleKey identifies a rule.
type ACLRuleKey struct{ Table, Rule string }

// Config returns the key in CONFIG_DB and STATE_DB.
func (k ACLRuleKey) Config() string { return k.Table + "|" + k.Rule }

// Appl returns the key in APPL_DB and in ACL_COUNTER_RULE_MAP.
func (k ACLRuleKey) Appl() string { return k.Table + ":" + k.Rule }

// String returns the same as Config.
func (k ACLRuleKey) String() string { return k.Config() }

// ParseACLRuleKey splits the key of a rule of CONFIG_DB.
func ParseACLRuleKey(key string) (ACLRuleKey, bool) {
	table, rule, ok := strings.Cut(key, "|")
	return ACLRuleKey{Table: table, Rule: rule}, ok && ValidName(table) && ValidName(rule)
}

// MaxLabel is the maximum length of an ACL counter's label in bytes. SAI's label holds 31, but its metadata library
// accepts at most 15.
const MaxLabel = 15

// Label returns the label of the rule's counter, by which records identify the rule. It is the rule's key in
// CONFIG_DB. For a longer key it is the first six characters, #, and 48 bits of the key's SHA-256 in base64url.
func (k ACLRuleKey) Label() string {
	name := k.Config()
	if len(name) <= MaxLabel {
		return name
	}
	const bits = 48
	sum := sha256.Sum256([]byte(name))
	hash := base64.RawURLEncoding.EncodeToString(sum[:bits/8])
	return name[:MaxLabel-1-len(hash)] + "#" + hash
}

// Default priorities of rules: those of flow groups, and those of all other rules.
const (
	DefaultFlowGroupPriority = 100
	MaxFlowGroupPriority     = 1024
	MaxRulePriority          = 999999
)

// ACLRule is a row of ACL_RULE and of APPL_DB ACL_RULE_TABLE.
type ACLRule struct {
	Key      ACLRuleKey
	Priority uint32
	Matches  []ACLMatch  // sorted by Field; no Field occurs twice
	Actions  []ACLAction // sorted by Field; no Field occurs twice; empty in tables of type TAM
}

// Match returns the rule's match of that field.
func (r ACLRule) Match(f MatchField) (ACLMatch, bool) {
	i, ok := slices.BinarySearchFunc(r.Matches, f,
		func(m ACLMatch, f MatchField) int { return cmp.Compare(m.Field, f) })
	if !ok {
		return ACLMatch{}, false
	}
	return r.Matches[i], true
}

// ParseACLRule parses a row of ACL_RULE or ACL_RULE_TABLE for a table of type t. It fails if t does not allow the row,
// or if a field is neither a match nor an action. It normalises a rule as SONiC does: TCP_FLAGS without a protocol adds
// protocol 6, IP_PROTOCOL of IPv6 rules becomes NEXT_HEADER, and PACKET_ACTION REDIRECT:target becomes REDIRECT_ACTION.
func ParseACLRule(t ACLTableType, key string, fields map[string]string) (ACLRule, error) {
	r := newReader(CfgACLRule, key, fields, true)
	k, ok := ParseACLRuleKey(key)
	if !ok {
		r.bad("", key, "table|rule, each "+nameWords)
	}
	rule := ACLRule{Key: k}
	r.parsePriority(t, &rule)
	r.replaceAliases(t)
	r.parseMatches(t, &rule)
	r.parseActions(t, &rule)
	r.unknownMatch(t)
	rule.protocols(t)
	if err := r.err(); err != nil {
		return rule, err
	}
	r.checkRule(t, rule)
	return rule, r.err()
}

func (r *reader) parsePriority(t ACLTableType, rule *ACLRule) {
	lo, hi, def := uint64(0), uint64(MaxRulePriority), uint64(0)
	if t.Name == ACLTypeTAM {
		lo, hi, def = 1, MaxFlowGroupPriority, DefaultFlowGroupPriority
	}
	rule.Priority = uint32(def)
	v, ok := r.value("PRIORITY")
	if !ok {
		return
	}
	n, ok := cNumber(v)
	if !ok || n < lo || n > hi {
		r.bad("PRIORITY", v, rangeWords(lo, hi))
		return
	}
	rule.Priority = uint32(n)
}

// replaceAliases replaces alternative spellings of TAM matches with the canonical field.
func (r *reader) replaceAliases(t ACLTableType) {
	if t.Name != ACLTypeTAM {
		return
	}
	if r.fields["IN_PORTS"] == "" {
		delete(r.fields, "IN_PORTS") // an empty IN_PORTS matches packets of any port
	}
	v, ok := r.fields["HOP_LIMIT"]
	if !ok {
		return
	}
	delete(r.fields, "HOP_LIMIT")
	if ttl, both := r.fields["TTL"]; both && ttl != v {
		r.bad("HOP_LIMIT", v, "either TTL or HOP_LIMIT, which are one field of the packet")
		return
	}
	r.fields["TTL"] = v
}

func (r *reader) parseMatches(t ACLTableType, rule *ACLRule) {
	rule.Matches = slices.Grow(rule.Matches, r.matches())
	for f := range matchCount {
		name := matchSpecs[f].name
		v, present := r.fields[name]
		mask := ""
		if k := matchSpecs[f].kind; k == kindIPv4 || k == kindIPv6 {
			mask, _ = r.value(name + "_MASK")
			if mask != "" && !present {
				r.bad(name+"_MASK", mask, "a mask only together with "+name)
			}
		}
		if !present {
			continue
		}
		r.known = append(r.known, name)
		protocol := f == MatchIPProtocol && !t.Matches.Has(f) && !t.Matches.Has(MatchNextHeader)
		if matchSpecs[f].tam && t.Name != ACLTypeTAM || protocol ||
			f != MatchIPProtocol && !t.Matches.Has(f) {
			r.bad(name, cmp.Or(v, empty), "a match that a table of type "+t.Name+" has")
			continue
		}
		m, want := parseMatch(f, v, mask)
		if want != "" {
			r.bad(name, cmp.Or(v, empty), want)
			continue
		}
		rule.Matches = append(rule.Matches, m)
	}
}

// matches returns the number of fields that are matches.
func (r *reader) matches() (n int) {
	for f := range matchCount {
		if _, ok := r.fields[matchSpecs[f].name]; ok {
			n++
		}
	}
	return n
}

func (r *reader) parseActions(t ACLTableType, rule *ACLRule) {
	for name, f := range sortedActions() {
		v, ok := r.value(name)
		if !ok {
			if _, present := r.fields[name]; present {
				r.bad(name, empty, "an action")
			}
			continue
		}
		if t.Name == ACLTypeTAM {
			r.checkTAMAction(name, v)
			continue
		}
		a, want := parseAction(f, v)
		if want != "" {
			r.bad(name, v, want)
			continue
		}
		if !t.Actions.Has(a.Field) && !t.customPacket(a.Field) {
			r.bad(name, v, "an action that a table of type "+t.Name+" has")
			continue
		}
		if slices.ContainsFunc(rule.Actions, func(b ACLAction) bool { return a.Field == b.Field }) {
			r.bad(name, v, "the same action once")
			continue
		}
		rule.Actions = append(rule.Actions, a)
	}
	slices.SortFunc(rule.Actions, func(a, b ACLAction) int { return cmp.Compare(a.Field, b.Field) })
}

// customPacket reports whether a type that lists PACKET_ACTION also allows a, because the words of PACKET_ACTION
// include it.
func (t ACLTableType) customPacket(a ActionField) bool {
	return t.Actions.Has(ActionPacket) && (a == ActionRedirect || a == ActionDoNotNAT || a == ActionDisableTrim)
}

// checkTAMAction refuses actions of flow groups, because sessions supply the actions. It accepts FORWARD, the
// default, and int_insert, which an earlier release required.
func (r *reader) checkTAMAction(name, v string) {
	if name == "PACKET_ACTION" && (strings.EqualFold(v, PacketForward) || strings.EqualFold(v, "INT_INSERT")) {
		return
	}
	r.bad(name, v, "no action but FORWARD in a table of type TAM: the sessions that use the flow group give it")
}

// protocols completes a rule's matches of the IP protocol.
func (rule *ACLRule) protocols(t ACLTableType) {
	field := MatchIPProtocol
	if rule.nextHeader(t) {
		field = MatchNextHeader
	}
	proto, hasProto := rule.Match(MatchIPProtocol)
	_, hasNext := rule.Match(MatchNextHeader)
	_, hasFlags := rule.Match(MatchTCPFlags)
	if hasProto && field == MatchNextHeader && !hasNext {
		proto.Field = MatchNextHeader
		rule.drop(MatchIPProtocol)
		rule.add(proto)
	}
	if hasFlags && !hasProto && !hasNext {
		rule.add(ACLMatch{Field: field, Value: 6, Mask: 0xff})
	}
}

// nextHeader reports whether the rule's protocol is matched as the next header of IPv6. That is so in tables for IPv6
// only, and in TAM tables if another match is for IPv6.
func (rule *ACLRule) nextHeader(t ACLTableType) bool {
	if !t.Matches.Has(MatchIPProtocol) {
		return t.Matches.Has(MatchNextHeader)
	}
	if t.Name != ACLTypeTAM {
		return false
	}
	for _, f := range []MatchField{MatchSrcIPv6, MatchDstIPv6, MatchIPv6FlowLabel, MatchICMPv6Type, MatchICMPv6Code} {
		if _, ok := rule.Match(f); ok {
			return true
		}
	}
	if m, ok := rule.Match(MatchIPType); ok && IPType(m.Value) == IPTypeIPv6Any {
		return true
	}
	m, ok := rule.Match(MatchEtherType)
	return ok && m.Value == 0x86dd
}

func (rule *ACLRule) drop(f MatchField) {
	rule.Matches = slices.DeleteFunc(rule.Matches, func(m ACLMatch) bool { return m.Field == f })
}

func (rule *ACLRule) add(m ACLMatch) {
	i, _ := slices.BinarySearchFunc(rule.Matches, m.Field,
		func(m ACLMatch, f MatchField) int { return cmp.Compare(m.Field, f) })
	rule.Matches = slices.Insert(rule.Matches, i, m)
}

// checkRule checks that the matches and actions of a rule may occur together.
func (r *reader) checkRule(t ACLTableType, rule ACLRule) {
	if t.Name == ACLTypeTAM {
		r.checkFamilies(rule)
		return
	}
	if len(rule.Actions) == 0 {
		r.bad("PACKET_ACTION", "", "an action; only rules of TAM tables need none")
		return
	}
	if len(rule.Matches) == 0 {
		r.bad("SRC_IP", "", "at least one match")
	}
	class := actionSpecs[rule.Actions[0].Field].class
	main := 0
	for _, a := range rule.Actions {
		if actionSpecs[a.Field].class != class {
			r.bad(a.Field.String(), "given", "actions of one kind: packet, mirror or telemetry")
			return
		}
		if a.Field != ActionPolicer && !a.Field.Samples() {
			main++
		}
	}
	if class != classDTel && main > 1 {
		r.bad(rule.Actions[1].Field.String(), "given", "one action, and at most a policer and sampling")
	}
}

// checkFamilies refuses a flow group that no packet can match.
func (r *reader) checkFamilies(rule ACLRule) {
	v4, v6 := "", ""
	for _, m := range rule.Matches {
		switch m.Field {
		case MatchSrcIP, MatchDstIP, MatchICMPType, MatchICMPCode:
			v4 = m.Field.String()
		case MatchSrcIPv6, MatchDstIPv6, MatchICMPv6Type, MatchICMPv6Code, MatchIPv6FlowLabel:
			v6 = m.Field.String()
		}
	}
	if v4 != "" && v6 != "" {
		r.bad(v6, "given", "matches of one IP version; "+v4+" is of IPv4")
	}
}

// Fields formats the row.
func (rule ACLRule) Fields() map[string]string {
	f := map[string]string{"PRIORITY": utoa(rule.Priority)}
	for _, m := range rule.Matches {
		m.format(f)
	}
	for _, a := range rule.Actions {
		a.format(f)
	}
	return f
}

// unknownMatch does the same as unknown, but also suggests the matches of the table type. They are computed only when
// needed.
func (r *reader) unknownMatch(t ACLTableType) {
	if r.strange() {
		for _, m := range t.Matches.Fields() {
			r.known = append(r.known, m.String())
		}
		r.unknown()
	}
}

// aclRules completes the entry of [Tables] for rules. The fields that a rule may have depend on its table's type.
func aclRules(t Table) Table {
	t.Key = "table|rule"
	t.Fields = []Field{{Name: "PRIORITY", Form: rangeForm(0, MaxRulePriority), Default: "0", Words: fmt.Sprintf(
		"Of several rules that match, the one with the largest counts. Of flow groups %d..%d, default %d.",
		1, MaxFlowGroupPriority, DefaultFlowGroupPriority)}}
	add := func(name, words, want string) { // with an empty value, the error's text describes the field's form
		t.Fields = append(t.Fields, Field{Name: name, Form: strings.TrimPrefix(want, "a number in "), Words: words})
	}
	for f := range matchCount {
		words := ""
		if matchSpecs[f].tam {
			words = "In tables of type TAM."
		}
		if k := matchSpecs[f].kind; k == kindIPv4 || k == kindIPv6 {
			words = "A mask may be in " + f.String() + "_MASK."
		}
		_, want := parseMatch(f, "", "")
		add(f.String(), words, want)
	}
	for a := range ActionCounter {
		_, want := parseAction(a, "")
		add(a.String(), "An action. Not in tables of type TAM.", want)
	}
	t.Parse = func(key string, f map[string]string) (Row, error) {
		return ParseACLRule(builtinACLTypes[ACLTypeTAM], key, f)
	}
	return t
}
