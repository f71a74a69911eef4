package orch

import "tamtam/sai"

// An ACLVariant is one of several ACL entries that a TAM feature has for one flow group: the
// feature's orch asks for it, the ACL orch creates it.
type ACLVariant struct {
	Name     string     // short, and unique within the flow group
	Match    []sai.Attr // fields of the entry besides those of the flow group, or instead
	Actions  []sai.Attr // besides the counter
	Raise    uint32     // added to the flow group's priority, to win over another variant
	Inactive bool       // matches nothing until it is set active
}
