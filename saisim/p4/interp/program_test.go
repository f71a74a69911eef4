package interp

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tamtam/saisim/p4"
)

// base is a small program of v1model in p4c's form, in which tests replace parts. A packet has the header h: op (8
// bits), a and b (32 bits each), n (8 bits, signed). The table ingress.t selects by op.
const base = `{
"header_types": [
 {"name": "scalars_0", "id": 0, "fields": [["x", 32, false], ["s", 8, true], ["wide", 200, false]]},
 {"name": "standard_metadata", "id": 1, "fields": [["ingress_port", 9, false], ["egress_spec", 9, false],
  ["egress_port", 9, false], ["instance_type", 32, false], ["packet_length", 32, false], ["enq_timestamp", 32, false],
  ["enq_qdepth", 19, false], ["deq_timedelta", 32, false], ["deq_qdepth", 19, false],
  ["ingress_global_timestamp", 48, false], ["egress_global_timestamp", 48, false], ["mcast_grp", 16, false],
  ["egress_rid", 16, false], ["checksum_error", 1, false], ["parser_error", 32, false], ["priority", 3, false],
  ["_padding", 3, false]]},
 {"name": "h_t", "id": 2, "fields": [["op", 8, false], ["a", 32, false], ["b", 32, false], ["n", 8, true]]},
 {"name": "e_t", "id": 3, "fields": [["v", 16, false]]},
 {"name": "v_t", "id": 4, "fields": [["len", 8, false], ["data", "*"]], "length_exp": null, "max_length": 5}],
"headers": [
 {"name": "scalars", "id": 0, "header_type": "scalars_0", "metadata": true},
 {"name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": true},
 {"name": "h", "id": 2, "header_type": "h_t", "metadata": false},
 {"name": "st[0]", "id": 3, "header_type": "e_t", "metadata": false},
 {"name": "st[1]", "id": 4, "header_type": "e_t", "metadata": false},
 {"name": "st[2]", "id": 5, "header_type": "e_t", "metadata": false},
 {"name": "u.e", "id": 6, "header_type": "e_t", "metadata": false},
 {"name": "u.v", "id": 7, "header_type": "v_t", "metadata": false},
 {"name": "v", "id": 8, "header_type": "v_t", "metadata": false},
 {"name": "e", "id": 9, "header_type": "e_t", "metadata": false}],
"header_stacks": [{"name": "st", "id": 0, "header_type": "e_t", "size": 3, "header_ids": [3, 4, 5]}],
"header_union_types": [{"name": "u_t", "id": 0, "headers": [["e", "e_t"], ["v", "v_t"]]}],
"header_unions": [{"name": "u", "id": 0, "union_type": "u_t", "header_ids": [6, 7]}],
"header_union_stacks": [],
"field_lists": [{"id": 1, "name": "fl", "elements": [{"type": "field", "value": ["scalars", "x"]}]},
 {"id": 2, "name": "none", "elements": []}],
"errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2], ["StackOutOfBounds", 3], ["HeaderTooShort", 4],
 ["ParserTimeout", 5], ["ParserInvalidArgument", 6], ["Mine", 9]],
"enums": [],
"parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [
 {"name": "start", "id": 0, "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
  "transitions": [{"type": "default", "value": null, "mask": null, "next_state": "more"}], "transition_key": []},
 {"name": "more", "id": 1, "parser_ops": [PARSE],
  "transitions": [TRANSITIONS], "transition_key": [KEY]}]}],
"parse_vsets": [{"name": "set", "id": 0, "compressed_bitwidth": 12}],
"deparsers": [{"name": "deparser", "id": 0,
 "order": ["h", "st[0]", "st[1]", "st[2]", "u.e", "u.v", "v", "e"]}],
"meter_arrays": [
 {"name": "bytes", "id": 0, "is_direct": false, "size": 4, "rate_count": 2, "type": "bytes"},
 {"name": "packets", "id": 1, "is_direct": false, "size": 4, "rate_count": 2, "type": "packets"},
 {"name": "direct", "id": 2, "is_direct": true, "binding": "ingress.t", "rate_count": 2, "type": "packets",
  "result_target": ["scalars", "x"]}],
"counter_arrays": [{"name": "count", "id": 0, "is_direct": false, "size": 4}],
"register_arrays": [{"name": "reg", "id": 0, "size": 4, "bitwidth": 16}],
"calculations": [
 {"name": "crc", "id": 0, "algo": "crc32", "input": [{"type": "field", "value": ["h", "a"]}]},
 {"name": "mixed", "id": 1, "algo": "identity", "input": [{"type": "hexstr", "value": "0x5", "bitwidth": 4},
  {"type": "field", "value": ["e", "v"]}, {"type": "field", "value": ["h", "op"]}]},
 {"name": "custom", "id": 2, "algo": "crc16_custom", "input": [{"type": "field", "value": ["h", "a"]}]}],
"learn_lists": [{"id": 1, "name": "learn", "elements": [{"type": "field", "value": ["h", "a"]}]}],
"actions": [
 {"name": "nop", "id": 0, "runtime_data": [], "primitives": []},
 {"name": "run", "id": 1, "runtime_data": [{"name": "p", "bitwidth": 16}], "primitives": [INGRESS]},
 {"name": "out", "id": 2, "runtime_data": [], "primitives": [EGRESS]},
 {"name": "drop", "id": 3, "runtime_data": [], "primitives": [{"op": "mark_to_drop", "parameters": [
  {"type": "header", "value": "standard_metadata"}], "source_info": {"filename": "t.p4", "line": 7}}]}],
"pipelines": [
 {"name": "ingress", "id": 0, "init_table": "ingress.t", "tables": [
  {"name": "ingress.t", "id": 0, "key": [{"match_type": "KIND", "target": ["h", "op"], "mask": null}],
   "match_type": "KIND", "type": "simple", "max_size": 4, "with_counters": true, "support_timeout": true,
   "direct_meters": "direct", "action_ids": [0, 1, 3], "actions": ["nop", "run", "drop"], "base_default_next": null,
   "next_tables": {"nop": null, "run": null, "drop": null},
   "default_entry": {"action_id": 1, "action_const": false, "action_data": ["0x7"], "action_entry_const": false}}],
  "action_profiles": [], "conditionals": []},
 {"name": "egress", "id": 1, "init_table": "egress.t", "tables": [
  {"name": "egress.t", "id": 1, "key": [], "match_type": "exact", "type": "simple", "max_size": 4,
   "with_counters": false, "support_timeout": false, "direct_meters": null, "action_ids": [2], "actions": ["out"],
   "base_default_next": null, "next_tables": {"out": null},
   "default_entry": {"action_id": 2, "action_const": true, "action_data": [], "action_entry_const": true}}],
  "action_profiles": [], "conditionals": []}],
"checksums": [],
"field_aliases": [["intrinsic_metadata.mcast_grp", ["standard_metadata", "mcast_grp"]],
 ["intrinsic_metadata.egress_rid", ["standard_metadata", "egress_rid"]],
 ["intrinsic_metadata.priority", ["standard_metadata", "priority"]],
 ["intrinsic_metadata.ingress_global_timestamp", ["standard_metadata", "ingress_global_timestamp"]],
 ["intrinsic_metadata.egress_global_timestamp", ["standard_metadata", "egress_global_timestamp"]],
 ["queueing_metadata.enq_timestamp", ["standard_metadata", "enq_timestamp"]],
 ["queueing_metadata.enq_qdepth", ["standard_metadata", "enq_qdepth"]],
 ["queueing_metadata.deq_timedelta", ["standard_metadata", "deq_timedelta"]],
 ["queueing_metadata.deq_qdepth", ["standard_metadata", "deq_qdepth"]]],
"program": "test.p4", "__meta__": {"version": [2, 23]}}`

// parts are the parts of the base program that a test replaces.
type parts struct {
	ingress, egress []string // statements of the actions run and out, in the notation of st
	parse           []string // operations of the second parser state, as JSON
	key             string   // of the second state, as JSON
	transitions     string
	kind            string // match kind of ingress.t; exact if empty
}

// program returns the base program with replaced parts.
func (x parts) program(t *testing.T) *p4.Program {
	t.Helper()
	if x.transitions == "" {
		x.transitions = `{"type": "default", "value": null, "mask": null, "next_state": null}`
	}
	if x.kind == "" {
		x.kind = "exact"
	}
	text := strings.NewReplacer("INGRESS", statements(t, x.ingress), "EGRESS", statements(t, x.egress),
		"PARSE", strings.Join(x.parse, ","), "TRANSITIONS", x.transitions, "KEY", x.key, "KIND", x.kind).Replace(base)
	p, err := p4.Read(strings.NewReader(text), "test.json")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// statements returns statements as JSON.
func statements(t *testing.T, all []string) string {
	t.Helper()
	var parts []string
	for _, s := range all {
		parts = append(parts, st(t, s))
	}
	return strings.Join(parts, ",")
}

// st returns a statement in JSON. It is written as a primitive and its arguments, each in a short form: 12 is a number,
// h.a a field, =p a parameter, @NAME a header, stack, array or calculation by kind:name, and a JSON object is itself.
func st(t *testing.T, text string) string {
	t.Helper()
	op, rest, _ := strings.Cut(text, " ")
	var args []string
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] == '{' {
			var raw json.RawMessage
			d := json.NewDecoder(strings.NewReader(rest))
			if err := d.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			args = append(args, string(raw))
			rest = rest[d.InputOffset():]
			continue
		}
		word, more, _ := strings.Cut(rest, " ")
		args = append(args, arg(word))
		rest = more
	}
	return fmt.Sprintf(`{"op": %q, "parameters": [%s], "source_info": {"filename": "t.p4", "line": 5}}`, op,
		strings.Join(args, ","))
}

// arg returns an argument in JSON.
func arg(word string) string {
	switch {
	case word == "=p":
		return `{"type": "runtime_data", "value": 0}`
	case strings.Contains(word, ":"):
		kind, name, _ := strings.Cut(word, ":")
		return fmt.Sprintf(`{"type": %q, "value": %q}`, kind, name)
	case strings.Contains(word, "."):
		at := strings.LastIndex(word, ".")
		return fmt.Sprintf(`{"type": "field", "value": [%q, %q]}`, word[:at], word[at+1:])
	}
	digits, sign := strings.CutPrefix(word, "-")
	n := 0
	fmt.Sscan(digits, &n)
	return fmt.Sprintf(`{"type": "hexstr", "value": "%s0x%x"}`, map[bool]string{true: "-"}[sign], n)
}

// x returns an operator expression in JSON. An empty left side is null.
func x(op, left, right string) string {
	l := "null"
	if left != "" {
		l = expr(left)
	}
	return fmt.Sprintf(`{"type": "expression", "value": {"op": %q, "left": %s, "right": %s}}`, op, l, expr(right))
}

func expr(text string) string {
	if strings.HasPrefix(text, "{") {
		return text
	}
	return arg(text)
}

// A rig is a switch with its trace.
type rig struct {
	*Switch
	t      *testing.T
	events []Event
}

func (x parts) rig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t}
	sw, err := New(x.program(t), Config{Trace: func(e Event) { r.events = append(r.events, e) }})
	if err != nil {
		t.Fatal(err)
	}
	r.Switch = sw
	return r
}

// send runs a packet in hexadecimal and returns the frames that left, as "port: hex".
func (r *rig) send(port uint32, cycle uint64, text string) []string {
	r.t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.Receive(port, cycle, data); err != nil {
		r.t.Fatal(err)
	}
	a := r.Accounts()
	if !a.Balanced() {
		r.t.Errorf("accounts are not balanced: %+v", a)
	}
	var out []string
	for _, f := range r.Sent() {
		out = append(out, fmt.Sprintf("%d: %x", f.Port, f.Data))
	}
	return out
}

// kinds returns the names of the events of a kind.
func (r *rig) kinds(kind string) (names []string) {
	for _, e := range r.events {
		if e.Kind == kind {
			names = append(names, e.Name+e.Reason+e.Text)
		}
	}
	return names
}

func (r *rig) table(name string) *p4.Table {
	for _, t := range append(r.Program.Ingress.Tables, r.Program.Egress.Tables...) {
		if t.Name == name {
			return t
		}
	}
	r.t.Fatalf("no table %s", name)
	return nil
}

func (r *rig) action(name string) *p4.Action {
	for _, a := range r.Program.Actions {
		if a.Name == name {
			return a
		}
	}
	r.t.Fatalf("no action %s", name)
	return nil
}
