package interp

import (
	"math/big"

	"tamtam/saisim/p4"
)

// maxStates bounds the states that the parser enters for one packet, because states can form a loop that extracts
// nothing. The error is then ParserTimeout.
const maxStates = 1 << 14

// parse extracts headers from the packet, sets parser_error and checksum_error, and keeps the rest as payload. An error
// ends parsing, not the packet.
func (f *frame) parse() {
	code := "NoError"
	number := -1
	at, states := 0, 0
	f.payload = f.data
	for s := f.Program.Parser.Start; s != nil && f.dead == ""; states++ {
		if states == maxStates {
			code = "ParserTimeout"
			break
		}
		f.event(Event{Kind: "state", Name: s.Name})
		if code, number = f.operations(s, &at); code != "NoError" {
			break
		}
		s = f.transition(s, at)
	}
	if number < 0 {
		number = f.Program.Errors[code]
	}
	f.payload = f.data[at:]
	f.phv.set(f.Program.Standard.ParserError, big.NewInt(int64(number)))
	if number != f.Program.Errors["NoError"] {
		f.event(Event{Kind: "parser_error", Name: f.errorName(number)})
	}
	f.verify()
}

// errorName returns the name of a parser error.
func (f *frame) errorName(number int) string {
	for name, code := range f.Program.Errors {
		if code == number {
			return name
		}
	}
	return big.NewInt(int64(number)).String()
}

// verify compares checksums and sets checksum_error.
func (f *frame) verify() {
	bad := zero
	for _, c := range f.Program.Checksums {
		if !c.Verify || !f.phv.headers[c.Target.Header.Index].valid || c.Condition != nil && !f.boolean(c.Condition) {
			continue
		}
		if sum := f.calculate(c.Calculation, f.phv, f.payload); f.phv.get(c.Target).Cmp(number(sum)) != 0 {
			bad = one
			f.event(Event{Kind: "checksum_error", Name: c.Name})
		}
	}
	f.phv.set(f.Program.Standard.ChecksumError, bad)
}

// operations runs the operations of a state. It returns the name of an error, or its number if the program chose it.
func (f *frame) operations(s *p4.State, at *int) (string, int) {
	for i := range s.Ops {
		op := &s.Ops[i]
		f.at = op.Source
		code := "NoError"
		switch op.Kind {
		case p4.Extract:
			code = f.extract(op, at)
		case p4.Set:
			code = f.parserSet(op, *at)
		case p4.Advance:
			code = f.advance(f.number(op.Value), at)
		case p4.Verify:
			if !f.boolean(op.Value) {
				return "verify", int(low32(f.number(op.Code)) & 0x7fffffff)
			}
		case p4.Call:
			f.args = nil
			f.statement(op.Statement)
		}
		if code != "NoError" || f.dead != "" {
			return code, -1
		}
	}
	return "NoError", -1
}

// extract extracts a header and returns an error's name.
func (f *frame) extract(op *p4.ParserOp, at *int) string {
	h, next := op.Header, (*int)(nil)
	switch {
	case op.Stack != nil:
		if next = &f.phv.next[op.Stack.Index]; *next == len(op.Stack.Headers) {
			return "StackOutOfBounds"
		}
		h = op.Stack.Headers[*next]
	case op.UnionStack != nil:
		if next = &f.phv.unions[op.UnionStack.Index]; *next == len(op.UnionStack.Unions) {
			return "StackOutOfBounds"
		}
		h = op.UnionStack.Unions[*next].Headers[op.Member]
	}
	variable := 0
	if h.Type.Var >= 0 {
		var code string
		if variable, code = f.variable(op, h, *at); code != "" {
			return code
		}
	}
	if len(f.data)-*at < (h.Type.Bits+variable)/8 {
		return "PacketTooShort"
	}
	*at += f.phv.extract(h, f.data[*at:], variable)
	if next != nil {
		*next++
	}
	return "NoError"
}

// variable returns the width of a header's variable field in bits, or an error's name.
func (f *frame) variable(op *p4.ParserOp, h *p4.Header, at int) (int, string) {
	length := op.Length
	if length == nil {
		// The width depends on fields of the header itself, so these are extracted first, as they are in the packet.
		if len(f.data)-at < h.Type.Bits/8 {
			return 0, "PacketTooShort"
		}
		saved := f.phv.headers[h.Index]
		f.phv.extract(h, f.data[at:], 0)
		length, f.own = h.Type.VarLength, h
		defer func() { f.own, f.phv.headers[h.Index] = nil, saved }()
	}
	bits := f.number(length)
	if bits.Sign() < 0 || low32(bits)%8 != 0 {
		return 0, "ParserInvalidArgument"
	}
	if !bits.IsInt64() || bits.Int64() > int64(len(f.data)-at)*8-int64(h.Type.Bits) {
		return 0, "PacketTooShort"
	}
	if h.Type.MaxBytes > 0 && h.Type.Bits+int(bits.Int64()) > h.Type.MaxBytes*8 {
		return 0, "HeaderTooShort"
	}
	return int(bits.Int64()), ""
}

// parserSet runs an assignment and returns an error's name.
func (f *frame) parserSet(op *p4.ParserOp, at int) string {
	to := &p4.Expr{Op: p4.FieldOp, Field: op.Target}
	switch {
	case op.Ahead != nil:
		if len(f.data)-at < (op.Ahead.Width+7)/8 {
			return "PacketTooShort"
		}
		f.assign(to, readBits(f.data, at*8+op.Ahead.Offset, op.Ahead.Width))
	case op.Target.Header.Type.Fields[op.Target.Index].Var:
		f.assignVariable(to, op.Value)
	default:
		f.assign(to, f.number(op.Value))
	}
	return "NoError"
}

// advance skips a number of bits and returns an error's name.
func (f *frame) advance(bits *big.Int, at *int) string {
	if bits.Sign() < 0 || low32(bits)%8 != 0 {
		return "ParserInvalidArgument"
	}
	if !bits.IsInt64() || bits.Int64() > int64(len(f.data)-*at)*8 {
		return "PacketTooShort"
	}
	*at += int(bits.Int64()) / 8
	return "NoError"
}

// transition returns the state that follows.
func (f *frame) transition(s *p4.State, at int) *p4.State {
	if len(s.Key) == 0 {
		return s.Next
	}
	key := new(big.Int)
	for _, k := range s.Key {
		key.Lsh(key, uint((k.Width+7)/8*8))
		if k.Value == nil {
			key.Or(key, readBits(f.data, at*8+k.Ahead.Offset, k.Width))
		} else if h, index := f.target(k.Value); h != nil {
			key.Or(key, f.phv.raw(h, index))
		}
	}
	for i := range s.Cases {
		if f.matches(&s.Cases[i], key) {
			return s.Cases[i].Next
		}
	}
	return s.Next
}

// matches reports whether a case matches a key.
func (f *frame) matches(c *p4.Case, key *big.Int) bool {
	cut := func(v *big.Int) *big.Int {
		if c.Mask == nil {
			return v
		}
		return new(big.Int).And(v, c.Mask)
	}
	key = cut(key)
	if c.Set == nil {
		return key.Cmp(c.Value) == 0
	}
	for _, v := range f.sets[c.Set.Index] {
		if key.Cmp(cut(c.Set.Expand(v, c.Parts))) == 0 {
			return true
		}
	}
	return false
}

// deparse returns the packet's bytes: its valid headers and its payload.
func (f *frame) deparse() []byte {
	for _, c := range f.Program.Checksums {
		if c.Update && (c.Condition == nil || f.boolean(c.Condition)) {
			f.phv.set(c.Target, number(f.calculate(c.Calculation, f.phv, f.payload)))
		}
	}
	for _, st := range f.Program.Deparser.Statements {
		f.args = nil
		f.statement(st)
	}
	var w bitWriter
	for _, h := range f.Program.Deparser.Order {
		if f.phv.headers[h.Index].valid {
			f.phv.emit(&w, h)
		}
	}
	return append(w.bytes, f.payload...)
}
