package pipe

import (
	"slices"
)

// The words of the form. The compiled form stores their index.
var (
	comparisons = []string{"eq", "ne", "lt", "le", "gt", "ge"}
	outcomes    = []string{"ran", "skipped", "hit", "miss", "action"}
	matches     = []string{"always", "exact", "ternary", "lpm", "index"}
	operations  = []string{"set", "add", "sub", "and", "or", "xor", "shl", "shr", "min", "max", "select"}
	updates     = []string{"set", "add", "sub", "adds", "subs", "and", "or", "xor", "andnot", "min", "max"}
	outputs     = []string{"old", "new", "predicate", "x", "y"}
	sources     = []string{"const", "mem", "x", "y"}
	guards      = []string{"", "0", "!0", "1", "!1", "0&1", "0&!1", "!0&1", "!0&!1", "0|1", "0|!1", "!0|1", "!0|!1"}
)

// written identifies a field that a stage writes.
type written struct {
	stage uint8
	field string
}

// A tableChecker checks the tables of one pipe.
type tableChecker struct {
	*checker
	pipe    *Pipe
	access  Access
	users   map[string]string  // the table that uses a register
	writers map[written]string // the table that writes a field
}

func (c *tableChecker) check(i int) {
	t := &c.pipe.Tables[i]
	if !c.oneOf("match", t.Match, matches) {
		return
	}
	c.checkGate(t, i)
	c.checkKey(t)
	if !c.atMost("actions", len(t.Actions), maxActions) {
		return
	}
	seen := map[string]bool{}
	for j := range t.Actions {
		a := &t.Actions[j]
		c.unique(seen, "action", a.Name)
		c.in(func() { c.checkAction(t, a) }, "action %q", a.Name)
	}
	c.in(func() { c.choice(t, t.Default) }, "default")
	c.checkEntries(t)
}

func (c *tableChecker) checkGate(t *Table, i int) {
	if !c.atMost("rows of the gate", len(t.Gate), maxRows) {
		return
	}
	for _, row := range t.Gate {
		if !c.atMost("terms of a row of the gate", len(row), maxRows) {
			return
		}
		for _, term := range row {
			c.in(func() { c.checkTerm(t, term, i) }, "gate")
		}
	}
}

func (c *tableChecker) checkTerm(t *Table, x Term, i int) {
	switch {
	case (x.Field == "") == (x.Table == ""):
		c.bad("a term has a field or a table")
	case x.Field != "":
		c.checkInputs("term", []Input{{x.Field, x.Mask}})
		c.oneOf("is", x.Is, comparisons)
		if x.Action != "" {
			c.bad("action is given, but the term is about field %q", x.Field)
		}
	default:
		c.oneOf("is", x.Is, outcomes)
		j := slices.IndexFunc(c.pipe.Tables, func(t Table) bool { return t.Name == x.Table })
		if j < 0 {
			c.bad("there is no table %.80q", x.Table)
			return
		}
		other := &c.pipe.Tables[j]
		if other.Stage > t.Stage || other.Stage == t.Stage && j >= i {
			c.bad("table %q is in stage %d and comes after this one", x.Table, other.Stage)
		}
		has := slices.ContainsFunc(other.Actions, func(a Action) bool { return a.Name == x.Action })
		if (x.Is == "action") != has {
			c.bad("table %q: action %.80q: want one of its actions with is action, else none", x.Table, x.Action)
		}
		if x.Mask != 0 || x.Value != 0 {
			c.bad("mask or value is given, but the term is about table %q", x.Table)
		}
	}
}

func (c *tableChecker) checkKey(t *Table) {
	if !c.atMost("key fields", len(t.Key), maxKey) {
		return
	}
	c.checkInputs("key", t.Key)
	var bits, masks uint64
	for _, in := range t.Key {
		bits += uint64(c.fields[in.Field].width)
		masks |= in.Mask
	}
	switch {
	case t.Match == "always":
		if len(t.Key) != 0 || t.Size != 0 || len(t.Entries) != 0 {
			c.bad("always has no key, size or entries")
		}
		return
	case len(t.Key) == 0:
		c.bad("no key")
	case t.Match == "index" && len(t.Key) != 1:
		c.bad("%d key fields, want 1 for index", len(t.Key))
	case t.Match == "lpm" && bits > 128:
		c.bad("a key of %d bits, want at most 128 for lpm", bits)
	case t.Match == "lpm" && masks != 0:
		c.bad("the key has masks, want none for lpm")
	}
	c.within("size", uint64(t.Size), 1, maxSize)
}

func (c *tableChecker) checkAction(t *Table, a *Action) {
	if !c.atMost("ops", len(a.Ops), maxOps) || !c.atMost("calls", len(a.Calls), maxOps) ||
		!c.atMost("params", len(a.Params), maxParams) {
		return
	}
	seen := map[string]bool{}
	for _, p := range a.Params {
		c.unique(seen, "param", p.Name)
		c.in(func() { c.within("width", uint64(p.Width), 1, 64) }, "param %q", p.Name)
	}
	targets, registers := map[string]bool{}, map[string]bool{}
	for i := range a.Calls {
		x := &a.Calls[i]
		c.in(func() {
			c.checkCall(t, a, x)
			if registers[x.Register] {
				c.bad("the action uses the register twice")
			}
			if x.To != "" {
				c.target(t, targets, x.To)
			}
		}, "call of %q", x.Register)
		registers[x.Register] = true
	}
	for i := range a.Ops {
		c.in(func() { c.checkOp(t, a, &a.Ops[i], targets) }, "op %d", i)
	}
}

func (c *tableChecker) checkCall(t *Table, a *Action, x *Call) {
	i := slices.IndexFunc(c.pipe.Registers, func(r Register) bool { return r.Name == x.Register })
	if i < 0 {
		c.bad("there is no such register in this pipe")
		return
	}
	r := &c.pipe.Registers[i]
	if r.Stage != t.Stage {
		c.bad("the register is in stage %d, the table in stage %d", r.Stage, t.Stage)
	}
	if !slices.ContainsFunc(r.Instructions, func(in Instruction) bool { return in.Name == x.Instruction }) {
		c.bad("there is no instruction %.80q", x.Instruction)
	}
	if user := c.users[r.Name]; user != "" && user != t.Name {
		c.bad("table %q uses the register already", user)
	}
	c.users[r.Name] = t.Name
	c.operand(t, a, "index", x.Index)
	c.operand(t, a, "x", x.X)
	c.operand(t, a, "y", x.Y)
}

func (c *tableChecker) checkOp(t *Table, a *Action, x *Op, targets map[string]bool) {
	c.target(t, targets, x.To)
	c.oneOf("do", x.Do, operations)
	c.operand(t, a, "a", x.A)
	c.operand(t, a, "b", x.B)
	c.operand(t, a, "if", x.If)
	if x.Do == "set" && x.B != (Operand{}) {
		c.bad("b is given, but set has only a")
	}
	if x.Do != "select" && x.If != (Operand{}) {
		c.bad("if is given, but only select has it")
	}
}

// target checks a written field. An action may write it once, and only one table of a stage may write it.
func (c *tableChecker) target(t *Table, targets map[string]bool, name string) {
	p, ok := c.field("to", name)
	if !ok {
		return
	}
	if p.access&c.access == 0 {
		c.bad("field %q cannot be written in this pipe", name)
	}
	if targets[name] {
		c.bad("field %q is written twice in one action", name)
	}
	targets[name] = true
	w := written{t.Stage, name}
	if other := c.writers[w]; other != "" && other != t.Name {
		c.bad("field %q is written by table %q of the same stage", name, other)
	}
	c.writers[w] = t.Name
}

func (c *tableChecker) operand(t *Table, a *Action, what string, o Operand) {
	n := 0
	for _, s := range []string{o.Field, o.Hash, o.Param} {
		if s != "" {
			n++
		}
	}
	if n > 1 || n == 1 && o.Const != 0 {
		c.bad("%s: want one of field, hash, param and const", what)
		return
	}
	if n == 0 && (o.Shift != 0 || o.Bits != 0) {
		c.bad("%s: shift and bits are not for constants", what)
	}
	if o.Shift > 63 || o.Bits > 64 {
		c.bad("%s: shift is %d and bits is %d, want at most 63 and 64", what, o.Shift, o.Bits)
	}
	switch {
	case o.Field != "":
		c.field(what, o.Field)
	case o.Hash != "":
		c.hashOf(t, what, o.Hash)
	case o.Param != "":
		if !slices.ContainsFunc(a.Params, func(p Param) bool { return p.Name == o.Param }) {
			c.bad("%s: there is no param %.80q", what, o.Param)
		}
	}
}

// hashOf checks the hash that a table's action uses. It must be computed in the table's stage.
func (c *tableChecker) hashOf(t *Table, what, name string) {
	i := slices.IndexFunc(c.pipe.Hashes, func(h Hash) bool { return h.Name == name })
	if i < 0 {
		c.bad("%s: there is no hash %.80q in this pipe", what, name)
	} else if s := c.pipe.Hashes[i].Stage; s != t.Stage {
		c.bad("%s: hash %q is in stage %d, the table in stage %d", what, name, s, t.Stage)
	}
}

// choice checks an action with its arguments.
func (c *tableChecker) choice(t *Table, x Choice) {
	i := slices.IndexFunc(t.Actions, func(a Action) bool { return a.Name == x.Action })
	switch {
	case x.Action == "" && len(x.Args) == 0:
	case i < 0:
		c.bad("there is no action %.80q", x.Action)
	case len(x.Args) != len(t.Actions[i].Params):
		c.bad("%d args, action %q has %d params", len(x.Args), x.Action, len(t.Actions[i].Params))
	default:
		for j, p := range t.Actions[i].Params {
			if p.Width <= 64 && x.Args[j] > ones(p.Width) {
				c.bad("arg %q is %d, it has %d bits", p.Name, x.Args[j], p.Width)
			}
		}
	}
}

func (c *tableChecker) checkEntries(t *Table) {
	if len(t.Entries) > int(t.Size) {
		c.bad("%d entries, the size is %d", len(t.Entries), t.Size)
		return
	}
	ids, keys := make(map[uint32]bool, len(t.Entries)), make(map[string]uint32, len(t.Entries))
	for i := range t.Entries {
		e := &t.Entries[i]
		if ids[e.ID] {
			c.bad("entry %d is there twice", e.ID)
		}
		ids[e.ID] = true
		before := len(c.errs)
		c.in(func() { c.checkEntry(t, e) }, "entry %d", e.ID)
		if t.Match == "ternary" || len(c.errs) > before {
			continue
		}
		k := e.keyString()
		if other, twice := keys[k]; twice {
			c.bad("entry %d has the key of entry %d", e.ID, other)
		}
		keys[k] = e.ID
	}
}

// keyString returns the same string for entries of an exact, lpm or index table that match the same packets.
func (e *Entry) keyString() string {
	b := []byte{byte(e.Prefix)}
	for _, m := range e.Key {
		for s := 56; s >= 0; s -= 8 {
			b = append(b, byte(m.Value>>s))
		}
	}
	return string(b)
}

func (c *tableChecker) checkEntry(t *Table, e *Entry) {
	c.choice(t, e.Choice)
	if len(e.Key) != len(t.Key) {
		c.bad("%d values, the key has %d fields", len(e.Key), len(t.Key))
		return
	}
	if e.Priority != 0 && t.Match != "ternary" {
		c.bad("priority is %d, but only ternary entries have one", e.Priority)
	}
	bits := uint32(0)
	for i, in := range t.Key {
		width := c.fields[in.Field].width
		c.checkMatch(t, in, e.Key[i], prefixMask(width, bits, e.Prefix))
		bits += uint32(width)
	}
	if t.Match == "lpm" && e.Prefix > bits || t.Match != "lpm" && e.Prefix != 0 {
		c.bad("prefix is %d, want at most the key's %d bits for lpm, else 0", e.Prefix, bits)
	}
}

// checkMatch checks an entry's match on one field of the key. prefix is the part of the field that an lpm entry covers.
func (c *tableChecker) checkMatch(t *Table, in Input, m Match, prefix uint64) {
	p := c.fields[in.Field]
	care := p.mask()
	if in.Mask != 0 {
		care = in.Mask
	}
	switch t.Match {
	case "ternary":
		if m.Mask&^care != 0 {
			c.bad("%s: mask is %#x, want within %#x", in.Field, m.Mask, care)
		}
		care = m.Mask
	case "lpm":
		care = prefix
	}
	if t.Match != "ternary" && m.Mask != 0 {
		c.bad("%s: mask is %#x, but only ternary entries have one", in.Field, m.Mask)
	}
	if m.Value&^care != 0 {
		c.bad("%s: value is %#x, want within the mask %#x", in.Field, m.Value, care)
	}
	if t.Match == "index" && m.Value >= uint64(t.Size) {
		c.bad("%s: value is %d, the size is %d", in.Field, m.Value, t.Size)
	}
}

// prefixMask returns the part of a field that the first n bits of a key cover. The field has width bits and begins at
// bit at.
func prefixMask(width uint8, at, n uint32) uint64 {
	switch {
	case n <= at:
		return 0
	case n >= at+uint32(width):
		return ones(width)
	}
	return ones(width) &^ ones(width-uint8(n-at))
}
