package recordplan

import (
	"encoding/binary"
	"math/rand/v2"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/p4graph"
)

// Packets draws the paths of packets through a program, like [Simulate], but without a plan.
type Packets struct {
	edges *mergedEdges
	first int
	table []bool // true for tables; indexed by node
	path  []byte
}

// NewPackets returns a Packets for a graph and its probabilities.
func NewPackets(g *record.Graph, p record.Probabilities) (*Packets, error) {
	x, err := record.NewIndex(g)
	if err != nil {
		return nil, err
	}
	if p, err = p4graph.Complete(g, p); err != nil {
		return nil, err
	}
	k := &Packets{edges: newMergedEdges(g, x, p), first: x.Init}
	for _, n := range g.Nodes {
		k.table = append(k.table, n.Kind == record.Table)
	}
	return k, nil
}

// Next draws a packet, and returns the tables that it ran, in order, as four bytes each. They are valid until the next
// call.
func (k *Packets) Next(r *rand.Rand) []byte {
	k.path = k.path[:0]
	for at := k.first; at != k.edges.exit; {
		to, _ := k.edges.choose(at, r.Float64())
		if k.table[at] {
			k.path = binary.BigEndian.AppendUint32(k.path, uint32(at))
		}
		at = to
	}
	return k.path
}
