package orch

import "tamtam/sai"

// An ACLVariant is one of several ACL entries that a TAM feature has of one flow
// group: the orch of the feature asks for it, that of ACLs makes it.
type ACLVariant struct {
	Name     string     // short, and its own among those of the flow group
	Match    []sai.Attr // fields of the entry besides those of the flow group, or instead
	Actions  []sai.Attr // besides the counter
	Raise    uint32     // of the flow group's priority: to win from another variant
	Inactive bool       // matches nothing until it is set active
}
