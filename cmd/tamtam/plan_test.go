package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/command"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/p4graph"
)

const (
	figure4 = "../../docs/programs/figure4.json"
	bmv2    = "../../tam/recordplan/p4graph/testdata/bmv2/"
)

// tamtamJSON runs a command and decodes what it prints.
func tamtamJSON[T any](t *testing.T, in, args string) T {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), strings.Fields(args), strings.NewReader(in), &out, &errOut); code != 0 {
		t.Fatalf("%s: exit %d: %s", args, code, &errOut)
	}
	var v T
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatalf("%s: %v\n%s", args, err, &out)
	}
	return v
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The plan of the paper's figure 4, with its probabilities, is {B, C, D}, which distinguishes all four paths.
func TestPlanOfFigure4(t *testing.T) {
	weights := fileOf(t, `{"edges": [{"from": "A", "to": "X", "p": 0.9}, {"from": "X", "to": "B", "p": 0.2222222222222222},
		{"from": "Y", "to": "C", "p": 0.7142857142857143}, {"from": "Y", "to": "D", "p": 0.2857142857142857}],
		 "hits": {"A": 0.25}}`)
	const most = 0.2*2.321928 + 0.5*1 + 0.2*2.321928 + 0.1*3.321928
	for _, algorithm := range []string{"greedy", "greedy-restarts", "bnb", "brute"} {
		p := tamtamJSON[recordplan.Report](t, "",
			"plan --program "+figure4+" --phv 8 --format json --simulate 1000 --algorithm "+
				algorithm+" --probabilities "+weights)
		if math.Abs(p.Entropy-most) > 1e-5 || !p.Optimal || p.Recovery < 0.999 || len(p.Recorded) != 3 {
			t.Errorf("%s: entropy %v, recovery %v, %+v", algorithm, p.Entropy, p.Recovery, p.Recorded)
		}
		if p.ID == 0 || p.Graph == nil || len(p.Graph.Deps) == 0 || len(p.Probabilities.Edges) != 10 ||
			p.Probabilities.Hits["A"] != 0.25 || p.Seconds <= 0 {
			t.Errorf("%s: %+v", algorithm, p)
		}
		if p.Program != "figure4" || p.Pipeline != "ingress" || p.PHV != "8" || p.Mode != record.ModeExecution ||
			p.Algorithm != algorithm ||
			p.Stages != 12 || p.StagesWhy != "the ingress pipe of profile rmt12; the program needs 2" {
			t.Errorf("%s: %+v", algorithm, p)
		}
		if s := p.Simulation; s == nil || s.Recovered != 1000 || s.Wrong != 0 {
			t.Errorf("%s: %+v", algorithm, s)
		}
	}
	const more = "plan --phv 8 --hit --stages 9 --must-record E --simulate 10 --program "
	_, out := tamtam(t, strings.Fields(more+figure4)...)
	for _, want := range []string{"figure4 ingress", "8 bits of 8, exec+hit, by greedy",
		"9 stages: asked for; the program needs 2", "TABLE", "\nE  ", "10 packets"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Probabilities come from seeds, counted paths or standard input.
func TestPlanProbabilities(t *testing.T) {
	graph, err := os.ReadFile(figure4)
	if err != nil {
		t.Fatal(err)
	}
	plan := func(more string) recordplan.Report {
		return tamtamJSON[recordplan.Report](t, string(graph), "plan --program - --phv 8 --format json "+more)
	}
	if plan("--seed 1").Entropy == plan("--seed 2").Entropy || plan("--seed 1").ID != plan("--seed 1").ID {
		t.Error("the seed is what makes the difference")
	}
	paths := fileOf(t,
		`[{"path": [{"table": "A"}, {"table": "E"}], "packets": 3}, {"path": [{"table": "A"}, {"table": "B"}, {"table": `+
			`"D"}, {"table": "E"}], "packets": 1}]`)
	if p := plan("--paths " + paths); math.Abs(p.Entropy-0.811278) > 1e-6 {
		t.Errorf("entropy %v, want that of 1/4", p.Entropy)
	}
	for more, from := range map[string]string{"": "uniform", "--seed 7": "seed 7",
		"--paths " + paths: "counted, file " + paths} {
		if p := plan(more); p.ProbabilitiesFrom != from {
			t.Errorf("%s: probabilities are said to be from %q", more, p.ProbabilitiesFrom)
		}
	}
	if p := plan("--seed 1 --simulate 10 --paths " + paths); p.Simulation.Seed != 1 ||
		!strings.HasPrefix(p.ProbabilitiesFrom, "counted") {
		t.Errorf("%+v", p.Simulation)
	}
}

func TestPlanDescribe(t *testing.T) {
	f := tamtamJSON[p4graph.Figures](t, "", "plan --describe --format json --program "+figure4)
	if f.Tables != 5 || f.Conditions != 2 || f.Paths.Int64() != 4 || f.CutTables != 2 || f.MinStages != 2 {
		t.Errorf("%+v", f)
	}
	_, out := tamtam(t, "plan", "--describe", "--program", bmv2+"fields.json")
	if !strings.HasPrefix(out, "fields.json ingress") || !strings.Contains(out, "stages needed") {
		t.Error(out)
	}
}

// A chip's tables keep their stages.
func TestPlanOfAChip(t *testing.T) {
	chip := fileOf(t, `{"pipeline": "switch", "init": "a", "placed": true, "stages": 3,
		"nodes": [{"id": "a", "kind": "table", "stage": 0}, {"id": "b", "kind": "table", "stage": 2}],
		"edges": [["a", "b", "hit"], ["a", "EXIT", "miss"], ["b", "EXIT", ""]]}`)
	p := tamtamJSON[recordplan.Report](t, "", "plan --format json --phv 8 --hit --program "+chip)
	if p.Stages != 3 || p.Placement["b"] != 2 || !strings.Contains(p.StagesWhy, "the chip's") {
		t.Errorf("%+v", p)
	}
	try(t, "plan", line{"--phv 8 --stages 4 --program " + chip, command.ExitUsage, "has 3"})
}

func TestPlanRefuses(t *testing.T) {
	truncated := fileOf(t, `{"pipelines": [{"name": "ingress", "init_table"`)
	try(t, "plan",
		line{"", command.ExitUsage, "--program is missing"},
		line{"--program x", command.ExitUsage, "--phv is missing: want widths of 8, 16 or 32"},
		line{"--program x --phv 12", command.ExitUsage, `--phv: containers "12"`},
		line{"--program x --phv 8 --algorithm best", command.ExitUsage, `--algorithm "best": want greedy`},
		line{"--program x --phv 8 --format xml", command.ExitUsage, `--format "xml"`},
		line{"--program x --phv 8 --stages 0", command.ExitUsage, "--stages 0: want 1 to 4096"},
		line{"--program x --phv 8 --action --algorithm bnb", command.ExitUsage,
			"--algorithm bnb: want greedy or greedy-restarts with --action"},
		line{"--program x --phv 8 --action --algorithm brute", command.ExitUsage,
			"--algorithm brute: want greedy or greedy-restarts with --action"},
		line{"--program x --phv 8 --starts 3", command.ExitUsage, "--starts: want it only with --algorithm greedy-restarts"},
		line{"--program x --phv 8 --paper", command.ExitUsage, "--paper: want it only with --algorithm bnb"},
		line{"--program x --phv 8 --seed 1 --paths y", command.ExitUsage, "want one of"},
		line{"--program x --phv 8 more", command.ExitUsage, "unknown command"},
		line{"--program x --phv 8", command.ExitFailed, "open x: no such file"},
		line{"--phv 8 --program " + truncated, command.ExitFailed, "it breaks off at line 1"},
		line{"--phv 8 --program " + figure4 + " --pipeline egress", command.ExitFailed,
			`no pipeline "egress": the graph is of "ingress"`},
		line{"--phv 8 --program " + figure4 + " --stages 1", command.ExitFailed,
			"--stages 1: the program's dependencies need"},
		line{"--phv 8 --program " + figure4 + " --profile big", command.ExitFailed, "--profile: "},
		line{"--phv 8 --program " + figure4 + " --must-record Z", command.ExitFailed, `must-record "Z" is no table`},
		line{"--phv 8 --program " + figure4 + " --probabilities " + figure4, command.ExitFailed, `unknown field "program"`},
		line{"--phv 8 --program " + figure4 + " --paths " + truncated, command.ExitFailed, "paths: "})
}
