package p4graph

import (
	"encoding/json"
	"errors"
	"fmt"

	"tamtam/tam/record"
)

// plainNode is a node of the plain form. A chip's description says that a table has
// no key; what other programs write has the key itself, with no field in it.
type plainNode struct {
	record.Node
	Keys *[]struct {
		Field string `json:"field"`
	} `json:"keys"`
}

func readPlain(d *document, pipeline string) (*record.Graph, error) {
	g := &record.Graph{
		Program: d.Program, Pipeline: d.Pipeline, Init: d.Init,
		Placed: d.Placed, Stages: d.Stages, Version: d.Version,
	}
	if pipeline != "" && pipeline != g.Pipeline {
		return nil, fmt.Errorf("no pipeline %q: the graph is of %q", pipeline, g.Pipeline)
	}
	if err := readFacts(d, g); err != nil {
		return nil, err
	}
	err := eachAs(d.Nodes, "node", MaxNodes, func(n *plainNode) error {
		if n.Keys != nil && n.Kind == record.Table {
			n.Keyless = n.Keyless || len(*n.Keys) == 0
			if n.KeyReads == nil {
				for _, k := range *n.Keys {
					n.KeyReads = append(n.KeyReads, k.Field)
				}
			}
		}
		g.Nodes = append(g.Nodes, n.Node)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = each(d.Edges, "edge", MaxEdges, func(b json.RawMessage) error {
		var e record.Edge
		if err := json.Unmarshal(b, &e); err != nil {
			return err
		}
		g.Edges = append(g.Edges, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if d.Deps == nil || string(d.Deps) == "null" {
		return g, nil
	}
	g.Deps = []record.Dep{}
	return g, eachAs(d.Deps, "dependency", MaxNodes*MaxNodes, func(dep *record.Dep) error {
		g.Deps = append(g.Deps, *dep)
		return nil
	})
}

// readFacts reads what is known of the packets that a graph is of.
func readFacts(d *document, g *record.Graph) error {
	return errors.Join(
		eachAs(d.Reasons, "reason", 256, func(reason *string) error {
			g.Reasons = append(g.Reasons, *reason)
			return nil
		}),
		eachAs(d.Ends, "end", MaxEdges, func(e *record.End) error {
			g.Ends = append(g.Ends, *e)
			return nil
		}),
		eachAs(d.Only, "only", MaxEdges, func(o *record.Only) error {
			g.Only = append(g.Only, *o)
			return nil
		}),
		eachAs(d.Traps, "trap", 256, func(t *record.Trap) error {
			g.Traps = append(g.Traps, *t)
			return nil
		}),
		eachAs(d.Tests, "test", MaxNodes, func(t *record.Test) error {
			g.Tests = append(g.Tests, *t)
			return nil
		}))
}
