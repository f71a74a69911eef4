package web

import (
	"context"

	"tamtam/collector/topology"
)

// Told returns a given topology, from source, such as a file. The state, rate and load of its links are unknown.
func Told(t *topology.Topology, source string) Topology {
	n := &Network{Source: source}
	for _, x := range t.Nodes {
		n.Nodes = append(n.Nodes, Node{Name: x.Name, Host: x.Kind == topology.Host, Unknown: x.Kind == topology.Unknown,
			ID: x.ID})
	}
	end := func(e topology.End) End { return End{Node: e.Node, Port: e.Port, Number: PortNumber(e.Port)} }
	for _, l := range t.Links {
		n.Links = append(n.Links, Link{Name: l.String(), A: end(l.A), B: end(l.B)})
	}
	return told{n}
}

type told struct{ network *Network }

// Network implements Topology.
func (t told) Network(context.Context) (*Network, error) { return t.network, nil }
