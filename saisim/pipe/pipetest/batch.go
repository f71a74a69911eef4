package pipetest

import (
	"math/rand/v2"

	"tamtam/saisim/pipe"
)

// Batch returns a random valid batch for a chip on which program p runs. nil means that there is no program.
func Batch(r *rand.Rand, o Options, p *pipe.Program) pipe.Batch {
	var b pipe.Batch
	g := &maker{Rand: r, o: o, p: p, widths: map[string]uint8{}}
	switch n := r.IntN(100); {
	case p == nil || n < 15:
		b.Program = Program(r, o)
		g.p = b.Program
	case n < 18:
		return pipe.Batch{Unload: true}
	}
	for _, f := range pipe.Fixed() {
		g.widths[f.Name] = f.Width
	}
	for _, f := range g.p.Fields {
		g.widths[f.Name] = f.Width
	}
	for range r.IntN(5) {
		if x, ok := g.change(); ok {
			if n, err := g.p.Apply([]pipe.EntryChange{x}); err == nil {
				g.p = n
				b.Entries = append(b.Entries, x)
			}
		}
	}
	g.accesses(&b, "ingress", &g.p.Ingress)
	g.accesses(&b, "egress", &g.p.Egress)
	return b
}

// change returns a random change of an entry.
func (g *maker) change() (pipe.EntryChange, bool) {
	x := pipe.EntryChange{Pipe: pick(g.Rand, []string{"ingress", "egress"}),
		Do: pick(g.Rand, []string{"add", "add", "modify", "remove", "default"})}
	g.pp = &g.p.Ingress
	if x.Pipe == "egress" {
		g.pp = &g.p.Egress
	}
	if len(g.pp.Tables) == 0 {
		return x, false
	}
	t := pick(g.Rand, g.pp.Tables)
	x.Table = t.Name
	if len(t.Actions) == 0 {
		return x, false
	}
	if x.Do == "default" {
		x.Entry.Choice = g.choice(&t)
		return x, true
	}
	if t.Match == "always" {
		return x, false
	}
	e, ok := g.entry(&t)
	x.Entry = e
	if x.Do != "add" {
		if len(t.Entries) == 0 {
			return x, false
		}
		old := pick(g.Rand, t.Entries)
		x.Entry.ID = old.ID
		if x.Do == "remove" {
			x.Entry = pipe.Entry{ID: old.ID}
		}
		ok = true
	}
	return x, ok
}

// accesses adds writes and reads of one pipe.
func (g *maker) accesses(b *pipe.Batch, name string, pp *pipe.Pipe) {
	for i := range pp.Registers {
		reg := &pp.Registers[i]
		from := uint32(g.IntN(int(reg.Depth)))
		n := 1 + uint32(g.IntN(int(reg.Depth-from)))
		switch g.IntN(6) {
		case 0:
			w := pipe.RegisterWrite{Pipe: name, Register: reg.Name, From: from}
			for range n {
				w.Values = append(w.Values, g.number()&(1<<reg.Width-1))
			}
			b.Writes = append(b.Writes, w)
		case 1:
			b.Writes = append(b.Writes, pipe.RegisterWrite{Pipe: name, Register: reg.Name, From: from, Count: n})
		case 2, 3:
			b.Reads = append(b.Reads, pipe.RegisterRead{Pipe: name, Register: reg.Name, From: from, Count: n,
				Clear: g.chance(30)})
		}
	}
	for i := range pp.Tables {
		t := &pp.Tables[i]
		if !t.Counters || !g.chance(50) {
			continue
		}
		x := pipe.CounterRead{Pipe: name, Table: t.Name, Default: true, Clear: g.chance(30)}
		if len(t.Entries) > 0 && g.chance(70) {
			x.Default, x.Entry = false, pick(g.Rand, t.Entries).ID
		}
		b.Counters = append(b.Counters, x)
	}
}
