package engine

import (
	"bytes"
	"net/netip"
	"reflect"

	"tamtam/saisim/config"
	"tamtam/saisim/pipe"
	"tamtam/saisim/replica"
	"tamtam/tam/record"
)

// A Fork is a chip once more, as it was at an instant, with all that was in it and on its way. What comes to one of
// the two is not seen by the other, and nobody hears of the fork: it has no output, observer and ledger, and batches
// of control that were still to come have nobody who is told what they read.
type Fork struct{ chip *Engine }

// NewFork returns a fork of a chip.
func NewFork(c *Engine) (*Fork, error) {
	n, err := replica.Of(c, replica.Options{
		Zero: []reflect.Type{
			reflect.TypeFor[spares](), reflect.TypeFor[Ledger](),
			reflect.TypeFor[map[netip.Prefix]*dest](), // which only changes of routes need
			reflect.TypeFor[*dropTakers](), reflect.TypeFor[*watching](), reflect.TypeFor[*tableNames](),
		},
		Shared: []reflect.Type{reflect.TypeFor[pipe.Program](), reflect.TypeFor[record.Graph](), reflect.TypeFor[Clock]()},
	})
	if err != nil {
		return nil, err
	}
	n.spares, n.noting, n.choosing = newSpares(), n.recording.identifies(), false
	if c.takers != nil && c.takers.reports { // reports of drops are frames, which others wait for
		n.taking().reports = true
	}
	n.cpu.refresh = n.refresh
	if n.stale { // neighbours of one address may have to be sorted
		n.router.remember()
	}
	n.SetOutput(func(*Out) {})
	n.OnAddress(func(FDBEvent, FDBRow) {})
	n.Observe(nil)
	n.SetVector(0)
	return &Fork{n}, nil
}

// With returns the fork with a change of its tables.
func (f *Fork) With(ch config.Change) (*Fork, error) {
	n, err := NewFork(f.chip)
	if err != nil {
		return nil, err
	}
	n.chip.router.remember()
	n.chip.Apply(ch)
	return n, nil
}

// remember makes the maps of prefixes anew, which forks leave out.
func (c *router) remember() {
	c.dests, c.shared = map[netip.Prefix]*dest{}, map[netip.Prefix]*dest{}
	for _, f := range []*fib{&c.fib4, &c.fib6} {
		f.root.each(func(d *dest) {
			p := d.prefix
			c.dests[p] = d
			if len(d.hosts) > 1 {
				c.shared[p] = d
			}
		})
	}
}

// each calls a function for the destinations of all prefixes.
func (n *fibNode) each(do func(*dest)) {
	for _, d := range n.dests {
		do(d)
	}
	for _, k := range n.kids {
		k.each(do)
	}
}

// A PacketTrace is what becomes of a packet.
type PacketTrace struct {
	// Findings are those of the packet and its copies in tables, in the order in which they are looked in.
	Findings []Finding
	// Moments are its history, in the order of time.
	Moments []Moment
	// Paths are the tables that it and its copies ran, by copy, in the order of the graph.
	Paths map[uint32][]record.Step
	// Counts are what counters have more in the end than without it.
	Counts []CountChange
}

// Trace receives a frame, as [Engine.Receive] does, and returns what becomes of it until nothing of it is left in the
// chip. The fork itself stays as it is.
func (f *Fork) Trace(id PortID, at Cycle, frame *Frame) (*PacketTrace, error) {
	without, err := NewFork(f.chip)
	if err != nil {
		return nil, err
	}
	with, err := NewFork(f.chip)
	if err != nil {
		return nil, err
	}
	number := with.chip.frames + 1
	t, open := with.watch(number)
	if err := with.chip.Receive(id, at, frame); err != nil {
		return nil, err
	}
	for with.holds(number, open) {
		next, ok := with.chip.NextEvent()
		if !ok {
			break
		}
		with.chip.Advance(next)
	}
	without.chip.Advance(with.chip.now)
	t.Counts = changes(countsOf(without.chip), countsOf(with.chip))
	return t, nil
}

// watch has all noted that becomes of a frame, and which copies of it are open.
func (f *Fork) watch(number uint64) (t *PacketTrace, open map[uint32]bool) {
	c := f.chip
	t, open = &PacketTrace{Paths: map[uint32][]record.Step{}}, map[uint32]bool{0: true}
	c.Observe(func(m Moment) {
		if m.Number != number {
			return
		}
		m.Data = bytes.Clone(m.Data)
		t.Moments = append(t.Moments, m)
		switch m.What {
		case MomentReplicated:
			open[0] = false
		case MomentSent, MomentPunted, MomentDropped:
			open[m.Copy] = false
			if steps := c.Path(m.Trail); steps != nil {
				t.Paths[m.Copy] = steps
			}
		default:
			open[m.Copy] = true
		}
	})
	c.found = func(pk *packet, x Finding) {
		if pk.number == number {
			t.Findings = append(t.Findings, x)
		}
	}
	return t, open
}

// holds reports whether something of a frame is in the chip: copies that are open, or such as mirror sessions have yet
// to make.
func (f *Fork) holds(number uint64, open map[uint32]bool) bool {
	for _, is := range open {
		if is {
			return true
		}
	}
	for i := range f.chip.leaving.Len() {
		if f.chip.leaving.At(i).copy.pk.number == number {
			return true
		}
	}
	return false
}
