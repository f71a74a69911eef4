package page

import (
	"slices"

	"tamtam/collectord/result"
)

// Marked is what alternate marking says of a link.
type marked struct {
	Periods, Unknown int // of them, Unknown without numbers
	Sent, Lost       int64
}

// Delays are those of a link, from stamps.
type delays struct {
	Dist  result.Distribution
	Flags result.Flags
}

// A linkRow is a direction of a link.
type linkRow struct {
	Name, From, To string
	State          string // up, down, not known
	Mbps           int64
	Traffic        Traffic
	Stamped        int64
	HasStamps      bool
	Delay          delays
	Loss           marked
	Class          string
}

type networkData struct {
	Source  string
	Derived bool
	Drawing *drawing
	Links   []linkRow
	Nodes   int
	// Troubles are links with losses, by any measure.
	Troubles int
}

// network is the view of the topology.
func (p *Page) network(q *request) (any, error) {
	n, err := p.netOf(q)
	if err != nil {
		return nil, err
	}
	n.load(q.snap)
	d := &networkData{Source: n.source, Derived: n.derived, Nodes: len(n.nodes)}
	for _, x := range n.directions {
		row := x.row()
		if row.Class == "bad" {
			d.Troubles++
		}
		d.Links = append(d.Links, row)
	}
	slices.SortStableFunc(d.Links, func(a, b linkRow) int {
		if c := natural(a.From, b.From); c != 0 {
			return c
		}
		return natural(a.To, b.To)
	})
	d.Drawing = n.draw(q)
	return d, nil
}

// load puts onto the links what stamps and alternate marking say.
func (n *net) load(s *snapshot) {
	for _, w := range s.ways {
		for i := range w.hops {
			h := &w.hops[i]
			if d := n.outOf[portKey{h.sw, h.out}]; d != nil && h.known {
				d.stamped += h.packets
				d.hasStamp = true
			}
			if d := n.into[portKey{h.sw, h.in}]; d != nil && h.known && i > 0 {
				d.delay.Dist.Add(h.link)
				d.delay.Flags |= h.flags
			}
		}
	}
	between := map[[2]string]*direction{}
	parallel := map[[2]string]int{}
	for _, d := range n.directions {
		key := [2]string{d.from.Node, d.to.Node}
		between[key] = d
		parallel[key]++
	}
	for _, x := range s.series {
		key := [2]string{x.from, x.to}
		if d := between[key]; d != nil && parallel[key] == 1 { // of several links between two switches it says nothing
			d.loss.add(x)
		}
	}
}

// add adds the periods of a series.
func (m *marked) add(x *series) {
	for i := range x.periods {
		m.Periods++
		if l := &x.periods[i]; l.Known {
			m.Sent += l.Sent
			m.Lost += l.Lost
		} else {
			m.Unknown++
		}
	}
}

func (d *direction) row() linkRow {
	r := linkRow{
		Name: d.name, From: place(d.from), To: place(d.to), State: "up", Mbps: d.mbps, Traffic: d.traffic,
		Stamped: d.stamped, HasStamps: d.hasStamp, Delay: d.delay, Loss: d.loss,
	}
	if d.derived {
		r.State = notKnown
	}
	if d.down {
		r.State = "down"
	}
	switch {
	case d.down:
		r.Class = "down"
	case d.traffic.LostKnown && d.traffic.Lost > 0 || d.loss.Lost > 0:
		r.Class = "bad"
	case !d.traffic.LostKnown && d.loss.Periods == d.loss.Unknown:
		r.Class = "unknown"
	default:
		r.Class = "good"
	}
	return r
}

// place is an end of a link.
func place(e End) string {
	if e.Port == "" {
		return e.Node
	}
	return e.Node + ":" + e.Port
}
