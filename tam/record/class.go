package record

import "encoding/binary"

// Classes is a set of packet classes. A class is a property that the parser finds, and that rules out certain edges of
// a graph.
type Classes uint8

// The classes.
const (
	ClassIPv4    Classes = 1 << iota // IPv4 by its EtherType
	ClassIPv6                        // IPv6 by its EtherType
	ClassUnicast                     // the destination is a unicast MAC address
	ClassGroup                       // the destination is a group MAC address
	classes      = 4
)

// classNames holds the names of the classes in graphs, in the order of the classes.
var classNames = [classes]string{"ipv4", "ipv6", "unicast", "group"}

// An Only restricts the edge of a condition's label to packets of one class.
type Only struct {
	From  string `json:"from"`
	Label string `json:"label"`
	Class string `json:"class"`
}

// ClassName returns the name of a class in graphs, or "" if c is not exactly one class.
func ClassName(c Classes) string {
	for i, name := range classNames {
		if c == 1<<i {
			return name
		}
	}
	return ""
}

// NotOf returns the classes that a packet certainly does not have. frame is the received frame, possibly truncated.
// Classes that a parser may judge differently are not returned: those of frames with several tags, or with tags other
// than C-tags.
func NotOf(frame []byte) (not Classes) {
	const etherIPv4, etherIPv6, etherCTag, etherSTag = 0x0800, 0x86dd, 0x8100, 0x88a8
	if len(frame) == 0 {
		return 0
	}
	not = ClassGroup
	if frame[0]&1 != 0 {
		not = ClassUnicast
	}
	at := 12
	if len(frame) >= 14 && binary.BigEndian.Uint16(frame[12:]) == etherCTag {
		at = 16
	}
	if len(frame) < at+2 {
		return not
	}
	switch t := binary.BigEndian.Uint16(frame[at:]); {
	case t == etherIPv4:
		not |= ClassIPv6
	case t == etherIPv6:
		not |= ClassIPv4
	case t == etherCTag, t == etherSTag:
	default:
		not |= ClassIPv4 | ClassIPv6
	}
	return not
}

// shut returns the edge labels, each with its node, that a packet cannot take. The packet is in none of the classes in
// not, and has these test outcomes.
func (g *Graph) shut(not Classes, outcomes string) map[[2]string]bool {
	labels := map[[2]string]bool{}
	for i := range min(len(g.Tests), len(outcomes)) {
		switch outcomes[i] {
		case testTrue:
			labels[[2]string{g.Tests[i].From, "false"}] = true
		case testFalse:
			labels[[2]string{g.Tests[i].From, "true"}] = true
		}
	}
	for _, o := range g.Only {
		for i, name := range classNames {
			if o.Class == name && not>>i&1 != 0 {
				labels[[2]string{o.From, o.Label}] = true
			}
		}
	}
	return labels
}

// barred returns the edges that a packet cannot take, as pairs of nodes. The packet is in none of the classes in not,
// and has these test outcomes. An edge is not barred if another label also leads from its node to the next.
func (g *Graph) barred(not Classes, outcomes string) map[[2]string]bool {
	labels := g.shut(not, outcomes)
	if len(labels) == 0 {
		return nil
	}
	conditions := map[string]bool{}
	for i := range g.Nodes {
		conditions[g.Nodes[i].ID] = g.Nodes[i].Kind == Condition
	}
	set, open := map[[2]string]bool{}, map[[2]string]bool{}
	for _, e := range g.Edges {
		if k := [2]string{e.From, e.To}; e.To == Exit || !conditions[e.From] || !labels[[2]string{e.From, e.Label}] {
			open[k] = true
		} else {
			set[k] = true
		}
	}
	for k := range open {
		delete(set, k)
	}
	return set
}

// Without returns the graph and its complete probabilities for packets that are in none of the classes in not. The
// packets have these test outcomes ([Graph.Outcomes]). It removes the edges that the packets cannot take, and gives
// their probability to the other edges of the node. A node keeps its edges if none would be left.
func (g *Graph) Without(not Classes, outcomes string, p Probabilities) (*Graph, Probabilities) {
	barred := g.barred(not, outcomes)
	if len(barred) == 0 {
		return g, p
	}
	p = p.without(barred)
	left := map[string]int{}
	for _, e := range g.Edges {
		if !barred[[2]string{e.From, e.To}] {
			left[e.From]++
		}
	}
	goes := func(from, to string) bool { return barred[[2]string{from, to}] && left[from] > 0 }
	cut := *g
	cut.Edges = nil
	for _, e := range g.Edges {
		if !goes(e.From, e.To) {
			cut.Edges = append(cut.Edges, e)
		}
	}
	kept := p.Edges
	p.Edges = nil
	for _, e := range kept {
		if e.To == nil || !goes(e.From, *e.To) {
			p.Edges = append(p.Edges, e)
		}
	}
	return &cut, p
}

// Unlikely returns complete probabilities in which an edge has probability zero if packets in none of the classes in
// not cannot take it.
func (g *Graph) Unlikely(not Classes, p Probabilities) Probabilities {
	return p.without(g.barred(not, ""))
}

// without moves the probability of barred edges to the other edges of their nodes, in proportion, or equally if these
// have none. A node without other edges is unchanged.
func (p Probabilities) without(barred map[[2]string]bool) Probabilities {
	type rest struct {
		p float64
		n int
	}
	others := map[string]rest{}
	is := func(e EdgeProbability) bool { return e.To != nil && barred[[2]string{e.From, *e.To}] }
	for _, e := range p.Edges {
		if !is(e) {
			r := others[e.From]
			others[e.From] = rest{r.p + e.P, r.n + 1}
		}
	}
	parted := map[string]bool{}
	for k := range barred {
		parted[k[0]] = true
	}
	q := Probabilities{Hits: p.Hits}
	for _, e := range p.Edges {
		switch r := others[e.From]; {
		case !parted[e.From] || r.n == 0:
		case is(e):
			e.P = 0
		case r.p > 0:
			e.P /= r.p
		default:
			e.P = 1 / float64(r.n)
		}
		q.Edges = append(q.Edges, e)
	}
	return q
}
