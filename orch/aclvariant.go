package orch

import (
	"tamtam/sai"
	"tamtam/swss/schema"
)

// An ACLVariant is one of several ACL entries that a TAM feature has for one flow group: the
// feature's orch asks for it, the ACL orch creates it.
type ACLVariant struct {
	Name     string     // short, and unique within the flow group
	Match    []sai.Attr // fields of the entry besides those of the flow group, or instead
	Actions  []sai.Attr // besides the counter
	Raise    uint32     // added to the flow group's priority, to win over another variant
	Inactive bool       // matches nothing until it is set active
}

// An ACLInForce describes the ACL entries that the ASIC has of one flow group for a TAM feature.
type ACLInForce struct {
	// Matches are those of the flow group's rule that the entries were made from. Variants may replace some.
	Matches []schema.ACLMatch
	// Lowest and Highest are the priorities of the entries. Only a variant with Raise makes them differ.
	Lowest, Highest uint32
	// Ports are the only ports whose packets can match. It is nil if the ports do not matter.
	Ports []sai.OID
	// Interfaces are the names by which the rule and its table give these ports. It is empty if they give none.
	Interfaces string
	// Changed differs after each change of these entries, also after one that was undone since.
	Changed uint64
}
