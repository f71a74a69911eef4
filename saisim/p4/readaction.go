package p4

// primitives are the parameters of each primitive, one letter each:
//
//	F field that is written    H header          R register array     T text
//	I number                   S stack           M meter array        L list of numbers
//	B number or boolean        s header stack    C counter array
//	V field of variable width  u stack of unions A calculation        U union
var primitives = map[string]string{
	"assign": "FI", "assign_VL": "VV", "assign_header": "HH", "assign_union": "UU", "assign_header_stack": "ss",
	"assign_union_stack": "uu", "push": "SI", "pop": "SI", "_jump": "I", "_jump_if_zero": "BI", "exit": "",
	"assume": "B", "assert": "B", "log_msg": "TL", "modify_field": "FI", "modify_field_rng_uniform": "FII",
	"add_to_field": "FI", "subtract_from_field": "FI", "add": "FII", "subtract": "FII", "bit_xor": "FII",
	"bit_or": "FII", "bit_and": "FII", "shift_left": "FII", "shift_right": "FII", "drop": "", "mark_to_drop": "H",
	"generate_digest": "II", "add_header": "H", "add_header_fast": "H", "remove_header": "H", "copy_header": "HH",
	"clone_ingress_pkt_to_egress": "II", "clone_egress_pkt_to_egress": "II", "resubmit": "I", "recirculate": "I",
	"modify_field_with_hash_based_offset": "FIAI", "no_op": "", "execute_meter": "MIF", "count": "CI",
	"register_read": "FRI", "register_write": "RII", "truncate": "I",
}

// letterKinds are the kinds of arguments that a letter of primitives stands for.
var letterKinds = map[byte][]Kind{
	'F': {Number}, 'I': {Number}, 'B': {Number, Boolean}, 'V': {Number}, 'H': {HeaderKind}, 'U': {UnionKind},
	'S': {StackKind, UnionStackKind}, 's': {StackKind}, 'u': {UnionStackKind}, 'R': {RegisterKind}, 'M': {MeterKind},
	'C': {CounterKind}, 'A': {CalculationKind}, 'T': {TextKind}, 'L': {ListKind},
}

func (r *reader) readActions(root *node) {
	for _, n := range root.each("actions", "action") {
		a := &Action{ID: n.get("id").integer(0, 1<<30), Name: n.get("name").text(), Source: n.source()}
		if r.actions[a.ID] != nil {
			n.fail("has the id %d of another action", a.ID)
		}
		for _, p := range n.get("runtime_data").list() {
			a.Params = append(a.Params, Param{p.get("name").text(), p.get("bitwidth").integer(1, maxWidth)})
		}
		statements := n.get("primitives").list()
		for i, s := range statements {
			st := r.statement(s.labelled("statement %d", i), scope{params: len(a.Params)})
			r.jump(s, st, len(statements))
			a.Statements = append(a.Statements, st)
		}
		r.actions[a.ID] = a
		r.Actions = append(r.Actions, a)
	}
}

// jump requires a constant target of a jump within the action.
func (r *reader) jump(n *node, s *Statement, statements int) {
	if s.Op != "_jump" && s.Op != "_jump_if_zero" {
		return
	}
	target := s.Args[len(s.Args)-1]
	if target.Op != Const || !target.Value.IsInt64() || target.Value.Int64() < 0 ||
		target.Value.Int64() > int64(statements) {
		n.fail("target of %s is not a constant from 0 to %d, the number of statements", s.Op, statements)
	}
}

// statement reads the call of a primitive.
func (r *reader) statement(n *node, s scope) *Statement {
	op := n.get("op")
	st := &Statement{Op: op.text(), Source: n.source()}
	letters, ok := primitives[st.Op]
	if !ok {
		n.fail("primitive %q is not supported, want one of v1model", st.Op)
	}
	args := n.get("parameters").list()
	if len(args) != len(letters) {
		n.fail("primitive %s has %d parameters, want %d", st.Op, len(args), len(letters))
	}
	for i, arg := range args {
		arg.labelled("%s, parameter %d", st.Op, i)
		e := r.expr(arg, s)
		r.checkArg(arg, e, letters[i])
		st.Args = append(st.Args, e)
	}
	r.sameTypes(n, st)
	return st
}

// checkArg requires that an argument is what its letter stands for.
func (r *reader) checkArg(n *node, e *Expr, letter byte) {
	kinds := letterKinds[letter]
	fits := false
	for _, k := range kinds {
		fits = fits || e.Kind == k
	}
	if !fits {
		n.fail("is %s, want %s", e.Kind, kinds[0])
	}
	switch letter {
	case 'F':
		if t, at := target(e); t == nil || at == Valid || t.Fields[at].Var {
			n.fail("is not a field that can be written")
		}
	case 'V':
		if t, at := target(e); t == nil || at == Valid || !t.Fields[at].Var {
			n.fail("is not a field of variable width")
		}
	}
}

// target returns the type of the header and the index of the field that an expression names, or nil.
func target(e *Expr) (*HeaderType, int) {
	switch e.Op {
	case FieldOp:
		return e.Field.Header.Type, e.Field.Index
	case AccessField:
		return e.Left.Type, e.Index
	case LastField:
		return e.Stack.Type, e.Index
	}
	return nil, 0
}

// sameTypes requires equal types of the arguments of assignments between headers, stacks and unions, and between
// fields of variable width. It also requires that a drop names the standard metadata.
func (r *reader) sameTypes(n *node, s *Statement) {
	same := true
	switch s.Op {
	case "assign_header", "copy_header":
		same = s.Args[0].Type == s.Args[1].Type
	case "assign_header_stack":
		a, b := s.Args[0].Stack, s.Args[1].Stack
		same = a.Type == b.Type && len(a.Headers) == len(b.Headers)
	case "assign_union":
		same = unionType(s.Args[0]) == unionType(s.Args[1])
	case "assign_union_stack":
		a, b := s.Args[0].UnionStack, s.Args[1].UnionStack
		same = a.Type == b.Type && len(a.Unions) == len(b.Unions)
	case "mark_to_drop":
		if s.Args[0].Type.find("egress_spec") < 0 {
			n.fail("header of type %q has no field egress_spec, want the standard metadata", s.Args[0].Type.Name)
		}
	}
	if !same {
		n.fail("%s between different types", s.Op)
	}
}

func unionType(e *Expr) string {
	if e.Union != nil {
		return e.Union.Type
	}
	return e.UnionStack.Type
}
