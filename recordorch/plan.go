package recordorch

import (
	"context"
	"fmt"

	"tamtam/swss/schema"
	"tamtam/tam/record"
	"tamtam/tam/recordplan"
	"tamtam/tam/recordplan/p4graph"
)

// A planner finds a plan for a graph. It uses the counts in paths; without paths it uses uniform probabilities. It
// assumes that no packet has one of the classes in not. The result depends only on the arguments.
type planner func(
	ctx context.Context, g *record.Graph, paths []record.PathCount, not record.Classes, s schema.RecordSettings,
) (*record.Plan, error)

// budget is the maximum number of sets that a search may evaluate here, while other rows wait for it. Branch and bound
// needs about a second for that number. Greedy search needs far fewer sets on a chip's graph.
const budget = 50_000

// makePlan computes a plan with recordplan.
func makePlan(
	ctx context.Context, g *record.Graph, paths []record.PathCount, not record.Classes, s schema.RecordSettings,
) (*record.Plan, error) {
	p, from := p4graph.Uniform(g), schema.ProbabilitiesUniform
	if len(paths) > 0 {
		counted, err := p4graph.FromPaths(g, paths)
		if err != nil {
			return nil, fmt.Errorf("the switch's counted paths: %w", err)
		}
		p, from = mix(counted, p), schema.ProbabilitiesCounted
	}
	m, err := recordplan.NewModel(g, g.Unlikely(not, p))
	if err != nil {
		return nil, fmt.Errorf("the switch's pipeline: %w", err)
	}
	plan, err := m.Plan(ctx, recordplan.Settings{
		Containers: s.PHV, Hits: s.Mode == record.ModeHit, Actions: s.Mode == record.ModeAction,
		Algorithm: s.Algorithm, Must: s.MustRecord, Budget: budget,
	})
	if err != nil {
		return nil, err
	}
	plan.ProbabilitiesFrom = from
	return plan, nil
}

// unseen is the share of uniform probabilities in the mix with counted ones. The purpose of recording is to detect
// behaviour that no packet has shown yet. Without this share, a plan would omit the tables of such packets even if it
// had bits for them.
const unseen = 0.01

// mix returns a mixture of a and b in which b has the share unseen.
func mix(a, b record.Probabilities) record.Probabilities {
	type edge struct{ from, to, label string }
	key := func(e record.EdgeProbability) edge {
		k := edge{from: e.From, label: e.Label}
		if e.To != nil {
			k.to = *e.To
		}
		return k
	}
	uniform := map[edge]float64{}
	for _, e := range b.Edges {
		uniform[key(e)] = e.P
	}
	m := record.Probabilities{Hits: map[string]float64{}}
	for _, e := range a.Edges {
		e.P = float64((1-unseen)*e.P) + float64(unseen*uniform[key(e)])
		m.Edges = append(m.Edges, e)
	}
	for table, p := range a.Hits {
		m.Hits[table] = float64((1-unseen)*p) + float64(unseen*b.Hits[table])
	}
	return m
}
