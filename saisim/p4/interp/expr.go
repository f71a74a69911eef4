package interp

import (
	"math/big"

	"tamtam/saisim/p4"
)

// A frame is where statements and expressions run: a packet, and the arguments of an action.
type frame struct {
	*Switch
	*packet
	args []*big.Int
	own  *p4.Header // the header whose length is computed, or nil
	at   p4.Source  // of the running statement
}

// number evaluates an expression of kind Number.
func (f *frame) number(e *p4.Expr) *big.Int {
	switch e.Op {
	case p4.Const:
		return e.Value
	case p4.FieldOp:
		return f.phv.get(e.Field)
	case p4.Local:
		if f.own != nil {
			return f.phv.field(f.own, e.Index)
		}
		return f.args[e.Index]
	case p4.LastField, p4.LastUnion, p4.AccessField:
		if h, at := f.target(e); h != nil {
			return f.phv.field(h, at)
		}
		return zero
	case p4.RegisterCell:
		return f.registerCell(e)
	case p4.BoolToData:
		if f.boolean(e.Right) {
			return one
		}
		return zero
	case p4.Ternary2:
		if f.boolean(e.Cond) {
			return f.number(e.Left)
		}
		return f.number(e.Right)
	case p4.StackSize:
		return big.NewInt(int64(f.count(e.Right)))
	case p4.LastIndex:
		return big.NewInt(int64(f.count(e.Right) - 1))
	case p4.BitNot:
		return new(big.Int).Not(f.number(e.Right))
	}
	return f.arithmetic(e.Op, f.number(e.Left), f.number(e.Right))
}

// registerCell returns an element of a register array, or 0 for an index outside.
func (f *frame) registerCell(e *p4.Expr) *big.Int {
	i, ok := f.index(f.number(e.Left), e.Register.Size, e.Register.Name)
	if !ok {
		return zero
	}
	return f.register(e.Register, i)
}

// count returns the number of extracted elements of a stack.
func (f *frame) count(e *p4.Expr) int {
	if e.UnionStack != nil {
		return f.phv.unions[e.UnionStack.Index]
	}
	return f.phv.next[e.Stack.Index]
}

// arithmetic applies an operator to two numbers.
func (f *frame) arithmetic(op p4.Op, a, b *big.Int) *big.Int {
	r := new(big.Int)
	switch op {
	case p4.Add:
		return r.Add(a, b)
	case p4.Sub:
		return r.Sub(a, b)
	case p4.Mul:
		return bounded(r.Mul(a, b))
	case p4.Div, p4.Mod:
		if a.Sign() < 0 || b.Sign() <= 0 {
			f.undefined("division of %v by %v", a, b)
			return r
		}
		if op == p4.Div {
			return r.Quo(a, b)
		}
		return r.Rem(a, b)
	case p4.ShiftLeft, p4.ShiftRight:
		return f.shift(op, a, b)
	case p4.BitAnd:
		return r.And(a, b)
	case p4.BitOr:
		return r.Or(a, b)
	case p4.BitXor:
		return r.Xor(a, b)
	case p4.TwoComp:
		return twosComplement(a, int(b.Int64()))
	case p4.SatCast:
		return saturate(a, int(b.Int64()))
	case p4.USatCast:
		return saturateUnsigned(a, int(b.Int64()))
	}
	panic("interp: operator " + string(op) + " is not one that the reader accepts")
}

// shift shifts by the low 32 bits of a count that is not negative. A negative number is divided and rounded down.
func (f *frame) shift(op p4.Op, a, b *big.Int) *big.Int {
	if b.Sign() < 0 {
		f.undefined("shift by %v", b)
		return a
	}
	by := uint(low32(b))
	if op == p4.ShiftRight {
		return new(big.Int).Rsh(a, by)
	}
	if by > maxBits {
		return zero
	}
	return bounded(new(big.Int).Lsh(a, by))
}

// boolean evaluates an expression of kind Boolean. Both sides of and, or are evaluated.
func (f *frame) boolean(e *p4.Expr) bool {
	switch e.Op {
	case p4.True:
		return true
	case p4.False:
		return false
	case p4.Not:
		return !f.boolean(e.Right)
	case p4.DataToBool:
		return f.number(e.Right).Sign() != 0
	case p4.IsValid:
		h := f.header(e.Right)
		return h != nil && f.phv.headers[h.Index].valid
	case p4.UnionValid:
		u := f.union(e.Right)
		return u != nil && f.phv.unionValid(u)
	case p4.And, p4.Or:
		a, b := f.boolean(e.Left), f.boolean(e.Right)
		return a && b || e.Op == p4.Or && (a || b)
	case p4.Ternary2:
		if f.boolean(e.Cond) {
			return f.boolean(e.Left)
		}
		return f.boolean(e.Right)
	case p4.Equal:
		return f.same(e)
	case p4.NotEqual:
		return !f.same(e)
	}
	order := f.number(e.Left).Cmp(f.number(e.Right))
	switch e.Op {
	case p4.Greater:
		return order > 0
	case p4.GreaterEqual:
		return order >= 0
	case p4.Less:
		return order < 0
	case p4.LessEqual:
		return order <= 0
	}
	panic("interp: operator " + string(e.Op) + " is not one that the reader accepts")
}

// same compares the sides of == and !=.
func (f *frame) same(e *p4.Expr) bool {
	switch e.Left.Kind {
	case p4.Boolean:
		return f.boolean(e.Left) == f.boolean(e.Right)
	case p4.HeaderKind:
		a, b := f.header(e.Left), f.header(e.Right)
		return a != nil && b != nil && f.phv.equal(a, b)
	case p4.UnionKind:
		a, b := f.union(e.Left), f.union(e.Right)
		return a != nil && b != nil && f.phv.unionEqual(a, b)
	}
	return f.number(e.Left).Cmp(f.number(e.Right)) == 0
}

// header returns the header that an expression names, or nil for an index outside a stack.
func (f *frame) header(e *p4.Expr) *p4.Header {
	switch e.Op {
	case p4.HeaderOp:
		return e.Header
	case p4.StackElement:
		if i, ok := f.index(f.number(e.Right), len(e.Stack.Headers), e.Stack.Name); ok {
			return e.Stack.Headers[i]
		}
	case p4.AccessUnion:
		if u := f.union(e.Left); u != nil {
			return u.Headers[e.Index]
		}
	}
	return nil
}

// union returns the union that an expression names, or nil for an index outside a stack.
func (f *frame) union(e *p4.Expr) *p4.Union {
	if e.Op == p4.UnionOp {
		return e.Union
	}
	if i, ok := f.index(f.number(e.Right), len(e.UnionStack.Unions), e.UnionStack.Name); ok {
		return e.UnionStack.Unions[i]
	}
	return nil
}

// target returns the header and the index of the field that an expression names, or nil if there is no such header.
func (f *frame) target(e *p4.Expr) (*p4.Header, int) {
	switch e.Op {
	case p4.FieldOp:
		return e.Field.Header, e.Field.Index
	case p4.AccessField:
		return f.header(e.Left), e.Index
	case p4.LastField:
		if n := f.phv.next[e.Stack.Index]; n > 0 {
			return e.Stack.Headers[n-1], e.Index
		}
		f.undefined("last element of the empty stack %s", e.Stack.Name)
	case p4.LastUnion:
		if n := f.phv.unions[e.UnionStack.Index]; n > 0 {
			return e.UnionStack.Unions[n-1].Headers[e.Member], e.Index
		}
		f.undefined("last element of the empty stack %s", e.UnionStack.Name)
	}
	return nil, 0
}

// index returns an index within an array, from the low 32 bits of a number, and whether there is such an element.
func (f *frame) index(v *big.Int, size int, array string) (int, bool) {
	if i := low32(v); v.Sign() >= 0 && i < uint64(size) {
		return int(i), true
	}
	f.undefined("index %v of %s, which has %d elements", v, array, size)
	return 0, false
}
