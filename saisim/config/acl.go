package config

// An ACLTable is an ACL table.
type ACLTable struct {
	ID    ID
	Stage Stage
}

// An ACLEntry is an ACL entry: what it matches, and what it does then.
type ACLEntry struct {
	ID, Table ID
	Priority  uint32
	Enabled   bool
	Matches   []ACLMatch
	Actions   []ACLAction
	// Content is what the entry says, without ids. It decides between entries of one priority: the smaller takes
	// precedence, and of those that say the same, but count elsewhere, the one with the smaller ID.
	Content string
}

// An ACLMatch is one match of an entry; all must hold.
type ACLMatch struct {
	Field ACLField
	// Value and mask of fields that are numbers: an IPv6 address has two words, the rest the second.
	Value, Mask [2]uint64
	// Of are the ports (or one LAG), or the ranges, that the field names.
	Of []ID
}

// An ACLAction is one action of an entry.
type ACLAction struct {
	Kind   ACLActionKind
	Number uint64 // of the actions that have one; a packet action too
	Of     []ID   // what it names
}

// An ACLGroup is a table group. Its members are in the order in which they
// are looked in: the higher priority first.
type ACLGroup struct {
	ID         ID
	Stage      Stage
	Sequential bool // the first table that hits ends the lookup
	Members    []ACLMember
}

// An ACLMember is a table in a group.
type ACLMember struct {
	Table    ID
	Priority uint32
}

// An ACLRange is a range checker.
type ACLRange struct {
	ID       ID
	Index    int // its bit in the key
	Of       RangeOf
	Min, Max uint32
}

// A RangeOf is the field that a range checker compares.
type RangeOf uint8

// The fields of range checkers.
const (
	RangeL4Src RangeOf = iota
	RangeL4Dst
	RangeOuterVLAN
	RangeInnerVLAN
	RangeLength
)

// An ACLCounter is an ACL counter.
type ACLCounter struct {
	ID                       ID
	Table                    ID
	Label                    string
	CountPackets, CountBytes bool
}

// Of returns what the action of a kind names; nil: the entry has no such action.
func (e *ACLEntry) Of(kind ACLActionKind) []ID {
	for i := range e.Actions {
		if e.Actions[i].Kind == kind {
			return e.Actions[i].Of
		}
	}
	return nil
}
