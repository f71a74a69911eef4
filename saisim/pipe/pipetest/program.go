package pipetest

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"tamtam/saisim/pipe"
)

// Options defines the environment of random programs.
type Options struct {
	Limits pipe.Limits
	// Ports holds the values for ctl.port. If it is empty, programs do not write ctl.port.
	Ports []uint16
	// Tables is the maximum number of tables of a pipe. Zero means 8.
	Tables int
	// IngressOnly leaves the egress pipe empty.
	IngressOnly bool
	// Passive makes programs write nothing but their own fields and registers. Half of them have no table with a key.
	Passive bool
	// Effect is the name of a fixed field that passive programs write nevertheless. If it is empty, they write none.
	Effect string
}

// Program returns a random valid program.
func Program(r *rand.Rand, o Options) *pipe.Program {
	if o.Tables == 0 {
		o.Tables = 8
	}
	for n := 0; ; n++ {
		g := &maker{Rand: r, o: o, p: &pipe.Program{Name: fmt.Sprintf("random%d", r.IntN(1000))}}
		g.o.Tables = max(1, o.Tables-n/4) // a program that does not fit is tried again, smaller
		g.fields()
		g.keyless = o.Passive && g.chance(50)
		g.pipe(&g.p.Ingress, o.Limits.IngressStages, pipe.WriteIngress)
		if !o.IngressOnly {
			g.pipe(&g.p.Egress, o.Limits.EgressStages, pipe.WriteEgress)
		}
		err := g.p.Validate(o.Limits)
		if err == nil {
			return g.p
		}
		if n == 100 {
			panic("no random program fits: " + err.Error())
		}
	}
}

// A maker makes one program.
type maker struct {
	*rand.Rand
	o       Options
	keyless bool
	p       *pipe.Program
	pp      *pipe.Pipe
	access  pipe.Access
	widths  map[string]uint8
	stage   uint8
	written map[string]bool // fields that other tables of the stage write
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (g *maker) chance(percent int) bool { return g.IntN(100) < percent }

// lively holds fields that differ from packet to packet in their low bits.
var lively = []string{
	"ip.ttl", "ip.dscp", "ip.ecn", "l4.src", "l4.dst", "ipv4.src", "ipv4.dst", "ip.src.lo", "ip.dst.hi", "ip.dst.lo",
	"ip.id",
	"eth.dst", "eth.src", "tcp.flags", "pkt.length", "flow.hash", "vlan.id", "in.port", "out.port", "pkt.tc", "acl.meta",
	"rx.cycle", "rx.fraction", "rx.nanos", "rx.ns", "rx.seconds", "now.cycle", "now.ns", "now.fraction",
	"q.depth", "q.delay", "q.id", "is.ipv4", "is.l4", "is.tagged", "ip.proto", "eth.type", "ip.reserved", "vlan.outer",
}

func (g *maker) fields() {
	g.widths = map[string]uint8{}
	for _, f := range pipe.Fixed() {
		g.widths[f.Name] = f.Width
	}
	bridged := 0
	for i := range 3 + g.IntN(8) {
		f := pipe.Field{Name: fmt.Sprintf("u%d", i), Width: pick(g.Rand, []uint8{1, 3, 8, 9, 16, 17, 32, 32, 33, 48, 64})}
		if bridged < pipe.BridgeWords && g.chance(25) {
			f.Bridged = true
			bridged++
		}
		g.p.Fields = append(g.p.Fields, f)
		g.widths[f.Name] = f.Width
	}
}

// field returns a field to read.
func (g *maker) field() string {
	if g.chance(50) {
		return pick(g.Rand, g.p.Fields).Name
	}
	return pick(g.Rand, lively)
}

// smallMask returns a mask of one to three bits among the low eight of a field.
func (g *maker) smallMask(field string) uint64 {
	var m uint64
	for range 1 + g.IntN(3) {
		m |= 1 << g.IntN(int(min(8, g.widths[field])))
	}
	return m
}

func (g *maker) pipe(pp *pipe.Pipe, stages uint32, access pipe.Access) {
	g.pp, g.access = pp, access
	for g.stage = 0; uint32(g.stage) < stages; g.stage++ {
		g.written = map[string]bool{}
		var registers []*pipe.Register
		if g.chance(40) {
			for range 1 + g.IntN(2) {
				g.hash()
			}
		}
		for len(registers) < 2 && g.chance(40) {
			registers = append(registers, g.register())
		}
		for range g.IntN(3) {
			if len(pp.Tables) < g.o.Tables {
				g.table(registers)
				registers = nil // at most one table may use a register
			}
		}
	}
}

func (g *maker) hash() {
	h := pipe.Hash{Name: fmt.Sprintf("h%d", len(g.pp.Hashes)), Stage: g.stage, CRC: pick(g.Rand, pipe.Polynomials())}
	width, _, _ := pipe.Polynomial(h.CRC)
	if g.chance(30) {
		h.CRC, h.Width = "", width
		h.Poly = g.Uint32()>>(32-width) | 1
	}
	if g.chance(50) {
		h.Seed = g.Uint32() >> (32 - width)
	}
	if g.chance(60) {
		h.Bits = 1 + uint8(g.IntN(int(width)))
	}
	for range 1 + g.IntN(4) {
		in := pipe.Input{Field: g.field()}
		if g.chance(50) {
			in.Mask = g.Uint64() & g.Uint64() & (1<<g.widths[in.Field] - 1)
		}
		h.Inputs = append(h.Inputs, in)
	}
	if n := len(g.pp.Hashes); g.o.Passive && n > 0 && g.chance(50) {
		h.Inputs = g.pp.Hashes[n-1].Inputs
	}
	g.pp.Hashes = append(g.pp.Hashes, h)
}

func (g *maker) register() *pipe.Register {
	r := pipe.Register{
		Name: fmt.Sprintf("r%d", len(g.pp.Registers)), Stage: g.stage,
		Width: pick(g.Rand, []uint8{1, 4, 8, 16, 31, 32, 33, 64}), Depth: pick(g.Rand, []uint32{1, 4, 5, 16, 64}),
	}
	for i := range 1 + g.IntN(4) {
		in := pipe.Instruction{Name: fmt.Sprintf("i%d", i)}
		if g.chance(20) { // the plain counter, for which engines often have a separate implementation
			in.Updates = []pipe.Update{{Do: pick(g.Rand, []string{"add", "adds"}), A: pipe.Source{From: "mem"},
				B: pipe.Source{From: "const", Const: g.number()}}}
			r.Instructions = append(r.Instructions, in)
			continue
		}
		for range g.IntN(3) {
			in.Conditions = append(in.Conditions, pipe.Condition{
				Is: pick(g.Rand, []string{"eq", "ne", "lt", "le", "gt", "ge"}), A: g.source(), B: g.source(),
			})
		}
		n := len(in.Conditions)
		for range pick(g.Rand, []int{0, 1, 1, 1, 2, 2, 2}) {
			u := pipe.Update{
				When: g.guard(n), Do: pick(g.Rand, []string{"set", "add", "add", "sub", "adds", "subs", "and", "or", "xor",
					"andnot", "min", "max"}), A: g.source(),
			}
			if u.Do != "set" {
				u.B = g.source()
			}
			in.Updates = append(in.Updates, u)
		}
		if g.chance(80) {
			in.Output = pipe.Output{When: g.guard(n), Value: pick(g.Rand, []string{"old", "new", "predicate", "x", "y"})}
		}
		r.Instructions = append(r.Instructions, in)
	}
	g.pp.Registers = append(g.pp.Registers, r)
	return &g.pp.Registers[len(g.pp.Registers)-1]
}

func (g *maker) source() pipe.Source {
	s := pipe.Source{From: pick(g.Rand, []string{"mem", "x", "y", "const", "const"})}
	if s.From == "const" {
		s.Const = g.number()
	}
	return s
}

// number returns a small number in most cases, and sometimes any number.
func (g *maker) number() uint64 {
	if g.chance(80) {
		return uint64(g.IntN(20))
	}
	return g.Uint64() >> g.IntN(64)
}

func (g *maker) guard(conditions int) string {
	words := []string{"", "0", "!0", "1", "!1", "0&1", "0&!1", "!0&1", "!0&!1", "0|1", "0|!1", "!0|1", "!0|!1"}
	return pick(g.Rand, words[:[]int{1, 3, len(words)}[conditions]])
}

func (g *maker) table(registers []*pipe.Register) {
	t := pipe.Table{
		Name: fmt.Sprintf("t%d", len(g.pp.Tables)), Stage: g.stage, Counters: g.chance(50),
		Match: pick(g.Rand, []string{"always", "exact", "exact", "ternary", "ternary", "lpm", "index"}),
	}
	if g.keyless {
		t.Match = "always"
	}
	if len(g.pp.Tables) > 0 && g.chance(50) {
		for range 1 + g.IntN(2) {
			row := []pipe.Term{}
			for range 1 + g.IntN(2) {
				row = append(row, g.term())
			}
			t.Gate = append(t.Gate, row)
		}
	}
	g.key(&t)
	mine := map[string]bool{}
	for i := range 1 + g.IntN(3) {
		t.Actions = append(t.Actions, g.action(fmt.Sprintf("a%d", i), registers, mine))
	}
	for name := range mine {
		g.written[name] = true
	}
	if g.chance(60) || t.Match == "always" {
		t.Default = g.choice(&t)
	}
	for range min(int(t.Size), pick(g.Rand, []int{0, 2, 5, 8, 12, 20})) {
		if e, ok := g.entry(&t); ok {
			t.Entries = append(t.Entries, e)
		}
	}
	g.pp.Tables = append(g.pp.Tables, t)
}

func (g *maker) term() pipe.Term {
	if g.chance(50) {
		f := g.field()
		m := g.smallMask(f)
		return pipe.Term{Field: f, Mask: m, Is: pick(g.Rand, []string{"eq", "ne", "lt", "le", "gt", "ge"}),
			Value: g.Uint64() & m}
	}
	other := pick(g.Rand, g.pp.Tables)
	x := pipe.Term{Table: other.Name, Is: pick(g.Rand, []string{"ran", "skipped", "hit", "miss", "action"})}
	if x.Is == "action" {
		x.Action = pick(g.Rand, other.Actions).Name
	}
	return x
}

func (g *maker) key(t *pipe.Table) {
	if t.Match == "always" {
		return
	}
	t.Size = 20
	n := 1 + g.IntN(3)
	switch t.Match {
	case "index":
		f := g.field()
		t.Key = []pipe.Input{{Field: f, Mask: g.smallMask(f)}}
		return
	case "lpm":
		t.Key = []pipe.Input{{Field: pick(g.Rand, []string{"flow.hash", "ip.ttl", "ip.dscp", "l4.dst", g.field()})}}
		if second := g.field(); g.widths[second]+g.widths[t.Key[0].Field] <= 128 && g.chance(30) {
			t.Key = append(t.Key, pipe.Input{Field: second})
		}
		return
	case "ternary":
		n = 1 + g.IntN(5)
	}
	for range n {
		f := g.field()
		in := pipe.Input{Field: f}
		if t.Match == "exact" || g.chance(50) {
			in.Mask = g.smallMask(f)
		}
		t.Key = append(t.Key, in)
	}
}

// entry returns a new entry for the table, and false if it conflicts with an existing one.
func (g *maker) entry(t *pipe.Table) (pipe.Entry, bool) {
	e := pipe.Entry{ID: uint32(g.IntN(1000))}
	e.Choice = g.does(e.ID, t)
	if t.Match == "ternary" {
		e.Priority = uint32(g.IntN(4))
	}
	left := 0
	if t.Match == "lpm" {
		e.Prefix = uint32(g.IntN(9))
		left = int(e.Prefix)
	}
	for _, in := range t.Key {
		w := g.widths[in.Field]
		care := in.Mask
		if care == 0 {
			care = 1<<w - 1
		}
		m := pipe.Match{}
		switch t.Match {
		case "ternary":
			if g.chance(70) {
				care &= g.smallMask(in.Field)
			} else {
				care = 0
			}
			m.Mask = care
		case "lpm":
			e.Prefix = min(e.Prefix, keyBits(g.widths, t))
			n := min(left, int(w))
			left -= n
			care &^= 1<<(int(w)-n) - 1
		}
		m.Value = g.Uint64() & care
		if t.Match == "index" {
			m.Value %= uint64(t.Size)
			m.Value &= care
		}
		e.Key = append(e.Key, m)
	}
	for _, x := range t.Entries {
		same := x.Prefix == e.Prefix && t.Match != "ternary"
		for i := range x.Key {
			same = same && x.Key[i].Value == e.Key[i].Value
		}
		if x.ID == e.ID || same {
			return e, false
		}
	}
	return e, true
}

func keyBits(widths map[string]uint8, t *pipe.Table) (n uint32) {
	for _, in := range t.Key {
		n += uint32(widths[in.Field])
	}
	return n
}

// does returns the action of an entry. Some entries have none.
func (g *maker) does(id uint32, t *pipe.Table) pipe.Choice {
	if c := g.choice(t); id%4 != 3 {
		return c
	}
	return pipe.Choice{}
}

func (g *maker) choice(t *pipe.Table) pipe.Choice {
	a := pick(g.Rand, t.Actions)
	c := pipe.Choice{Action: a.Name}
	for _, p := range a.Params {
		c.Args = append(c.Args, g.number()&(1<<p.Width-1))
	}
	return c
}

func (g *maker) action(name string, registers []*pipe.Register, mine map[string]bool) pipe.Action {
	a := pipe.Action{Name: name}
	for i := range g.IntN(3) {
		a.Params = append(a.Params, pipe.Param{Name: fmt.Sprintf("p%d", i), Width: 1 + uint8(g.IntN(64))})
	}
	wrote := map[string]bool{}
	target := func() (string, bool) {
		f := g.target()
		if wrote[f] || g.written[f] {
			return "", false
		}
		wrote[f], mine[f] = true, true
		return f, true
	}
	for _, r := range registers {
		if !g.chance(80) {
			continue
		}
		c := pipe.Call{
			Register: r.Name, Instruction: pick(g.Rand, r.Instructions).Name, X: g.operand(&a), Y: g.operand(&a),
			// For a depth of 5, the index is sometimes too large.
			Index: pipe.Operand{Field: pick(g.Rand, lively), Bits: uint8(bits.Len32(r.Depth - 1))},
		}
		if g.chance(10) || r.Depth == 1 {
			c.Index = g.operand(&a)
		}
		if g.chance(70) {
			c.To, _ = target()
		}
		a.Calls = append(a.Calls, c)
	}
	for range g.IntN(4) {
		to, ok := target()
		if !ok {
			continue
		}
		a.Ops = append(a.Ops, g.op(&a, to))
	}
	return a
}

func (g *maker) op(a *pipe.Action, to string) pipe.Op {
	x := pipe.Op{To: to, A: g.operand(a)}
	switch to {
	case "ctl.drop":
		// 1 for two of the 32 values of five bits of the flow's hash.
		return pipe.Op{Do: "shr", To: to, A: pipe.Operand{Const: 0x8000_0001}, B: pipe.Operand{Field: "flow.hash", Bits: 5}}
	case "ctl.port":
		return pipe.Op{Do: "select", To: to, A: pipe.Operand{Const: uint64(pick(g.Rand, g.o.Ports))},
			B: pipe.Operand{Const: 0xffff}, If: g.operand(a)}
	case "pkt.tc":
		return pipe.Op{Do: "and", To: to, A: g.operand(a), B: pipe.Operand{Const: 15}}
	}
	x.Do = pick(g.Rand, []string{"set", "add", "sub", "and", "or", "xor", "shl", "shr", "min", "max", "select"})
	if x.Do != "set" {
		x.B = g.operand(a)
	}
	if x.Do == "shl" || x.Do == "shr" {
		x.B = pipe.Operand{Const: uint64(g.IntN(70))}
	}
	if x.Do == "select" {
		x.If = g.operand(a)
	}
	return x
}

// target returns a field to write in this pipe.
func (g *maker) target() string {
	if g.o.Effect != "" && g.chance(30) {
		return g.o.Effect
	}
	if g.o.Passive || g.chance(70) {
		return pick(g.Rand, g.p.Fields).Name
	}
	for {
		f := pick(g.Rand, pipe.Fixed())
		if f.Access&g.access != 0 && (f.Name != "ctl.port" || len(g.o.Ports) > 0) {
			return f.Name
		}
	}
}

func (g *maker) operand(a *pipe.Action) pipe.Operand {
	var o pipe.Operand
	switch n := g.IntN(10); {
	case n < 5:
		o.Field = g.field()
	case n < 7 && len(a.Params) > 0:
		o.Param = pick(g.Rand, a.Params).Name
	case n < 9:
		var here []string
		for _, h := range g.pp.Hashes {
			if h.Stage == g.stage {
				here = append(here, h.Name)
			}
		}
		if len(here) == 0 {
			return pipe.Operand{Const: g.number()}
		}
		o.Hash = pick(g.Rand, here)
	default:
		return pipe.Operand{Const: g.number()}
	}
	if g.chance(40) {
		o.Shift = uint8(g.IntN(12))
	}
	if g.chance(40) {
		o.Bits = 1 + uint8(g.IntN(32))
	}
	return o
}
