package reference

import (
	"fmt"
	"math/bits"
	"slices"

	"tamtam/saisim/pipe"
)

// A program is one version of a program, with the positions of its fields in a PHV. It never changes.
type program struct {
	*pipe.Program
	at    map[string]int
	width []int
}

// A phv holds the fields of a packet, each as a number.
type phv []uint64

func newProgram(p *pipe.Program) *program {
	v := &program{Program: p, at: map[string]int{}}
	add := func(name string, width uint8) {
		v.at[name] = len(v.width)
		v.width = append(v.width, int(width))
	}
	for _, f := range pipe.Fixed() {
		add(f.Name, f.Width)
	}
	for _, f := range p.Fields {
		add(f.Name, f.Width)
	}
	return v
}

// newPHV returns a PHV whose fields are all zero.
func (v *program) newPHV() phv { return make(phv, len(v.width)) }

func (v *program) get(p phv, field string) uint64 { return p[v.at[field]] }

// set sets a field, modulo 2^its width.
func (v *program) set(p phv, field string, x uint64) {
	i := v.at[field]
	p[i] = low(x, v.width[i])
}

// low returns x modulo 2^n. n is at most 64.
func low(x uint64, n int) uint64 {
	if n >= 64 {
		return x
	}
	return x % (1 << n)
}

// masked returns the masked value of a field of a key or hash.
func (v *program) masked(p phv, in pipe.Input) uint64 {
	if in.Mask == 0 {
		return v.get(p, in.Field)
	}
	return v.get(p, in.Field) & in.Mask
}

// A memory is the state that one pipe of the chip keeps for a program: registers by name, and counters by table and
// entry.
type memory struct {
	registers map[string]*words
	counters  map[counterName]*count
}

type words struct {
	stage, width uint8
	word         []uint64
}

// A count holds the counters of an entry or of a table's default.
type count struct{ Packets, Bytes uint64 }

type counterName struct {
	table      string
	stage      uint8
	entry      uint32
	forDefault bool
}

// An outcome is the result of a table. The zero outcome means that it was skipped.
type outcome struct {
	ran, hit bool
	action   string
}

// A run is the execution of the program for one packet in one pipe.
type run struct {
	*program
	name     string // name of the pipe
	pipe     *pipe.Pipe
	memory   *memory
	phv      phv
	outcomes map[string]outcome
	faults   *faults
	// ran is called for each table that runs, and found for each lookup with a key. A nil found means that there is no
	// observer.
	ran   func(table string, o outcome)
	found func(table string, e *pipe.Entry)
}

// stage runs the program's tables of one stage.
func (r *run) stage(stage int) {
	before := slices.Clone(r.phv)
	for i := range r.pipe.Tables {
		t := &r.pipe.Tables[i]
		name := r.name + "." + t.Name
		if int(t.Stage) == stage && !r.faults.skips(name) && r.gate(r.gateOf(t), before) {
			r.table(t, before)
			r.ran(name, r.outcomes[t.Name])
		}
	}
}

// gateOf returns the gate of a table. If a fault misplaces the table, it returns the gate of another table, provided
// that this gate depends only on earlier tables.
func (r *run) gateOf(t *pipe.Table) [][]pipe.Term {
	into, ok := r.faults.misplace[r.name+"."+t.Name]
	at := slices.IndexFunc(r.pipe.Tables, func(x pipe.Table) bool { return ok && r.name+"."+x.Name == into })
	if at < 0 {
		return t.Gate
	}
	known := map[string]bool{"": true}
	for i, x := range r.pipe.Tables {
		known[x.Name] = x.Stage < t.Stage || x.Stage == t.Stage && i < r.index(t.Name)
	}
	for _, row := range r.pipe.Tables[at].Gate {
		for _, x := range row {
			if !known[x.Table] {
				return t.Gate
			}
		}
	}
	return r.pipe.Tables[at].Gate
}

func (r *run) index(table string) int {
	return slices.IndexFunc(r.pipe.Tables, func(x pipe.Table) bool { return x.Name == table })
}

// gate reports whether a gate lets a table run.
func (r *run) gate(rows [][]pipe.Term, before phv) bool {
	if len(rows) == 0 {
		return true
	}
	return slices.ContainsFunc(rows, func(row []pipe.Term) bool {
		for _, x := range row {
			if !r.term(x, before) {
				return false
			}
		}
		return true
	})
}

func (r *run) term(x pipe.Term, before phv) bool {
	if x.Table != "" {
		o := r.outcomes[x.Table]
		switch x.Is {
		case "ran":
			return o.ran
		case "skipped":
			return !o.ran
		case "hit":
			return o.ran && o.hit
		case "miss":
			return o.ran && !o.hit
		case "action":
			return o.ran && o.action == x.Action
		}
		panic(fmt.Sprintf("reference: term on a table is %q", x.Is))
	}
	return compare(x.Is, r.masked(before, pipe.Input{Field: x.Field, Mask: x.Mask}), x.Value)
}

func compare(is string, a, b uint64) bool {
	switch is {
	case "eq":
		return a == b
	case "ne":
		return a != b
	case "lt":
		return a < b
	case "le":
		return a <= b
	case "gt":
		return a > b
	case "ge":
		return a >= b
	}
	panic(fmt.Sprintf("reference: comparison %q", is))
}

// table looks up the key and runs the action.
func (r *run) table(t *pipe.Table, before phv) {
	choice, counted := t.Default, counterName{table: t.Name, stage: t.Stage, forDefault: true}
	e := r.lookup(t, before)
	if r.found != nil && t.Match != "always" {
		r.found(r.name+"."+t.Name, e)
	}
	if e != nil {
		choice, counted = e.Choice, counterName{table: t.Name, stage: t.Stage, entry: e.ID}
	}
	r.outcomes[t.Name] = outcome{ran: true, hit: e != nil, action: choice.Action}
	if t.Counters {
		c := r.memory.counters[counted]
		c.Packets++
		c.Bytes += r.get(before, "pkt.length")
	}
	for i := range t.Actions {
		if t.Actions[i].Name == choice.Action {
			r.action(int(t.Stage), &t.Actions[i], choice.Args, before)
		}
	}
}

// lookup returns the entry that the packet hits, nil if there is none.
func (r *run) lookup(t *pipe.Table, before phv) (best *pipe.Entry) {
	if t.Match == "always" {
		return nil
	}
	var key []uint64
	var widths []int
	for _, in := range t.Key {
		key = append(key, r.masked(before, in))
		widths = append(widths, r.width[r.at[in.Field]])
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		if matches(t, e, key, widths) && (best == nil || precedes(t.Match, e, best)) {
			best = e
		}
	}
	return best
}

func matches(t *pipe.Table, e *pipe.Entry, key []uint64, widths []int) bool {
	if t.Match == "lpm" {
		return prefixMatches(e, key, widths)
	}
	for i, m := range e.Key {
		mask := ^uint64(0)
		if t.Match == "ternary" {
			mask = m.Mask
		}
		if key[i]&mask != m.Value {
			return false
		}
	}
	return true
}

// prefixMatches compares the first bits of the concatenated fields.
func prefixMatches(e *pipe.Entry, key []uint64, widths []int) bool {
	left := int(e.Prefix)
	for i, m := range e.Key {
		n := min(left, widths[i])
		if n > 0 && key[i]>>(widths[i]-n) != m.Value>>(widths[i]-n) {
			return false
		}
		left -= n
	}
	return true
}

// precedes reports whether e takes precedence over f if both match.
func precedes(match string, e, f *pipe.Entry) bool {
	switch match {
	case "lpm":
		return e.Prefix > f.Prefix
	case "ternary":
		return e.Priority > f.Priority || e.Priority == f.Priority && e.ID < f.ID
	}
	return false
}

// action runs an action. All its operands are read from the PHV before the stage.
func (r *run) action(stage int, a *pipe.Action, args []uint64, before phv) {
	operand := func(o pipe.Operand) uint64 { return r.operand(stage, a, args, before, o) }
	for _, c := range a.Calls {
		for i := range r.pipe.Registers {
			if reg := &r.pipe.Registers[i]; reg.Name == c.Register {
				out := r.memory.call(reg, c.Instruction, operand(c.Index), operand(c.X), operand(c.Y))
				if c.To != "" {
					r.set(r.phv, c.To, out)
				}
			}
		}
	}
	for _, o := range a.Ops {
		x, y := operand(o.A), operand(o.B)
		if o.Do == "select" {
			if operand(o.If) == 0 {
				x = y
			}
			r.set(r.phv, o.To, x)
			continue
		}
		r.set(r.phv, o.To, compute(o.Do, x, y))
	}
}

// compute returns the result of an operation of an action, modulo 2^64.
func compute(do string, a, b uint64) uint64 {
	switch do {
	case "set":
		return a
	case "add":
		return a + b
	case "sub":
		return a - b
	case "and":
		return a & b
	case "or":
		return a | b
	case "xor":
		return a ^ b
	case "shl":
		return a << b // in Go, the result is 0 for shifts of 64 or more
	case "shr":
		return a >> b
	case "min":
		return min(a, b)
	case "max":
		return max(a, b)
	}
	panic(fmt.Sprintf("reference: operation %q", do))
}

func (r *run) operand(stage int, a *pipe.Action, args []uint64, before phv, o pipe.Operand) uint64 {
	var x uint64
	switch {
	case o.Field != "":
		x = r.get(before, o.Field)
	case o.Hash != "":
		for i := range r.pipe.Hashes {
			if h := &r.pipe.Hashes[i]; h.Name == o.Hash && int(h.Stage) == stage {
				x = r.hash(h, before)
			}
		}
	case o.Param != "":
		x = args[slices.IndexFunc(a.Params, func(p pipe.Param) bool { return p.Name == o.Param })]
	default:
		return o.Const
	}
	x >>= o.Shift
	if o.Bits != 0 {
		x = low(x, int(o.Bits))
	}
	return x
}

// hash returns the CRC of the inputs, computed bit by bit.
func (r *run) hash(h *pipe.Hash, before phv) uint64 {
	width, poly := h.Width, h.Poly
	if h.CRC != "" {
		width, poly, _ = pipe.Polynomial(h.CRC)
	}
	reversed := uint64(bits.Reverse32(poly) >> (32 - width))
	ones := uint64(1)<<width - 1
	crc := ^uint64(h.Seed) & ones
	for _, in := range h.Inputs {
		v := r.masked(before, in)
		for n := (r.width[r.at[in.Field]] + 7) / 8; n > 0; n-- {
			crc ^= v >> (8 * (n - 1)) & 0xff
			for range 8 {
				if crc&1 == 1 {
					crc = crc>>1 ^ reversed
				} else {
					crc >>= 1
				}
			}
		}
	}
	crc = ^crc & ones
	if h.Bits != 0 {
		crc = low(crc, int(h.Bits))
	}
	return crc
}

// call runs an instruction of a stateful ALU on one word and returns its output.
func (m *memory) call(reg *pipe.Register, name string, index, x, y uint64) uint64 {
	if index >= uint64(reg.Depth) {
		return 0
	}
	in := reg.Instructions[slices.IndexFunc(reg.Instructions, func(i pipe.Instruction) bool { return i.Name == name })]
	w := int(reg.Width)
	word := &m.registers[reg.Name].word[index]
	old := *word
	x, y = low(x, w), low(y, w)
	source := func(s pipe.Source) uint64 {
		switch s.From {
		case "mem":
			return old
		case "x":
			return x
		case "y":
			return y
		}
		return low(s.Const, w)
	}
	var holds [2]bool
	for i, c := range in.Conditions {
		holds[i] = compare(c.Is, source(c.A), source(c.B))
	}
	updated := old
	for _, u := range in.Updates {
		if guard(u.When, holds) {
			updated = update(u.Do, source(u.A), source(u.B), w)
			break
		}
	}
	*word = updated
	if !guard(in.Output.When, holds) {
		return 0
	}
	switch in.Output.Value {
	case "old":
		return old
	case "new":
		return updated
	case "predicate":
		p := uint64(0)
		for i, h := range holds {
			if h {
				p |= 1 << i
			}
		}
		return p
	case "x":
		return x
	case "y":
		return y
	}
	return 0
}

// update returns the result of a stateful ALU, modulo 2^w.
func update(do string, a, b uint64, w int) uint64 {
	most := low(^uint64(0), w)
	switch do {
	case "adds":
		if a > most-b {
			return most
		}
		return a + b
	case "subs":
		if a < b {
			return 0
		}
		return a - b
	case "andnot":
		return a &^ b
	}
	return low(compute(do, a, b), w)
}

// guard reports whether a guard holds. holds contains the results of the two conditions.
func guard(when string, holds [2]bool) bool {
	literal := func(s string) bool {
		switch s {
		case "0", "1":
			return holds[s[0]-'0']
		case "!0", "!1":
			return !holds[s[1]-'0']
		}
		panic(fmt.Sprintf("reference: guard %q", when))
	}
	for i := range when {
		switch when[i] {
		case '&':
			return literal(when[:i]) && literal(when[i+1:])
		case '|':
			return literal(when[:i]) || literal(when[i+1:])
		}
	}
	return when == "" || literal(when)
}

// newMemory returns the memory of a pipe for a new program. Registers of the same stage, name, width and depth keep
// their content. Counters of the same table and entry keep theirs.
func newMemory(p *pipe.Pipe, old *memory) *memory {
	m := &memory{registers: map[string]*words{}, counters: map[counterName]*count{}}
	for _, r := range p.Registers {
		w := &words{r.Stage, r.Width, make([]uint64, r.Depth)}
		if was := old.registers[r.Name]; was != nil && was.stage == r.Stage && was.width == r.Width &&
			len(was.word) == len(w.word) {
			w = was
		}
		m.registers[r.Name] = w
	}
	for _, t := range p.Tables {
		if !t.Counters {
			continue
		}
		names := []counterName{{table: t.Name, stage: t.Stage, forDefault: true}}
		for _, e := range t.Entries {
			names = append(names, counterName{table: t.Name, stage: t.Stage, entry: e.ID})
		}
		for _, n := range names {
			if m.counters[n] = old.counters[n]; m.counters[n] == nil {
				m.counters[n] = &count{}
			}
		}
	}
	return m
}
