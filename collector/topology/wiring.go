package topology

import (
	"fmt"
	"strings"

	"tamtam/collector/journey"
)

// Wiring returns the input for joining journeys: the names of switches by switch id, and the wires. An error names the
// switches with an unknown id.
func (t *Topology) Wiring() (map[uint32]string, journey.Wiring, error) {
	w := journey.Wiring{Ports: map[journey.Port]journey.Port{}, Hosts: map[journey.Port]string{}}
	switches, kinds, without := map[uint32]string{}, map[string]Kind{}, []string(nil)
	for _, n := range t.Nodes {
		kinds[n.Name] = n.Kind
		switch {
		case n.Kind == Switch && n.ID == 0:
			without = append(without, n.Name)
		case n.Kind == Switch:
			switches[n.ID] = n.Name
		}
	}
	if len(without) > 0 {
		return nil, w, fmt.Errorf("the topology has no switch id of %s: want id in the file", strings.Join(without, ", "))
	}
	for near, far := range t.Far() {
		if kinds[near.Node] != Switch {
			continue
		}
		if at := near.port(); kinds[far.Node] == Switch {
			w.Ports[at] = far.port()
		} else {
			w.Hosts[at] = far.Node
		}
	}
	return switches, w, nil
}

func (e End) port() journey.Port { return journey.Port{Switch: e.Node, Port: e.Port} }
