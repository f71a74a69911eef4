package web

import (
	"cmp"
	"maps"
	"slices"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

// A marked is the loss of a link by alternate marking.
type marked struct {
	Periods, Unknown int   // number of periods, and of periods without numbers
	Inexact          int   // number of periods whose numbers may be inexact
	Older            int64 // number of further periods that were omitted because of a bound
	Sent, Lost       int64
}

// whole reports whether the loss of all periods is known.
func (m *marked) whole() bool {
	return m.Periods > 0 && m.Unknown == 0 && m.Inexact == 0 && m.Older == 0
}

// A delays is the delays of a link, from stamps.
type delays struct {
	Dist  result.Distribution
	Flags result.Flags
	Lacks int64 // number of packets whose delay is unknown
}

// Reasons returns why delays may be inexact.
func (d delays) Reasons() []string {
	words := rows.FlagWords(d.Flags)
	if d.Lacks > 0 {
		words = append(words, "delay unknown of "+count(d.Lacks)+" more packets")
	}
	return words
}

// A linkRow is a direction of a link.
type linkRow struct {
	Name, From, To string
	State          string // state: up, down or not known
	Mbps           int64
	Load           string
	Traffic        Traffic
	Stamped        int64
	HasStamps      bool
	Delay          delays
	Loss           marked
	Class          string
}

var linkColumns = columnsOf[linkRow]("").
	text("from", func(r *linkRow) string { return r.From }).
	text("to", func(r *linkRow) string { return r.To }).
	text("state", func(r *linkRow) string { return r.State }).
	number("load", func(r *linkRow) (float64, bool) {
		return r.Traffic.most(), r.Traffic.Counted || r.Traffic.Within != nil
	}).
	number("frames", func(r *linkRow) (float64, bool) { return float64(r.Traffic.Frames), r.Traffic.Counted }).
	number("lost", func(r *linkRow) (float64, bool) { return float64(r.Traffic.Lost), r.Traffic.LostKnown }).
	number("lost.marking", func(r *linkRow) (float64, bool) {
		return float64(r.Loss.Lost), r.Loss.Periods > r.Loss.Unknown
	}).
	number("delay", func(r *linkRow) (float64, bool) {
		d := &r.Delay.Dist
		return float64(d.Sum) / float64(max(1, d.Count)), d.Count > 0
	}).
	number("stamped", func(r *linkRow) (float64, bool) { return float64(r.Stamped), r.HasStamps }).
	text("confidence", func(r *linkRow) string {
		if r.Delay.Dist.Count == 0 {
			return ""
		}
		return confidence(r.Delay.Reasons())
	})

type networkData struct {
	Source  string
	Derived bool
	Drawing *drawing
	Links   []linkRow
	// Nodes and Directions are the numbers of nodes and of directions of links. Each link has two directions.
	Nodes, Directions int
	// Troubles is the number of links with losses, by any measure.
	Troubles int
	// Strange holds links that stamped packets passed but that the given topology lacks. Unnamed holds switch ids in
	// stamps that the topology lacks.
	Strange, Unnamed firstOf
}

// A firstOf holds the first of some texts, and the number of further ones.
type firstOf struct {
	First []string
	More  int
}

// mostFirst is how many texts a firstOf has.
const mostFirst = 5

func newFirstOf(set map[string]bool) firstOf {
	all := slices.SortedFunc(maps.Keys(set), natural)
	n := min(len(all), mostFirst)
	return firstOf{all[:n], len(all) - n}
}

// operDown is the state of a port that is not up.
const operDown = "down"

// network returns the view of the topology.
func (p *Page) network(q *request) (any, error) {
	n, err := p.netOf(q)
	if err != nil {
		return nil, err
	}
	n.load(q.snap)
	d := &networkData{Source: n.source, Derived: n.derived, Nodes: len(n.nodes)}
	if !n.derived && !p.cfg.Own {
		n.strange(q.snap, d)
	}
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
	if err := linkColumns.sort(q, d.Links); err != nil {
		return nil, err
	}
	d.Drawing, d.Directions = n.draw(q), len(d.Links)
	d.Links, err = pageOf(q, d.Links)
	return d, err
}

// load adds the results of stamps and alternate marking to the links.
func (n *net) load(s *rows.Snapshot) {
	for _, w := range s.Ways {
		for i := range w.Hops {
			h := &w.Hops[i]
			if d := n.outOf[portKey{h.Sw, h.Out}]; d != nil && h.Known {
				d.stamped += h.Packets
				d.hasStamp = true
			}
			if d := n.over(w, i); d != nil {
				if d.delay.Flags |= h.Flags; !d.delay.Dist.Add(h.Link) {
					d.delay.Flags |= result.Overflow
				}
				d.delay.Lacks += max(0, h.Packets-h.Link.Count)
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
	parted := map[string]bool{} // flows that are also measured in parts; the whole of such a flow is more than a link
	for _, x := range s.Series {
		parted[x.Flow] = parted[x.Flow] || x.Cluster != ""
	}
	for _, x := range s.Series {
		key := [2]string{x.From, x.To}
		if x.Cluster == "" && parted[x.Flow] {
			continue
		}
		// A result for parallel links cannot be assigned to one of them.
		if d := between[key]; d != nil && parallel[key] == 1 {
			d.loss.add(x)
		}
	}
}

// over returns the direction of the link by which packets reached a hop of a path. It is nil if they entered the
// network there, if the previous switch did not stamp them, or if no known link joins the two ports.
func (n *net) over(w *rows.Way, i int) *direction {
	if i == 0 || !w.Hops[i].Known || !w.Hops[i-1].Known {
		return nil
	}
	from, to := &w.Hops[i-1], &w.Hops[i]
	if d := n.into[portKey{to.Sw, to.In}]; d != nil && d == n.outOf[portKey{from.Sw, from.Out}] {
		return d
	}
	return nil
}

// strange finds switches and links in stamps that the topology lacks.
func (n *net) strange(s *rows.Snapshot, d *networkData) {
	unnamed, links := map[string]bool{}, map[string]bool{}
	for _, w := range s.Ways {
		for i := range w.Hops {
			h := &w.Hops[i]
			switch {
			case !h.Known:
			case n.ids[h.Sw] == "":
				unnamed[n.name(h.Sw)] = true
			case i > 0 && w.Hops[i-1].Known && n.ids[w.Hops[i-1].Sw] != "" && n.over(w, i) == nil:
				from := &w.Hops[i-1]
				links[n.name(from.Sw)+":"+portName(from.Out)+" → "+n.name(h.Sw)+":"+portName(h.In)] = true
			}
		}
	}
	d.Unnamed, d.Strange = newFirstOf(unnamed), newFirstOf(links)
}

// add adds the numbers of periods and of packets of a series to the sums.
func (m *marked) add(x *rows.Series) {
	m.Older += x.Left
	for i := range x.Periods {
		m.Periods++
		l := &x.Periods[i]
		if !l.Known {
			m.Unknown++
			continue
		}
		m.Sent, m.Lost = rows.PlusBound(m.Sent, l.Sent), rows.PlusBound(m.Lost, l.Lost)
		if l.Flags != 0 {
			m.Inexact++
		}
	}
}

func (d *direction) row() linkRow {
	r := linkRow{
		Name: d.name, From: place(d.from), To: place(d.to), State: cmp.Or(d.oper, notKnown), Mbps: d.mbps,
		Load: d.traffic.load(), Traffic: d.traffic, Stamped: d.stamped, HasStamps: d.hasStamp, Delay: d.delay, Loss: d.loss,
	}
	switch {
	case d.oper == operDown:
		r.Class = "down"
	case d.traffic.LostKnown && d.traffic.Lost > 0 || d.loss.Lost > 0:
		r.Class = "bad"
	case !d.traffic.LostKnown && !d.loss.whole():
		r.Class = "unknown"
	default:
		r.Class = "good"
	}
	return r
}

// load returns the load as text.
func (t *Traffic) load() string {
	if t.Counted {
		return percentText(t.Load)
	}
	return t.Within.String()
}

// most returns the load, or its upper bound; 0 if it is unknown.
func (t *Traffic) most() float64 {
	switch {
	case t.Counted:
		return t.Load
	case t.Within != nil:
		return t.Within.High
	}
	return 0
}

// place returns an end of a link as text.
func place(e End) string {
	if e.Port == "" {
		return e.Node
	}
	return e.Node + ":" + e.Port
}
