package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
)

// A portKey is a port of a switch, as in stamps.
type portKey struct {
	sw uint32
	n  uint16
}

// A direction of a link leads out of one port, into another.
type direction struct {
	name     string // of the link
	from, to End
	fromID   uint32
	toID     uint32
	mbps     int64
	oper     string // up or down; empty if unknown
	traffic  Traffic
	loss     marked
	delay    delays
	stamped  int64 // number of packets with stamps
	hasStamp bool
}

// A net is a network with the known state of its links.
type net struct {
	nodes      []Node
	directions []*direction
	source     string
	derived    bool // true if the network is derived from stamps, without a given topology
	ids        map[uint32]string
	into       map[portKey]*direction // directions by the port where they end
	outOf      map[portKey]*direction
}

// name returns the name of a switch, or its id if the name is unknown.
func (n *net) name(id uint32) string {
	if s := n.ids[id]; s != "" {
		return s
	}
	return "switch " + strconv.FormatUint(uint64(id), 10)
}

// port returns the name of a port, or its number.
func (n *net) port(id uint32, number uint16) string {
	if d := n.outOf[portKey{id, number}]; d != nil && d.from.Port != "" {
		return d.from.Port
	}
	return portName(number)
}

// netOf returns the given network. If there is none, it returns the network derived from stamps.
func (p *Page) netOf(q *request) (*net, error) {
	n := &net{ids: map[uint32]string{}, into: map[portKey]*direction{}, outOf: map[portKey]*direction{}}
	if p.cfg.Topology == nil {
		n.derive(q.snap)
		return n, nil
	}
	known, err := p.cfg.Topology.Network(q.ctx)
	if err != nil {
		return nil, fmt.Errorf("the topology cannot be read: %w", err)
	}
	n.nodes, n.source = slices.Clone(known.Nodes), known.Source
	id := map[string]uint32{}
	for _, x := range known.Nodes {
		if x.isSwitch() && x.ID != 0 {
			id[x.Name], n.ids[x.ID] = x.ID, x.Name
		}
	}
	for i := range known.Links {
		l := &known.Links[i]
		n.connect(&direction{name: l.Name, from: l.A, to: l.B, fromID: id[l.A.Node], toID: id[l.B.Node], mbps: l.Mbps,
			oper: l.Oper, traffic: l.AB})
		n.connect(&direction{name: l.Name, from: l.B, to: l.A, fromID: id[l.B.Node], toID: id[l.A.Node], mbps: l.Mbps,
			oper: l.Oper, traffic: l.BA})
	}
	return n, nil
}

func (n *net) connect(d *direction) {
	n.directions = append(n.directions, d)
	if d.toID != 0 && d.to.Number != noPort {
		n.into[portKey{d.toID, d.to.Number}] = d
	}
	if d.fromID != 0 && d.from.Number != noPort {
		n.outOf[portKey{d.fromID, d.from.Number}] = d
	}
}

// derive makes a network of the links that stamped packets passed.
func (n *net) derive(s *rows.Snapshot) {
	n.derived, n.source = true, "the paths of stamped packets: no topology is configured"
	seen := map[uint32]bool{}
	for _, w := range s.SortedWays() {
		for i, h := range w.Hops {
			if !h.Known {
				continue
			}
			if !seen[h.Sw] {
				seen[h.Sw] = true
				n.nodes = append(n.nodes, Node{Name: n.name(h.Sw), ID: h.Sw})
			}
			if i == 0 || !w.Hops[i-1].Known {
				continue
			}
			from := w.Hops[i-1]
			if n.outOf[portKey{from.Sw, from.Out}] == nil {
				n.connect(&direction{
					fromID: from.Sw, toID: h.Sw,
					from: End{n.name(from.Sw), portName(from.Out), from.Out},
					to:   End{n.name(h.Sw), portName(h.In), h.In},
				})
			}
		}
	}
	slices.SortFunc(n.nodes, func(a, b Node) int { return natural(a.Name, b.Name) })
}

// natural compares texts with numbers in them by the numbers.
func natural(a, b string) int { return query.Natural(a, b) }

// noPort is the number in stamps for ports that are no front-panel ports, such as the CPU's.
const noPort = 65535

// PortNumber returns the number of a port in stamps: N for EthernetN, and 65535 for all other names.
func PortNumber(port string) uint16 {
	n, err := strconv.ParseUint(strings.TrimPrefix(port, "Ethernet"), 10, 16)
	if err != nil || portName(uint16(n)) != port {
		return noPort
	}
	return uint16(n)
}

// portName returns the name of a port by its number in a stamp.
func portName(n uint16) string {
	if n == noPort {
		return "no front-panel port"
	}
	return "Ethernet" + strconv.Itoa(int(n))
}
