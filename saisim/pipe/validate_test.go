package pipe

import (
	"encoding/json"
	"strings"
	"testing"
)

func limits() Limits {
	return Limits{
		IngressStages: 12, EgressStages: 12, PHVBits: 4096,
		Stage: Resources{
			HashUnits: 6, HashBits: 32, StatefulALUs: 4, SRAMBlocks: 80, SRAMBits: 128 << 10, TCAMBlocks: 24,
			TCAMEntries: 512, TCAMBits: 44, VLIWSlots: 32, Tables: 16,
		},
	}
}

// sample returns a small program that uses every feature.
func sample() *Program {
	return &Program{
		Name:   "sample",
		Fields: []Field{{Name: "key", Width: 32}, {Name: "old", Width: 16, Bridged: true}, {Name: "class", Width: 4}},
		Ingress: Pipe{
			Hashes: []Hash{{Name: "h", Stage: 1, CRC: "crc32c", Inputs: []Input{{Field: "ipv4.src"},
				{Field: "l4.dst", Mask: 0xff}}}},
			Registers: []Register{{Name: "r", Stage: 1, Width: 16, Depth: 1024, Instructions: []Instruction{
				{Name: "count", Updates: []Update{{Do: "adds", A: Source{From: "mem"}, B: Source{From: "const", Const: 1}}},
					Output: Output{Value: "old"}},
			}}},
			Tables: []Table{
				{
					Name: "classify", Stage: 0, Match: "ternary", Key: []Input{{Field: "ip.dscp"}, {Field: "l4.dst"}}, Size: 64,
					Counters: true,
					Actions: []Action{{Name: "set", Params: []Param{{Name: "c", Width: 4}},
						Ops: []Op{{Do: "set", To: "class", A: Operand{Param: "c"}}}}},
					Entries: []Entry{{ID: 1, Priority: 3, Key: []Match{{}, {Value: 80, Mask: 0xffff}},
						Choice: Choice{"set", []uint64{3}}}},
				},
				{
					Name: "count", Stage: 1, Match: "always", Gate: [][]Term{{{Table: "classify", Is: "hit"}}},
					Actions: []Action{{Name: "go", Calls: []Call{{Register: "r", Instruction: "count",
						Index: Operand{Hash: "h", Bits: 10}, To: "old"}}}},
					Default: Choice{Action: "go"},
				},
			},
		},
		Egress: Pipe{Tables: []Table{{
			Name: "route", Stage: 2, Match: "lpm", Key: []Input{{Field: "ipv4.dst"}}, Size: 8,
			Actions: []Action{{Name: "drop", Ops: []Op{{Do: "set", To: "ctl.drop", A: Operand{Const: 1}}}}},
			Entries: []Entry{{ID: 1, Prefix: 8, Key: []Match{{Value: 10 << 24}}, Choice: Choice{Action: "drop"}}},
		}}},
	}
}

// Errors are named, with the path to them.
func TestValidate(t *testing.T) {
	tests := []struct {
		name string
		do   func(*Program, *Limits)
		want string // empty if valid
	}{
		{"as it is", func(*Program, *Limits) {}, ""},
		{"bad name", func(p *Program, _ *Limits) { p.Name = "a b" }, `name is "a b"`},
		{"field twice", func(p *Program, _ *Limits) { p.Fields[1].Name = "key" }, `field "key" is there twice`},
		{"field width", func(p *Program, _ *Limits) { p.Fields[0].Width = 65 }, `field "key": width is 65, want 1 to 64`},
		{"too much bridged", func(p *Program, _ *Limits) {
			for _, n := range []string{"a", "b", "c", "d"} {
				p.Fields = append(p.Fields, Field{n, 64, true})
			}
		}, "bridged fields take 272 bits, want at most 256"},
		{"no such stage", func(p *Program, _ *Limits) { p.Ingress.Tables[0].Stage = 12 },
			`table "classify": stage is 12, the pipe has 12`},
		{"no such field", func(p *Program, _ *Limits) { p.Ingress.Tables[0].Key[0].Field = "ip.tos" },
			`there is no field "ip.tos"`},
		{"read only", func(p *Program, _ *Limits) { p.Ingress.Tables[0].Actions[0].Ops[0].To = "ip.proto" },
			`field "ip.proto" cannot be written in this pipe`},
		{"not in egress", func(p *Program, _ *Limits) { p.Egress.Tables[0].Actions[0].Ops[0].To = "ctl.punt" },
			`field "ctl.punt" cannot be written in this pipe`},
		{"entry outside mask", func(p *Program, _ *Limits) { p.Ingress.Tables[0].Entries[0].Key[0].Value = 1 },
			`entry 1: ip.dscp: value is 0x1, want within the mask 0x0`},
		{"entry behind prefix", func(p *Program, _ *Limits) { p.Egress.Tables[0].Entries[0].Key[0].Value++ },
			`ipv4.dst: value is 0xa000001, want within the mask 0xff000000`},
		{"arg too wide", func(p *Program, _ *Limits) { p.Ingress.Tables[0].Entries[0].Args[0] = 16 },
			`arg "c" is 16, it has 4 bits`},
		{"two writers", func(p *Program, _ *Limits) {
			p.Ingress.Tables = append(p.Ingress.Tables, Table{Name: "w", Match: "always",
				Actions: []Action{{Name: "a", Ops: []Op{{Do: "set", To: "class"}}}}})
		}, `field "class" is written by table "classify" of the same stage`},
		{"gate on later table", func(p *Program, _ *Limits) {
			p.Ingress.Tables[0].Gate = [][]Term{{{Table: "count", Is: "hit"}}}
		}, `gate: table "count" is in stage 1 and comes after this one`},
		{"hash of another stage", func(p *Program, _ *Limits) { p.Ingress.Hashes[0].Stage = 0 },
			`hash "h" is in stage 0, the table in stage 1`},
		{"register of another stage", func(p *Program, _ *Limits) { p.Ingress.Registers[0].Stage = 0 },
			`call of "r": the register is in stage 0, the table in stage 1`},
		{"condition that is not there", func(p *Program, _ *Limits) {
			p.Ingress.Registers[0].Instructions[0].Updates[0].When = "!1"
		}, `when is "!1", but there are 0 conditions`},
		{"hash units", func(_ *Program, l *Limits) { l.Stage.HashBits = 4 }, "ingress stage 1: hash units: need 8, have 6"},
		{"stateful ALUs", func(_ *Program, l *Limits) { l.Stage.StatefulALUs = 0 },
			"ingress stage 1: stateful ALUs: need 1, have 0"},
		{"SRAM", func(_ *Program, l *Limits) { l.Stage.SRAMBits = 100 }, "ingress stage 1: SRAM blocks: need 164, have 80"},
		{"TCAM", func(_ *Program, l *Limits) { l.Stage.TCAMEntries = 2 }, "ingress stage 0: TCAM blocks: need 32, have 24"},
		{"VLIW", func(_ *Program, l *Limits) { l.Stage.VLIWSlots = 0 }, "egress stage 2: VLIW slots: need 1, have 0"},
		{"tables", func(_ *Program, l *Limits) { l.Stage.Tables = 0 }, "egress stage 2: tables: need 1, have 0"},
		{"PHV", func(_ *Program, l *Limits) { l.PHVBits = 1390 },
			"PHV: need 1400 bits (1344 of them for the fixed fields), have 1390"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, l := sample(), limits()
			tt.do(p, &l)
			err := p.Validate(l)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate: %v\nwant %s", err, tt.want)
			}
		})
	}
}

// JSON is strict: unknown fields are refused by name.
func TestRead(t *testing.T) {
	text, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(p); string(again) != string(text) {
		t.Errorf("read back:\n%s\nwant\n%s", again, text)
	}
	for _, tt := range []struct{ in, want string }{
		{`{"name":"a","stages":3}`, `unknown field "stages"`},
		{`{"name":"a","egress":{"tables":[{"name":"t","entries":[{"id":1,"keys":[]}]}]}}`, `unknown field "keys"`},
		{`{"name":"a"} {}`, "something follows"},
		{`{"name":3}`, "cannot unmarshal number"},
		{`{"fields":[{"name":"x","width":-1}]}`, "cannot unmarshal number -1"},
	} {
		if _, err := Read(strings.NewReader(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Read(%s): %v, want %s", tt.in, err, tt.want)
		}
	}
}

// Only the documented fixed fields overlap.
func TestFixedFields(t *testing.T) {
	var used [fixedWords]uint64
	for _, f := range Fixed() {
		if f.Name == "ipv4.src" || f.Name == "ipv4.dst" {
			continue
		}
		m := ones(f.Width) << f.Shift
		if used[f.Word]&m != 0 || int(f.Shift)+int(f.Width) > 64 {
			t.Errorf("%s overlaps another field or the word's end", f.Name)
		}
		used[f.Word] |= m
	}
}
