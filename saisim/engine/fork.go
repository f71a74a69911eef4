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

// A Fork is a copy of a chip at an instant, with everything that it holds. Frames that arrive at either of the two do
// not affect the other. A fork is not observable from outside: it has no output, observer or ledger, and results of
// pending control batches are discarded.
type Fork struct{ chip *Engine }

// NewFork returns a fork of a chip.
func NewFork(c *Engine) (*Fork, error) {
	n, err := replica.Of(c, replica.Options{
		Zero: []reflect.Type{
			reflect.TypeFor[spares](), reflect.TypeFor[Ledger](),
			reflect.TypeFor[map[netip.Prefix]*dest](), // needed only for changes of routes
			reflect.TypeFor[*dropListeners](), reflect.TypeFor[*watching](), reflect.TypeFor[*tableNames](),
		},
		Shared: []reflect.Type{reflect.TypeFor[pipe.Program](), reflect.TypeFor[record.Graph](), reflect.TypeFor[Clock]()},
	})
	if err != nil {
		return nil, err
	}
	n.spares, n.noting, n.choosing = newSpares(), n.recording.identifies(), false
	if c.listeners != nil && c.listeners.reports { // reports of drops are frames, so other frames wait for them
		n.ensureListeners().reports = true
	}
	n.cpu.refresh = n.refresh
	if n.stale { // neighbours of one address may have to be sorted
		n.router.remember()
	}
	n.SetOutput(func(*Out) {})
	n.OnAddress(func(FDBEvent, FDBRow) {})
	n.Observe(nil)
	n.OnReadout(nil)
	n.SetVector(0)
	return &Fork{n}, nil
}

// With returns a copy of the fork with a change of its tables.
func (f *Fork) With(ch config.Change) (*Fork, error) {
	n, err := NewFork(f.chip)
	if err != nil {
		return nil, err
	}
	n.chip.router.remember()
	n.chip.Apply(ch)
	return n, nil
}

// remember rebuilds the maps of prefixes, which forks leave out.
func (c *router) remember() {
	for _, v := range c.vrs {
		v.dests, v.shared = map[netip.Prefix]*dest{}, map[netip.Prefix]*dest{}
		for _, f := range []*fib{&v.fib4, &v.fib6} {
			f.root.each(func(d *dest) {
				p := d.prefix
				v.dests[p] = d
				if len(d.hosts) > 1 {
					v.shared[p] = d
				}
			})
		}
	}
}

// each calls a function with the destinations of all prefixes.
func (n *fibNode) each(do func(*dest)) {
	for _, d := range n.dests {
		do(d)
	}
	for _, k := range n.kids {
		k.each(do)
	}
}

// A PacketTrace is the history and outcome of a packet.
type PacketTrace struct {
	// Findings are the findings in tables for the packet and its copies, in the order of the lookups.
	Findings []Finding
	// Moments is its history, in the order of time.
	Moments []Moment
	// Paths holds the tables that the packet and its copies ran, by copy, in the order of the graph.
	Paths map[uint32][]record.Step
	// Counts holds the differences of counters at the end, compared with a run without the packet.
	Counts []CountChange
}

// Trace receives a frame, as [Engine.Receive] does, and returns its history until nothing of it is left in the chip.
// The fork itself does not change.
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

// watch collects the history of a frame in t, and in open which copies of it have not ended.
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

// holds reports whether something of a frame is in the chip: open copies, or copies that mirror sessions have yet to
// make.
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
