package recordorch

import (
	"context"
	"errors"
	"fmt"

	"tamtam/record"
	"tamtam/recordplan"
	"tamtam/schema"
)

// A planner finds a plan for a graph, by the paths that packets have taken, or without
// any by uniform probabilities. It does so by what it is given and nothing else.
type planner func(ctx context.Context, g *record.Graph, paths []record.PathCount, s schema.RecordSettings) (*record.Plan, error)

// budget is how many sets a search may weigh here, where other rows wait for it: about a
// second of branch and bound, and far more than greedy search takes on a chip's graph.
const budget = 50_000

// makePlan is the planner of recordplan.
func makePlan(ctx context.Context, g *record.Graph, paths []record.PathCount, s schema.RecordSettings) (*record.Plan, error) {
	if len(paths) > 0 {
		return nil, errors.New("probabilities are not yet taken from counted paths")
	}
	m, err := recordplan.NewModel(g, record.Probabilities{})
	if err != nil {
		return nil, fmt.Errorf("the switch's pipeline: %w", err)
	}
	return m.Plan(ctx, recordplan.Settings{
		Containers: s.PHV, Hits: s.Mode == record.ModeHit, Algorithm: s.Algorithm, Must: s.MustRecord, Budget: budget,
	})
}
