package record

import "net/netip"

// Names of the extension objects of a chip that can record; docs/internals/extensions.md has
// their JSON. A plan is configuration, the others are windows.
const (
	ObjectPlan     = "tamtam.tablerecord.plan"
	ObjectCounters = "tamtam.tablerecord.counters"
	ObjectGraph    = "tamtam.tablerecord.graph"
)

// Attributes of their entries: those that are set, and those that a get adds.
const (
	AttrPlan     = "plan"     // a ChipPlan
	AttrLabels   = "labels"   // of mirror sessions, at most MaxLabels
	AttrDescribe = "describe" // a ChipQuestion

	AttrCounters = "counters" // CounterWords for each label
	AttrCounted  = "counted"  // version of the graph, packets counted, packets whose path there was no room for
	AttrGraph    = "graph"    // a Graph
	AttrPaths    = "paths"    // PathCounts
)

// MaxLabels is how many labels one window of counters has.
const MaxLabels = 128

// LabelPrefix begins the labels of mirror sessions that record: it is reserved for
// them.
const LabelPrefix = "tr:"

// A ChipPlan is a [Plan] as a chip takes it: value of the attribute "plan".
type ChipPlan struct {
	ID     uint32 `json:"id"`     // of the plan; not 0
	Switch uint32 `json:"switch"` // of the records
	PHV    string `json:"phv"`    // containers
	Offset int    `json:"offset"` // where the bits begin in the chip's record word
	Graph  uint64 `json:"graph"`  // version of the graph that the plan was made for

	Marks    []ChipMark    `json:"marks"`
	Sessions []ChipSession `json:"sessions"`
}

// A ChipMark is one bit of the record.
type ChipMark struct {
	Table string `json:"table"`
	When  string `json:"when"` // MarkRan, MarkHit or MarkAction
	Bit   int    `json:"bit"`  // from 0, where container 0 begins
	// Actions are those of MarkAction, as [Graph.Acts] names them.
	Actions []string `json:"actions,omitempty"`
}

// When a table sets a mark.
const (
	MarkRan = "ran"
	MarkHit = "hit"
	// MarkAction: when it hit an entry that has one of some actions.
	MarkAction = "action"
)

// A ChipSession is a mirror session that records by the plan.
type ChipSession struct {
	Label  string `json:"label"`  // of the MIRROR_SESSION
	Sample uint32 `json:"sample"` // one of this number of packets is recorded, the first; 0 is 1
	// Identities has records carry those of the entries that the packet has hit, and of its queue.
	Identities bool `json:"identities,omitempty"`
	// Tunnel is that of a mirror session of type SFLOW, for whose addresses SAI has no
	// attributes; others have their own.
	Tunnel *ChipTunnel `json:"tunnel,omitempty"`
}

// A ChipTunnel says from whom to whom UDP datagrams go. The version of IP is that of
// the addresses.
type ChipTunnel struct {
	SrcIP  netip.Addr `json:"src-ip"`
	DstIP  netip.Addr `json:"dst-ip"`
	SrcMAC string     `json:"src-mac"` // 02:00:00:00:00:01
	DstMAC string     `json:"dst-mac"`
	TOS    uint8      `json:"tos,omitempty"`
}

// A ChipQuestion says what is wanted of a chip's pipeline besides [AttrCounted].
type ChipQuestion struct {
	Graph bool `json:"graph"`
	Paths bool `json:"paths"`
}

// CounterWords is how many numbers a window of counters has for each label: packets
// that matched; of those not recorded; record copies made; of those dropped.
const CounterWords = 4

// ChipMarks returns the plan's marks as a chip takes them; an error is that of [Plan.Marks].
func (p *Plan) ChipMarks() ([]ChipMark, error) {
	marks, err := p.Marks()
	if err != nil {
		return nil, err
	}
	list := make([]ChipMark, len(marks))
	for i, m := range marks {
		list[i] = ChipMark{Table: m.Table, When: MarkRan, Bit: m.Bit}
		switch {
		case m.Of != nil:
			list[i].When, list[i].Actions = MarkAction, m.Of
		case m.Hit:
			list[i].When = MarkHit
		}
	}
	return list, nil
}
