package interp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/saisim/p4"
)

// Operations of the parser, as JSON.
const (
	toStack = `{"op": "extract", "parameters": [{"type": "stack", "value": "st"}]}`
	toE     = `{"op": "extract", "parameters": [{"type": "regular", "value": "e"}]}`
)

func verify(condition string, code int) string {
	return fmt.Sprintf(`{"op": "verify", "parameters": [%s, {"type": "hexstr", "value": "0x%x"}]}`, condition, code)
}

func advance(bits string) string {
	return fmt.Sprintf(`{"op": "advance", "parameters": [%s]}`, expr(bits))
}

func variable(bits string) string {
	return fmt.Sprintf(`{"op": "extract_VL", "parameters": [{"type": "regular", "value": "v"}, %s]}`, expr(bits))
}

func set(to, value string) string {
	return fmt.Sprintf(`{"op": "set", "parameters": [%s, %s]}`, arg(to), value)
}

func ahead(offset, width int) string {
	return fmt.Sprintf(`{"type": "lookahead", "value": [%d, %d]}`, offset, width)
}

// An error ends parsing and sets parser_error. The packet goes on with what was extracted, and the rest is payload.
func TestParserErrors(t *testing.T) {
	tests := []struct {
		name    string
		parse   []string
		payload string // after the header h
		code    int
		want    string // what leaves after h
	}{
		{"none", []string{toE}, "0001", 0, "0001"},
		{"too short for a header", []string{toE}, "07", 1, "07"},
		{"stack full", []string{toStack, toStack, toStack, toStack}, "0001000200030004", 3, "0001000200030004"},
		{"verify", []string{verify(x("==", "h.op", "2"), 9), toE}, "0001", 9, "0001"},
		{"verify holds", []string{verify(x("==", "h.op", "1"), 9)}, "", 0, ""},
		{"advance", []string{advance("16"), toE}, "00010002", 0, "0002"},
		{"advance beyond the end", []string{advance("24")}, "0001", 1, "0001"},
		{"advance by a part of a byte", []string{advance("4")}, "0001", 6, "0001"},
		{"advance by a negative number", []string{advance(x("-", "h.b", "6"))}, "0001", 6, "0001"},
		{"varbit", []string{variable("16")}, "02aabbcc", 0, "02aabbcc"},
		{"varbit without bits", []string{variable("0"), toE}, "02aabb", 0, "02aabb"},
		{"varbit longer than the packet", []string{variable("24")}, "02aabb", 1, "02aabb"},
		{"varbit longer than the header may be", []string{variable("40")}, "02aabbccddee", 4, "02aabbccddee"},
		{"varbit of a part of a byte", []string{variable("12")}, "02aabbcc", 6, "02aabbcc"},
		{"varbit of negative width", []string{variable(x("-", "h.b", "13"))}, "02aabbcc", 6, "02aabbcc"},
		{"lookahead beyond the end", []string{set("scalars.x", ahead(0, 9))}, "aa", 1, "aa"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parts{parse: tt.parse, ingress: []string{"assign h.n " + standard + "parser_error"}}.rig(t)
			want := []string{fmt.Sprintf("0: 011122334400000005%02x%s", tt.code, tt.want)}
			if got := r.send(0, 0, op(1)+tt.payload); !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
			if got := r.kinds("parser_error"); (len(got) > 0) != (tt.code > 0) {
				t.Errorf("errors in the trace: %q", got)
			}
		})
	}
}

// Only the width of a lookahead is compared with the packet; bits beyond the end are 0. A select never fails.
func TestLookahead(t *testing.T) {
	tests := []struct{ name, value, payload, want string }{
		{"at once", ahead(0, 16), "aabbcc", "0000aabb"},
		{"with an offset", ahead(4, 12), "aabbcc", "00000abb"},
		{"partly beyond the end", ahead(8, 16), "aabb", "0000bb00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parts{parse: []string{set("scalars.x", tt.value)}, ingress: []string{"assign h.a scalars.x"}}.rig(t)
			if got := r.send(0, 0, op(1)+tt.payload)[0][5:13]; got != tt.want {
				t.Errorf("read %s, want %s", got, tt.want)
			}
		})
	}
	r := parts{key: `{"type": "lookahead", "value": [0, 16]}`, transitions: `
		{"type": "hexstr", "value": "0x0000", "mask": null, "next_state": "more"}`}.rig(t)
	if got := r.send(0, 0, op(1)); len(got) != 1 {
		t.Errorf("sent %q, want the packet", got)
	}
	if got := r.kinds("parser_error"); !slices.Equal(got, []string{"ParserTimeout"}) {
		t.Errorf("errors %q, want ParserTimeout after endless states", got)
	}
}

// Cases are compared in their order, with masks and value sets. Without a match, and without a default, parsing ends
// without an error.
func TestSelect(t *testing.T) {
	again := func(kind, value, mask string) string {
		return fmt.Sprintf(`{"type": %q, "value": %q, "mask": %s, "next_state": "more"}`, kind, value, mask)
	}
	entered := func(x parts, values ...int64) int {
		x.parse = []string{toStack}
		r := x.rig(t)
		for _, v := range values {
			if err := r.AddValue(r.Program.ValueSets[0], num(v)); err != nil {
				t.Fatal(err)
			}
		}
		r.send(0, 0, op(1)+"0aaa 0bbb 0ccc")
		return strings.Count(strings.Join(r.kinds("state"), " "), "more")
	}
	stackField := `{"type": "stack_field", "value": ["st", "v"]}`
	if n := entered(parts{key: stackField, transitions: again("hexstr", "0x0aaa", "null")}); n != 2 {
		t.Errorf("value: the state is entered %d times, want 2", n)
	}
	if n := entered(parts{key: stackField, transitions: again("hexstr", "0x0000", `"0xf000"`)}); n != 4 {
		t.Errorf("mask: the state is entered %d times, want 4 (the last fails)", n)
	}
	// The key has 4 + 8 bits; padded to bytes, each part has one.
	key := `{"type": "lookahead", "value": [4, 4]}, {"type": "lookahead", "value": [8, 8]}`
	if n := entered(parts{key: key, transitions: again("parse_vset", "set", "null")}, 0xbbb); n != 2 {
		t.Errorf("set: the state is entered %d times, want 2", n)
	}
	if n := entered(parts{key: key, transitions: again("parse_vset", "set", `"0xff00"`)}, 0xb00); n != 2 {
		t.Errorf("set with a mask: the state is entered %d times, want 2", n)
	}
	if n := entered(parts{key: key, transitions: again("hexstr", "0x0bbb", "null")}); n != 2 {
		t.Errorf("padded key: the state is entered %d times, want 2", n)
	}
}

// Hashes have the published check values of the text 123456789, and those of RFC 1071.
func TestHashes(t *testing.T) {
	text := []byte("123456789")
	for name, want := range map[string]uint64{
		"crc16": 0xbb3d, "crc32": 0xcbf43926, "crcCCITT": 0x29b1, "identity": 0x3132333435363738,
		"xor16": 0x3132 ^ 0x3334 ^ 0x3536 ^ 0x3738 ^ 0x3900,
	} {
		if got := hash(name, text, CRC{}); got != want {
			t.Errorf("%s: %#x, want %#x", name, got, want)
		}
	}
	if got := hash("crc16_custom", text, crc16); got != 0xbb3d {
		t.Errorf("crc16_custom: %#x before its parameters are set, want that of crc16", got)
	}
	if got := hash("crc32_custom", text, CRC{Polynomial: 0x1edc6f41, Initial: 0xffffffff, Final: 0xffffffff,
		ReflectData: true, ReflectRemainder: true}); got != 0xe3069283 {
		t.Errorf("crc32_custom as CRC-32C: %#x, want 0xe3069283", got)
	}
	if got := hash("csum16", []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}, CRC{}); got != 0x220d {
		t.Errorf("csum16: %#x, want 0x220d", got)
	}
}

// In P4_14, a header computes the length of its variable field from its own fields.
func TestComputedLength(t *testing.T) {
	const toV = `{"op": "extract", "parameters": [{"type": "regular", "value": "v"}]}`
	length := x("*", `{"type": "local", "value": 0}`, "8")
	text := strings.NewReplacer("INGRESS", st(t, "assign h.n standard_metadata.parser_error"), "EGRESS", "", "PARSE",
		toV+","+toE, "TRANSITIONS", "", "KEY", "", "KIND", "exact",
		`"length_exp": null`, `"length_exp": `+length).Replace(base)
	for _, tt := range []struct{ payload, want string }{
		{"02 aabb 0001 ff", "0002aabb0001ff"},
		{"00 0001", "00000001"},
		{"03 aabb", "0103aabb"},
		{"05 aabbccddee", "0405aabbccddee"},
	} {
		p, err := p4.Read(strings.NewReader(text), "length.json")
		if err != nil {
			t.Fatal(err)
		}
		sw, err := New(p, Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Switch: sw, t: t}
		want := []string{"0: 011122334400000005" + tt.want}
		if got := r.send(0, 0, op(1)+tt.payload); !slices.Equal(got, want) {
			t.Errorf("%s: sent %q, want %q", tt.payload, got, want)
		}
	}
}
