package p4

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

func router(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/router.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadRouter(t *testing.T) {
	p, err := ReadFile("testdata/router.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := json.Marshal(Describe(p))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"program":"router.p4","format":"2.23"`, `{"name":"ethernet","bits":112}`,
		`{"name":"start","extract":["ethernet"],"key_bits":16,"next":["ipv4","accept"]}`,
		`"name":"ingress","conditions":1,"tables":[{"name":"MyIngress.routes","match":"lpm"`,
		`"key":["hdr.ipv4.dst lpm 32"]`, `"default":"MyIngress.drop"`, `"inline_tables":1`,
	} {
		if !strings.Contains(string(d), want) {
			t.Errorf("description has no %s:\n%s", want, d)
		}
	}
	if s := p.Ingress.Tables[0].Source; s.Line == 0 || s.File != "router.p4" {
		t.Errorf("table has source %v, want a line of router.p4", s)
	}
	if c := p.Ingress.Tables[0].Counter; c == nil || c.Name != "MyIngress.routed" {
		t.Errorf("table has counter %v, want the direct one", c)
	}
}

// An error names the file, the object, what is wrong and what would be right, and the nearest line of the source.
func TestReadErrors(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"version 1", `[
   2,
   23`, `[
   1,
   23`, `r.json: __meta__: version: is 1.23, want 2.0 to 2.24`},
		{"version 2.25", `[
   2,
   23`, `[
   2,
   25`, `is 2.25, want 2.0 to 2.24`},
		{"primitive", `"op": "mark_to_drop"`, `"op": "psa_send"`,
			`r.json: action "MyIngress.drop": statement 0 (router.p4:32): primitive "psa_send" is not supported`},
		{"operator", `"op": "+"`, `"op": "**"`, `operator "**" is not supported`},
		{"field", `"egress_spec"
       ]`, `"egress"
       ]`, `action "MyIngress.forward": statement 2`},
		{"hash", `"algo": "csum16"`, `"algo": "crc64"`, `calculation "calc"`},
		{"header", `"value": "ipv4"`, `"value": "ipv6"`, `is "ipv6", want the name of a header`},
		{"state", `"next_state": "ipv4"`, `"next_state": "ipv6"`,
			`parser "parser": state "start": transition 0: next_state: is "ipv6", want the name of a state`},
		{"match kind", `"match_type": "lpm",
       "name"`, `"match_type": "regex",
       "name"`, `match type "regex" is not supported`},
		{"table kind", `"type": "simple"`, `"type": "clever"`, `table type "clever" is not supported`},
		{"next node", `"true_next": "MyIngress.routes"`, `"true_next": "x"`,
			`condition "node_2": true_next (router.p4:47): is "x", want the name of a table`},
		{"a loop", `"MyIngress.forward": null`, `"MyIngress.forward": "node_2"`, `has a loop through`},
		{"a missing successor", `"MyIngress.forward": null,`, ``, `has no successor for action "MyIngress.forward"`},
		{"action id", `"action_id": 0`, `"action_id": 99`, `is 99, want the id of an action`},
		{"arguments", `"action_data": []`, `"action_data": ["0x1"]`, `has 1 values, want the 0 parameters`},
		{"parser", `"name": "parser"`, `"name": "ingress_parser"`,
			`has no parser named "parser", want a program for v1model`},
		{"width", `"dst",
     48`, `"dst",
     47`, `header "ethernet": has 111 bits, want whole bytes`},
		{"negative width", `"dst",
     48`, `"dst",
     -1`, `is -1, want an integer from 1 to 65536`},
		{"hexadecimal", `"0x0800"`, `"0x0800z"`, `is "0x0800z", want at most`},
		{"a long select value", `"0x0800"`, `"0x10800"`, `want at most the 16 bits of the key`},
		{"a missing member", `"parser_ops"`, `"parser_op"`, `state "start": has no "parser_ops"`},
		{"another type", `"init_table": "node_2"`, `"init_table": 3`, `init_table (router.p4:30): is 3, want a string`},
		{"extern", `"extern_instances": []`, `"extern_instances": [{"name": "e", "type": "Rare"}]`,
			`extern "e": extern type "Rare" is not supported`},
		{"standard metadata", `"ingress_port"`, `"port_in"`, `has no field standard_metadata.ingress_port`},
		{"no JSON", `"checksums": [`, `"checksums": `, `r.json: not JSON`},
		{"text at the end", `by hand`, `by hand"}}` + "\n" + `{"x": {"y": "`, `text after the JSON object`},
	}
	text := router(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(text, tt.old) {
				t.Fatalf("router.json has no %s", tt.old)
			}
			_, err := Read(strings.NewReader(strings.Replace(text, tt.old, tt.new, 1)), "r.json")
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "r.json: ") {
				t.Errorf("error %v, want one with %s", err, tt.want)
			}
		})
	}
}

// Expressions nested too deeply are refused, and do not overflow the stack.
func TestDeepExpression(t *testing.T) {
	const not = `{"type": "expression", "value": {"op": "not", "left": null, "right": `
	deep := strings.Repeat(not, 3000) + `{"type": "bool", "value": true}` + strings.Repeat(`}}`, 3000)
	text := router(t)
	from := strings.Index(text, `"expression": {`)
	to := strings.Index(text, `"true_next"`)
	text = text[:from] + `"expression": ` + deep + ",\n" + text[to:]
	if _, err := Read(strings.NewReader(text), "r.json"); err == nil ||
		!strings.Contains(err.Error(), "is nested deeper than 200 levels") {
		t.Errorf("error %.200v, want one about the depth", err)
	}
}

// FuzzRead reads damaged programs: an error, or a program that can be described.
func FuzzRead(f *testing.F) {
	f.Add(router(f))
	f.Add(`{"parsers": []}`)
	f.Add(`{"__meta__": {"version": [2, 0]}, "header_types": [{"name": "h", "id": 0, "fields": [["f", "*"]],
		"length_exp": null, "max_length": 4}], "headers": [{"name": "h", "id": 0, "header_type": "h"}], "parsers": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Read(strings.NewReader(text), "f.json")
		if err != nil {
			if p != nil || err.Error() == "" {
				t.Errorf("program %v with error %v", p, err)
			}
			return
		}
		Describe(p)
	})
}
