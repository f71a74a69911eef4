package cmu

import (
	"fmt"

	"tamtam/tam/flymon"
)

// maxSlots is the maximum number of masks. Each hash unit of a chip may have its own.
const maxSlots = 64

// noKey is the number of the compressed key that is always zero. See [scratch].
const noKey = uint16(maxSlots * len(flymon.Sums{}))

// Groups holds the CMU groups of a chip. Only one goroutine at a time may use it.
type Groups struct {
	geometry flymon.Geometry
	hashes   []hashUnit // by group and unit
	cmus     []cmu      // by group and number
	groups   []int      // number of tasks of each group
	slots    [maxSlots]slot
	tasks    map[string]*task
	stacked  classifier // classifier of tasks in stacked groups
	spliced  classifier // classifier of tasks in spliced groups
	// generation of the last zeroed partition.
	generation uint64
	maxFlows   int    // limit of the oracle; zero if it is off
	number     uint64 // number of the last packet; at is its time of day
	at         uint64

	// Packets that wait to run through the stacked groups, their number, and its maximum.
	waiting     [Lanes]Packet
	n, together int
	single      [1]Packet    // the packet of a pass with only one packet
	ordered     [Lanes]uint8 // 0, 1, 2 and so on
	scratch
}

// Lanes is the maximum number of packets that run through the groups together.
const Lanes = 64

// lanes is a set of the packets that run together. Bit i is the i-th packet.
type lanes uint64

// scratch holds the state of the packets that run together, each at its index.
type scratch struct {
	packets []Packet
	// Of all packets: the first and the last time of day, and the sum of their sizes.
	earliest, latest uint64
	bytes            uint64

	keys   [Lanes]words
	coins  [Lanes]uint32
	tossed lanes   // packets whose coins are known
	active []*task // tasks whose filters match some packets
	// Compressed keys by slot and polynomial. The bits of have select the valid entries of summed, which hold the packets
	// with sums. The last sums are zero, for no key.
	have   uint64
	summed [maxSlots]lanes
	sums   [noKey + 1][Lanes]uint32

	// State of one unit: the packets for which it runs, their parameters, and the values that are compared with digest
	// thresholds.
	list, chosen [Lanes]uint8
	some         [Lanes]uint32
	p1, p2       operand
	measures     [Lanes]uint32
	results      [flymon.MaxGroups * flymon.MaxCMUs][Lanes]uint32 // results of the task's units
}

// A hashUnit is a hash unit. Its mask is set as long as a task needs it.
type hashUnit struct {
	mask  flymon.Key
	sum   uint16 // number of its compressed key
	users []*task
}

// A cmu is a register and its partitions. The register is allocated with its first task.
type cmu struct {
	words  []uint32
	places []place
}

// A place is a partition with all its banks.
type place struct {
	task      *task
	base, end uint32
	unit      *flymon.Unit
	frozen    bool
}

// A slot computes the compressed keys of one mask. Hash units with this mask share it. Free slots keep their tables for
// the next user.
type slot struct {
	mask       flymon.Key
	compressor *flymon.Compressor
	used       uint8                   // set of polynomials that have users
	users      [len(flymon.Sums{})]int // number of users of each polynomial
}

// New returns groups without tasks.
func New(g flymon.Geometry) (*Groups, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("CMU groups: %w", err)
	}
	c := &Groups{
		geometry: g,
		hashes:   make([]hashUnit, g.All()*g.Units),
		cmus:     make([]cmu, g.All()*g.CMUs),
		groups:   make([]int, g.All()),
		tasks:    map[string]*task{},
		together: Lanes,
	}
	for i := range c.ordered {
		c.ordered[i] = uint8(i)
	}
	return c, nil
}

// Geometry returns the geometry passed to New.
func (g *Groups) Geometry() flymon.Geometry { return g.geometry }

// Busy reports whether there is any task. Without tasks, Run need not be called.
func (g *Groups) Busy() bool { return len(g.tasks) > 0 }

// Tasks returns the number of tasks.
func (g *Groups) Tasks() int { return len(g.tasks) }

// Status returns the state of a task. It returns false if there is no such task.
func (g *Groups) Status(name string) (flymon.ChipStatus, bool) {
	g.flush()
	t, ok := g.tasks[name]
	if !ok {
		return flymon.ChipStatus{}, false
	}
	return flymon.ChipStatus{Generation: t.generation, Banks: t.banks, Frozen: t.frozen.banks, FrozenAt: t.frozen.at}, true
}
