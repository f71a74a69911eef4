package interp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// in is a packet: op 1, a 0x11223344, b 5, n -1, and four bytes of payload.
const in = "01 11223344 00000005 ff aabbccdd"

// Each statement stores in h.a, and the packet leaves by port 0 with this value.
func TestNumbers(t *testing.T) {
	tests := []struct {
		name, value string
		want        uint32
	}{
		{"a sum is cut when it is stored", x("+", "h.a", "4294967295"), 0x11223343},
		{"a difference may be negative", x("-", "h.b", "6"), 0xffffffff},
		{"a comparison sees the whole sum", x("b2d", "", x(">", x("+", "h.a", "4294967295"), "h.a")), 1},
		{"a negative number is below 0", x("b2d", "", x("<", x("-", "h.b", "6"), "0")), 1},
		{"complement", x("~", "", "h.b"), 0xfffffffa},
		{"and of a negative number", x("&", "h.n", "65535"), 0xffff},
		{"a shift right rounds down", x(">>", "h.n", "1"), 0xffffffff},
		{"a shift left", x("<<", "h.b", "4"), 0x50},
		{"a shift by more than all bits", x(">>", x("<<", "h.b", "1000000"), "1000000"), 0},
		{"product", x("*", "h.b", "3"), 15},
		{"quotient", x("/", "17", "h.b"), 3},
		{"rest", x("%", "17", "h.b"), 2},
		{"two_comp_mod of 257", x("two_comp_mod", "257", "8"), 1},
		{"two_comp_mod of -129", x("two_comp_mod", "-129", "8"), 127},
		{"two_comp_mod of 128", x("two_comp_mod", "128", "8"), 0xffffff80},
		{"usat_cast above", x("usat_cast", "300", "8"), 255},
		{"usat_cast below", x("usat_cast", "-3", "8"), 0},
		{"sat_cast above", x("sat_cast", "300", "8"), 127},
		{"sat_cast below", x("sat_cast", "-300", "8"), 0xffffff80},
		{"valid", x("b2d", "", x("valid", "", "header:h")), 1},
		{"not valid", x("b2d", "", x("valid", "", "header:e")), 0},
		{"the hidden field", "h.$valid$", 1},
		{"two headers that are not valid are not equal", x("b2d", "", x("==", "header:e", "header:u.e")), 0},
		{"and are different", x("b2d", "", x("!=", "header:e", "header:u.e")), 1},
		{"a register", `{"type": "register", "value": ["reg", {"type": "hexstr", "value": "0x1"}]}`, 0},
		{"a choice", `{"type": "expression", "value": {"op": "?", "cond": ` + x("d2b", "", "h.b") + `, "left": ` +
			expr("8") + `, "right": ` + expr("9") + `}}`, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value := tt.value
			if !strings.HasPrefix(value, "{") {
				value = arg(value)
			}
			r := parts{ingress: []string{"assign h.a " + value}}.rig(t)
			want := []string{fmt.Sprintf("0: 01%08x00000005ffaabbccdd", tt.want)}
			if got := r.send(3, 0, in); !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
		})
	}
}

// What bmv2 or P4 leave open has one result here, and is counted.
func TestUndefinedOperations(t *testing.T) {
	stack := func(index string) string { return x("dereference_header_stack", "header_stack:st", index) }
	field := func(header string) string {
		return `{"type": "expression", "value": {"op": "access_field", "left": ` + header + `, "right": 0}}`
	}
	tests := []struct {
		name, statement, want string
		count                 uint64
	}{
		{"a field of a header that is not valid is 0", "assign h.a e.v", "00000000", 0},
		{"a division by 0 is 0", "assign h.a " + x("/", "h.a", "0"), "00000000", 1},
		{"so is that of a negative number", "assign h.a " + x("%", "h.n", "5"), "00000000", 1},
		{"a register outside reads 0 in an expression",
			`assign h.a {"type": "register", "value": ["reg", {"type": "hexstr", "value": "0x4"}]}`, "00000000", 1},
		{"register_read outside keeps the field", "register_read h.a register_array:reg 4", "11223344", 1},
		{"an element outside a stack reads 0", "assign h.a " + field(stack("3")), "00000000", 1},
		{"and is not written", "assign " + field(stack("3")) + " 5", "11223344", 1},
		{"the last element of an empty stack reads 0", `assign h.a {"type": "stack_field", "value": ["st", "v"]}`,
			"00000000", 1},
		{"the last index of an empty stack is -1", "assign h.a " + x("last_stack_index", "", "header_stack:st"),
			"ffffffff", 0},
		{"random from high to low keeps the field", "modify_field_rng_uniform h.a 5 4", "11223344", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parts{ingress: []string{tt.statement}}.rig(t)
			want := []string{"0: 01" + tt.want + "00000005ffaabbccdd"}
			if got := r.send(3, 0, in); !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
			if got := r.Accounts().Undefined; got != tt.count || len(r.kinds("undefined")) != int(tt.count) {
				t.Errorf("%d operations without a result, events %q, want %d", got, r.kinds("undefined"), tt.count)
			}
		})
	}
}

// Headers, stacks, unions and arrays.
func TestStatements(t *testing.T) {
	const rest = "00000005ffaabbccdd"
	tests := []struct {
		name    string
		ingress []string
		want    string // the packet that leaves by port 0
	}{
		{"add_header", []string{"add_header header:e", "assign e.v 258"}, "01 11223344 00000005 ff 0102 aabbccdd"},
		{"a header that is added is 0", []string{"assign e.v 258", "add_header header:e"},
			"01 11223344 00000005 ff 0000 aabbccdd"},
		{"a header that is valid keeps its fields", []string{"add_header header:h"}, "01 11223344" + rest},
		{"remove_header", []string{"remove_header header:h"}, "aabbccdd"},
		{"a removed header is 0 when it is back", []string{"remove_header header:h", "add_header header:h"},
			"00 00000000 00000000 00 aabbccdd"},
		{"assign_header of a header that is not valid", []string{"assign_header header:st[0] header:e"},
			"01 11223344" + rest},
		{"assign_header", []string{"add_header header:e", "assign e.v 7", "assign_header header:st[0] header:e",
			"remove_header header:e"}, "01 11223344 00000005 ff 0007 aabbccdd"},
		{"push", []string{"add_header header:st[0]", "assign st[0].v 1", "push header_stack:st 1",
			"add_header header:st[0]", "assign st[0].v 2"}, "01 11223344 00000005 ff 0002 0001 aabbccdd"},
		{"push beyond the end", []string{"add_header header:st[2]", "push header_stack:st 9"}, "01 11223344" + rest},
		{"pop", []string{"add_header header:st[1]", "assign st[1].v 3", "pop header_stack:st 1"},
			"01 11223344 00000005 ff 0003 aabbccdd"},
		{"one member of a union", []string{"add_header header:u.e", "add_header header:u.v", "assign u.v.len 9"},
			"01 11223344 00000005 ff 09 aabbccdd"},
		{"a register", []string{"register_write register_array:reg 2 65537", "register_read h.a register_array:reg 2"},
			"01 00000001" + rest},
		{"hash", []string{"modify_field_with_hash_based_offset h.a 10 calculation:crc 4294967296"},
			"01 " + fmt.Sprintf("%08x", uint32(10+crc32.sum([]byte{0x11, 0x22, 0x33, 0x44}, 32))) + rest},
		{"hash with a range of 0 is the base", []string{"modify_field_with_hash_based_offset h.a 10 calculation:crc 0"},
			"01 0000000a" + rest},
		{"a hash leaves out headers that are not valid",
			[]string{"modify_field_with_hash_based_offset h.a 0 calculation:mixed 65536"}, "01 00005010" + rest},
		{"truncate", []string{"truncate 9", "truncate 3", "truncate 12"}, "01 1122"},
		{"jump", []string{"_jump_if_zero 0 2", "assign h.a 9", "no_op"}, "01 11223344" + rest},
		{"no jump", []string{"_jump_if_zero 1 2", "assign h.a 9", "no_op"}, "01 00000009" + rest},
		{"statements after exit still run", []string{"exit", "assign h.a 9"}, "01 00000009" + rest},
		{"an argument", []string{"assign h.a =p"}, "01 00000007" + rest},
		{"arithmetic of P4_14", []string{"add h.a h.b 3", "subtract_from_field h.a 1"}, "01 00000007" + rest},
		{"a varbit field that is added is empty", []string{"add_header header:v"},
			"01 11223344 00000005 ff 00 aabbccdd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parts{ingress: tt.ingress}.rig(t)
			want := []string{"0: " + strings.ReplaceAll(tt.want, " ", "")}
			if got := r.send(3, 0, in); !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
		})
	}
}

// A packet is dropped by a mark, by an assertion that fails, and by a loop of jumps. The trace has the statement.
func TestDrops(t *testing.T) {
	tests := []struct {
		name            string
		ingress, egress []string
		want            Drop
	}{
		{"mark", []string{"mark_to_drop header:standard_metadata"}, nil, DropIngress},
		{"drop of P4_14", []string{"drop"}, nil, DropIngress},
		{"the port itself", []string{"assign standard_metadata.egress_spec 511"}, nil, DropIngress},
		{"egress", nil, []string{"mark_to_drop header:standard_metadata"}, DropEgress},
		{"assertion", []string{"assert 0", "assign h.a 1"}, nil, DropAssertion},
		{"loop", []string{"_jump 0"}, nil, DropLoop},
		{"group without ports", []string{"assign standard_metadata.mcast_grp 3"}, nil, DropNoCopies},
		{"endless resubmission", []string{"resubmit 2"}, nil, DropPasses},
		{"endless recirculation", nil, []string{"recirculate 2"}, DropPasses},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parts{ingress: tt.ingress, egress: tt.egress}.rig(t)
			if got := r.send(3, 0, in); got != nil {
				t.Errorf("sent %q", got)
			}
			if n := r.Accounts().Dropped[tt.want]; n != 1 {
				t.Errorf("dropped %v, want one %q", r.Accounts().Dropped, tt.want)
			}
			last := r.events[len(r.events)-1]
			if last.Kind != "dropped" || tt.want != DropLoop && tt.want != DropPasses && tt.want != DropNoCopies &&
				(last.Source == nil || last.Source.Line != 5) {
				t.Errorf("last event %+v, want the drop with line 5", last)
			}
		})
	}
	t.Run("a later port undoes a mark", func(t *testing.T) {
		r := parts{ingress: []string{"mark_to_drop header:standard_metadata",
			"assign standard_metadata.egress_spec 4"}}.rig(t)
		if got := r.send(3, 0, in); len(got) != 1 || !strings.HasPrefix(got[0], "4: ") {
			t.Errorf("sent %q, want one by port 4", got)
		}
	})
}

// log_msg fills in its values, also at the first character.
func TestLog(t *testing.T) {
	list := `{"type": "parameters_vector", "value": [` + arg("h.b") + `,` + arg("h.n") + `]}`
	r := parts{ingress: []string{`log_msg {"type": "string", "value": "{} and {}"} ` + list}}.rig(t)
	r.send(3, 0, in)
	if got := r.kinds("log"); !slices.Equal(got, []string{"5 and -1"}) {
		t.Errorf("logged %q", got)
	}
	r = parts{ingress: []string{`log_msg {"type": "string", "value": "{}, {} and {}"} ` + list}}.rig(t)
	r.send(3, 0, in)
	if got := r.kinds("log"); !slices.Equal(got, []string{"5, -1 and {}"}) {
		t.Errorf("logged %q with a value too few", got)
	}
}

// A field saturates or wraps, as its type says.
func TestSignedStore(t *testing.T) {
	r := parts{ingress: []string{"assign scalars.s 200", "assign h.a scalars.s"}}.rig(t)
	if got, want := r.send(3, 0, in), "0: 01ffffffc800000005ffaabbccdd"; len(got) != 1 || got[0] != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}
