package p4graph

import (
	"fmt"

	"tamtam/tam/record"
)

// plainNode is a node of the plain form. A chip's description marks a table without a key. Other programs write the key
// itself, with no field in it.
type plainNode struct {
	record.Node
	Keys *[]struct {
		Field string `json:"field"`
	} `json:"keys"`
}

// A plainDocument is the plain form of a graph.
type plainDocument struct {
	record.Graph
	Nodes []plainNode `json:"nodes"`
}

func readPlain(b []byte, pipeline string) (*record.Graph, error) {
	d, err := decode[plainDocument](b)
	if err != nil {
		return nil, err
	}
	g := &d.Graph
	if pipeline != "" && pipeline != g.Pipeline {
		return nil, fmt.Errorf("no pipeline %q: the graph is of %q", pipeline, g.Pipeline)
	}
	for _, n := range d.Nodes {
		if n.Keys != nil && n.Kind == record.Table {
			n.Keyless = n.Keyless || len(*n.Keys) == 0
			if n.KeyReads == nil {
				for _, k := range *n.Keys {
					n.KeyReads = append(n.KeyReads, k.Field)
				}
			}
		}
		g.Nodes = append(g.Nodes, n.Node)
	}
	return g, nil
}
