package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

type flowRow struct {
	Flow, Path, Href string
	Packets          int64
	Total            int64 // mean time from the first switch to the last
	Whole            bool  // Total contains all parts
	Slowest          string
	Reasons          []string
	Windows          int
}

type flowsData struct {
	Query string
	Rows  []flowRow
}

// flows returns the view of all paths of all flows.
func (p *Page) flows(q *request) (any, error) {
	n, err := p.netOf(q)
	if err != nil {
		return nil, err
	}
	d := &flowsData{Query: q.get("q")}
	items := slices.DeleteFunc(rows.FlowItems(q.snap, n.name), func(x rows.FlowItem) bool {
		return !strings.Contains(x.Tuple.Text, d.Query) && !strings.Contains(x.Path, d.Query)
	})
	if items, err = choose(q, since(p, rows.FlowTable), items, ""); err != nil {
		return nil, err
	}
	if items, err = pageOf(q, items); err != nil {
		return nil, err
	}
	for i := range items {
		d.Rows = append(d.Rows, n.flowRow(q, items[i].Way))
	}
	return d, nil
}

func (n *net) flowRow(q *request, w *rows.Way) flowRow {
	r := flowRow{Flow: w.Flow, Path: w.Text(n.name), Windows: w.Windows, Reasons: rows.FlagWords(w.Flags), Whole: true,
		Href: q.Link("/flow", "flow", w.Flow, "path", w.Path)}
	var worst, perhaps int64
	var slowest, partly []string
	for i := range w.Hops {
		h := &w.Hops[i]
		r.Packets, perhaps = max(r.Packets, h.Packets), max(perhaps, h.Perhaps)
		if h.Resident.Count == 0 || i > 0 && h.Link.Count == 0 {
			r.Whole = false
		}
		if len(lacksOf(h, i)) > 0 {
			partly = append(partly, n.name(h.Sw))
		}
		if mean, ok := h.Resident.Mean(); ok {
			r.Total += mean
			if mean > worst {
				worst, slowest = mean, []string{n.name(h.Sw) + " " + durText(mean)}
			}
		}
		if mean, ok := h.Link.Mean(); i > 0 && ok {
			r.Total += mean
		}
	}
	if len(slowest) > 0 && slices.ContainsFunc(w.Hops, func(h rows.HopSum) bool { return h.Resident.Count == 0 }) {
		slowest = append(slowest, "of those that are known")
	}
	r.Slowest = strings.Join(slowest, ", ")
	if perhaps > 0 {
		r.Reasons = append(r.Reasons, count(perhaps)+" packets "+rows.MayLie)
	}
	if len(partly) > 0 {
		r.Reasons = append(r.Reasons, "times of some packets are unknown: at "+strings.Join(partly, ", "))
	}
	return r
}

// A bar is a part of a waterfall, from 0 to 1000.
type bar struct {
	X, W  string
	Class string // link, resident
}

type hopRow struct {
	Known            bool
	Index            int
	Switch, In, Out  string
	Href             string
	Packets, Unknown int64
	Resident, Link   result.Distribution
	First            bool // there is no link before it
	Bars             []bar
	Words            string   // the bars as text
	Shape            []column // the distribution of Resident
	Reasons          []string
}

type flowData struct {
	Flow, Path string
	Hops       []hopRow
	Total      int64
	Whole      bool
	Packets    int64
	Windows    int
	Late       bool // Windows is an upper bound
	Reasons    []string
	From, To   int64
	Others     []flowRow // other paths of the flow, up to a bound
	More       int       // number of further paths
	Packet     string    // link to its packets
}

// flow returns the view of one path of one flow: a waterfall.
func (p *Page) flow(q *request) (any, error) {
	n, err := p.netOf(q)
	if err != nil {
		return nil, err
	}
	w := q.snap.Ways[rows.WayKey{Flow: q.get("flow"), Path: q.get("path")}]
	if w == nil {
		return nil, missing("flow %.200q: no stamps of it on this path in this time", q.get("flow"))
	}
	r := n.flowRow(q, w)
	d := &flowData{Flow: w.Flow, Path: r.Path, Total: r.Total, Whole: r.Whole, Packets: r.Packets, Windows: w.Windows,
		Late: w.Late, Reasons: r.Reasons, From: w.From, To: w.To, Packet: q.Link("/packets", "q", w.Flow)}
	d.Hops = n.hopRows(q, w, max(1, r.Total))
	for _, o := range q.snap.SortedWays() {
		switch {
		case o.Flow != w.Flow || o == w:
		case len(d.Others) == rowsOfPage:
			d.More++
		default:
			d.Others = append(d.Others, n.flowRow(q, o))
		}
	}
	return d, pathColumns.sort(q, d.Others)
}

var pathColumns = columnsOf[flowRow]("").
	text("path", func(r *flowRow) string { return r.Path }).
	count("packets", func(r *flowRow) int64 { return r.Packets }).
	number("delay", func(r *flowRow) (float64, bool) { return float64(r.Total), r.Whole }).
	text("confidence", func(r *flowRow) string { return confidence(r.Reasons) })

// hopRows returns the hops of a path, their bars one after the other.
func (n *net) hopRows(q *request, w *rows.Way, total int64) (list []hopRow) {
	var at int64
	part := func(d *result.Distribution, class string) (bar, bool) {
		if d.Count == 0 {
			return bar{}, false
		}
		mean := max(0, d.Sum/d.Count)
		b := barOf(at, at+mean, total, class)
		at += mean
		return b, true
	}
	for i := range w.Hops {
		h := &w.Hops[i]
		r := hopRow{Known: h.Known, Index: i, First: i == 0}
		if !h.Known {
			list = append(list, r)
			continue
		}
		r.Switch, r.In, r.Out = n.name(h.Sw), n.inPort(h.Sw, h.In), n.port(h.Sw, h.Out)
		if n.ids[h.Sw] != "" {
			r.Href = q.Link("/switch", "name", r.Switch)
		}
		r.Packets, r.Unknown, r.Resident, r.Link = h.Packets, h.Unknown, h.Resident, h.Link
		r.Reasons = append(rows.FlagWords(h.Flags), lacksOf(h, i)...)
		if i > 0 {
			if b, ok := part(&h.Link, "link"); ok {
				r.Bars = append(r.Bars, b)
			}
		}
		if b, ok := part(&h.Resident, "resident"); ok {
			r.Bars = append(r.Bars, b)
		}
		r.Words = "link " + distText(h.Link) + ", in the switch " + distText(h.Resident)
		if i == 0 {
			r.Words = "in the switch " + distText(h.Resident)
		}
		r.Shape = shape(&h.Resident)
		list = append(list, r)
	}
	return list
}

// inPort returns the name of the ingress port of packets.
func (n *net) inPort(id uint32, number uint16) string {
	if d := n.into[portKey{id, number}]; d != nil && d.to.Port != "" {
		return d.to.Port
	}
	return n.port(id, number)
}

// barOf returns a bar from one time to another, with a minimum width.
func barOf(from, to, total int64, class string) bar {
	x, w := 1000*float64(from)/float64(total), 1000*float64(to-from)/float64(total)
	w = max(w, 2)
	return bar{X: coord(min(x, 1000-w)), W: coord(w), Class: class}
}

// A column is a bar of a distribution, in a picture of 100 by 20.
type column struct{ X, Y, W, H string }

// shape returns a distribution as columns: one for each quarter octave from the least value to the greatest.
func shape(d *result.Distribution) (list []column) {
	first, most := -1, uint32(0)
	for i, n := range d.Buckets {
		if n > 0 && first < 0 {
			first = i
		}
		most = max(most, n)
	}
	if first < 0 {
		return nil
	}
	each := math.Min(10, 100/float64(len(d.Buckets)-first))
	for i, c := range d.Buckets[first:] {
		if c > 0 {
			high := max(1, 20*float64(c)/float64(most))
			list = append(list, column{coord(float64(i) * each), coord(20 - high), coord(each * 0.9), coord(high)})
		}
	}
	return list
}

type packetRow struct {
	Time       int64
	Flow, Path string
	Origin     string // origin of the packets; empty if unknown
	End        string
	Dropped    bool
	Ambiguous  bool
	Href       string
	Reasons    []string
}

type endCount struct {
	End   string
	Count int
	Href  string
	On    bool
}

type packetsData struct {
	Query string
	Ends  []endCount
	More  int // number of further ends, which cannot be chosen
	Rows  []packetRow
}

// packets returns the view of the packets whose path is known, the latest first.
func (p *Page) packets(q *request) (any, error) {
	d := &packetsData{Query: q.get("q")}
	ends := map[string]int{}
	var list []rows.PacketItem
	for i := len(q.snap.Journeys) - 1; i >= 0; i-- {
		j := &q.snap.Journeys[i]
		if d.Query != "" && !strings.Contains(j.Flow, d.Query) && j.Key != d.Query {
			continue
		}
		ends[j.End]++
		if e := q.get("end"); e == "" || j.End == e {
			list = append(list, rows.PacketItemOf(j))
		}
	}
	for _, e := range sortedKeys(ends) {
		d.Ends = append(d.Ends, endCount{e, ends[e], q.With("end", e), e == q.get("end")})
	}
	slices.SortStableFunc(d.Ends, func(a, b endCount) int { return cmp.Compare(b.Count, a.Count) })
	if d.More = max(0, len(d.Ends)-mostChoices); d.More > 0 {
		d.Ends = d.Ends[:mostChoices]
	}
	list, err := choose(q, since(p, rows.PacketTable), list, "end")
	if err != nil {
		return nil, err
	}
	if list, err = pageOf(q, list); err != nil {
		return nil, err
	}
	for i := range list {
		d.Rows = append(d.Rows, packetRowOf(q, list[i].Journey))
	}
	return d, nil
}

// lacksOf describes for how many packets of the i-th hop of a path times are unknown. Means then cover only the
// remaining packets.
func lacksOf(h *rows.HopSum, i int) (words []string) {
	for _, x := range []struct {
		of    bool
		where string
		told  int64
	}{{i > 0, "on the link", h.Link.Count}, {true, "in the switch", h.Resident.Count}} {
		if x.of && x.told < h.Packets {
			words = append(words, fmt.Sprintf("time %s unknown of %s of %s packets", x.where, count(h.Packets-x.told),
				count(h.Packets)))
		}
	}
	return words
}
