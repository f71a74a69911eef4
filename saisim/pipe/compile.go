package pipe

import "slices"

// A Compiled program is the form that runs. It is compiled for one chip. Its tables do not change, but its registers
// and counters do. Only one goroutine at a time may use it.
type Compiled struct {
	program *Program
	faults  []Fault
	fields  map[string]place
	ingress code
	egress  code
	first   int // first user word of the egress pipe that is not bridged
	users   int // number of user words in use
}

// code is a compiled pipe.
type code struct {
	ins       []ins
	at        []int32 // start of each stage, and the end of the last one
	tables    []table
	calls     []call
	hashes    []hash
	hashSets  []hashSet
	snapshots [][]copyWord
	arrays    map[string]*Array
	always    []alwaysRun
	reads     uint32 // fixed words that are read; bit i is word i
	writes    uint32 // fixed words that are written
}

// An ins is one step. Operands are slices of words of the PHV or constants. A constant has mask 0, so that the same
// expression reads both.
type ins struct {
	op      opcode
	n       int32 // index of a table, call, hash or snapshot list, or the jump target
	to      target
	a, b, c operand
}

type operand struct {
	value, mask uint64
	word, shift uint8
}

type target struct {
	mask, keep  uint64 // mask of the field's width; keep is the mask of the word's other bits
	word, shift uint8
}

// copyWord copies a word before this stage changes it.
type copyWord struct{ from, to uint8 }

type opcode uint8

const (
	opSet opcode = iota // numbered like the operations of programs
	opAdd
	opSub
	opAnd
	opOr
	opXor
	opShl
	opShr
	opMin
	opMax
	opSelect
	opCall
	opCount
	opHash
	opHashSet
	opTable
	opGo
	opSnapshot
	opDrop
)

// Compile compiles a valid program for a chip with the limits. Matching registers and counters of old are kept, as
// [Batch] defines. old is nil if there is none. The program must not be changed afterwards.
func Compile(p *Program, l Limits, old *Compiled) (*Compiled, error) {
	return compile(p, l, old, nil)
}

func compile(p *Program, l Limits, old *Compiled, faults []Fault) (*Compiled, error) {
	if err := p.Validate(l); err != nil {
		return nil, err
	}
	c := &Compiled{program: p, faults: faults, fields: p.layout()}
	for _, f := range p.Fields {
		c.users = max(c.users, int(c.fields[f.Name].word)+1-firstUser)
	}
	c.first = (p.bridgeBits() + 63) / 64
	var oldIn, oldOut *code
	if old != nil {
		oldIn, oldOut = &old.ingress, &old.egress
	}
	if len(faults) > 0 {
		p = p.broken(faults)
	}
	c.ingress = compilePipe(&p.Ingress, c.fields, l.IngressStages, oldIn, 0)
	c.egress = compilePipe(&p.Egress, c.fields, l.EgressStages, oldOut, len(p.Ingress.Tables))
	return c, nil
}

// Apply returns the program with changed entries. It shares registers and counters with c.
func (c *Compiled) Apply(l Limits, changes []EntryChange) (*Compiled, error) {
	p, err := c.program.Apply(changes)
	if err != nil {
		return nil, err
	}
	n := *c
	n.program = p
	n.ingress.tables, n.egress.tables = slices.Clone(c.ingress.tables), slices.Clone(c.egress.tables)
	done := map[string]bool{}
	for _, x := range changes {
		if x.Do == "default" {
			return compile(p, l, c, c.faults) // defaults are part of the code
		}
		if key := x.Pipe + " " + x.Table; !done[key] {
			done[key] = true
			pp, i, _ := p.table(x.Pipe, x.Table)
			code := &n.ingress
			if x.Pipe == "egress" {
				code = &n.egress
			}
			t := code.table(x.Table)
			t.fill(&pp.Tables[i], c.fields, t)
		}
	}
	return &n, nil
}

func (c *code) table(name string) *table {
	i := slices.IndexFunc(c.tables, func(t table) bool { return t.name == name })
	return &c.tables[i]
}

// Program returns the source of the compiled program, with its current entries. It must not be changed.
func (c *Compiled) Program() *Program { return c.program }

// A compiler generates the code of one pipe.
type compiler struct {
	*code
	pipe   *Pipe
	fields map[string]place
	hash   map[string]uint8 // hashes of this stage, by name -> word
	slots  map[string]int   // tables whose outcome a gate needs
	dirty  map[string]bool  // fields that this stage has written so far
	before map[uint8]uint8  // word -> its copy from the beginning of the stage
	params map[string]operand
	taps   int // number of the pipe's first table
	keyed  int // number of tables with a key so far
}

func compilePipe(p *Pipe, fields map[string]place, stages uint32, old *code, taps int) code {
	c := &compiler{code: &code{arrays: map[string]*Array{}}, pipe: p, fields: fields, slots: map[string]int{}, taps: taps}
	for i := range p.Registers {
		r := &p.Registers[i]
		a := newArray
		if old != nil {
			if have := old.arrays[r.Name]; have != nil && have.stage == r.Stage && have.width == r.Width &&
				have.depth == r.Depth {
				a = func(*Register) *Array { return have }
			}
		}
		c.arrays[r.Name] = a(r)
	}
	for _, t := range p.Tables {
		for _, row := range t.Gate {
			for _, x := range row {
				if _, have := c.slots[x.Table]; x.Table != "" && !have {
					c.slots[x.Table] = len(c.slots)
				}
			}
		}
	}
	for s := range stages {
		c.at = append(c.at, int32(len(c.ins)))
		c.stage(uint8(s), old)
	}
	c.at = append(c.at, int32(len(c.ins)))
	return *c.code
}

func (c *compiler) stage(s uint8, old *code) {
	c.hash, c.dirty, c.before = map[string]uint8{}, map[string]bool{}, map[uint8]uint8{}
	c.stageHashes(s)
	snapshot := -1
	for i := range c.pipe.Tables {
		if t := &c.pipe.Tables[i]; t.Stage == s {
			if snapshot < 0 {
				snapshot = len(c.ins)
				c.emit(ins{op: opSnapshot, n: int32(len(c.snapshots))})
			}
			c.compileTable(t, c.taps+i, old)
		}
	}
	if snapshot < 0 {
		return
	}
	var list []copyWord
	for from, to := range c.before {
		list = append(list, copyWord{from, to})
	}
	slices.SortFunc(list, func(a, b copyWord) int { return int(a.to) - int(b.to) })
	c.snapshots = append(c.snapshots, list)
	if len(list) == 0 {
		c.ins[snapshot] = ins{op: opGo, n: int32(snapshot + 1)}
	}
	if c.dirty["ctl.drop"] {
		c.emit(ins{op: opDrop, n: int32(s)})
	}
}

// stageHashes compiles the hashes of a stage. Those with the same inputs run together.
func (c *compiler) stageHashes(s uint8) {
	var sets [][]hash
	var inputs [][]Input // inputs of each set
	for i := range c.pipe.Hashes {
		h := &c.pipe.Hashes[i]
		if h.Stage != s {
			continue
		}
		word := firstHash + uint8(len(c.hash))
		c.hash[h.Name] = word
		at := 0
		for at < len(sets) && (len(sets[at]) == hashesTogether || !slices.Equal(inputs[at], h.Inputs)) {
			at++
		}
		if at == len(sets) {
			sets, inputs = append(sets, nil), append(inputs, h.Inputs)
		}
		sets[at] = append(sets[at], c.compileHash(h, word))
	}
	for _, set := range sets {
		if len(set) == 1 {
			c.emit(ins{op: opHash, n: int32(len(c.hashes))})
			c.hashes = append(c.hashes, set[0])
		} else {
			c.emit(ins{op: opHashSet, n: int32(len(c.hashSets))})
			c.hashSets = append(c.hashSets, newHashSet(set))
		}
	}
}

func (c *compiler) emit(i ins) { c.ins = append(c.ins, i) }

// slice returns an operand for a field. A field that the stage has already written is read from a copy.
func (c *compiler) slice(name string) operand {
	p := c.fields[name]
	if !p.user {
		c.reads |= 1 << p.word
	}
	word := p.word
	if c.dirty[name] {
		if _, have := c.before[word]; !have {
			c.before[word] = firstBefore + uint8(len(c.before))
		}
		word = c.before[word]
	}
	return operand{mask: p.mask(), word: word, shift: p.shift}
}

func (c *compiler) operand(o Operand) operand {
	var v operand
	switch {
	case o.Field != "":
		v = c.slice(o.Field)
	case o.Hash != "":
		v = operand{mask: 1<<32 - 1, word: c.hash[o.Hash]}
	case o.Param != "":
		v = c.params[o.Param]
	default:
		return operand{value: o.Const}
	}
	v.mask >>= o.Shift
	v.shift += o.Shift // a shift beyond the word results in an empty mask
	if o.Bits > 0 {
		v.mask &= ones(o.Bits)
	}
	if v.mask == 0 {
		return operand{}
	}
	return v
}

func (c *compiler) target(name string) target {
	p := c.fields[name]
	if !p.user {
		c.writes |= 1 << p.word
	}
	return target{mask: p.mask(), keep: ^(p.mask() << p.shift), word: p.word, shift: p.shift}
}

// compileTable emits the table and then the code of its actions. If a table always runs its default and no gate needs
// its outcome, only that code is emitted.
func (c *compiler) compileTable(t *Table, tap int, old *code) {
	slot, asked := c.slots[t.Name]
	if !asked {
		slot = -1
	}
	gate := c.gate(t)
	plain := t.Match == "always" && len(gate) == 0 && !asked && !t.Counters
	var ct table
	if !plain {
		ct = table{name: t.Name, stage: t.Stage, gate: gate, slot: slot, tap: uint8(tap), counts: t.Counters}
		ct.ordered = t.sharesRegisters()
		if t.Counters {
			c.reads |= 1 << WordFrame
		}
		for _, in := range t.Key {
			o := c.slice(in.Field)
			if in.Mask != 0 {
				o.mask = in.Mask
			}
			ct.addKey(o, c.fields[in.Field].width)
		}
		ct.place = c.place(len(t.Key))
		c.emit(ins{op: opTable, n: int32(len(c.tables))})
	} else {
		c.always = append(c.always, alwaysRun{stage: uint32(t.Stage), tap: uint8(tap)})
	}
	written := map[string]bool{}
	var ends []int
	for i := range t.Actions {
		a := &t.Actions[i]
		if plain && a.Name != t.Default.Action {
			continue
		}
		ct.actions = append(ct.actions, int32(len(c.ins)))
		c.action(a, written)
		if plain {
			c.fixParams(int(ct.actions[0]), t.Default.Args)
			continue
		}
		ends = append(ends, len(c.ins))
		c.emit(ins{op: opGo})
	}
	for _, e := range ends {
		c.ins[e].n = int32(len(c.ins))
	}
	for name := range written {
		c.dirty[name] = true
	}
	if plain {
		return
	}
	ct.end = int32(len(c.ins))
	ct.fill(t, c.fields, old.like(t))
	ct.uniform = t.Match == "always" && slot < 0 && !t.Counters
	c.tables = append(c.tables, ct)
}

// sharesRegisters reports whether two actions use the same register.
func (t *Table) sharesRegisters() bool {
	used := map[string]int{}
	for i := range t.Actions {
		for _, x := range t.Actions[i].Calls {
			if by, have := used[x.Register]; have && by != i {
				return true
			}
			used[x.Register] = i
		}
	}
	return false
}

// like returns the same table in older code, nil if there is none.
func (c *code) like(t *Table) *table {
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.tables, func(x table) bool { return x.name == t.Name && x.stage == t.Stage })
	if i < 0 {
		return nil
	}
	return &c.tables[i]
}

// gate compiles the gate of a table.
func (c *compiler) gate(t *Table) (gate [][]term) {
	for _, row := range t.Gate {
		var terms []term
		for _, x := range row {
			terms = append(terms, c.term(x))
		}
		gate = append(gate, terms)
	}
	return gate
}

// fixParams replaces parameters by constants, in code that only runs with these arguments.
func (c *compiler) fixParams(from int, args []uint64) {
	fix := func(o *operand) {
		if o.mask != 0 && o.word >= firstParam && o.word < firstParam+maxParams {
			*o = operand{value: args[o.word-firstParam] >> o.shift & o.mask}
		}
	}
	for i := from; i < len(c.ins); i++ {
		fix(&c.ins[i].a)
		fix(&c.ins[i].b)
		fix(&c.ins[i].c)
		if c.ins[i].op == opCall || c.ins[i].op == opCount {
			x := &c.calls[c.ins[i].n]
			fix(&x.index)
			fix(&x.x)
			fix(&x.y)
		}
	}
}

// action emits the code of an action. All its reads are from the beginning of the stage, so even a field that it has
// written itself is read from the copy.
func (c *compiler) action(a *Action, written map[string]bool) {
	c.params = map[string]operand{}
	for i, p := range a.Params {
		c.params[p.Name] = operand{mask: ones(p.Width), word: firstParam + uint8(i)}
	}
	var mine []string
	wrote := func(name string) {
		written[name] = true
		if !c.dirty[name] {
			c.dirty[name] = true
			mine = append(mine, name)
		}
	}
	for _, x := range a.Calls {
		i := slices.IndexFunc(c.pipe.Registers, func(r Register) bool { return r.Name == x.Register })
		r := &c.pipe.Registers[i]
		k := call{array: c.arrays[r.Name], depth: uint64(r.Depth), index: c.operand(x.Index), x: c.operand(x.X),
			y: c.operand(x.Y)}
		j := slices.IndexFunc(r.Instructions, func(in Instruction) bool { return in.Name == x.Instruction })
		k.alu = compileALU(&r.Instructions[j], r.Width)
		if x.To != "" {
			k.to = c.target(x.To)
			wrote(x.To)
		}
		step := opCall
		if k.counts() {
			step = opCount
		}
		c.emit(ins{op: step, n: int32(len(c.calls))})
		c.calls = append(c.calls, k)
	}
	for _, x := range a.Ops {
		op := opcode(slices.Index(operations, x.Do))
		i := ins{op: op, a: c.operand(x.A), b: c.operand(x.B), c: c.operand(x.If), to: c.target(x.To)}
		wrote(x.To)
		c.emit(i)
	}
	for _, name := range mine { // other actions of the table run instead of this one
		delete(c.dirty, name)
	}
}

func (c *compiler) term(x Term) term {
	if x.Table == "" {
		o := c.slice(x.Field)
		if x.Mask != 0 {
			o.mask = x.Mask
		}
		return term{kind: uint8(slices.Index(comparisons, x.Is)), field: o, value: x.Value}
	}
	k := term{kind: termTable, slot: uint8(c.slots[x.Table])}
	switch x.Is {
	case "ran":
		k.accept = 1<<outcomeMiss | 1<<outcomeHit
	case "skipped":
		k.accept = 1 << outcomeSkipped
	case "hit":
		k.accept = 1 << outcomeHit
	case "miss":
		k.accept = 1 << outcomeMiss
	default:
		i := slices.IndexFunc(c.pipe.Tables, func(t Table) bool { return t.Name == x.Table })
		k.kind = termAction
		k.value = uint64(slices.IndexFunc(c.pipe.Tables[i].Actions, func(a Action) bool { return a.Name == x.Action }))
	}
	return k
}

// Array returns the content of a register.
func (c *Compiled) Array(pipeName, register string) (*Array, error) {
	if _, err := c.program.register(pipeName, register); err != nil {
		return nil, err
	}
	return c.pipe(pipeName).arrays[register], nil
}

func (c *Compiled) pipe(name string) *code {
	if name == "egress" {
		return &c.egress
	}
	return &c.ingress
}

// Counter returns the counter of a table's entry, or of its default.
func (c *Compiled) Counter(r CounterRead) (*Counter, error) {
	if err := c.program.checkCounter(r); err != nil {
		return nil, err
	}
	t := c.pipe(r.Pipe).table(r.Table)
	if r.Default {
		return t.miss.counter, nil
	}
	return t.byID[r.Entry], nil
}
