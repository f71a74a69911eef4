package web

import (
	"context"

	"tamtam/collector/topology"
)

// Reported returns a Topology that always returns t. source is its origin, such as a file name. The state, rate and
// load of its links are unknown.
func Reported(t *topology.Topology, source string) Topology {
	n := &Network{Source: source}
	for _, x := range t.Nodes {
		n.Nodes = append(n.Nodes, Node{Name: x.Name, Host: x.Kind == topology.Host, Unknown: x.Kind == topology.Unknown,
			ID: x.ID})
	}
	end := func(e topology.End) End { return End{Node: e.Node, Port: e.Port, Number: PortNumber(e.Port)} }
	for _, l := range t.Links {
		n.Links = append(n.Links, Link{Name: l.String(), A: end(l.A), B: end(l.B)})
	}
	return reported{n}
}

type reported struct{ network *Network }

// Network implements Topology.
func (t reported) Network(context.Context) (*Network, error) { return t.network, nil }
