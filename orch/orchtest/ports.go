package orchtest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
)

// Ports are ports and LAGs that a test changes at will, where an orch asks for them.
type Ports struct {
	All     map[string]sai.OID // ports that there can be
	OIDs    map[string]sai.OID // those that there are
	LAGs    map[string]sai.OID
	LAGOf   map[string]string // LAG of a port
	changes orch.Topic[[]string]
}

// NewPorts returns these ports: all are there, none is in a LAG.
func NewPorts(all map[string]sai.OID) *Ports {
	return &Ports{All: all, OIDs: maps.Clone(all), LAGs: map[string]sai.OID{}, LAGOf: map[string]string{}}
}

func portName(i int) string { return fmt.Sprintf("Ethernet%d", 4*i) }

// Port returns a port and its LAG.
func (p *Ports) Port(name string) (oid sai.OID, lag string, ok bool) {
	oid, ok = p.OIDs[name]
	return oid, p.LAGOf[name], ok
}

// LAG returns a LAG and its members.
func (p *Ports) LAG(name string) (oid sai.OID, members []string, ok bool) {
	oid, ok = p.LAGs[name]
	for port, lag := range p.LAGOf {
		if lag == name {
			members = append(members, port)
		}
	}
	schema.SortNames(members)
	return oid, members, ok
}

// Names returns the names of ports and LAGs.
func (p *Ports) Names() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(p.OIDs)), maps.Keys(p.LAGs))
	schema.SortNames(names)
	return names
}

// Changes tells what has changed.
func (p *Ports) Changes() *orch.Topic[[]string] { return &p.changes }

// Changed tells that something about these ports and LAGs has changed.
func (p *Ports) Changed(ctx context.Context, names ...string) { p.changes.Publish(ctx, names) }

// Turn has a port come or go.
func (p *Ports) Turn(ctx context.Context, name string, there bool) {
	delete(p.OIDs, name)
	if there {
		p.OIDs[name] = p.All[name]
	}
	p.Changed(ctx, name)
}
