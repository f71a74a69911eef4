package orch

import (
	"tamtam/sai"
	"tamtam/swss/schema"
)

// An ACLVariant is one of several ACL entries that a TAM feature has for one flow group. The feature's orch requests
// it, the ACL orch creates it.
type ACLVariant struct {
	Name     string     // short name, unique within the flow group
	Match    []sai.Attr // fields of the entry that extend or replace those of the flow group
	Actions  []sai.Attr // actions of the entry besides the counter
	Raise    uint32     // added to the flow group's priority, so that the entry takes precedence over another variant
	Inactive bool       // true if the entry matches nothing until it is set active
}

// An ACLInForce describes the ACL entries that the ASIC has for one flow group and one TAM feature.
type ACLInForce struct {
	// Matches are those of the flow group's rule from which the entries were made. Variants may replace some.
	Matches []schema.ACLMatch
	// Lowest and Highest are the priorities of the entries. Only a variant with Raise makes them differ.
	Lowest, Highest uint32
	// Ports are the only ports whose packets can match. It is nil if the ports do not matter.
	Ports []sai.OID
	// Interfaces are the names by which the rule and its table select these ports. It is empty if they select none.
	Interfaces string
	// Changed differs after each change of these entries, even if the change was undone.
	Changed uint64
}
