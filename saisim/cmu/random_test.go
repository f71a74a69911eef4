package cmu_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

// layouts makes layouts that are valid by themselves. The chip checks whether they fit beside others.
type layouts struct {
	testing.TB
	r   *rand.Rand
	geo flymon.Geometry
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (g *layouts) layout(name string) flymon.Layout {
	r := g.r
	l := flymon.Layout{Task: name, Filter: g.filter(), Flow: key(g, "src-ip"), Measures: "frequency"}
	l.Epoch = pick(r, 0, 0, uint64(1_000_000), 2_500_000)
	for range 1 + r.IntN(5) {
		l.Units = append(l.Units, g.place(&l, 0, g.geo.Groups))
	}
	if r.IntN(6) == 0 && g.geo.Spliced > 0 {
		l.Units = nil
		for range 1 + r.IntN(3) {
			l.Units = append(l.Units, g.place(&l, g.geo.Groups, g.geo.Spliced))
		}
	}
	slices.SortFunc(l.Units, func(a, b flymon.Unit) int { return 10*(a.Group-b.Group) + a.CMU - b.CMU })
	l.Units = slices.CompactFunc(l.Units, func(a, b flymon.Unit) bool { return a.Group == b.Group && a.CMU == b.CMU })
	for i := range l.Units {
		if i == 0 || l.Units[i].Group != l.Units[i-1].Group {
			g.masks(&l, l.Units[i].Group)
		}
		g.unit(&l, i)
	}
	if r.IntN(2) == 0 {
		l.Digest = &flymon.Digest{Unit: r.IntN(len(l.Units)), Threshold: pick(r, 1, 3, uint32(7)), Key: key(g, "ip-pair")}
	}
	if err := l.Check(&g.geo); err != nil {
		g.Fatalf("%+v: %v", l, err)
	}
	return l
}

func (g *layouts) filter() flymon.Filter {
	return filter(g, pick(g.r, "any", "ip=6", "ip=4", "src-ip=10.0.0.0/16", "src-ip=10.1.0.0/16", "src-ip=10.2.0.0/15",
		"src-ip=10.0.0.0/8,dst-port=53",
		"dst-ip=192.168.0.0/24", "dst-ip=192.168.1.0/25,protocol=17", "protocol=6,dst-port=1-100", "dst-port=400-9000",
		"src-port=1000-1003",
		"src-port=1004-1007,dst-port=80", "protocol=0", "protocol=1", "src-ip=2001:db8::/120", "src-ip=2001:db8::7",
		"src-port=0-65535"))
}

// place returns a unit's partition, in groups from first on.
func (g *layouts) place(l *flymon.Layout, first, groups int) flymon.Unit {
	r := g.r
	size := uint32(g.geo.MinSize()) << r.IntN(4)
	u := flymon.Unit{Group: first + r.IntN(groups), CMU: r.IntN(g.geo.CMUs), Size: size, Shifted: r.IntN(3) == 0}
	u.Base = r.Uint32N(uint32(g.geo.Depth)/(size*l.Banks())) * size * l.Banks()
	return u
}

// masks adds masks that other tasks mostly have too.
func (g *layouts) masks(l *flymon.Layout, group int) {
	keys := []string{"5-tuple", "src-ip", "ip-pair", "dst-ip/24,dst-port", "none"}
	for unit := range g.geo.Units {
		k := keys[(group+unit)%3]
		if g.r.IntN(20) == 0 {
			k = pick(g.r, keys...)
		}
		l.Masks = append(l.Masks, flymon.MaskRule{Group: group, Unit: unit, Key: key(g, k)})
	}
}

func (g *layouts) ref() flymon.Ref {
	ref := flymon.Ref{A: g.r.IntN(g.geo.Units), B: g.r.IntN(g.geo.Units + 1), Shift: uint8(g.r.IntN(32))}
	if ref.B == ref.A+1 {
		ref.B = 0
	}
	return ref
}

func (g *layouts) unit(l *flymon.Layout, i int) {
	r, u := g.r, &l.Units[i]
	u.Key, u.Op = g.ref(), pick(r, flymon.CondAdd, flymon.CondAdd, flymon.Max, flymon.AndOr, flymon.XorSwap)
	u.P1, u.P2 = g.param(l, i), g.param(l, i)
	if r.IntN(2) == 0 {
		u.P2 = always()
	}
	if r.IntN(4) == 0 {
		u.From = uint16(r.IntN(256))
		u.To = u.From + 1 + uint16(r.IntN(256-int(u.From)))
	}
	low := r.IntN(20)
	for n := range pick(r, 0, 0, 1, 5, 32) {
		m := flymon.MapRule{Value: uint32(n) << low, Mask: 31 << low, Out: 1 << n}
		switch r.IntN(3) {
		case 0:
			m.Mask = ^uint32(0) << low
		case 1:
			m.Value, m.Mask = r.Uint32(), r.Uint32()&r.Uint32()&r.Uint32()
		}
		u.Map = append(u.Map, m)
	}
	if r.IntN(2) == 0 { // all with the same mask
		for n := range u.Map {
			u.Map[n].Mask = u.Map[0].Mask
		}
	}
}

func (g *layouts) param(l *flymon.Layout, i int) flymon.Param {
	r := g.r
	p := flymon.Param{From: pick(r, flymon.Const, flymon.Size, flymon.Timestamp, flymon.QueueLength, flymon.QueueDelay,
		flymon.Compressed, flymon.Result, flymon.Least, flymon.Since)}
	var before []int
	for k := range i {
		if l.Units[k].Group <= l.Units[i].Group-flymon.Apart {
			before = append(before, k)
		}
	}
	switch p.From {
	case flymon.Result, flymon.Least, flymon.Since:
		if len(before) == 0 {
			return constant(r.Uint32() >> r.IntN(32))
		}
		n := map[flymon.Source]int{flymon.Result: 1, flymon.Least: 1 + r.IntN(3), flymon.Since: 2}[p.From]
		for range n {
			p.Of = append(p.Of, pick(r, before...))
		}
		if p.From == flymon.Least && r.IntN(2) == 0 {
			p.Value = r.Uint32() >> r.IntN(32)
		}
	case flymon.Compressed:
		p.Key, p.Bits = g.ref(), uint8(r.IntN(33))
	case flymon.Const:
		return constant(r.Uint32() >> r.IntN(32))
	}
	if p.From != flymon.Compressed && p.From != flymon.Size {
		p.Scale = uint8(r.IntN(20))
	}
	return p
}

// The engine equals the interpreter for all tasks, changes of tasks, and numbers of packets that run together.
func TestEngineIsTheInterpreter(t *testing.T) {
	fixed, tasks := randtest.Cases{Count: 6}, 0
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		geo := small(pick(r, 8, 16, 32))
		b, in, gen, load := newBench(t, geo), newInterpreter(geo), &layouts{t, r, geo}, newTraffic(seed)
		most := 0
		for range 120 {
			name := fmt.Sprintf("t%d", r.IntN(30))
			change(b, in, gen, name)
			most = max(most, b.Tasks())
			b.SetLanes(pick(r, 1, 2, 63, 64, 1+r.IntN(64)))
			for _, p := range load.list(r.IntN(150)) {
				b.send(p)
				p.Number = b.number
				in.packet(&p)
			}
		}
		tasks += most
		compare(b, in)
	})
	if c.Whole(fixed) && tasks < 8*c.Count {
		t.Errorf("%d tasks at most, in all cases: this shows too little", tasks)
	}
}

// change makes the same random change to a task on the bench and on the interpreter.
func change(b *bench, in *interpreter, gen *layouts, name string) {
	b.Helper()
	old, there := b.Layout(name)
	switch n := gen.r.IntN(8); {
	case n == 0:
		if b.Remove(name) != (in.remove(name) != nil) {
			b.Fatalf("%s is there for one of them", name)
		}
	case n == 1 && there:
		bank := gen.r.IntN(int(old.Banks()))
		if err := b.Clear(name, bank); err != nil {
			b.Fatal(err)
		}
		in.clear(name, bank)
	default:
		l := gen.layout(name)
		if there && n < 5 {
			l = gen.successor(old, n)
		}
		if b.Apply(l) == nil {
			in.apply(l)
		}
	}
}

// successor returns a layout that may replace old: with another filter, with other units and the old ones frozen, or
// without frozen units.
func (g *layouts) successor(old flymon.Layout, n int) flymon.Layout {
	switch l := old; n {
	case 2:
		l.Filter = g.filter()
		return l
	case 3:
		l.Frozen = nil
		return l
	default:
		for range 50 {
			l = g.layout(old.Task)
			if l.Epoch == old.Epoch {
				break
			}
		}
		l.Frozen = old.Units
		if l.Check(&g.geo) != nil {
			l.Frozen = nil
		}
		return l
	}
}

// compare fails the test if engine and interpreter are not equal.
func compare(b *bench, in *interpreter) {
	b.Helper()
	if len(in.tasks) != b.Tasks() {
		b.Fatalf("%d tasks, want %d", b.Tasks(), len(in.tasks))
	}
	for _, t := range in.tasks {
		s := b.status(t.Task)
		for bank := range int(t.Banks()) {
			for i := range slices.Concat(t.Units, t.Frozen) {
				u := &slices.Concat(t.Units, t.Frozen)[i]
				if got, want := b.words(t.Task, i, bank), in.bank(u, bank); !slices.Equal(got, want) {
					b.Fatalf("%s, unit %d, bank %d: %v\nwant %v\nof %+v", t.Task, i, bank, got, want, t.Layout)
				}
			}
			k := s.Banks[bank]
			if k.Packets != t.packets[bank] || k.Bytes != t.bytes[bank] || k.DigestsLost != t.digestsLost[bank] ||
				k.Digests != len(t.digests[bank]) {
				b.Fatalf("%s, bank %d: %+v, want %d packets of %d bytes, %d digests and %d lost", t.Task, bank, k,
					t.packets[bank], t.bytes[bank], len(t.digests[bank]), t.digestsLost[bank])
			}
			got := b.digests(t.Task, bank)
			if got = got[len(got)-k.Digests:]; len(got) > 0 && !reflect.DeepEqual(got, t.digests[bank]) {
				b.Fatalf("%s, bank %d: digests %v, want %v", t.Task, bank, got, t.digests[bank])
			}
		}
	}
}
