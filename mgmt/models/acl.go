package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/models/icmp"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// tablesModule returns the mapping of tamtam-acl: all tables and rules, as SONiC has them. Rules of flow groups of
// TAM_FLOW_GROUP are omitted, because they are rows of that table, and so are refused rows with the name of its table.
func tablesModule() tree.Module {
	rules := stateRow(schema.StateACLRule, "{name}|{rule-name}", "state")
	free := func(keys []string) bool { // the name is not that of a flow group's table
		_, of := schema.TAMGroupOf(keys[0])
		return !of
	}
	rules.Fits = free
	status := stateRow(schema.StateACLTable, "{name}", "state")
	status.Fits = func(keys []string) bool { return !strings.Contains(keys[0], "|") } // see schema.StatusKey

	status.Entry = true // a table TAM that is not configured exists as well
	status.Leaves = append(status.Leaves, leaf("state/type", tree.Codec{Get: func(r tree.Record) []string {
		if _, of := schema.TAMGroupOf(r.Keys[0]); of || r.Keys[0] == schema.TAMTable {
			return tree.One(schema.ACLTypeTAM)
		}
		return nil
	}}))
	return tree.Module{Name: "tamtam-acl", Groups: []tree.Group{
		{Path: "/acl/tables/table", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgACLTable, Key: "{name}", Entry: true, Fits: free, Leaves: []tree.Leaf{
					leaf("state/type", text("TYPE")),
					leaf("state/stage", words("STAGE", "INGRESS", "INGRESS", "INGRESS", "EGRESS", "EGRESS")),
					leaf("state/description", text("POLICY_DESC")), leaf("state/ports", list("PORTS")),
				},
			},
			status,
		}},
		{Path: "/acl/tables/table/rules/rule", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgACLRule, Key: "{name}|{rule-name}", Entry: true, Fits: free,
				Leaves: []tree.Leaf{leaf("state/priority", number("PRIORITY", "%d")), leaf("state/fields", ruleFields())},
			},
			rules,
			ruleCounters("{name}:{rule-name}", "state/matched-packets", "state/matched-octets"),
		}},
	}}
}

// inTables is the reason why no status row belongs to the access lists. It states where they are written.
const inTables = "access lists are rows of CONFIG_DB"

// aclModule returns the mapping of openconfig-acl. It shows only tables and rules that OpenConfig can express
// completely. The others are in state/other-rules.
//
// A rule RULE_N is the entry N, as in SONiC's own translation of OpenConfig's entries. OpenConfig tries entries in the
// order of their numbers, SONiC tries rules in the order of their priorities, largest first. If the two orders
// disagree, the later entries are not shown.
func aclModule() tree.Module {
	set := tree.Row{DB: swss.ConfigDB, Table: schema.CfgACLTable, Key: "{name}", Entry: true}
	words := readOnly(text("policy_desc"))
	set.Leaves = []tree.Leaf{leaf("config/description", words), leaf("state/description", words)}
	all := tree.Row{DB: swss.ConfigDB, Table: schema.CfgACLRule, Key: "{name}|{*}", Of: tree.AllFields,
		Leaves: []tree.Leaf{leaf("state/other-rules", tree.Codec{Get: otherRules})}}
	table := tree.Row{DB: swss.ConfigDB, Table: schema.CfgACLTable, Key: "{name}"}
	order := tree.Row{DB: swss.ConfigDB, Table: schema.CfgACLRule, Key: "{name}|RULE_{*}", Of: "PRIORITY", Fold: inOrder}
	number := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[len(r.Keys)-1]) }}
	inForce := append(entryLeaves("state"), leaf("state/sequence-id", number))
	return tree.Module{Name: "openconfig-acl", Groups: append(bindings(), []tree.Group{
		{Path: "/", Rows: []tree.Row{{DB: swss.ApplDB, Table: schema.AppSwitch, Key: schema.SwitchKey,
			Leaves: []tree.Leaf{leaf("acl/state/counter-capability", constant("AGGREGATE_ONLY"))}}}},
		{Path: aclSetPath, View: inTables, Through: aclSetThrough(), Keys: map[string]tree.Codec{"type": aclType()},
			Rows: []tree.Row{set, all}},
		{Path: aclEntryPath, View: inTables, Through: aclEntryThrough(),
			Keys: map[string]tree.Codec{"sequence-id": {Get: sequence}}, Rows: []tree.Row{
				{DB: swss.ApplDB, Table: schema.AppACLRule, Key: "{name}:RULE_{sequence-id}", Leaves: inForce},
				{
					DB: swss.ConfigDB, Table: schema.CfgACLRule, Key: "{name}|RULE_{sequence-id}", Entry: true,
					Leaves: entryLeaves("config"),
				},
				table, order,
				ruleCounters("{name}:RULE_{sequence-id}", "state/matched-packets", "state/matched-octets"),
			}},
	}...)}
}

// aclTypes maps OpenConfig's names to SONiC's table types, as far as OpenConfig has names.
var aclTypes = []string{"ACL_IPV4", "L3", "ACL_IPV6", "L3V6", "ACL_MIXED", "L3V4V6"}

func aclType() tree.Codec { return readOnly(words("TYPE", "", aclTypes...)) }

// entryLeaves returns the leaves of OpenConfig's entry below config or state.
func entryLeaves(at string) (leaves []tree.Leaf) {
	for _, l := range entryFields {
		leaves = append(leaves, leaf(l.at(at), tree.Codec{Get: l.get}))
	}
	return leaves
}

// An entryField is a leaf, and the fields of a rule that it represents.
type entryField struct {
	path   string
	fields []string
	family int // 4 or 6 if only rules of that IP version have it; 0 means any rule
	codec  tree.Codec
}

var entryFields = []entryField{
	{"ipv4/source-address", []string{"SRC_IP", "SRC_IP_MASK"}, 4, network("SRC_IP")},
	{"ipv4/destination-address", []string{"DST_IP", "DST_IP_MASK"}, 4, network("DST_IP")},
	{"ipv4/protocol", []string{"IP_PROTOCOL"}, 4, number("IP_PROTOCOL", "%d")},
	{"ipv4/dscp", []string{"DSCP"}, 4, number("DSCP", "%d")},
	{"ipv4/icmpv4/type", []string{"ICMP_TYPE"}, 4, icmp.V4().Type()},
	{"ipv4/icmpv4/code", []string{"ICMP_CODE"}, 4, icmp.V4().Code()},
	{"ipv6/source-address", []string{"SRC_IPV6", "SRC_IPV6_MASK"}, 6, network("SRC_IPV6")},
	{"ipv6/destination-address", []string{"DST_IPV6", "DST_IPV6_MASK"}, 6, network("DST_IPV6")},
	{"ipv6/protocol", []string{"NEXT_HEADER", "IP_PROTOCOL"}, 6, nextHeader()},
	{"ipv6/dscp", []string{"DSCP"}, 6, number("DSCP", "%d")},
	{"ipv6/icmpv6/type", []string{"ICMPV6_TYPE"}, 6, icmp.V6().Type()},
	{"ipv6/icmpv6/code", []string{"ICMPV6_CODE"}, 6, icmp.V6().Code()},
	{"l2/ethertype", []string{"ETHER_TYPE"}, 0, ofMixed(number("ETHER_TYPE", "%d"))},
	{"transport/source-port", []string{"L4_SRC_PORT", "L4_SRC_PORT_RANGE"}, 0, ports("L4_SRC_PORT")},
	{"transport/destination-port", []string{"L4_DST_PORT", "L4_DST_PORT_RANGE"}, 0, ports("L4_DST_PORT")},
	{"transport/detail-mode", nil, 0, whereFlags("EXPLICIT")},
	{"transport/explicit-detail-match-mode", nil, 0, whereFlags("ALL")},
	{"transport/explicit-tcp-flags", []string{"TCP_FLAGS"}, 0, tcpFlags()},
	{"actions/forwarding-action", []string{forwarding}, 0, forwardingAction()},
}

// nextHeader returns the codec of the protocol of an IPv6 rule, which has one of two fields.
func nextHeader() tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		one, other := number("NEXT_HEADER", "%d").Get(r), number("IP_PROTOCOL", "%d").Get(r)
		switch {
		case one != nil && other != nil:
			return nil // no leaf is left for the second
		case one != nil:
			return one
		}
		return other
	}, Put: func(r tree.Record, v []string) error {
		r.Set("IP_PROTOCOL", "")
		return number("NEXT_HEADER", "%d").Put(r, v)
	}}
}

const forwarding = "PACKET_ACTION"

func forwardingAction() tree.Codec {
	return words(forwarding, "", "ACCEPT", "FORWARD", "DROP", "DROP")
}

// get returns the value of the leaf for the rule of an entry.
func (f entryField) get(r tree.Record) []string {
	if f.family != 0 && f.family != entryFamily(r) {
		return nil
	}
	return f.codec.Get(r)
}

// entryFamily returns the IP version of an entry: that of its set, or else that of its matches; 0 means none.
func entryFamily(r tree.Record) int {
	switch r.Keys[1] {
	case "ACL_IPV4":
		return 4
	case "ACL_IPV6":
		return 6
	}
	return ipFamily(r)
}

func ofMixed(c tree.Codec) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		if r.Keys[1] != "ACL_MIXED" {
			return nil
		}
		return c.Get(r)
	}, Put: func(r tree.Record, v []string) error {
		if r.Keys[1] != "ACL_MIXED" && len(v) > 0 {
			return fmt.Errorf("%s cannot be set in a set of type %s: want one of type ACL_MIXED", v[0], r.Keys[1])
		}
		return c.Put(r, v)
	}}
}

// network returns the codec of a prefix that is shown with its length, even for a host.
func network(field string) tree.Codec {
	p := prefix(field)
	return tree.Codec{Put: p.Put, Get: func(r tree.Record) []string {
		v := tree.First(p.Get(r))
		switch {
		case v == "" || strings.Contains(v, "/"):
			return tree.One(v)
		case strings.Contains(v, ":"):
			return tree.One(v + "/128")
		}
		return tree.One(v + "/32")
	}}
}

func whereFlags(word string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		if len(tcpFlags().Get(r)) == 0 {
			return nil
		}
		return tree.One(word)
	}, Put: func(_ tree.Record, v []string) error {
		if len(v) > 0 && v[0] != word {
			return fmt.Errorf("%s: want %s, which explicit-tcp-flags mean", v[0], word)
		}
		return nil
	}}
}

// inOrderMark is the prefix of the numbers of the rules that are in order.
const inOrderMark = "in order: "

// inOrder returns a field for each rule whose priority is smaller than the priorities of all rules with smaller
// numbers. priorities maps rule numbers to priorities.
func inOrder(priorities map[string]string) map[string]string {
	type rule struct{ number, priority uint64 }
	var rules []rule
	for n, p := range priorities {
		number, err := strconv.ParseUint(n, 10, 32)
		priority, bad := strconv.ParseUint(p, 0, 32)
		if err == nil && bad == nil {
			rules = append(rules, rule{number, priority})
		}
	}
	slices.SortFunc(rules, func(a, b rule) int { return cmp.Compare(a.number, b.number) })
	least := uint64(math.MaxUint64)
	out := map[string]string{}
	for _, r := range rules {
		if r.priority < least {
			least = r.priority
			out[inOrderMark+strconv.FormatUint(r.number, 10)] = "true"
		}
	}
	return out
}

// sequence returns the number of a rule's entry. It returns nil if OpenConfig cannot express the rule, or its position.
func sequence(r tree.Record) []string {
	number := r.Keys[len(r.Keys)-1]
	if r.Fields[inOrderMark+number] == "" || !entrySays(tree.Record{Keys: r.Keys, Fields: r.Own}) {
		return nil
	}
	return tree.One(number)
}

// otherRules returns the rules of a table that are no entries. r.Fields has the fields of each rule as JSON.
func otherRules(r tree.Record) (names []string) {
	rules, priorities := map[string]map[string]string{}, map[string]string{}
	for name, text := range r.Fields {
		rules[name] = tree.JSONFields(text)
		if number, is := strings.CutPrefix(name, "RULE_"); is {
			priorities[number] = tree.Record{Fields: rules[name]}.Field("PRIORITY")
		}
	}
	ordered := inOrder(priorities)
	for name, fields := range rules {
		number, is := strings.CutPrefix(name, "RULE_")
		keys := append(slices.Clone(r.Keys), number)
		if !is || ordered[inOrderMark+number] == "" || !entrySays(tree.Record{Keys: keys, Fields: fields}) {
			names = append(names, name)
		}
	}
	schema.SortNames(names)
	return names
}

// entrySays reports whether a rule is valid, and the leaves of an entry represent all its fields.
func entrySays(rule tree.Record) bool {
	kind := aclTypes[slices.Index(aclTypes, rule.Keys[1])+1]
	of, _ := schema.BuiltinACLType(kind)
	key := schema.ACLRuleKey{Table: rule.Keys[0], Rule: "RULE_" + rule.Keys[len(rule.Keys)-1]}.Config()
	if _, err := schema.ParseACLRule(of, key, withoutNull(rule.Fields)); err != nil {
		return false
	}
	said := map[string]bool{"PRIORITY": true, tree.NullField: true}
	family := false
	for _, f := range entryFields {
		if len(f.get(rule)) == 0 {
			continue
		}
		family = family || f.family != 0
		for _, name := range f.fields {
			said[name] = true
		}
	}
	switch rule.Keys[1] + " " + strings.ToUpper(rule.Field("IP_TYPE")) {
	case "ACL_IPV4 IPV4ANY", "ACL_IPV6 IPV6ANY":
		said["IP_TYPE"] = true
	case "ACL_MIXED IPV4ANY", "ACL_MIXED IPV6ANY":
		said["IP_TYPE"] = family
	}
	for f := range rule.Fields {
		if !said[strings.ToUpper(strings.TrimSuffix(f, "@"))] {
			return false
		}
	}
	return said[forwarding]
}
