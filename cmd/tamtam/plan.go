package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tamtam/saisim/profile"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/check"
	"tamtam/tam/recordplan/p4graph"
)

// planFlags are the flags of `tamtam plan`.
type planFlags struct {
	recordplan.Settings
	program, pipeline, phv             string
	profile, probabilities, paths      string
	seed, simulate                     uint64
	describe, stagesGiven              bool
	seedGiven, simulateGiven, wantJSON bool
}

func newPlan() *cobra.Command {
	var p planFlags
	var format string
	c := &cobra.Command{
		Use:   "plan --program FILE --phv 16+16",
		Args:  cobra.NoArgs,
		Short: "Choose the tables of a program whose records identify a packet's path best",
		Long: `Choose the tables of a program that record their execution in a few bits of each packet. The plan
selects the tables whose bits identify the path of a packet best. With --hit, the bits also record
whether a table hit. With --action, they also record the action of the hit entry.

The program is BMv2 JSON from p4c, a graph of tables and conditions, or the description that
"tamtam profile graph" prints of a chip. All branches of a node are equally likely, unless you give
--probabilities, --paths or --seed.

Look for the list of recorded tables with their bits, and for the line "entropy": it is the information
that the bits contain about the path. With --simulate, also look for the recovered paths.`,
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
		"`FILE` with BMv2 JSON, a plain graph, or the description of a chip; - is standard input")
	f.StringVar(&p.pipeline, "pipeline", "", "pipeline of the program (default: ingress, or the only one)")
	f.StringVar(&p.phv, "phv", "", "containers for the bits: "+record.ContainerWords)
	f.StringVar(&p.Algorithm, "algorithm", record.Greedy, "greedy, greedy-restarts, "+
		"bnb (branch and bound: proves that its plan is optimal, or reports the maximum distance), or brute")
	f.BoolVar(&p.Hits, "hit", false, "also record hits")
	f.BoolVar(&p.Actions, "action", false,
		"also record hits, and the action of the hit entry; only with the greedy algorithms")
	f.IntVar(&p.Stages, "stages", 0,
		"number of stages of the pipeline (default: that of the profile, or more if the program needs more)")
	f.StringVar(&p.profile, "profile", "default", "chip profile that has the number of stages, or its file")
	f.StringVar(&p.probabilities, "probabilities", "",
		"`FILE` of the probabilities of branches: "+
			`{"edges":[{"from","to","p"}],"hits":{"table":p}}`)
	f.StringVar(&p.paths, "paths", "", "`FILE` of counted paths: "+`[{"path":[{"table","hit"}],"packets":n}]`)
	f.Uint64Var(&p.seed, "seed", 0, "seed for random probabilities of branches, and for the packets of --simulate")
	f.StringSliceVar(&p.Must, "must-record", nil, "tables that must be recorded, separated by commas")
	f.IntVar(&p.Starts, "starts", 0, "for greedy-restarts: number of first tables to try (default: all)")
	f.Uint64Var(&p.Budget, "budget", 0,
		fmt.Sprintf("maximum number of sets of tables that a search evaluates (default %d)", recordplan.DefaultBudget))
	f.BoolVar(&p.Paper, "paper", false, "for bnb: use only the bound of the paper (Algorithm 2)")
	f.Uint64Var(&p.simulate, "simulate", 0,
		"send this number of packets through the program's graph, and recover their paths")
	f.BoolVar(&p.describe, "describe", false, "print only the size of the program: tables, paths, dependencies, stages")
	f.StringVar(&format, "format", "text", "text or json")
	c.AddCommand(newPlanInto())
	return c
}

// sources counts the flags that give probabilities. With a file of probabilities, the seed is that of the simulation.
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
	case p.stagesGiven && (p.Stages < 1 || p.Stages > 4096):
		return usagef("--stages %d: want 1 to 4096", p.Stages)
	case p.Starts < 0:
		return usagef("--starts %d: want 1 or more", p.Starts)
	}
	return p.checkAlgorithm()
}

// checkAlgorithm checks the algorithm, and the flags that only some algorithms have.
func (p *planFlags) checkAlgorithm() error {
	switch {
	case p.Starts > 0 && p.Algorithm != record.GreedyRestarts:
		return usagef("--starts: want it only with --algorithm %s", record.GreedyRestarts)
	case p.Actions && p.Algorithm != record.Greedy && p.Algorithm != record.GreedyRestarts:
		return usagef("--algorithm %s: want %s or %s with --action: this algorithm has no bound for the bits of actions",
			p.Algorithm, record.Greedy, record.GreedyRestarts)
	case p.Paper && p.Algorithm != record.BranchAndBound:
		return usagef("--paper: want it only with --algorithm %s", record.BranchAndBound)
	}
	algorithms := []string{record.Greedy, record.GreedyRestarts, record.BranchAndBound, record.BruteForce}
	if slices.Contains(algorithms, p.Algorithm) {
		return nil
	}
	return usagef("--algorithm %q: want %s, %s, %s or %s", p.Algorithm,
		record.Greedy, record.GreedyRestarts, record.BranchAndBound, record.BruteForce)
}

func (p *planFlags) run(cmd *cobra.Command) error {
	var err error
	if p.phv != "" {
		if p.Containers, err = record.ParseContainers(p.phv); err != nil {
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
		f, err := p4graph.Measure(graph)
		if err != nil {
			return err
		}
		return p.print(cmd.OutOrStdout(), f)
	}
	return p.plan(cmd, graph)
}

// plan makes the plan of a graph, checks it and prints it.
func (p *planFlags) plan(cmd *cobra.Command, graph *record.Graph) error {
	if p.Actions && len(graph.Acts()) == 0 {
		return fmt.Errorf("%s: --action: no table with a key has two actions that the file names, so there is nothing to "+
			"record: want actions of nodes, or labels of edges that are actions", p.program)
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
	p.Stages = stages
	plan, err := model.Plan(cmd.Context(), p.Settings)
	if err != nil {
		return fmt.Errorf("%s: %w", p.program, err)
	}
	plan.Seconds, plan.StagesWhy, plan.ProbabilitiesFrom = time.Since(began).Seconds(), why, from
	if err := check.Plan(plan); err != nil {
		return fmt.Errorf("the plan violates its own constraints, which is a bug in tamtam: %w", err)
	}
	report := recordplan.Report{Plan: plan}
	if p.simulateGiven {
		if report.Simulation, err = recordplan.Simulate(cmd.Context(), plan, p.simulate, p.seed); err != nil {
			return err
		}
	}
	return p.print(cmd.OutOrStdout(), &report)
}

// fromFile reads a file, or standard input if its name is "-". Errors contain the file's name.
func fromFile[T any](cmd *cobra.Command, name string, read func(io.Reader) (T, error)) (T, error) {
	if name == "-" {
		return read(bufio.NewReader(cmd.InOrStdin()))
	}
	return readFile(name, read)
}

// readFile reads a file. Unlike fromFile, it treats "-" as a file's name.
func readFile[T any](name string, read func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(name)
	if err != nil {
		return v, err
	}
	defer f.Close()
	if v, err = read(bufio.NewReader(f)); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return v, err
}

// weights returns the probabilities, and their source.
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

// stagesOf returns the number of stages, and how it was determined. n is 0 if the program is already placed on a chip.
func (p *planFlags) stagesOf(g *record.Graph) (n int, why string, err error) {
	if g.Placed {
		if p.stagesGiven && p.Stages != g.Stages {
			return 0, "", usagef("--stages %d: the program is placed on a chip, which has %d", p.Stages, g.Stages)
		}
		return 0, "the chip's, where its tables stay", nil
	}
	needed, _ := p4graph.MinStages(g)
	if p.stagesGiven {
		if p.Stages < needed {
			return 0, "", fmt.Errorf("--stages %d: the program's dependencies need %d (--describe shows them)", p.Stages, needed)
		}
		return p.Stages, fmt.Sprintf("asked for; the program needs %d", needed), nil
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

// print prints a value as text or as JSON.
func (p *planFlags) print(w io.Writer, v interface{ WriteText(w io.Writer) error }) error {
	if p.wantJSON {
		return printJSON(w, v)
	}
	return v.WriteText(w)
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
