package cmu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/flymon"
)

// Groups are the CMU groups of one chip. They have no lock.
type Groups struct {
	geo     flymon.Geometry
	regs    [][]uint32 // by group * CMUs + cmu; nil before the first use
	hashes  []hashUnit // by group * Units + unit
	tasks   map[string]*task
	stacked tupleSpace // of tasks in stacked groups
	spliced tupleSpace // of tasks in spliced groups
	packets uint64     // number of the last packet
	changes uint64     // generations given so far
	oracle  int        // flows that are counted exactly per task and bank; 0: none

	seq     uint64 // of the packet for which sums hold
	results [flymon.MaxGroups * flymon.MaxCMUs]uint32
}

// A hashUnit compresses under one mask for all its tasks.
type hashUnit struct {
	key  flymon.Key
	c    *flymon.Compressor
	at   uint64 // the packet for which sum holds
	sum  uint32
	uses int // tasks
}

// A Packet is what CMU groups see of a copy.
type Packet struct {
	// Vector's last word is the time of day in ns as the copy enters the egress pipe.
	Vector flymon.Vector
	Ports  bool   // it has ports
	Size   uint32 // bytes as it leaves, with FCS
	// QueueBytes were in its queue as it came; QueueNS is how long it was there.
	QueueBytes uint32
	QueueNS    uint64
	Number     uint64 // of copies that have entered the egress pipe, from 1
}

// New returns groups without tasks.
func New(g flymon.Geometry) (*Groups, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return &Groups{
		geo: g, regs: make([][]uint32, g.All()*g.CMUs), hashes: make([]hashUnit, g.All()*g.Units), tasks: map[string]*task{},
	}, nil
}

// Geometry is what New was given.
func (g *Groups) Geometry() flymon.Geometry { return g.geo }

// Busy says whether there is any task.
func (g *Groups) Busy() bool { return len(g.tasks) > 0 }

// Tasks is the number of tasks.
func (g *Groups) Tasks() int { return len(g.tasks) }

// Apply adds a task, or gives the one of that name another layout, between two
// packets. On error nothing has changed. Partitions that the task has already, with
// the same unit or to be frozen now, keep what they have counted; all others begin
// at 0.
func (g *Groups) Apply(l flymon.Layout) error {
	if err := l.Check(&g.geo); err != nil {
		return fmt.Errorf("task %q: %w", l.Task, err)
	}
	if err := g.fits(&l); err != nil {
		return fmt.Errorf("task %q: %w", l.Task, err)
	}
	old := g.tasks[l.Task]
	if old != nil {
		g.unmask(&old.layout)
	}
	for _, m := range l.Masks {
		h := &g.hashes[m.Group*g.geo.Units+m.Unit]
		if h.uses == 0 && (h.c == nil || h.key != m.Key) {
			*h = hashUnit{key: m.Key, c: flymon.NewCompressor(flymon.Poly(m.Group, m.Unit), m.Key)}
		}
		h.uses++
	}
	g.tasks[l.Task] = g.newTask(l, old)
	g.compile()
	return nil
}

// Remove ends a task; false: there is none of that name.
func (g *Groups) Remove(name string) bool {
	t := g.tasks[name]
	if t == nil {
		return false
	}
	g.unmask(&t.layout)
	delete(g.tasks, name)
	g.compile()
	return true
}

func (g *Groups) unmask(l *flymon.Layout) {
	for _, m := range l.Masks {
		g.hashes[m.Group*g.geo.Units+m.Unit].uses--
	}
}

// compile makes the tuple spaces anew.
func (g *Groups) compile() {
	g.stacked, g.spliced = tupleSpace{}, tupleSpace{}
	for _, name := range slices.SortedFunc(maps.Keys(g.tasks), strings.Compare) {
		t := g.tasks[name]
		if t.again {
			g.spliced.add(t)
		} else {
			g.stacked.add(t)
		}
	}
	g.stacked.build()
	g.spliced.build()
}

// Run does the tasks in stacked groups for a packet. again says that a task in
// spliced groups wants it too, after recirculation.
func (g *Groups) Run(p *Packet) (again bool) {
	g.seq++
	g.packets = p.Number
	k := keyOf(p)
	for i := range g.stacked.tuples {
		tp := &g.stacked.tuples[i]
		for _, t := range tp.find(&k) {
			g.run(t, p)
		}
	}
	for i := range g.spliced.tuples {
		if len(g.spliced.tuples[i].find(&k)) > 0 {
			return true
		}
	}
	return false
}

// RunAgain does the tasks in spliced groups for a packet that was recirculated:
// those that were there as they are now when Run saw it.
func (g *Groups) RunAgain(p *Packet) {
	g.seq++
	g.eachAgain(p, func(t *task) { g.run(t, p) })
}

// LostAgain counts a packet for which there was no room in recirculation.
func (g *Groups) LostAgain(p *Packet) {
	g.eachAgain(p, func(t *task) { t.bank(p.Vector[5]).Lost++ })
}

func (g *Groups) eachAgain(p *Packet, do func(*task)) {
	k := keyOf(p)
	for i := range g.spliced.tuples {
		for _, t := range g.spliced.tuples[i].find(&k) {
			if t.since <= p.Number {
				do(t)
			}
		}
	}
}

// sum is the compressed key of a hash unit for the packet at hand.
func (g *Groups) sum(i int, p *Packet) uint32 {
	h := &g.hashes[i]
	if h.at != g.seq {
		h.at, h.sum = g.seq, h.c.Sum(&p.Vector)
	}
	return h.sum
}

// registers are the buckets of a CMU.
func (g *Groups) registers(u *flymon.Unit) []uint32 {
	at := u.Group*g.geo.CMUs + u.CMU
	if g.regs[at] == nil {
		g.regs[at] = make([]uint32, g.geo.Depth)
	}
	return g.regs[at]
}

// Coin is the coin of a packet, 0 to 255, by its number: bits of a permutation of
// 64-bit words (SplitMix64).
func Coin(number uint64) uint16 {
	z := number * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint16((z ^ z>>31) >> 56)
}
