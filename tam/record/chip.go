package record

import "net/netip"

// Names of the extension objects of a chip that can record tables. Their JSON is in docs/internals/extensions.md. A
// plan is configuration, the others are register reads.
const (
	ObjectPlan     = "tamtam.tablerecord.plan"
	ObjectCounters = "tamtam.tablerecord.counters"
	ObjectGraph    = "tamtam.tablerecord.graph"
)

// Attributes of their entries. The first group is set, the second is added by a get.
const (
	AttrPlan     = "plan"     // a ChipPlan
	AttrLabels   = "labels"   // labels of mirror sessions, at most MaxLabels
	AttrDescribe = "describe" // a ChipQuestion

	AttrCounters = "counters" // CounterWords for each label
	AttrCounted  = "counted"  // version of the graph, counted packets, and packets whose path did not fit
	AttrGraph    = "graph"    // a Graph
	AttrPaths    = "paths"    // PathCounts
)

// MaxLabels is the maximum number of labels in one read of counters.
const MaxLabels = 128

// LabelPrefix is the reserved prefix of labels of mirror sessions that record.
const LabelPrefix = "tr:"

// A ChipPlan is the chip's form of a [Plan]: the value of the attribute "plan".
type ChipPlan struct {
	ID     uint32 `json:"id"`     // id of the plan; not 0
	Switch uint32 `json:"switch"` // switch id in the records
	PHV    string `json:"phv"`    // container widths
	Offset int    `json:"offset"` // offset of the first bit in the chip's record word
	Graph  uint64 `json:"graph"`  // version of the graph for which the plan was made

	Marks    []ChipMark    `json:"marks"`
	Sessions []ChipSession `json:"sessions"`
}

// A ChipMark is one bit of the record.
type ChipMark struct {
	Table string `json:"table"`
	When  string `json:"when"` // MarkRan, MarkHit or MarkAction
	Bit   int    `json:"bit"`  // from bit 0 of container 0
	// Actions are the actions of a MarkAction, named as in [Graph.Acts].
	Actions []string `json:"actions,omitempty"`
}

// The conditions on which a table sets a mark.
const (
	MarkRan = "ran"
	MarkHit = "hit"
	// MarkAction means that the table hit an entry with one of some actions.
	MarkAction = "action"
)

// A ChipSession is a mirror session that records with the plan.
type ChipSession struct {
	Label  string `json:"label"`  // label of the MIRROR_SESSION
	Sample uint32 `json:"sample"` // one packet in Sample is recorded, starting with the first; 0 means 1
	// Identities adds to records the identities of the entries that the packet hit, and of its queue.
	Identities bool `json:"identities,omitempty"`
	// Tunnel holds the addresses of a mirror session of type SFLOW, for which SAI has no attributes. Nil for other
	// types.
	Tunnel *ChipTunnel `json:"tunnel,omitempty"`
}

// A ChipTunnel holds the addresses of UDP datagrams. The version of IP is that of the addresses.
type ChipTunnel struct {
	SrcIP  netip.Addr `json:"src-ip"`
	DstIP  netip.Addr `json:"dst-ip"`
	SrcMAC string     `json:"src-mac"` // 02:00:00:00:00:01
	DstMAC string     `json:"dst-mac"`
	TOS    uint8      `json:"tos,omitempty"`
}

// A ChipQuestion selects the parts of a chip's pipeline to return, in addition to [AttrCounted].
type ChipQuestion struct {
	Graph bool `json:"graph"`
	Paths bool `json:"paths"`
}

// CounterWords is the number of counters per label: packets that matched, matched packets that were not recorded,
// record copies made, and copies that were dropped.
const CounterWords = 4

// ChipMarks returns the plan's marks in the chip's form. Its error is that of [Plan.Marks].
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
