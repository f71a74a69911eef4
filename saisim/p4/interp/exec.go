package interp

import (
	"math/big"
	"strings"

	"tamtam/saisim/p4"
)

// maxStatements bounds the statements of one call of an action, because jumps can form a loop.
const maxStatements = 1 << 16

// act runs an action. The statements after an exit still run, as in bmv2.
func (f *frame) act(a *p4.Action, args []*big.Int) {
	f.args = args
	for i, n := 0, 0; i < len(a.Statements) && f.dead == ""; n++ {
		if n == maxStatements {
			f.kill(DropLoop)
			return
		}
		st := a.Statements[i]
		i++
		switch st.Op {
		case "_jump":
			i = int(st.Args[0].Value.Int64())
		case "_jump_if_zero":
			if !f.truth(st.Args[0]) {
				i = int(st.Args[1].Value.Int64())
			}
		default:
			f.statement(st)
		}
	}
}

// truth evaluates a number or a boolean as a condition.
func (f *frame) truth(e *p4.Expr) bool {
	if e.Kind == p4.Boolean {
		return f.boolean(e)
	}
	return f.number(e).Sign() != 0
}

// assign writes a field that an expression names. A write to an element outside a stack has no effect.
func (f *frame) assign(e *p4.Expr, v *big.Int) {
	h, at := f.target(e)
	if h == nil {
		return
	}
	f.phv.write(h, at, v)
	if spec := f.Program.Standard.EgressSpec; spec.Header == h && spec.Index == at {
		f.dropper(f.phv.get(spec).Cmp(f.drop) == 0)
	}
}

// dropper remembers the statement that marked the packet to be dropped, or forgets it.
func (f *frame) dropper(drops bool) {
	f.droppedBy = p4.Source{}
	if drops {
		f.droppedBy = f.at
	}
}

// twoOperands are the primitives of P4_14 that compute a field from two values, and those that change a field by one.
var (
	twoOperands = map[string]p4.Op{
		"add": p4.Add, "subtract": p4.Sub, "bit_xor": p4.BitXor, "bit_or": p4.BitOr, "bit_and": p4.BitAnd,
		"shift_left": p4.ShiftLeft, "shift_right": p4.ShiftRight,
	}
	oneOperand = map[string]p4.Op{"add_to_field": p4.Add, "subtract_from_field": p4.Sub}
)

// statement runs one primitive.
func (f *frame) statement(st *p4.Statement) {
	f.at = st.Source
	a := st.Args
	if op, ok := twoOperands[st.Op]; ok {
		f.assign(a[0], f.arithmetic(op, f.number(a[1]), f.number(a[2])))
		return
	}
	if op, ok := oneOperand[st.Op]; ok {
		f.assign(a[0], f.arithmetic(op, f.number(a[0]), f.number(a[1])))
		return
	}
	switch st.Op {
	case "assign", "modify_field":
		f.assign(a[0], f.number(a[1]))
	case "no_op":
	case "exit":
		f.exit = true
	case "assert", "assume":
		if !f.truth(a[0]) {
			f.kill(DropAssertion)
		}
	case "log_msg":
		f.log(st)
	case "drop", "mark_to_drop":
		f.phv.set(f.Program.Standard.EgressSpec, f.drop)
		f.phv.set(f.Program.Standard.MulticastGroup, zero)
		f.dropper(true)
	case "modify_field_rng_uniform":
		f.randomNumber(a[0], low64(f.number(a[1])), low64(f.number(a[2])))
	case "modify_field_with_hash_based_offset":
		f.hashOffset(a)
	default:
		if !f.headerStatement(st.Op, a) && !f.stateStatement(st.Op, a) {
			f.packetStatement(st.Op, a)
		}
	}
}

// headerStatement runs a primitive on headers, and reports whether it is one.
func (f *frame) headerStatement(op string, a []*p4.Expr) bool {
	switch op {
	case "add_header", "add_header_fast":
		if h := f.header(a[0]); h != nil && !f.phv.headers[h.Index].valid {
			f.phv.add(h)
			f.length += f.phv.size(h)
		}
	case "remove_header":
		if h := f.header(a[0]); h != nil && f.phv.headers[h.Index].valid {
			f.length -= f.phv.size(h)
			f.phv.headers[h.Index].valid = false
		}
	case "assign_header", "copy_header":
		if to, from := f.header(a[0]), f.header(a[1]); to != nil && from != nil {
			f.phv.assign(to, from)
		}
	case "assign_union":
		if to, from := f.union(a[0]), f.union(a[1]); to != nil && from != nil {
			f.assignUnion(to, from)
		}
	case "assign_header_stack":
		to, from := a[0].Stack, a[1].Stack
		f.phv.next[to.Index] = f.phv.next[from.Index]
		for i := range to.Headers {
			f.phv.assign(to.Headers[i], from.Headers[i])
		}
	case "assign_union_stack":
		to, from := a[0].UnionStack, a[1].UnionStack
		f.phv.unions[to.Index] = f.phv.unions[from.Index]
		for i := range to.Unions {
			f.assignUnion(to.Unions[i], from.Unions[i])
		}
	case "assign_VL":
		f.assignVariable(a[0], a[1])
	case "push":
		f.shiftStack(a[0], stackStep(f.number(a[1])))
	case "pop":
		f.shiftStack(a[0], -stackStep(f.number(a[1])))
	default:
		return false
	}
	return true
}

// assignUnion copies a union: the valid member last, because it makes the others invalid.
func (f *frame) assignUnion(to, from *p4.Union) {
	var valid int
	for i := range to.Headers {
		if f.phv.headers[from.Headers[i].Index].valid {
			valid = i
		}
	}
	for i := range to.Headers {
		f.phv.assign(to.Headers[i], from.Headers[i])
	}
	f.phv.assign(to.Headers[valid], from.Headers[valid])
}

// assignVariable copies a field of variable width with its width.
func (f *frame) assignVariable(to, from *p4.Expr) {
	dst, at := f.target(to)
	src, from1 := f.target(from)
	if dst == nil || src == nil || !f.phv.headers[dst.Index].valid {
		return
	}
	width := 0
	if f.phv.headers[src.Index].valid {
		width = f.phv.headers[src.Index].width
	}
	if limit := dst.Type.Fields[at].Width; width > limit {
		f.undefined("%d bits stored in a field of at most %d", width, limit)
		return
	}
	value := f.phv.raw(src, from1)
	f.phv.headers[dst.Index].width = width
	f.phv.write(dst, at, value)
}

// stackStep returns the number of places of a push or pop. No stack has more places than the bound.
func stackStep(v *big.Int) int {
	const bound = 1 << 20
	if v.Sign() >= 0 && v.IsInt64() && v.Int64() < bound {
		return int(v.Int64())
	}
	return bound
}

func (f *frame) shiftStack(e *p4.Expr, by int) {
	var elements [][]*p4.Header
	if e.UnionStack != nil {
		for _, u := range e.UnionStack.Unions {
			elements = append(elements, u.Headers)
		}
		f.phv.shift(elements, &f.phv.unions[e.UnionStack.Index], by)
		return
	}
	for _, h := range e.Stack.Headers {
		elements = append(elements, []*p4.Header{h})
	}
	f.phv.shift(elements, &f.phv.next[e.Stack.Index], by)
}

// stateStatement runs a primitive on registers, counters or meters, and reports whether it is one. An index outside the
// array has no effect.
func (f *frame) stateStatement(op string, a []*p4.Expr) bool {
	switch op {
	case "register_read":
		r := a[1].Register
		if i, ok := f.index(f.number(a[2]), r.Size, r.Name); ok {
			f.assign(a[0], f.register(r, i))
		}
	case "register_write":
		r := a[0].Register
		if i, ok := f.index(f.number(a[1]), r.Size, r.Name); ok {
			f.registers[r.Index][i] = new(big.Int).And(f.number(a[2]), mask(r.Width))
		}
	case "count":
		c := a[0].Counter
		if i, ok := f.index(f.number(a[1]), c.Size, c.Name); ok {
			v := f.counters[c.Index][i]
			v.Packets++
			v.Bytes += uint64(f.arrived)
			f.counters[c.Index][i] = v
		}
	case "execute_meter":
		m := a[0].Meter
		if i, ok := f.index(f.number(a[1]), m.Size, m.Name); ok {
			f.assign(a[2], f.colour(m, f.meter(m, i)))
		}
	default:
		return false
	}
	return true
}

// colour runs a meter on the packet and returns its colour.
func (f *frame) colour(m *p4.Meter, state *meter) *big.Int {
	units := 1
	if m.Bytes {
		units = f.arrived
	}
	return big.NewInt(int64(state.colour(f.now, f.hz, units)))
}

// packetStatement runs a primitive that asks for something to be done with the packet later.
func (f *frame) packetStatement(op string, a []*p4.Expr) {
	switch op {
	case "generate_digest":
		f.digest = int(low32(f.number(a[1])) & 0xffff)
	case "clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress":
		f.clones, f.session = true, int(low32(f.number(a[0]))&0x7fff)
		f.cloneList = int(low32(f.number(a[1])) & 0xffff)
	case "resubmit":
		f.resubmit = int(low32(f.number(a[0])) & 0xffff)
	case "recirculate":
		f.recirculate = int(low32(f.number(a[0])) & 0xffff)
	case "truncate":
		if n := f.number(a[0]); f.truncate < 0 || n.Cmp(big.NewInt(int64(f.truncate))) < 0 {
			f.truncate = int(min(low64(n), maxPacket))
		}
	default:
		panic("interp: primitive " + op + " is not one that the reader accepts")
	}
}

// hashOffset stores base + hash % max. A max of 0 counts as 1.
func (f *frame) hashOffset(a []*p4.Expr) {
	base, size := low64(f.number(a[1])), low64(f.number(a[3]))
	v := f.calculate(a[2].Calculation, f.phv, f.payload)
	f.assign(a[0], number(v%max(size, 1)+base))
}

// randomNumber stores a number from low to high. Nothing is written if low is above high.
func (f *frame) randomNumber(to *p4.Expr, low, high uint64) {
	if low > high {
		f.undefined("random number from %d to %d", low, high)
		return
	}
	v := f.Switch.random()
	if span := high - low + 1; span != 0 {
		v = low + v%span
	}
	f.assign(to, number(v))
}

// log writes the text of log_msg to the trace, with a value in place of each pair of braces.
func (f *frame) log(st *p4.Statement) {
	if f.config.Trace == nil {
		return
	}
	text := st.Args[0].Text
	var b strings.Builder
	for _, v := range st.Args[1].List {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(text[open:], '}')
		if end < 0 {
			break
		}
		b.WriteString(text[:open])
		b.WriteString(f.number(v).String())
		text = text[open+end+1:]
	}
	b.WriteString(text)
	f.event(Event{Kind: "log", Text: b.String(), Source: sourceOf(st.Source)})
}
