package mgmt

import (
	"strings"

	"tamtam/schema"
	"tamtam/swss"
)

// aclModule is openconfig-acl in the databases. It is read-only: see
// tamtam-deviations.
func aclModule() Module {
	table := Row{DB: swss.ConfigDB, Table: schema.CfgACLTable, Key: "{name}"}
	set := table
	set.Entry = true
	set.Leaves = []Leaf{{"config/description", text("policy_desc")}, {"state/description", text("policy_desc")}}
	kind := map[string]Codec{"type": aclType()}
	return Module{Name: "openconfig-acl", Groups: []Group{
		{Path: "/acl/acl-sets/acl-set", Keys: kind, Rows: []Row{set}},
		{Path: "/acl/acl-sets/acl-set/acl-entries/acl-entry", Keys: kind, Rows: []Row{
			table,
			{
				DB: swss.ConfigDB, Table: schema.CfgACLRule, Key: "{name}|{sequence-id}", Entry: true,
				Leaves: []Leaf{{"state/priority", number("PRIORITY", "%d")}, {"state/fields", ruleFields()}},
			},
			{
				DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersACLRuleMap, Key: "{name}:{sequence-id}",
				Counter: true,
				Leaves:  []Leaf{{"state/matched-packets", text(aclPackets)}, {"state/matched-octets", text(aclOctets)}},
			},
		}},
	}}
}

// aclType is OpenConfig's word for the type of a table. The TAM table need not be configured.
func aclType() Codec {
	return Codec{Get: func(r Record) []string {
		switch t := strings.ToUpper(r.Field("TYPE")); {
		case t == "L3":
			return one("ACL_IPV4")
		case t == "L3V6":
			return one("ACL_IPV6")
		case t == "L3V4V6":
			return one("ACL_MIXED")
		case t == schema.ACLTypeTAM, t == "" && r.Keys[0] == schema.TAMTable:
			return one("ACL_TAM")
		case t != "":
			return one("ACL_OTHER")
		}
		return nil
	}}
}
