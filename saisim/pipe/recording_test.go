package pipe_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/pipe"
	"tamtam/saisim/pipe/pipetest"
)

// randomMarks returns marks of some tables of a program, each in a field that no other table of its stage writes.
func randomMarks(r *rand.Rand, p *pipe.Program) (fields []pipe.Field, marks []pipe.Mark) {
	at, of := map[string]int{}, map[int]uint8{}
	for name, pp := range map[string]*pipe.Pipe{"ingress": &p.Ingress, "egress": &p.Egress} {
		for i := range pp.Tables {
			t := &pp.Tables[i]
			stage := fmt.Sprint(name, t.Stage)
			at[stage]++
			for _, hit := range []bool{false, true} {
				if c := at[stage]; r.IntN(3) > 0 && of[c] < 16 {
					m := pipe.Mark{Pipe: name, Table: t.Name, Hit: hit, Field: fmt.Sprint("record", c), Bit: of[c]}
					if hit && t.Match != "always" && len(t.Actions) > 0 && r.IntN(2) == 0 {
						m.Of = []string{t.Actions[r.IntN(len(t.Actions))].Name}
						if r.IntN(2) == 0 {
							m.Of = append(m.Of, "")
						}
					}
					marks = append(marks, m)
					of[c]++
				}
			}
		}
	}
	for c := range of {
		fields = append(fields, pipe.Field{Name: fmt.Sprint("record", c), Width: 16})
	}
	return fields, marks
}

// A program that records by itself does the same as without recording, and its bits equal the bits that the chip notes
// for the same packets.
func TestRecordingPrograms(t *testing.T) {
	o := pipetest.Options{Ports: []uint16{1, 2}, Limits: pipe.Limits{
		IngressStages: 4, EgressStages: 4, PHVBits: 2048,
		Stage: pipe.Resources{
			HashUnits: 2, HashBits: 32, StatefulALUs: 2, SRAMBlocks: 8, SRAMBits: 16 << 10, TCAMBlocks: 8,
			TCAMEntries: 64, TCAMBits: 44, VLIWSlots: 32, Tables: 4,
		},
	}}
	wide := o.Limits
	wide.PHVBits, wide.Stage.VLIWSlots, wide.Stage.SRAMBlocks = 4096, 512, 64
	set, clear := 0, 0
	acted := map[bool]int{} // hits of tables that distinguish actions, by whether their action sets a bit
	fixed := randtest.Cases{Seed: 21, Count: 150}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := pipetest.Program(r, o)
		fields, marks := randomMarks(r, p)
		q, err := p.Recording(fields, marks)
		if err != nil {
			t.Fatal(err)
		}
		was, err := pipe.Compile(p, wide, nil)
		if err != nil {
			t.Fatal(err)
		}
		is, err := pipe.Compile(q, wide, nil)
		if err != nil && strings.Contains(err.Error(), "bridged fields take") {
			return // recorded fields are bridged, too: the program's own fields leave no space, which the error reports
		}
		if err != nil {
			t.Fatal(err)
		}
		index, number := map[string]int{}, map[string]int{}
		for i, tb := range p.Ingress.Tables {
			index["ingress"+tb.Name] = i
			for k, x := range tb.Actions {
				number["ingress"+tb.Name+"."+x.Name] = k + 1
			}
		}
		for i, tb := range p.Egress.Tables {
			index["egress"+tb.Name] = len(p.Ingress.Tables) + i
			for k, x := range tb.Actions {
				number["egress"+tb.Name+"."+x.Name] = k + 1
			}
		}
		for range 40 {
			before := pipe.PHV{Traced: true}
			for i := range pipe.WordControl {
				before.W[i][0] = r.Uint64()
			}
			before.W[pipe.WordControl][0] = 0xffff << 16
			a, b := before, before
			for _, x := range []struct {
				c *pipe.Compiled
				v *pipe.PHV
			}{{was, &a}, {is, &b}} {
				x.c.Begin(x.v, 1)
				on := x.c.Run(x.v, 1, 0, wide.IngressStages)
				x.c.Always(x.v, false, 1, on, 0, wide.IngressStages)
				var bridge [pipe.BridgeWords]uint64
				x.c.Bridge(x.v, 0, &bridge)
				x.c.BeginEgress(x.v, 0, &bridge)
				on = x.c.RunEgress(x.v, 1, 0, wide.EgressStages)
				x.c.Always(x.v, true, 1, on, 0, wide.EgressStages)
			}
			if a.Ran[0] != b.Ran[0] || a.Hit[0] != b.Hit[0] {
				t.Fatalf("tables ran %x, hit %x; recording %x, %x", a.Ran[0], a.Hit[0], b.Ran[0], b.Hit[0])
			}
			for w := range pipe.WordControl + 1 {
				if a.W[w][0] != b.W[w][0] {
					t.Fatalf("word %d is %x, recording %x", w, a.W[w][0], b.W[w][0])
				}
			}
			for _, m := range marks {
				i := index[m.Pipe+m.Table]
				want := a.Ran[0][i/64]>>(i%64)&1 != 0
				if m.Hit {
					want = a.Hit[0][i/64]>>(i%64)&1 != 0
				}
				if m.Of != nil && want {
					want = slices.ContainsFunc(m.Of, func(name string) bool {
						return number[m.Pipe+m.Table+"."+name] == int(
							a.Acted[0][i])
					})
					acted[want]++
				}
				if got := is.UserField(&b, m.Field)>>m.Bit&1 != 0; got != want {
					t.Fatalf("%+v is %v, want %v", m, got, want)
				}
				if want {
					set++
				} else {
					clear++
				}
			}
		}
	})
	if run.Whole(fixed) && (acted[true] < 100 || acted[false] < 100) {
		t.Errorf("actions: %v", acted)
	}
	if run.Whole(fixed) && (set < 1000 || clear < 1000) {
		t.Errorf("%d bits were set, %d were not", set, clear)
	}
}
