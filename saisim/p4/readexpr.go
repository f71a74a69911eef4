package p4

// A scope is where an expression stands: what its local numbers mean.
type scope struct {
	params int         // number of parameters of the action
	own    *HeaderType // the type whose field has its width computed
}

// expression reads an expression of the given kind.
func (r *reader) expression(n *node, s scope, want Kind) *Expr {
	e := r.expr(n, s)
	if e.Kind != want {
		n.fail("is %s, want %s", e.Kind, want)
	}
	return e
}

// expr reads a value: an object with type and value, or with an operator.
func (r *reader) expr(n *node, s scope) *Expr {
	if r.depth++; r.depth > maxDepth {
		n.fail("is nested deeper than %d levels", maxDepth)
	}
	defer func() { r.depth-- }()
	if n.has("op") != nil {
		return r.operation(n, s)
	}
	kind := n.get("type").text()
	value := n.get("value")
	switch kind {
	case "expression":
		return r.expr(value, s)
	case "hexstr":
		return &Expr{Op: Const, Value: value.hex()}
	case "bool":
		if value.flag() {
			return &Expr{Op: True, Kind: Boolean}
		}
		return &Expr{Op: False, Kind: Boolean}
	case "field":
		return &Expr{Op: FieldOp, Field: r.field(value)}
	case "local", "runtime_data":
		return r.local(value, s)
	case "stack_field":
		stack, name := value.pair()
		e := r.named(stack, StackOp)
		return &Expr{Op: LastField, Stack: e.Stack, Index: fieldOf(name, e.Stack.Type)}
	case "union_stack_field":
		return r.lastUnion(value)
	case "register":
		array, index := value.pair()
		return &Expr{
			Op: RegisterCell, Register: r.named(array, RegisterOp).Register, Left: r.expression(index, s, Number),
		}
	case "string":
		return &Expr{Op: TextOp, Kind: TextKind, Text: value.text()}
	case "parameters_vector":
		l := &Expr{Op: ListOp, Kind: ListKind}
		for _, v := range value.list() {
			l.List = append(l.List, r.expression(v, s, Number))
		}
		return l
	case "header_union_stack":
		return r.named(value, UnionStackOp)
	case "header", "header_stack", "header_union", "register_array", "meter_array", "counter_array", "calculation":
		return r.named(value, Op(kind))
	}
	n.fail("value of type %q is not supported", kind)
	return nil
}

// local returns a parameter of the action, or a field of the header whose length is computed.
func (r *reader) local(value *node, s scope) *Expr {
	if s.own != nil {
		e := &Expr{Op: Local, Index: value.integer(0, len(s.own.Fields)-1)}
		if s.own.Fields[e.Index].Var {
			value.fail("is the field of variable width itself")
		}
		return e
	}
	if s.params == 0 {
		value.fail("names parameter %s of an action without parameters", describe(value.value))
	}
	return &Expr{Op: Local, Index: value.integer(0, s.params-1)}
}

// lastUnion reads a field of the last union of a stack: stack, member, field.
func (r *reader) lastUnion(value *node) *Expr {
	parts := value.list()
	if len(parts) != 3 {
		value.fail("has %d elements, want stack, member and field", len(parts))
	}
	stack := r.named(parts[0], UnionStackOp).UnionStack
	member := r.member(parts[1], stack.Type)
	t := stack.Unions[0].Headers[member].Type
	return &Expr{Op: LastUnion, UnionStack: stack, Member: member, Index: fieldOf(parts[2], t)}
}

// member returns the index of a union type's member.
func (r *reader) member(n *node, unionType string) int {
	for i, m := range r.members[unionType] {
		if m.name == n.text() {
			return i
		}
	}
	n.fail("is %q, want a member of union type %q", n.text(), unionType)
	return 0
}

func fieldOf(n *node, t *HeaderType) int {
	at := t.find(n.text())
	if at < 0 {
		n.fail("is %q, want a field of header type %q", n.text(), t.Name)
	}
	return at
}

// named returns the object of a kind that a string names.
func (r *reader) named(n *node, op Op) *Expr {
	name := n.text()
	e := &Expr{Op: op}
	ok := false
	switch op {
	case HeaderOp:
		e.Kind, e.Header = HeaderKind, r.headers[name]
		if ok = e.Header != nil; ok {
			e.Type = e.Header.Type
		}
	case StackOp:
		e.Kind, e.Stack = StackKind, r.stacks[name]
		ok = e.Stack != nil
	case UnionOp:
		e.Kind, e.Union = UnionKind, r.unions[name]
		ok = e.Union != nil
	case UnionStackOp:
		e.Kind, e.UnionStack = UnionStackKind, r.unionStacks[name]
		ok = e.UnionStack != nil
	case RegisterOp:
		e.Kind, e.Register = RegisterKind, r.registers[name]
		ok = e.Register != nil
	case MeterOp:
		e.Kind, e.Meter = MeterKind, r.meters[name]
		ok = e.Meter != nil && !e.Meter.Direct
	case CounterOp:
		e.Kind, e.Counter = CounterKind, r.counters[name]
		ok = e.Counter != nil && !e.Counter.Direct
	case CalculationOp:
		e.Kind, e.Calculation = CalculationKind, r.calcs[name]
		ok = e.Calculation != nil
	}
	if !ok {
		n.fail("is %q, want the name of %s", name, e.Kind)
	}
	return e
}

// operands are the kinds that an operator takes and returns. A unary operator has only right.
type operands struct {
	left, right, result Kind
	unary               bool
}

var operators = map[Op]operands{
	Add: {Number, Number, Number, false}, Sub: {Number, Number, Number, false}, Mul: {Number, Number, Number, false},
	Div: {Number, Number, Number, false}, Mod: {Number, Number, Number, false},
	ShiftLeft: {Number, Number, Number, false}, ShiftRight: {Number, Number, Number, false},
	BitAnd: {Number, Number, Number, false}, BitOr: {Number, Number, Number, false},
	BitXor: {Number, Number, Number, false}, BitNot: {Number, Number, Number, true},
	TwoComp: {Number, Number, Number, false}, SatCast: {Number, Number, Number, false},
	USatCast: {Number, Number, Number, false},
	Greater:  {Number, Number, Boolean, false}, GreaterEqual: {Number, Number, Boolean, false},
	Less: {Number, Number, Boolean, false}, LessEqual: {Number, Number, Boolean, false},
	And: {Boolean, Boolean, Boolean, false}, Or: {Boolean, Boolean, Boolean, false},
	Not: {Boolean, Boolean, Boolean, true}, DataToBool: {Number, Number, Boolean, true},
	BoolToData: {Boolean, Boolean, Number, true}, IsValid: {HeaderKind, HeaderKind, Boolean, true},
	UnionValid: {UnionKind, UnionKind, Boolean, true},
	LastIndex:  {StackKind, StackKind, Number, true}, StackSize: {StackKind, StackKind, Number, true},
}

// operation reads an operator with its operands.
func (r *reader) operation(n *node, s scope) *Expr {
	opNode := n.get("op")
	e := &Expr{Op: Op(opNode.text())}
	switch e.Op {
	case Equal, NotEqual:
		e.Left, e.Kind = r.expr(n.get("left"), s), Boolean
		e.Right = r.expression(n.get("right"), s, e.Left.Kind)
		if e.Left.Kind > UnionKind || e.Left.Kind == StackKind {
			n.fail("compares %s, want numbers, booleans, headers or unions", e.Left.Kind)
		}
		return e
	case Ternary2:
		e.Cond, e.Left = r.expression(n.get("cond"), s, Boolean), r.expr(n.get("left"), s)
		e.Kind = e.Left.Kind
		e.Right = r.expression(n.get("right"), s, e.Kind)
		if e.Kind > Boolean {
			n.fail("chooses between %ss, want numbers or booleans", e.Kind)
		}
		return e
	case StackElement, UnionElement, AccessField, AccessUnion:
		return r.access(n, e, s)
	}
	o, ok := operators[e.Op]
	if !ok {
		opNode.fail("operator %q is not supported", e.Op)
	}
	e.Kind = o.result
	if o.unary {
		e.Right = r.unary(n, s)
		if stack := e.Right.Kind == UnionStackKind && o.right == StackKind; e.Right.Kind != o.right && !stack {
			n.fail("operand of %q is %s, want %s", e.Op, e.Right.Kind, o.right)
		}
		return e
	}
	e.Left, e.Right = r.expression(n.get("left"), s, o.left), r.expression(n.get("right"), s, o.right)
	r.widthOperand(n, e)
	return e
}

// unary returns the only operand, which most files have as the right one.
func (r *reader) unary(n *node, s scope) *Expr {
	if right := n.has("right"); right != nil {
		return r.expr(right, s)
	}
	return r.expr(n.get("left"), s)
}

// widthOperand requires a constant width from casts, because their result depends on nothing else.
func (r *reader) widthOperand(n *node, e *Expr) {
	if e.Op != TwoComp && e.Op != SatCast && e.Op != USatCast {
		return
	}
	if w := e.Right.Value; e.Right.Op != Const || !w.IsInt64() || w.Int64() < 1 || w.Int64() > maxWidth {
		n.get("right").fail("is not a constant from 1 to %d, the width of %s", maxWidth, e.Op)
	}
}

// access reads the operators that name a part of a header, stack or union.
func (r *reader) access(n *node, e *Expr, s scope) *Expr {
	left := n.get("left")
	switch e.Op {
	case StackElement:
		e.Left, e.Right = r.expression(left, s, StackKind), r.expression(n.get("right"), s, Number)
		e.Kind, e.Stack, e.Type = HeaderKind, e.Left.Stack, e.Left.Stack.Type
	case UnionElement:
		e.Left, e.Right = r.expression(left, s, UnionStackKind), r.expression(n.get("right"), s, Number)
		e.Kind, e.UnionStack = UnionKind, e.Left.UnionStack
	case AccessField:
		e.Left = r.expression(left, s, HeaderKind)
		e.Index, e.Kind = n.get("right").integer(0, len(e.Left.Type.Fields)-1), Number
	case AccessUnion:
		e.Left, e.Kind = r.expression(left, s, UnionKind), HeaderKind
		var headers []*Header
		switch {
		case e.Left.Union != nil:
			headers = e.Left.Union.Headers
		case e.Left.UnionStack != nil:
			headers = e.Left.UnionStack.Unions[0].Headers
		}
		e.Index = n.get("right").integer(0, len(headers)-1)
		e.Type = headers[e.Index].Type
	}
	return e
}
