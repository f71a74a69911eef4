package pipe

import (
	"strings"
	"testing"
)

// faulty returns a program in which table b runs after a hit of a, and c after a miss.
func faulty() *Program {
	set := func(to string) []Action {
		return []Action{{Name: "do", Ops: []Op{{Do: "set", To: to, A: Operand{Const: 1}}}}}
	}
	gated := func(name, is string, stage uint8) Table {
		return Table{Name: name, Stage: stage, Match: "always", Actions: set(name), Default: Choice{Action: "do"},
			Gate: [][]Term{{{Table: "a", Is: is}}}}
	}
	return &Program{
		Name: "p", Fields: []Field{{Name: "b", Width: 1}, {Name: "c", Width: 1}, {Name: "d", Width: 1},
			{Name: "e", Width: 1}},
		Ingress: Pipe{Tables: []Table{
			{Name: "d", Match: "always", Actions: set("d"), Default: Choice{Action: "do"}},
			{Name: "a", Match: "exact", Key: []Input{{Field: "ip.proto"}}, Size: 4,
				Entries: []Entry{{ID: 1, Key: []Match{{Value: 17}}}}},
			gated("b", "hit", 1), gated("c", "miss", 1),
		}},
		Egress: Pipe{Tables: []Table{{Name: "e", Match: "always", Actions: set("e"), Default: Choice{Action: "do"}}}},
	}
}

// ran runs a packet of a protocol and returns the tables that ran, with * where they hit.
func ran(c *Compiled, proto uint64) string {
	v := PHV{Traced: true}
	c.Begin(&v, 1)
	v.W[WordL4][0] = proto << 24
	on := c.Run(&v, 1, 0, 3)
	c.Always(&v, false, 1, on, 0, 3)
	c.RunEgress(&v, 1, 0, 2)
	c.Always(&v, true, 1, 1, 0, 2)
	var all []string
	for i, name := range []string{"d", "a", "b", "c", "e"} {
		if v.Ran[0][0]>>i&1 != 0 {
			if v.Hit[0][0]>>i&1 != 0 {
				name += "*"
			}
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

// Faults change the tables that run, one batch after the other.
func TestFaults(t *testing.T) {
	var now *Compiled
	var faults []Fault
	for _, tt := range []struct {
		name     string
		batch    Batch
		udp, tcp string
	}{
		{"none", Batch{Program: faulty()}, "d a* b e", "d a c e"},
		{"a table without a key is skipped", Batch{Faults: []Fault{{Do: "skip", Table: "ingress.d"}}}, "a* b e", "a c e"},
		{"and one in the other pipe", Batch{Faults: []Fault{{Do: "skip", Table: "egress.e"}}}, "a* b", "a c"},
		{"one behind a gate", Batch{Faults: []Fault{{Do: "heal"}, {Do: "skip", Table: "ingress.b"}}}, "d a* e", "d a c e"},
		{"that gates ask for: it is neither hit nor miss", Batch{Faults: []Fault{{Do: "heal"},
			{Do: "skip", Table: "ingress.a"}}}, "d e", "d e"},
		{"misplaced", Batch{Faults: []Fault{{Do: "heal"}, {Do: "misplace", Table: "ingress.b", Into: "ingress.c"}}}, "d a* e",
			"d a b c e"},
		{"both, by the gates that were meant", Batch{Faults: []Fault{
			{Do: "misplace", Table: "ingress.c", Into: "ingress.b"}}}, "d a* c e", "d a b e"},
		{"they stay with changed entries", Batch{Entries: []EntryChange{
			{Pipe: "ingress", Table: "a", Do: "remove", Entry: Entry{ID: 1}}}}, "d a b e", "d a b e"},
		{"and defaults", Batch{Entries: []EntryChange{{Pipe: "ingress", Table: "c", Do: "default", Entry: Entry{}}}},
			"d a b e", "d a b e"},
		{"and another program", Batch{Program: faulty()}, "d a* c e", "d a b e"},
		{"healed", Batch{Faults: []Fault{{Do: "heal"}}}, "d a* b e", "d a c e"},
		{"one of the chip's own is not the program's matter", Batch{Faults: []Fault{{Do: "skip", Table: "chip.acl"}}},
			"d a* b e", "d a c e"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			if now, faults, err = PrepareFaults(tt.batch, limits(), now, faults); err != nil {
				t.Fatal(err)
			}
			if udp, tcp := ran(now, 17), ran(now, 6); udp != tt.udp || tcp != tt.tcp {
				t.Errorf("UDP runs %q, TCP %q, want %q and %q", udp, tcp, tt.udp, tt.tcp)
			}
		})
	}
}

func TestFaultsThatAreRefused(t *testing.T) {
	now, err := Compile(faulty(), limits(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		fault Fault
		want  string
	}{
		{Fault{Do: "break", Table: "ingress.a"}, `fault 0: do is "break", want skip, misplace or heal`},
		{Fault{Do: "heal", Table: "ingress.a"}, "heal has a table, want none"},
		{Fault{Do: "skip", Table: "ingress.x"}, `there is no table "x"`},
		{Fault{Do: "skip", Table: "b"}, `pipe is "b", want ingress or egress`},
		{Fault{Do: "skip", Table: "ingress.a", Into: "ingress.b"}, "into is given"},
		{Fault{Do: "misplace", Table: "ingress.a", Into: "ingress.a"}, "want another table of the pipe"},
		{Fault{Do: "misplace", Table: "ingress.a", Into: "egress.e"}, "want another table of the pipe"},
		{Fault{Do: "misplace", Table: "ingress.a", Into: "ingress.y"}, `into: ingress: there is no table "y"`},
		{Fault{Do: "misplace", Table: "ingress.d", Into: "ingress.b"},
			`the gate of ingress.b asks for table "a", which does not come before ingress.d`},
		{Fault{Do: "misplace", Table: "chip.acl", Into: "ingress.b"}, `pipe is "chip"`},
	} {
		if _, err := Prepare(Batch{Faults: []Fault{tt.fault}}, limits(), now); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.fault, err, tt.want)
		}
	}
	skip := Fault{Do: "skip", Table: "ingress.a"}
	if _, err := Prepare(Batch{Faults: []Fault{skip, skip}}, limits(), now); err == nil ||
		!strings.Contains(err.Error(), "fault 1: ingress.a has a fault already") {
		t.Errorf("twice: %v", err)
	}
	if _, err := Prepare(Batch{Faults: []Fault{skip}}, limits(), nil); err == nil ||
		!strings.Contains(err.Error(), "there is no program") {
		t.Errorf("without a program: %v", err)
	}
	if _, err := Prepare(Batch{Faults: []Fault{{Do: "skip", Table: "chip.acl"}}}, limits(), nil); err != nil {
		t.Error(err)
	}
}

// Tables after a drop do not count as having run.
func TestRanUpToADrop(t *testing.T) {
	p := faulty()
	p.Ingress.Tables[2].Actions[0].Ops[0].To = "ctl.drop"
	p.Ingress.Tables = append(p.Ingress.Tables, Table{Name: "f", Stage: 2, Match: "always",
		Actions: p.Ingress.Tables[0].Actions, Default: Choice{Action: "do"}})
	c, err := Compile(p, limits(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for proto, want := range map[uint64]uint64{17: 0b00111, 6: 0b11011} {
		v := PHV{Traced: true}
		c.Begin(&v, 1)
		v.W[WordL4][0] = proto << 24
		c.Always(&v, false, 1, c.Run(&v, 1, 0, 3), 0, 3)
		if v.Ran[0][0] != want {
			t.Errorf("protocol %d: ran %05b, want %05b", proto, v.Ran[0][0], want)
		}
	}
}
