package lab

import (
	"context"
	"fmt"

	"tamtam/saisim"
	"tamtam/saisim/truth"
)

// A TruthGroup is a flow group that the truth oracle watches frame by frame, with paths. Flows adds every single flow.
// The oracle needs time, and memory for each flow and each frame under way.
type TruthGroup struct {
	Name  string            `yaml:"name"`
	Match map[string]string `yaml:"match"` // fields of an ACL rule; empty matches every frame
	Flows bool              `yaml:"flows"` // true if frames are also counted by 5-tuple
}

func truthTime(t Time) truth.Time {
	return truth.Time{Sec: uint64(t / Second), Ps: uint64(t % Second)}
}

// makeOracle connects the oracle to switches, hosts and links.
func (l *Lab) makeOracle(context.Context) error {
	if len(l.t.Truth) == 0 {
		return nil
	}
	var groups []truth.Group
	for i, g := range l.t.Truth {
		f, err := truth.ParseFilter(g.Match)
		if err != nil {
			p := Item("truth", g.Name, i)
			return fmt.Errorf("%s%s.match: %w", l.t.Where(p+".match"), p, err)
		}
		group := truth.Group{Name: g.Name, Filter: f}
		if g.Flows {
			group.Flows = truth.By5Tuple
		}
		groups = append(groups, group)
	}
	l.oracle = truth.New(groups...)
	for _, n := range l.nodes {
		n.truth = l.oracle.Chip(n.s.Name, n.hz, n.portName)
		n.watch(n.sim.Chip)
	}
	for _, h := range l.stations {
		h.truth = l.oracle.Host(h.host.Name)
	}
	for _, k := range l.links {
		for _, w := range k.wires {
			w.oracle, w.oracleEnd = l.oracle, w.to.oracleEnd()
		}
		l.oracle.Connect(k.wires[0].oracleEnd, k.wires[1].oracleEnd)
	}
	return nil
}

// portName returns a port's name as the oracle expects it.
func (n *node) portName(id saisim.PortID) string {
	if id == saisim.CPUPort {
		return "CPU"
	}
	if i := n.place(id); i >= 0 {
		return n.ports[i].name
	}
	return fmt.Sprint(id)
}

func (e *end) oracleEnd() truth.End {
	if e.host != nil {
		return truth.End{Node: e.host.truth}
	}
	return truth.End{Node: e.node.truth, Port: e.port.id}
}
