package p4graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
)

// decodeValue decodes a type value object or an expression. The limits on elements bound its memory.
func decodeValue(b json.RawMessage) (any, error) {
	if b == nil {
		return nil, nil
	}
	var v any
	err := json.Unmarshal(b, &v)
	return v, err
}

// read adds everything that a value reads: its fields, headers and registers. Values nest, so the walk is iterative.
func (p *bmProgram) read(u use, value any) {
	for todo := []any{value}; len(todo) > 0; {
		last := len(todo) - 1
		v := todo[last]
		todo = todo[:last]
		switch v := v.(type) {
		case []any:
			todo = append(todo, v...)
		case map[string]any:
			todo = append(todo, p.readOne(u, v)...)
		}
	}
}

// readOne adds the direct reads of an object, and returns its other values.
func (p *bmProgram) readOne(u use, v map[string]any) []any {
	if op, ok := v["op"].(string); ok {
		return p.readOperator(u, op, v)
	}
	value := v["value"]
	name, named := value.(string)
	switch v["type"] {
	case "field", "stack_field", "union_stack_field":
		u.reads.put(p.fieldsOf(value)...)
	case "header", "header_stack", "header_union", "header_union_stack":
		u.reads.put(p.wholes(value)...)
	case "register":
		register, index := registerAt(value)
		u.reads.put(register...)
		return index
	case "register_array":
		if named {
			u.reads.put(registers + name)
		}
	case "calculation":
		if named {
			maps.Copy(u.reads, p.inputs[name])
		}
	case "expression", "parameters_vector":
		return []any{value}
	}
	return nil
}

// readOperator adds the read of a header's validity, and returns the operands of other operators.
func (p *bmProgram) readOperator(u use, op string, v map[string]any) []any {
	right, _ := v["right"].(map[string]any)
	name, ok := right["value"].(string)
	if !ok || op != "valid" && op != "valid_union" {
		return []any{v["left"], v["right"], v["cond"]}
	}
	for _, h := range p.headersOf(name) {
		u.reads.put(h + valid)
	}
	return nil
}

// registerAt returns the register of [name, index], if the value has this form, and the index.
func registerAt(value any) (register []string, index []any) {
	pair, _ := value.([]any)
	if len(pair) != 2 {
		return nil, nil
	}
	if name, ok := pair[0].(string); ok {
		register = []string{registers + name}
	}
	return register, pair[1:]
}

// fieldsOf returns the fields that [header, field] names: one, or the field of every header of a group.
func (p *bmProgram) fieldsOf(value any) []string {
	pair, _ := value.([]any)
	if len(pair) < 2 {
		return nil
	}
	header, ok := pair[0].(string)
	field, ok2 := pair[len(pair)-1].(string)
	if !ok || !ok2 {
		return nil
	}
	var fields []string
	for _, h := range p.headersOf(header) {
		fields = append(fields, h+"."+field)
	}
	return fields
}

// wholes returns, for each header that a name stands for, the name for all its fields.
func (p *bmProgram) wholes(value any) []string {
	name, ok := value.(string)
	if !ok {
		return nil
	}
	var fields []string
	for _, h := range p.headersOf(name) {
		fields = append(fields, h+whole)
	}
	return fields
}

// write adds the writes through a value: a field, a register, headers, or an expression that selects one by an index.
// Such an expression writes its whole group.
func (p *bmProgram) write(u use, value any) {
	found := newUse()
	v, ok := value.(map[string]any)
	if !ok {
		return
	}
	switch v["type"] {
	case "expression":
		p.read(found, v)
		// An expression with an index is a header of a stack. Fields in it are reads.
		for f := range found.reads {
			if strings.HasSuffix(f, whole) {
				u.writes[f] = true
			} else {
				u.reads[f] = true
			}
		}
	case "register":
		register, index := registerAt(v["value"])
		u.writes.put(register...)
		p.read(u, index)
	default:
		p.read(found, v)
		for f := range found.reads {
			u.writes[f] = true
		}
	}
}

// primitive adds the reads and writes of a primitive. Counters impose no order. Clones, digests and forwarding
// decisions affect no field.
func (p *bmProgram) primitive(u use, q bmPrimitive) error {
	values, err := parameters(q)
	if err != nil {
		return err
	}
	value := func(i int) any {
		if i < len(values) {
			return values[i]
		}
		return nil
	}
	if writes, reads, ok := plainPrimitive(q.Op); ok {
		if writes {
			p.write(u, value(0))
		}
		for i := reads; i < len(values); i++ {
			p.read(u, values[i])
		}
		return nil
	}
	switch q.Op {
	case "drop":
		u.writes["standard_metadata.egress_spec"] = true
		u.writes["intrinsic_metadata.mcast_grp"] = true
	case "mark_to_drop":
		header, ok := nameOf(value(0))
		if !ok {
			header = "standard_metadata"
		}
		u.writes[header+".egress_spec"] = true
		u.writes[header+".mcast_grp"] = true
	case "remove_header":
		if header, ok := nameOf(value(0)); ok {
			for _, h := range p.headersOf(header) {
				u.writes[h+valid] = true
			}
		}
	case "execute_meter":
		p.read(u, value(1))
		p.write(u, value(2))
	default: // a target's own primitive, which may read and write all its parameters
		for _, v := range values {
			p.write(u, v)
		}
		p.read(u, values)
	}
	return nil
}

// plainPrimitive describes a simple primitive: whether it writes through its first parameter, and the index from which
// it reads all parameters.
func plainPrimitive(op string) (writes bool, reads int, ok bool) {
	switch op {
	case "exit", "_jump":
		return false, math.MaxInt, true
	case "_jump_if_zero", "assert", "assume", "log_msg", "count", "truncate", "recirculate", "resubmit",
		"clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress", "generate_digest":
		return false, 0, true
	case "assign", "assign_VL", "assign_header", "assign_union", "assign_header_stack", "assign_union_stack",
		"modify_field_rng_uniform", "modify_field_with_hash_based_offset", "add_header", "push", "pop", "register_read",
		"register_write":
		return true, 1, true
	}
	return false, 0, false
}

func parameters(q bmPrimitive) ([]any, error) {
	values := make([]any, len(q.Parameters))
	for i, b := range q.Parameters {
		var err error
		if values[i], err = decodeValue(b); err != nil {
			return nil, fmt.Errorf("%q: parameter %d: %w", q.Op, i, err)
		}
	}
	return values, nil
}

// nameOf returns the name of a header in a parameter.
func nameOf(value any) (string, bool) {
	v, _ := value.(map[string]any)
	name, ok := v["value"].(string)
	return name, ok
}
