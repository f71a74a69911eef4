package models

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/models/icmp"
	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// This file writes OpenConfig's access lists. An acl-set is a row of ACL_TABLE, an acl-entry a row of ACL_RULE, and the
// interfaces of a set are the ports of its row.

const (
	aclSetPath   = "/acl/acl-sets/acl-set"
	aclEntryPath = aclSetPath + "/acl-entries/acl-entry"
	aclIfacePath = "/acl/interfaces/interface"
)

// rulePrefix precedes the sequence-id in the name of an entry's rule.
const rulePrefix = "RULE_"

// An entry has the priority firstPriority minus its sequence-id, as acl-loader gives a rule: the smaller number comes
// first.
const firstPriority = 10000

// typeOf returns OpenConfig's type of a row of ACL_TABLE, or "" if OpenConfig has none.
func typeOf(table map[string]string) string {
	return tree.First(aclType().Get(tree.Record{Fields: table}))
}

// errOtherType returns the error for a set whose name is that of a table of another type.
func errOtherType(name string, table map[string]string) error {
	return fmt.Errorf("ACL_TABLE|%s has the type %s: want another name", name, tree.Record{Fields: table}.Field("TYPE"))
}

// aclTables returns the names of the tables that match a pattern of a name and a type, with their rows.
func aclTables(ctx context.Context, s tree.Setting, name, kind string) (map[string]map[string]string, error) {
	there, err := kit.RawTable(ctx, s, schema.CfgACLTable, name)
	maps.DeleteFunc(there, func(_ string, row map[string]string) bool {
		is := typeOf(row)
		return is == "" || kind != tree.Wildcard && kind != is
	})
	return there, err
}

// aclRules returns the rules of a table by their names.
func aclRules(ctx context.Context, s tree.Setting, table string) (map[string]map[string]string, error) {
	there, err := kit.RawTable(ctx, s, schema.CfgACLRule, tree.Wildcard)
	out := map[string]map[string]string{}
	for key, row := range there {
		if rule, is := strings.CutPrefix(key, table+"|"); is {
			out[rule] = row
		}
	}
	return out, err
}

// aclSetThrough returns the Through of access lists.
func aclSetThrough() *tree.Through {
	removal := func(name string) string { return "acl-set " + name }
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			name := keys[0]
			row, err := readRaw(ctx, s, schema.CfgACLTable, name)
			if err != nil {
				return err
			}
			if row != nil && typeOf(row) != keys[1] {
				return errOtherType(name, row)
			}
			s.Later(removal(name), "", nil)
			s.Later(missingSet(name), "", nil)
			if row == nil {
				err = makeTable(ctx, s, name, keys[1])
			}
			if err == nil && leaf == "config/description" {
				err = writeRaw(ctx, s, schema.CfgACLTable, name, text("policy_desc"), keys, v)
			}
			return err
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			tables, err := aclTables(ctx, s, pattern[0], pattern[1])
			for _, name := range tree.SortedKeys(tables) {
				if n.Type == nil || n.Name == "description" {
					err = errors.Join(err, writeRaw(ctx, s, schema.CfgACLTable, name, text("policy_desc"), pattern, nil))
				}
				if whole { // its interfaces may be removed later in this Set
					s.Later(removal(name), "", func(ctx context.Context, _ []string) error { return removeTable(ctx, s, name) })
				}
			}
			return err
		},
	}
}

// makeTable creates a row of ACL_TABLE of OpenConfig's type.
func makeTable(ctx context.Context, s tree.Setting, name, kind string) error {
	if err := makeRaw(ctx, s, schema.CfgACLTable, name); err != nil {
		return err
	}
	return writeRaw(ctx, s, schema.CfgACLTable, name, words("type", "", aclTypes...), nil, []string{kind})
}

// removeTable deletes a table with its rules, unless it is bound to interfaces.
func removeTable(ctx context.Context, s tree.Setting, name string) error {
	row, err := readRaw(ctx, s, schema.CfgACLTable, name)
	if err != nil || row == nil {
		return err
	}
	if ports := boundPorts(row); len(ports) > 0 {
		return tree.Refused(fmt.Errorf("%s[name=%s][type=%s]: in use by interface %s", aclSetPath, name, typeOf(row),
			strings.Join(ports, ", ")))
	}
	rules, err := aclRules(ctx, s, name)
	for _, rule := range tree.SortedKeys(rules) {
		err = errors.Join(err, eraseRaw(ctx, s, schema.CfgACLRule, name+"|"+rule))
	}
	return errors.Join(err, eraseRaw(ctx, s, schema.CfgACLTable, name))
}

// aclEntryThrough returns the Through of the entries of access lists.
func aclEntryThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			name, key := keys[0], keys[0]+"|"+rulePrefix+keys[2]
			n, err := strconv.ParseUint(keys[2], 10, 32)
			if err != nil || n < 1 || n >= firstPriority {
				return fmt.Errorf("%s: want 1..%d", keys[2], firstPriority-1)
			}
			table, err := readRaw(ctx, s, schema.CfgACLTable, name)
			if err != nil || typeOf(table) != keys[1] {
				return err // the set was refused already
			}
			if err := makeRaw(ctx, s, schema.CfgACLRule, key); err != nil {
				return err
			}
			rule, err := readRaw(ctx, s, schema.CfgACLRule, key)
			if err != nil {
				return err
			}
			priority := orElse(number("PRIORITY", "%d"), strconv.FormatUint(firstPriority-n, 10))
			if tree.First(number("PRIORITY", "%d").Get(tree.Record{Fields: rule})) == "" {
				err = writeRaw(ctx, s, schema.CfgACLRule, key, priority, keys, priority.Get(tree.Record{}))
			}
			for _, f := range entryFields {
				if err == nil && f.at("config") == leaf {
					err = kit.WriteItems(ctx, s, schema.CfgACLRule, key, tree.Codec{Get: f.get, Put: f.put}, keys, v)
				}
			}
			checkLater(s, keys)
			return err
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			tables, err := aclTables(ctx, s, pattern[0], pattern[1])
			for _, name := range tree.SortedKeys(tables) {
				rules, bad := aclRules(ctx, s, name)
				err = errors.Join(err, bad)
				for _, rule := range tree.SortedKeys(rules) {
					number, is := strings.CutPrefix(rule, rulePrefix)
					keys := []string{name, typeOf(tables[name]), number}
					// An entry without an action may get one in this Set.
					now := tree.Record{Keys: keys, Fields: rules[rule]}
					if !is || !tree.Matches(keys, pattern) ||
						!entrySays(now) && (now.Field(forwarding) != "" || !entrySays(with(now, forwarding, schema.PacketForward))) {
						continue
					}
					err = errors.Join(err, clearRule(ctx, s, keys, n, whole))
				}
			}
			return err
		},
	}
}

// clearRule removes the leaves at and below a node from the rule of an entry, and the rule if whole.
func clearRule(ctx context.Context, s tree.Setting, keys []string, n *tree.Node, whole bool) error {
	key := keys[0] + "|" + rulePrefix + keys[2]
	var errs []error
	for _, f := range entryFields {
		path := aclEntryPath + "/" + f.at("config")
		if path == n.Path || strings.HasPrefix(path, n.Path+"/") {
			c := tree.Codec{Get: f.get, Put: func(r tree.Record, v []string) error {
				if len(v) > 0 {
					return f.put(r, v)
				}
				for _, field := range f.fields {
					r.Set(field, "")
				}
				return nil
			}}
			errs = append(errs, kit.WriteItems(ctx, s, schema.CfgACLRule, key, c, keys, nil))
		}
	}
	if whole {
		errs = append(errs, eraseRaw(ctx, s, schema.CfgACLRule, key))
	} else {
		checkLater(s, keys)
	}
	return errors.Join(errs...)
}

// at returns the path of the field's leaf below config or state, from the entry on.
func (f entryField) at(kind string) string {
	i := strings.LastIndexByte(f.path, '/')
	return f.path[:i] + "/" + kind + f.path[i:]
}

// put writes the value of the leaf into the rule of an entry.
func (f entryField) put(r tree.Record, v []string) error {
	if kind := r.Keys[1]; f.family == 4 && kind == "ACL_IPV6" || f.family == 6 && kind == "ACL_IPV4" {
		return fmt.Errorf("%s cannot be set in a set of type %s", tree.Quoted(tree.First(v)), kind)
	}
	return f.codec.Put(r, v)
}

// entryText returns the path of an entry.
func entryText(name, kind, number string) string {
	return fmt.Sprintf("%s[name=%s][type=%s]/acl-entries/acl-entry[sequence-id=%s]", aclSetPath, name, kind, number)
}

// checkLater checks an entry at the end of the Set.
func checkLater(s tree.Setting, keys []string) {
	name, kind := keys[0], keys[1]
	s.Later("acl-entries "+name, keys[2], func(ctx context.Context, numbers []string) error {
		rules, err := aclRules(ctx, s, name)
		if err != nil {
			return err
		}
		priorities := map[string]string{}
		for rule, fields := range rules {
			if number, is := strings.CutPrefix(rule, rulePrefix); is {
				priorities[number] = tree.Record{Fields: fields}.Field("PRIORITY")
			}
		}
		ordered := inOrder(priorities)
		var errs []error
		for _, number := range numbers {
			rule := tree.Record{Keys: []string{name, kind, number}, Fields: rules[rulePrefix+number]}
			switch {
			case rule.Fields == nil: // it was deleted
			case ordered[inOrderMark+number] == "":
				errs = append(errs, fmt.Errorf("%s: has the priority %s, which is not below those of all rules with smaller "+
					"numbers: want another number or set", entryText(name, kind, number), priorities[number]))
			default:
				errs = append(errs, checkEntry(ctx, s, rule))
			}
		}
		return errors.Join(errs...)
	})
}

// checkEntry checks that OpenConfig can express the rule of an entry. A rule without matches gets one that all packets
// of its set's IP version have, because SONiC's rules need one.
func checkEntry(ctx context.Context, s tree.Setting, r tree.Record) error {
	path := entryText(r.Keys[0], r.Keys[1], r.Keys[2])
	key := r.Keys[0] + "|" + rulePrefix + r.Keys[2]
	if r.Field(forwarding) == "" {
		return fmt.Errorf("%s/actions/config/forwarding-action: is missing", path)
	}
	if err := errors.Join(icmp.V4().Check(r, path), icmp.V6().Check(r, path)); err != nil {
		return err
	}
	if family := entryFamily(tree.Record{Keys: r.Keys}); family != 0 && matchesAll(r) {
		every := fmt.Sprintf("IPV%dANY", family)
		if err := writeRaw(ctx, s, schema.CfgACLRule, key, text("IP_TYPE"), r.Keys, []string{every}); err != nil {
			return err
		}
		r = with(r, "IP_TYPE", every)
	}
	of, _ := schema.BuiltinACLType(aclTypes[slices.Index(aclTypes, r.Keys[1])+1])
	if _, err := schema.ParseACLRule(of, key, withoutNull(r.Fields)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !entrySays(r) {
		return fmt.Errorf("%s: ACL_RULE|%s has fields that no leaf shows, or matches of both IP versions: "+
			"it is written in CONFIG_DB", path, key)
	}
	return nil
}

// matchesAll reports whether a rule has only a priority and an action.
func matchesAll(r tree.Record) bool {
	for f := range withoutNull(r.Fields) {
		if name := strings.ToUpper(strings.TrimSuffix(f, "@")); name != "PRIORITY" && name != forwarding {
			return false
		}
	}
	return true
}

// missingSet names the check that a set exists to which a Set binds an interface.
func missingSet(name string) string { return "acl-set of interfaces " + name }

// boundPorts returns the ports and PortChannels that a table is bound to.
func boundPorts(table map[string]string) []string {
	return slices.DeleteFunc(list("PORTS").Get(tree.Record{Fields: table}), func(p string) bool {
		return !schema.IsPortName(p) && !schema.IsPortChannelName(p)
	})
}

// stageOf returns the stage of a row of ACL_TABLE.
func stageOf(table map[string]string) string {
	if strings.EqualFold(tree.Record{Fields: table}.Field("STAGE"), schema.StageEgress) {
		return schema.StageEgress
	}
	return schema.StageIngress
}

// unbind removes an interface from the tables that match, of a stage.
func unbind(ctx context.Context, s tree.Setting, iface, name, kind, stage string) error {
	tables, err := aclTables(ctx, s, name, kind)
	for _, name := range tree.SortedKeys(tables) {
		if ports := boundPorts(tables[name]); stageOf(tables[name]) == stage &&
			(iface == tree.Wildcard && len(ports) > 0 || slices.Contains(ports, iface)) {
			err = errors.Join(err, writeRaw(ctx, s, schema.CfgACLTable, name, binding(iface, false), nil, nil))
		}
	}
	return err
}

// binding returns the codec of whether a table is bound to an interface, or to any with the wildcard.
func binding(iface string, is bool) tree.Codec {
	return tree.Codec{
		Shared: true,
		Get: func(r tree.Record) []string {
			if slices.Contains(list("ports").Get(r), iface) {
				return tree.One(iface)
			}
			return nil
		},
		Put: func(r tree.Record, _ []string) error {
			ports := slices.DeleteFunc(list("ports").Get(r), func(p string) bool {
				other := !schema.IsPortName(p) && !schema.IsPortChannelName(p)
				return p == iface || iface == tree.Wildcard && !other
			})
			if is {
				ports = append(ports, iface)
			}
			schema.SortNames(ports)
			setList(r, "ports", strings.Join(ports, ","))
			return nil
		},
	}
}

// aclInterfaceThrough returns the Through of the interfaces with access lists. An interface is there as long as a set
// is bound to it.
func aclInterfaceThrough() *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, leaf string, v []string) error {
			id := keys[0]
			switch {
			case !schema.IsPortName(id) && !schema.IsPortChannelName(id):
				return fmt.Errorf("id %s: want the name of a port or PortChannel", tree.Quoted(id))
			case leaf == "interface-ref/config/interface" && v[0] != id:
				return fmt.Errorf("%s: want %s, as in the id", tree.Quoted(v[0]), id)
			case leaf == "interface-ref/config/subinterface" && v[0] != "0":
				return fmt.Errorf("%s: want 0, which is all that an interface has", v[0])
			}
			s.Later("acl-interface "+id, "", func(ctx context.Context, _ []string) error {
				tables, err := aclTables(ctx, s, tree.Wildcard, tree.Wildcard)
				for _, row := range tables {
					if slices.Contains(boundPorts(row), id) {
						return err
					}
				}
				return errors.Join(err,
					fmt.Errorf("%s[id=%s]: want a set in ingress-acl-sets or egress-acl-sets", aclIfacePath, id))
			})
			return nil
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, n *tree.Node, whole bool) error {
			if !whole {
				return nil
			}
			if pattern[0] != tree.Wildcard {
				s.Later("acl-interface "+pattern[0], "", nil)
			}
			return errors.Join(unbind(ctx, s, pattern[0], tree.Wildcard, tree.Wildcard, schema.StageIngress),
				unbind(ctx, s, pattern[0], tree.Wildcard, tree.Wildcard, schema.StageEgress))
		},
	}
}

// bindingThrough returns the Through of the sets of a stage that are bound to an interface.
func bindingThrough(stage string) *tree.Through {
	return &tree.Through{
		Put: func(ctx context.Context, s tree.Setting, keys []string, _ string, _ []string) error {
			iface, name, kind := keys[0], keys[1], keys[2]
			row, err := readRaw(ctx, s, schema.CfgACLTable, name)
			if err != nil {
				return err
			}
			if row == nil { // the same Set may make it
				s.Later(missingSet(name), "", func(context.Context, []string) error {
					return fmt.Errorf("%s[id=%s]: there is no acl-set %s %s", aclIfacePath, iface, name, kind)
				})
				if err := makeTable(ctx, s, name, kind); err != nil {
					return err
				}
			}
			if row != nil && typeOf(row) != kind {
				return errOtherType(name, row)
			}
			ports := boundPorts(row)
			switch {
			case slices.Contains(ports, iface) && stageOf(row) == stage:
				return nil
			case stageOf(row) != stage && len(ports) > 0:
				return fmt.Errorf("set %s is bound to %s in the stage %s: a table has one stage, want another set", name,
					strings.Join(ports, ", "), stageOf(row))
			case stageOf(row) != stage:
				c := words("stage", "", schema.StageIngress, "ingress", schema.StageEgress, "egress")
				if err := writeRaw(ctx, s, schema.CfgACLTable, name, c, nil, []string{stage}); err != nil {
					return err
				}
			}
			return writeRaw(ctx, s, schema.CfgACLTable, name, binding(iface, true), nil, []string{iface})
		},
		Remove: func(ctx context.Context, s tree.Setting, pattern []string, _ *tree.Node, whole bool) error {
			if !whole {
				return nil
			}
			return unbind(ctx, s, pattern[0], pattern[1], pattern[2], stage)
		},
	}
}

// bindings returns the groups of the interfaces to which access lists are bound, as far as OpenConfig can express this.
// config comes from the rows of CONFIG_DB, state from those in force.
func bindings() []tree.Group {
	key := func(fromEnd int) tree.Codec {
		return tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[len(r.Keys)-fromEnd]) }}
	}
	bound := func(each, stage string, leaves func(at string) []tree.Leaf) []tree.Row {
		row := tree.Row{Key: "{*}", Of: tree.AllFields, Each: each, Entry: true,
			Fold: func(tables map[string]string) map[string]string { return boundIn(tables, stage) }}
		inForce := row
		row.DB, row.Table, row.Leaves = swss.ConfigDB, schema.CfgACLTable, leaves("config")
		inForce.DB, inForce.Table, inForce.Leaves = swss.ApplDB, schema.AppACLTable, leaves("state")
		return []tree.Row{row, inForce}
	}
	set := func(at string) []tree.Leaf {
		return []tree.Leaf{leaf(at+"/set-name", key(2)), leaf(at+"/type", key(1))}
	}
	iface := func(at string) []tree.Leaf {
		return []tree.Leaf{leaf(at+"/id", key(1)), leaf("interface-ref/"+at+"/interface", key(1)),
			leaf("interface-ref/"+at+"/subinterface", never())} // a Set may give 0; interfaces that do not route lack it
	}
	return []tree.Group{
		{Path: aclIfacePath, View: inTables, Through: aclInterfaceThrough(), Rows: bound("id", "", iface)},
		{Path: aclIfacePath + "/ingress-acl-sets/ingress-acl-set", View: inTables,
			Through: bindingThrough(schema.StageIngress), Rows: bound("id set-name type", schema.StageIngress, set)},
		{Path: aclIfacePath + "/egress-acl-sets/egress-acl-set", View: inTables,
			Through: bindingThrough(schema.StageEgress), Rows: bound("id set-name type", schema.StageEgress, set)},
	}
}

// boundIn returns, for each port that a table of the stage is bound to, a field named "port table type". If stage is
// empty, it returns a field per port of all tables.
func boundIn(tables map[string]string, stage string) map[string]string {
	out := map[string]string{}
	for name, text := range tables {
		row := tree.JSONFields(text)
		kind := typeOf(row)
		if kind == "" || strings.Contains(name, " ") || stage != "" && stage != stageOf(row) {
			continue
		}
		for _, port := range boundPorts(row) {
			field := port
			if stage != "" {
				field += " " + name + " " + kind
			}
			out[field] = "{}"
		}
	}
	return out
}
