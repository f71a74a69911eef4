package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tamtam/saisim/profile"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/check"
	"tamtam/tam/recordplan/p4graph"
)

// planFlags are those of `tamtam plan`.
type planFlags struct {
	program, pipeline, phv, algorithm string
	profile, probabilities, paths     string
	mustRecord                        []string
	stages, starts                    int
	seed, budget, simulate            uint64
	planModes
	paper, describe, stagesGiven       bool
	seedGiven, simulateGiven, wantJSON bool
}

// planModes say what is recorded beside which tables ran.
type planModes struct{ hit, action bool }

// A planReport is what plan --format json prints: the plan, and the result of --simulate.
type planReport struct {
	*record.Plan
	Simulation *recordplan.Simulation `json:"simulation,omitempty"`
}

func newPlan() *cobra.Command {
	var p planFlags
	var format string
	c := &cobra.Command{
		Use:   "plan --program FILE --phv 16+16",
		Args:  cobra.NoArgs,
		Short: "Choose the tables of a program that tell most about a packet's path",
		Long: `Choose which tables of a program write that they ran, with --hit whether they hit, and with
--action which action the entry has that was hit, into
a few bits of a packet, so that these bits tell as much about its path as they can.

The program is BMv2 JSON as p4c writes it, a graph of tables and conditions, or
what a chip says of its own pipes. Packets take each way from a node alike unless
--probabilities, --paths or --seed say how likely the ways are.`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if p.wantJSON, err = textOrJSON(format); err != nil {
				return err
			}
			changed := cmd.Flags().Changed
			p.stagesGiven, p.seedGiven, p.simulateGiven = changed("stages"), changed("seed"), changed("simulate")
			if err := p.check(); err != nil {
				return err
			}
			return p.run(cmd)
		},
	}
	f := c.Flags()
	f.StringVar(&p.program, "program", "",
		"BMv2 JSON, a plain graph, or a chip's description of itself; - is standard input")
	f.StringVar(&p.pipeline, "pipeline", "", "which pipeline of it (default: ingress, or the only one)")
	f.StringVar(&p.phv, "phv", "", "containers to record in: "+record.ContainerWords)
	f.StringVar(&p.algorithm, "algorithm", record.Greedy, "greedy, greedy-restarts, "+
		"bnb (branch and bound: proves its plan, or says how far from best it may be), or brute")
	f.BoolVar(&p.hit, "hit", false, "record hits too")
	f.BoolVar(&p.action, "action", false, "record hits, and which action the entry has that was hit; of greedy algorithms")
	f.IntVar(&p.stages, "stages", 0,
		"stages of the pipeline (default: those of the profile, or more if the program needs them)")
	f.StringVar(&p.profile, "profile", "default", "chip profile whose stages are meant, or a file of one")
	f.StringVar(&p.probabilities, "probabilities", "",
		`file of how likely ways are: {"edges":[{"from","to","p"}],"hits":{"table":p}}`)
	f.StringVar(&p.paths, "paths", "", `file of counted paths: [{"path":[{"table","hit"}],"packets":n}]`)
	f.Uint64Var(&p.seed, "seed", 0, "draw how likely ways are, by this seed; of --simulate, its packets")
	f.StringSliceVar(&p.mustRecord, "must-record", nil, "tables that must be recorded, joined by commas")
	f.IntVar(&p.starts, "starts", 0, "of greedy-restarts: from how many first tables (default: all)")
	f.Uint64Var(&p.budget, "budget", 0,
		fmt.Sprintf("how many sets of tables a search may weigh (default %d)", recordplan.DefaultBudget))
	f.BoolVar(&p.paper, "paper", false, "of bnb: the paper's bound only (Algorithm 2)")
	f.Uint64Var(&p.simulate, "simulate", 0, "send so many packets through the program's graph, and recover their paths")
	f.BoolVar(&p.describe, "describe", false, "print the size of the program instead: tables, paths, dependencies, stages")
	f.StringVar(&format, "format", "text", "text or json")
	c.AddCommand(newPlanInto())
	return c
}

// sources counts the flags that give probabilities. Next to a file, a seed is that of the simulation.
func (p *planFlags) sources() int {
	n := 0
	for _, is := range []bool{p.probabilities != "", p.paths != "", p.seedGiven && !p.simulateGiven} {
		if is {
			n++
		}
	}
	return n
}

// check finds flags that contradict each other.
func (p *planFlags) check() error {
	switch {
	case p.program == "":
		return usagef("--program is missing: want a file of BMv2 JSON, or of a graph")
	case p.phv == "" && !p.describe:
		return usagef("--phv is missing: want %s (or --describe)", record.ContainerWords)
	case p.sources() > 1:
		return usagef("want one of --probabilities, --paths and --seed")
	case p.stagesGiven && (p.stages < 1 || p.stages > 4096):
		return usagef("--stages %d: want 1 to 4096", p.stages)
	case p.starts < 0:
		return usagef("--starts %d: want 1 or more", p.starts)
	}
	return p.checkAlgorithm()
}

// checkAlgorithm checks the algorithm, and the flags that are of some of them.
func (p *planFlags) checkAlgorithm() error {
	switch {
	case p.starts > 0 && p.algorithm != record.GreedyRestarts:
		return usagef("--starts is of --algorithm %s", record.GreedyRestarts)
	case p.action && p.algorithm != record.Greedy && p.algorithm != record.GreedyRestarts:
		return usagef("--algorithm %s: want %s or %s with --action: bits of actions are none that it can bound",
			p.algorithm, record.Greedy, record.GreedyRestarts)
	case p.paper && p.algorithm != record.BranchAndBound:
		return usagef("--paper is of --algorithm %s", record.BranchAndBound)
	}
	algorithms := []string{record.Greedy, record.GreedyRestarts, record.BranchAndBound, record.BruteForce}
	if slices.Contains(algorithms, p.algorithm) {
		return nil
	}
	return usagef("--algorithm %q: want %s, %s, %s or %s", p.algorithm,
		record.Greedy, record.GreedyRestarts, record.BranchAndBound, record.BruteForce)
}

func (p *planFlags) run(cmd *cobra.Command) error {
	var containers record.Containers
	var err error
	if p.phv != "" {
		if containers, err = record.ParseContainers(p.phv); err != nil {
			return usagef("--phv: %w", err)
		}
	}
	graph, err := fromFile(cmd, p.program, func(r io.Reader) (*record.Graph, error) {
		return p4graph.Read(r, p.pipeline)
	})
	if err != nil {
		return err
	}
	if graph.Program == "" && p.program != "-" {
		graph.Program = filepath.Base(p.program)
	}
	if p.describe {
		return p.printFigures(cmd.OutOrStdout(), graph)
	}
	return p.plan(cmd, graph, containers)
}

// plan makes the plan of a graph, checks it and prints it.
func (p *planFlags) plan(cmd *cobra.Command, graph *record.Graph, containers record.Containers) error {
	if p.action && len(graph.Acts()) == 0 {
		return fmt.Errorf("%s: --action: no table with a key has two actions that the file names, so that there is nothing "+
			"to tell: want actions of nodes, or labels of edges that are actions", p.program)
	}
	weights, from, err := p.weights(cmd, graph)
	if err != nil {
		return err
	}
	stages, why, err := p.stagesOf(graph)
	if err != nil {
		return err
	}
	began := time.Now()
	model, err := recordplan.NewModel(graph, weights)
	if err != nil {
		return fmt.Errorf("%s: %w", p.program, err)
	}
	plan, err := model.Plan(cmd.Context(), recordplan.Settings{
		Containers: containers, Stages: stages, Hits: p.hit, Actions: p.action, Algorithm: p.algorithm,
		Must: p.mustRecord, Starts: p.starts, Budget: p.budget, Paper: p.paper,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", p.program, err)
	}
	plan.Seconds, plan.StagesWhy, plan.ProbabilitiesFrom = time.Since(began).Seconds(), why, from
	if err := check.Plan(plan); err != nil {
		return fmt.Errorf("the plan breaks its own constraints, which is a fault of tamtam: %w", err)
	}
	report := planReport{Plan: plan}
	if p.simulateGiven {
		if report.Simulation, err = recordplan.Simulate(cmd.Context(), plan, p.simulate, p.seed); err != nil {
			return err
		}
	}
	return p.print(cmd.OutOrStdout(), &report)
}

// fromFile reads a file; errors name it.
func fromFile[T any](cmd *cobra.Command, name string, read func(io.Reader) (T, error)) (T, error) {
	if name == "-" {
		return read(bufio.NewReader(cmd.InOrStdin()))
	}
	f, err := os.Open(name)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	v, err := read(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return v, err
}

// weights returns the probabilities, and where they come from.
func (p *planFlags) weights(cmd *cobra.Command, g *record.Graph) (w record.Probabilities, from string, err error) {
	switch {
	case p.probabilities != "":
		w, err = fromFile(cmd, p.probabilities, func(r io.Reader) (record.Probabilities, error) {
			return p4graph.ReadProbabilities(r, g)
		})
		return w, "file " + p.probabilities, err
	case p.paths != "":
		w, err = fromFile(cmd, p.paths, func(r io.Reader) (record.Probabilities, error) {
			paths, err := p4graph.ReadPaths(r)
			if err != nil {
				return record.Probabilities{}, err
			}
			return p4graph.FromPaths(g, paths)
		})
		return w, "counted, file " + p.paths, err
	case p.seedGiven:
		return p4graph.Random(g, p.seed), fmt.Sprintf("seed %d", p.seed), nil
	}
	return p4graph.Uniform(g), "uniform", nil
}

// stagesOf returns the number of stages, and why.
func (p *planFlags) stagesOf(g *record.Graph) (n int, why string, err error) {
	if g.Placed {
		if p.stagesGiven && p.stages != g.Stages {
			return 0, "", usagef("--stages %d: the program is placed on a chip, which has %d", p.stages, g.Stages)
		}
		return 0, "the chip's, where its tables stay", nil
	}
	needed, _ := p4graph.MinStages(g)
	if p.stagesGiven {
		if p.stages < needed {
			return 0, "", fmt.Errorf("--stages %d: the program's dependencies need %d (--describe shows them)", p.stages, needed)
		}
		return p.stages, fmt.Sprintf("asked for; the program needs %d", needed), nil
	}
	profile, err := profile.Load(p.profile)
	if err != nil {
		return 0, "", fmt.Errorf("--profile: %w", err)
	}
	has, of := int(profile.IngressStages), "ingress"
	if g.Pipeline == "egress" {
		has, of = int(profile.EgressStages), "egress"
	}
	if needed > has {
		return needed, fmt.Sprintf("the program's own minimum; profile %s has %d in its %s pipe", profile.Name, has, of), nil
	}
	return has, fmt.Sprintf("the %s pipe of profile %s; the program needs %d", of, profile.Name, needed), nil
}

func (p *planFlags) print(w io.Writer, r *planReport) error {
	if p.wantJSON {
		return printJSON(w, r)
	}
	b := bufio.NewWriter(w)
	bits := 0
	for _, t := range r.Recorded {
		bits += t.Bits
	}
	fmt.Fprintf(b, "plan %08x: %s\n", r.ID, named(r.Program, r.Pipeline))
	fmt.Fprintf(b, "%d bits of %s, %s, by %s\n", bits, r.PHV, r.Mode, r.Algorithm)
	fmt.Fprintf(b, "%d stages: %s\n", r.Stages, r.StagesWhy)
	fmt.Fprintf(b, "probabilities: %s\n", r.ProbabilitiesFrom)
	switch {
	case r.Optimal:
		fmt.Fprintf(b, "entropy %.4f bits, proven to be the most", r.Entropy)
	default:
		fmt.Fprintf(b, "entropy %.4f bits; no plan has more than %.4f", r.Entropy, r.Bound)
	}
	fmt.Fprintf(b, "; all tables together have %.4f\n", r.Full)
	if r.Mode == record.ModeHit {
		fmt.Fprintf(b, "equation 2 gives %.4f\n", r.Equation2)
	}
	fmt.Fprintf(b, "path recovery %.4f; %d sets weighed, %d held against the constraints, %.2f s\n\n",
		r.Recovery, r.Sets, r.Solves, r.Seconds)
	t := tabwriter.NewWriter(b, 2, 8, 2, ' ', 0)
	head := "TABLE\tSTAGE\tCONTAINER\tRAN\tHIT"
	if r.Mode == record.ModeAction {
		head += "\tACTIONS"
	}
	fmt.Fprintln(t, head)
	for _, e := range r.Recorded {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s", e.Table, e.Stage, e.Container, bitText(e.Ran), bitText(e.Hit))
		if r.Mode == record.ModeAction {
			fmt.Fprintf(t, "\t%s", actionText(e.Actions))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Simulation != nil {
		fmt.Fprintln(b)
		if err := r.Simulation.WriteText(b); err != nil {
			return err
		}
	}
	return b.Flush()
}

func named(program, pipeline string) string {
	return strings.TrimSpace(program + " " + pipeline)
}

func bitText(bit *int) string {
	if bit == nil {
		return "-"
	}
	return fmt.Sprintf("bit %d", *bit)
}

// actionText says which bit is of which actions.
func actionText(bits []record.ActionBit) string {
	var list []string
	for _, b := range bits {
		names := slices.Clone(b.Of)
		for i := range names {
			names[i] = cmp.Or(names[i], "no action")
		}
		list = append(list, fmt.Sprintf("bit %d: %s", b.Bit, strings.Join(names, " or ")))
	}
	return cmp.Or(strings.Join(list, "; "), "-")
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printFigures prints the size of a program.
func (p *planFlags) printFigures(w io.Writer, g *record.Graph) error {
	f, err := p4graph.Measure(g)
	if err != nil {
		return err
	}
	if p.wantJSON {
		return printJSON(w, struct {
			Program  string `json:"program,omitempty"`
			Pipeline string `json:"pipeline"`
			*p4graph.Figures
		}{g.Program, g.Pipeline, f})
	}
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, named(g.Program, g.Pipeline))
	for _, line := range []struct {
		name  string
		value string
	}{
		{"tables", fmt.Sprintf("%d, %d of them without key", f.Tables, f.Keyless)},
		{"conditions", fmt.Sprint(f.Conditions)},
		{"edges", fmt.Sprintf("%d, to %d successors", f.Edges, f.Successors)},
		{"longest path", fmt.Sprintf("%d nodes, %d tables", f.LongestPath, f.LongestRun)},
		{"paths", fmt.Sprintf("%s of tables, %s of nodes, %s walks of actions", f.Paths, f.NodePaths, f.Walks)},
		{"on every path", fmt.Sprintf("%d nodes, %d of them tables", f.Cuts, f.CutTables)},
		{"dependencies", fmt.Sprintf("%d strict (%d do not follow from others), %d others", f.Strict, f.Needed, f.NonStrict)},
		{"stages needed", fmt.Sprint(f.MinStages)},
		{"by", strings.Join(f.Chain, " -> ")},
		{"never run", strings.Join(f.Unreached, ", ")},
	} {
		if line.value != "" {
			fmt.Fprintf(t, "%s\t%s\n", line.name, line.value)
		}
	}
	return t.Flush()
}
