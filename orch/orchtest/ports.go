package orchtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// Ports are the ports and LAGs of an orch, which a test can change.
type Ports struct {
	All     map[string]sai.OID // all ports that may exist
	OIDs    map[string]sai.OID // ports that exist now
	LAGs    map[string]sai.OID
	LAGOf   map[string]string // name of the LAG of each port
	changes orch.Topic[[]string]
}

// NewPorts returns these ports. All exist, and none is in a LAG.
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

// Changes returns the topic on which changes are published.
func (p *Ports) Changes() *orch.Topic[[]string] { return &p.changes }

// Changed publishes a change of these ports and LAGs.
func (p *Ports) Changed(ctx context.Context, names ...string) { p.changes.Publish(ctx, names) }

// Turn adds or removes a port.
func (p *Ports) Turn(ctx context.Context, name string, there bool) {
	delete(p.OIDs, name)
	if there {
		p.OIDs[name] = p.All[name]
	}
	p.Changed(ctx, name)
}

// Line applies a line of a transcript: "port+ NAME" adds a port, "port- NAME" removes it.
func (p *Ports) Line(b *Bench, line string) {
	b.T.Helper()
	word, name, _ := strings.Cut(line, " ")
	if word != "port+" && word != "port-" {
		b.T.Fatalf("unknown line %q", line)
	}
	p.Turn(b.Ctx, name, word == "port+")
}
