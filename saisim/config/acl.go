package config

// An ACLTable is an ACL table.
type ACLTable struct {
	ID    ID
	Stage Stage
}

// An ACLEntry is an ACL entry: its matches and its actions.
type ACLEntry struct {
	ID, Table ID
	Priority  uint32
	Enabled   bool
	Matches   []ACLMatch
	Actions   []ACLAction
	// Content is the text of the entry, without ids. It decides between entries of equal priority: the smaller text
	// takes precedence. If the texts are equal, because only the counters of the entries differ, the smaller ID takes
	// precedence.
	Content string
}

// An ACLMatch is one match of an entry. All matches must hold.
type ACLMatch struct {
	Field ACLField
	// Value and Mask are for numeric fields. An IPv6 address uses both words, other fields use only the second word.
	Value, Mask [2]uint64
	// Of holds the ports (or one LAG), or the ranges, that the field names.
	Of []ID
}

// An ACLAction is one action of an entry.
type ACLAction struct {
	Kind   ACLActionKind
	Number uint64 // for actions with a number; also the packet action
	Of     []ID   // rows that the action names
}

// An ACLGroup is a table group. Its members are in the order of lookups: the higher priority first.
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
	Index    int // the checker's bit in the lookup key
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

// Of returns the rows that the action of a kind names, nil if the entry has no such action.
func (e *ACLEntry) Of(kind ACLActionKind) []ID {
	for i := range e.Actions {
		if e.Actions[i].Kind == kind {
			return e.Actions[i].Of
		}
	}
	return nil
}
