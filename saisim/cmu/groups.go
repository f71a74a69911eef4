package cmu

import (
	"fmt"

	"tamtam/tam/flymon"
)

// maxSlots are compressed keys of one packet: each hash unit of a chip may have its own.
const maxSlots = 64

// Groups are the CMU groups of a chip. One goroutine at a time may use them.
type Groups struct {
	geometry flymon.Geometry
	hashes   []hashUnit // by group and unit
	cmus     []cmu      // by group and number
	groups   []int      // tasks of each
	slots    [maxSlots]slot
	tasks    map[string]*task
	stacked  classifier // of tasks in stacked groups
	spliced  classifier // and in spliced ones
	// generation is the one of the partition that was zeroed last.
	generation uint64
	maxFlows   int    // of the oracle; 0: off
	number     uint64 // of the last packet, and its time of day
	at         uint64

	// What waits to run through the stacked groups, and how many may at most.
	waiting     [Lanes]Packet
	n, together int
	single      [1]Packet // in a pass of its own
	scratch
}

// Lanes is how many packets run through the groups together, at most.
const Lanes = 64

// lanes are some of the packets that run together: bit i is the i-th.
type lanes uint64

// scratch is what is known of the packets that run together, each at its index.
type scratch struct {
	packets []Packet
	keys    [Lanes]words
	coins   [Lanes]uint32
	tossed  lanes   // coins are known
	active  []*task // whose filters some match
	// Compressed keys by slot: bits of have say where summed is valid, those of which there are sums. Those of
	// the last slot are 0: no key.
	have   uint64
	summed [maxSlots]lanes
	sums   [maxSlots + 1][Lanes]uint32

	// Of one unit: the packets that it runs for, their parameters, and what digests look at.
	list, chosen [Lanes]uint8
	p1, p2       operand
	measures     [Lanes]uint32
	results      [flymon.MaxGroups * flymon.MaxCMUs][Lanes]uint32 // of the task's units
}

// A hashUnit has a mask for as long as a task needs it.
type hashUnit struct {
	mask  flymon.Key
	slot  uint8
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

// A slot computes one compressed key. Hash units with the same polynomial and mask share it; free slots
// keep their tables for the next user.
type slot struct {
	poly       uint32
	mask       flymon.Key
	compressor *flymon.Compressor
	users      int
}

// New makes groups without tasks.
func New(g flymon.Geometry) (*Groups, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("CMU groups: %w", err)
	}
	return &Groups{
		geometry: g,
		hashes:   make([]hashUnit, g.All()*g.Units),
		cmus:     make([]cmu, g.All()*g.CMUs),
		groups:   make([]int, g.All()),
		tasks:    map[string]*task{},
		together: Lanes,
	}, nil
}

// Geometry returns what New was given.
func (g *Groups) Geometry() flymon.Geometry { return g.geometry }

// Busy reports whether there is any task: without one, Run need not be called.
func (g *Groups) Busy() bool { return len(g.tasks) > 0 }

// Tasks returns the number of tasks.
func (g *Groups) Tasks() int { return len(g.tasks) }

// Status returns the state of a task; false: there is none.
func (g *Groups) Status(name string) (flymon.ChipStatus, bool) {
	g.settle()
	t, ok := g.tasks[name]
	if !ok {
		return flymon.ChipStatus{}, false
	}
	return flymon.ChipStatus{Generation: t.generation, Banks: t.banks, Frozen: t.frozen.banks, FrozenAt: t.frozen.at}, true
}
