package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/collector"
	"tamtam/saisim/pipe"
)

// A plan of a chip's graph is written into the program, except for the chip's own tables, which are listed.
func TestPlanInto(t *testing.T) {
	const program = "../../docs/programs/marking.json"
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(args ...string) string {
		t.Helper()
		code, text := tamtam(t, args...)
		if code != 0 {
			t.Fatalf("%v: %s", args, text)
		}
		return text
	}
	graph := file("graph.json", must("profile", "graph", "default", "--program", program))
	plan := file("plan.json", must("plan", "--program", graph, "--pipeline", "switch", "--phv", "16", "--hit",
		"--must-record", "ingress.flows", "--format", "json"))
	if code, text := tamtam(t, "plan", "into", program, "--plan", plan); code == 0 ||
		!strings.Contains(text, "which are tables of the chip that a program cannot record") {
		t.Errorf("a plan with tables of the chip: %d %s", code, text)
	}
	text := must("plan", "into", program, "--plan", plan, "--partial")
	named, text, _ := strings.Cut(text, "\n")
	if !strings.HasPrefix(named, "left to the chip: chip.") {
		t.Errorf("left to the chip: %s", named)
	}
	caveat, text, _ := strings.Cut(text, "\n")
	left := leftTo(t, plan)
	if want := fmt.Sprintf("their bits stay 0, which carries no information on these tables: record0 0x%04x",
		left); caveat != want || left == 0 {
		t.Errorf("%s\nwant %s", caveat, want)
	}
	p, err := pipe.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if set := setBy(p); set == 0 || set&left != 0 {
		t.Errorf("the program sets bits %#x of record0, of which %#x are the chip's", set, left)
	}
	if n := strings.Count(text, `"to": "record0"`); n == 0 || p.Fields[len(p.Fields)-1].Name != "record0" {
		t.Errorf("%d operations record, fields %+v", n, p.Fields)
	}
	again := file("again.json", text)
	if code, text := tamtam(t, "plan", "into", again, "--plan", plan, "--partial"); code == 0 ||
		!strings.Contains(text, `a field "record0" already`) {
		t.Errorf("a program that records already: %d %s", code, text)
	}
}

// leftTo returns the bits of a plan's only container that belong to tables of the chip.
func leftTo(t *testing.T, file string) (bits uint64) {
	t.Helper()
	p, err := collector.ReadPlan(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.Recorded {
		for _, bit := range []*int{r.Ran, r.Hit} {
			if bit != nil && strings.HasPrefix(r.Table, "chip.") {
				bits |= 1 << *bit
			}
		}
	}
	return bits
}

// setBy returns the bits of record0 that actions of a program set.
func setBy(p *pipe.Program) (bits uint64) {
	for _, pp := range []*pipe.Pipe{&p.Ingress, &p.Egress} {
		for i := range pp.Tables {
			for _, a := range pp.Tables[i].Actions {
				for _, o := range a.Ops {
					if o.To == "record0" {
						bits |= o.B.Const
					}
				}
			}
		}
	}
	return bits
}
