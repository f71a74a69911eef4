package p4

import "math/big"

// one returns the object of a name in an array, such as the parser called "parser".
func (n *node) one(key, kind, name string) *node {
	for _, c := range n.each(key, kind) {
		if c.get("name").text() == name {
			return c
		}
	}
	n.fail("has no %s named %q, want a program for v1model", kind, name)
	return nil
}

func (r *reader) readParser(root *node) {
	n := root.one("parsers", "parser", "parser")
	p := &Parser{Name: "parser"}
	r.Parser = p
	states := map[string]*State{}
	nodes := n.each("parse_states", "state")
	for _, c := range nodes {
		s := &State{Name: c.get("name").text(), Source: c.source()}
		if states[s.Name] != nil {
			c.fail("has the name of another state")
		}
		states[s.Name] = s
		p.States = append(p.States, s)
	}
	next := func(c *node) *State {
		if c == nil {
			return nil
		}
		s := states[c.text()]
		if s == nil {
			c.fail("is %q, want the name of a state", c.text())
		}
		return s
	}
	p.Start = next(n.has("init_state"))
	for i, c := range nodes {
		s := p.States[i]
		for j, op := range c.get("parser_ops").list() {
			s.Ops = append(s.Ops, r.parserOp(op.labelled("operation %d", j)))
		}
		for j, k := range c.get("transition_key").list() {
			s.Key = append(s.Key, r.keyPart(k.labelled("key %d", j)))
		}
		for j, t := range c.get("transitions").list() {
			r.transition(t.labelled("transition %d", j), s, next(t.has("next_state")))
		}
	}
}

// keyPart reads one part of a select key.
func (r *reader) keyPart(n *node) KeyPart {
	value := n.get("value")
	if n.get("type").text() == "lookahead" {
		l := lookahead(value)
		return KeyPart{Ahead: l, Width: l.Width}
	}
	e := r.expression(n, scope{}, Number)
	switch t, at := target(e); {
	case e.Op == LastUnion:
		return KeyPart{Value: e, Width: e.UnionStack.Unions[0].Headers[e.Member].Type.Fields[e.Index].Width}
	case e.Op == FieldOp:
		return KeyPart{Value: e, Width: e.Field.Width()}
	case e.Op == LastField:
		return KeyPart{Value: e, Width: t.Fields[at].Width}
	}
	n.fail("is of type %q, want field, stack_field, union_stack_field or lookahead", n.get("type").text())
	return KeyPart{}
}

func lookahead(n *node) Lookahead {
	offset, width := n.pair()
	return Lookahead{offset.integer(0, maxWidth), width.integer(1, maxWidth)}
}

// transition reads one transition. Old files have no type, and the value "default".
func (r *reader) transition(n *node, s *State, next *State) {
	kind := "hexstr"
	value := n.has("value")
	if t := n.has("type"); t != nil {
		kind = t.text()
	} else if value != nil && value.value == "default" {
		kind = "default"
	}
	c := Case{Next: next}
	padded := 0
	for _, k := range s.Key {
		padded += bytesOf(k.Width) * 8
	}
	if m := n.has("mask"); m != nil && kind != "default" {
		if c.Mask = m.hex(); !fits(c.Mask, padded) {
			m.fail("is %s, want at most %d bits", m.text(), padded)
		}
	}
	switch kind {
	case "default":
		s.Next = next
		return
	case "hexstr":
		if c.Value = n.get("value").hex(); !fits(c.Value, padded) {
			value.fail("is %s, want at most the %d bits of the key", value.text(), padded)
		}
		if c.Mask != nil {
			c.Value = new(big.Int).And(c.Value, c.Mask)
		}
	case "parse_vset":
		c.Set, c.Parts = r.set(n.get("value"), s)
	default:
		n.fail("is of type %q, want default, hexstr or parse_vset", kind)
	}
	if len(s.Key) == 0 {
		n.fail("has a value, but the state has no key")
	}
	s.Cases = append(s.Cases, c)
}

// set returns a value set, and the widths of the parts of the key that it is compared with.
func (r *reader) set(n *node, s *State) (*ValueSet, []int) {
	set := r.sets[n.text()]
	if set == nil {
		n.fail("is %q, want the name of a value set", n.text())
	}
	parts, bits := make([]int, len(s.Key)), 0
	for i, k := range s.Key {
		parts[i] = k.Width
		bits += k.Width
	}
	if bits != set.Width {
		n.fail("value set %q has %d bits, and the key has %d", set.Name, set.Width, bits)
	}
	return set, parts
}

// parserOp reads one operation of a state.
func (r *reader) parserOp(n *node) ParserOp {
	op := ParserOp{Source: n.source()}
	args := n.get("parameters").list()
	kind := n.get("op").text()
	arity := map[string]int{
		"extract": 1, "extract_VL": 2, "set": 2, "verify": 2, "advance": 1, "shift": 1, "primitive": 1,
	}
	want, ok := arity[kind]
	if !ok {
		n.fail("parser operation %q is not supported", kind)
	}
	if len(args) != want {
		n.fail("%s has %d parameters, want %d", kind, len(args), want)
	}
	switch kind {
	case "extract", "extract_VL":
		op.Kind = Extract
		t := r.destination(args[0], &op)
		if kind == "extract_VL" {
			op.Length = r.expression(args[1], scope{}, Number)
		}
		if varies := t.Var >= 0; varies != (op.Length != nil) && (!varies || t.VarLength == nil) {
			n.fail("%s of header type %q, whose variable field %s", kind, t.Name,
				map[bool]string{true: "needs a length", false: "does not exist"}[varies])
		}
	case "set":
		r.parserSet(args, &op)
	case "verify":
		op.Kind = Verify
		op.Value, op.Code = r.expression(args[0], scope{}, Boolean), r.expression(args[1], scope{}, Number)
	case "shift":
		op.Kind = Advance
		op.Value = &Expr{Op: Const, Value: big.NewInt(int64(args[0].integer(0, maxWidth)) * 8)}
	case "advance":
		op.Kind = Advance
		op.Value = r.expression(args[0], scope{}, Number)
	case "primitive":
		op.Kind = Call
		op.Statement = r.statement(args[0], scope{})
		if op.Statement.Source == (Source{}) {
			op.Statement.Source = op.Source
		}
	}
	return op
}

// parserSet reads an assignment of the parser.
func (r *reader) parserSet(args []*node, op *ParserOp) {
	op.Kind = Set
	if kind := args[0].get("type").text(); kind != "field" {
		args[0].fail("is of type %q, want field", kind)
	}
	op.Target = r.writable(args[0].get("value"))
	if args[1].get("type").text() == "lookahead" {
		l := lookahead(args[1].get("value"))
		op.Ahead = &l
		return
	}
	op.Value = r.expression(args[1], scope{}, Number)
	if f := op.Target; f.Header.Type.Fields[f.Index].Var {
		t, at := target(op.Value)
		if t == nil || at == Valid || !t.Fields[at].Var {
			args[1].fail("is not a field of variable width")
		}
	}
}

// destination reads what an extraction fills, and returns the type of the header.
func (r *reader) destination(n *node, op *ParserOp) *HeaderType {
	value := n.get("value")
	switch kind := n.get("type").text(); kind {
	case "regular":
		op.Header = r.header(value)
		if op.Header.Metadata {
			value.fail("is metadata, want a header")
		}
		return op.Header.Type
	case "stack":
		op.Stack = r.named(value, StackOp).Stack
		return op.Stack.Type
	case "union_stack":
		stack, member := value.pair()
		op.UnionStack = r.named(stack, UnionStackOp).UnionStack
		op.Member = r.member(member, op.UnionStack.Type)
		return op.UnionStack.Unions[0].Headers[op.Member].Type
	default:
		n.fail("is of type %q, want regular, stack or union_stack", kind)
	}
	return nil
}

func (r *reader) readDeparser(root *node) {
	n := root.one("deparsers", "deparser", "deparser")
	r.Deparser = &Deparser{Name: "deparser"}
	for _, h := range n.get("order").list() {
		header := r.header(h)
		if header.Metadata {
			h.fail("is metadata, want a header")
		}
		r.Deparser.Order = append(r.Deparser.Order, header)
	}
	if l := n.has("primitives"); l != nil {
		for i, s := range l.list() {
			r.Deparser.Statements = append(r.Deparser.Statements, r.statement(s.labelled("statement %d", i), scope{}))
		}
	}
}
