package recordplan

import (
	"encoding/json"
	"fmt"
	"strings"
)

// decodeValue decodes a type value object, or an expression. The bounds on elements
// bound what it takes.
func decodeValue(b json.RawMessage) (any, error) {
	if b == nil {
		return nil, nil
	}
	var v any
	err := json.Unmarshal(b, &v)
	return v, err
}

// read adds all that a value reads: the fields, headers and registers in it. Values
// nest, so they are gone through without recursion.
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

// readOne adds what an object reads itself, and returns what else is in it.
func (p *bmProgram) readOne(u use, v map[string]any) []any {
	if op, ok := v["op"].(string); ok {
		right, _ := v["right"].(map[string]any)
		if name, ok := right["value"].(string); ok && (op == "valid" || op == "valid_union") {
			for _, h := range p.headersOf(name) {
				u.reads[h+valid] = true
			}
			return nil
		}
		return []any{v["left"], v["right"], v["cond"]}
	}
	switch v["type"] {
	case "field", "stack_field", "union_stack_field":
		for _, f := range p.fieldsOf(v["value"]) {
			u.reads[f] = true
		}
	case "header", "header_stack", "header_union", "header_union_stack":
		for _, f := range p.wholes(v["value"]) {
			u.reads[f] = true
		}
	case "register":
		if pair, ok := v["value"].([]any); ok && len(pair) == 2 {
			if name, ok := pair[0].(string); ok {
				u.reads[registers+name] = true
			}
			return pair[1:]
		}
	case "register_array":
		if name, ok := v["value"].(string); ok {
			u.reads[registers+name] = true
		}
	case "calculation":
		if name, ok := v["value"].(string); ok {
			for f := range p.inputs[name] {
				u.reads[f] = true
			}
		}
	case "expression", "parameters_vector":
		return []any{v["value"]}
	}
	return nil
}

// fieldsOf are the fields that [header, field] names: one, or that of every header of
// a group.
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

// wholes are all fields of what a name stands for.
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

// write adds what is written through a value: a field, a register, headers, or an
// expression that finds one by an index, of which it writes the whole group.
func (p *bmProgram) write(u use, value any) {
	found := newUse()
	v, ok := value.(map[string]any)
	if !ok {
		return
	}
	switch v["type"] {
	case "expression":
		p.read(found, v)
		// What has an index in it is a header of a stack; fields in it are read.
		for f := range found.reads {
			if strings.HasSuffix(f, whole) {
				u.writes[f] = true
			} else {
				u.reads[f] = true
			}
		}
	case "register":
		pair, _ := v["value"].([]any)
		if len(pair) == 2 {
			if name, ok := pair[0].(string); ok {
				u.writes[registers+name] = true
			}
			p.read(u, pair[1])
		}
	default:
		p.read(found, v)
		for f := range found.reads {
			u.writes[f] = true
		}
	}
}

// primitive adds what a primitive reads and writes. Counters order nothing; clones,
// digests and what becomes of the packet afterwards touch no field of it.
func (p *bmProgram) primitive(u use, q bmPrimitive) error {
	values := make([]any, len(q.Parameters))
	for i, b := range q.Parameters {
		var err error
		if values[i], err = decodeValue(b); err != nil {
			return fmt.Errorf("%q: parameter %d: %w", q.Op, i, err)
		}
	}
	value := func(i int) any {
		if i < len(values) {
			return values[i]
		}
		return nil
	}
	// rest reads the parameters from i.
	rest := func(i int) {
		for ; i < len(values); i++ {
			p.read(u, values[i])
		}
	}
	switch q.Op {
	case "exit", "_jump", "no_op":
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
	case "remove_header", "setInvalid":
		if header, ok := nameOf(value(0)); ok {
			for _, h := range p.headersOf(header) {
				u.writes[h+valid] = true
			}
		}
	case "execute_meter":
		p.read(u, value(1))
		p.write(u, value(2))
	case "_jump_if_zero", "assert", "assume", "log_msg", "count", "truncate", "recirculate", "resubmit",
		"clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress", "generate_digest":
		rest(0)
	case "assign", "assign_VL", "assign_header", "assign_union", "assign_header_stack", "assign_union_stack",
		"modify_field", "modify_field_rng_uniform", "modify_field_with_hash_based_offset", "copy_header",
		"add_header", "add_header_fast", "setValid", "push", "pop", "register_read", "register_write",
		"add", "subtract", "bit_xor", "bit_or", "bit_and", "shift_left", "shift_right":
		p.write(u, value(0))
		rest(1)
	case "add_to_field", "subtract_from_field":
		p.write(u, value(0))
		rest(0)
	default: // of a target's own: it may read and write all that it is given
		for _, v := range values {
			p.write(u, v)
		}
		rest(0)
	}
	return nil
}

// nameOf is the name of a header that a parameter gives.
func nameOf(value any) (string, bool) {
	v, _ := value.(map[string]any)
	name, ok := v["value"].(string)
	return name, ok
}
