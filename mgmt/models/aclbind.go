package models

import (
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// bindings returns the groups that show to which interfaces access lists are bound, as far as OpenConfig can express
// this. They are read from the rows that are in force.
func bindings() []tree.Group {
	const interfaces = "/acl/interfaces/interface"
	bound := func(each, stage string, leaves ...tree.Leaf) []tree.Row {
		return []tree.Row{{
			DB: swss.ApplDB, Table: schema.AppACLTable, Key: "{*}", Of: "TYPE STAGE PORTS", Each: each, Entry: true,
			Fold: func(tables map[string]string) map[string]string { return boundTo(tables, stage) }, Leaves: leaves,
		}}
	}
	ref := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[0]) }}
	return []tree.Group{
		{Path: interfaces, View: inTables, Rows: bound("id", "", leaf("interface-ref/state/interface", ref))},
		{Path: interfaces + "/ingress-acl-sets/ingress-acl-set", View: inTables, Rows: bound("id set-name type", "INGRESS")},
		{Path: interfaces + "/egress-acl-sets/egress-acl-set", View: inTables, Rows: bound("id set-name type", "EGRESS")},
	}
}

// boundTo returns, for each port that a table of the stage is bound to, a field named "port table type". If stage is
// empty, it returns a field per port of all tables.
func boundTo(tables map[string]string, stage string) map[string]string {
	out := map[string]string{}
	for name, text := range tables {
		f := strings.Split(text, "|")
		if len(f) != 3 || strings.Contains(name, " ") {
			continue
		}
		kind := tree.First(aclType().Get(tree.Record{Fields: map[string]string{"TYPE": f[0]}}))
		if kind == "" || stage != "" && !strings.EqualFold(stage, f[1]) {
			continue
		}
		for port := range strings.SplitSeq(f[2], ",") {
			switch {
			case port == "":
			case stage == "":
				out[port] = "{}"
			default:
				out[port+" "+name+" "+kind] = "{}"
			}
		}
	}
	return out
}
