package web

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
)

// A tally is how many packets each source reports for one reason, place or rule. Sources may report the same packet, so
// their counts are never added.
type tally struct {
	Name    string
	Href    string
	On      bool
	Counts  []int64 // number of packets by source, in the order of the view; -1 if a source does not report it
	Bars    []bar
	most    int64
	Inexact bool
}

// tallies holds the tallies of all reasons, places or rules.
type tallies struct {
	By      string
	Heads   []template.HTML
	Sources []string
	List    []tally
	More    int // number of lines that are not shown
}

type dropRow struct {
	Switch, Port, Queue, Reason, Rule, Flow, Source string
	NoRule, NoQueue                                 string // why there is no rule, or no queue
	Packets                                         string
	First, Last                                     int64
	Reasons                                         []string
}

type diedRow struct {
	packetRow
	Switch, Port, Reason, Rule string
	Tables                     string
}

type dropsData struct {
	Sources  []string
	Of       []endCount
	Tallies  []tallies
	Rows     []dropRow
	Died     []diedRow
	DiedMore int
	Accounts []accountRow
	Filter   [][2]string // the chosen values, and the links that remove them
}

// dropped returns the view of drops.
func (p *Page) dropped(q *request) (any, error) {
	d := &dropsData{}
	var err error
	if d.Accounts, err = p.dropAccounts(q); err != nil || p.cfg.Own { // a switch reports its account, and no rows
		return d, err
	}
	var list []*rows.DropSum
	sources := map[string]int{}
	for _, x := range q.snap.Drops {
		sources[x.Source]++
		if matches(q, "source", x.Source) && matches(q, "reason", x.Reason) && matches(q, "switch", x.Sw) &&
			matches(q, "rule", x.Rule) {
			list = append(list, x)
		}
	}
	for _, s := range sortedKeys(sources) {
		d.Of = append(d.Of, endCount{s, sources[s], q.With("source", s), s == q.get("source")})
		if matches(q, "source", s) {
			d.Sources = append(d.Sources, s)
		}
	}
	for _, name := range []string{"source", "reason", "switch", "rule"} {
		if v := q.get(name); v != "" {
			d.Filter = append(d.Filter, [2]string{name + " " + v, q.With(name, "")})
		}
	}
	slices.SortFunc(list, func(a, b *rows.DropSum) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), natural(a.Sw, b.Sw), natural(a.Port, b.Port),
			natural(a.Reason, b.Reason), natural(a.Rule, b.Rule), natural(a.Flow, b.Flow), natural(a.Source, b.Source),
			a.Queue-b.Queue)
	})
	items := make([]rows.DropItem, len(list))
	for i, x := range list {
		items[i] = rows.DropItem{DropSum: x, Tuple: rows.TupleOf(x.Flow)}
	}
	if items, err = choose(q, since(p, rows.DropTable), items, "drop.reason"); err != nil {
		return nil, err
	}
	list = list[:0]
	for i := range items {
		list = append(list, items[i].DropSum)
	}
	if err := cmp.Or(
		d.tally(q, list, "reason", "reason", func(x *rows.DropSum) string { return x.Reason }),
		d.tally(q, list, "place", "switch", func(x *rows.DropSum) string { return x.Sw }),
		d.tally(q, list, "rule", "rule", func(x *rows.DropSum) string { return x.Rule }),
	); err != nil {
		return nil, err
	}
	if list, err = pageOf(q, list); err != nil {
		return nil, err
	}
	if q.pages != nil {
		q.pages.What = "Drops"
	}
	for _, x := range list {
		d.Rows = append(d.Rows, dropRowOf(x))
	}
	d.died(q)
	return d, diedColumns.sort(q, d.Died)
}

var diedColumns = columnsOf[diedRow]("packet").
	count("time", func(r *diedRow) int64 { return r.Time }).
	text("flow", func(r *diedRow) string { return r.Flow }).
	text("switch", func(r *diedRow) string { return r.Switch + ":" + r.Port }).
	text("reason", func(r *diedRow) string { return r.Reason }).
	text("tables", func(r *diedRow) string { return r.Tables }).
	text("confidence", func(r *diedRow) string {
		if r.Ambiguous {
			return ambiguous
		}
		return confidence(r.Reasons)
	})

// matches reports whether a parameter is absent, or has this value.
func matches(q *request, name, value string) bool {
	want := q.get(name)
	return want == "" || want == value
}

func dropRowOf(x *rows.DropSum) dropRow {
	r := dropRow{Switch: x.Sw, Port: x.Port, Reason: x.Reason, Rule: x.Rule, Flow: x.Flow, Source: x.Source,
		Packets: rangeText(query.Range{Low: x.Packets - x.Perhaps, High: x.Packets}, query.Count), First: x.First,
		Last: x.Last, Reasons: rows.FlagWords(x.Flags), NoRule: "none", NoQueue: notKnown}
	if rows.ByRule(x.Reason) {
		r.NoRule = "not reported"
	}
	if x.Perhaps > 0 {
		r.Reasons = append(r.Reasons, count(x.Perhaps)+" packets "+rows.MayLie)
	}
	switch {
	case x.Queue >= 0:
		r.Queue = strconv.Itoa(x.Queue)
	case x.Queue == result.NoQueue:
		r.NoQueue = "before one"
	}
	return r
}

// mostTallies bounds the lines of a tally.
const mostTallies = 24

// tally adds up drops by the result of name.
func (d *dropsData) tally(q *request, list []*rows.DropSum, by, param string, name func(*rows.DropSum) string) error {
	var out []tally
	at := map[string]int{}
	for _, x := range list {
		n := name(x)
		if n == "" {
			continue
		}
		i, ok := at[n]
		if !ok {
			i = len(out)
			at[n] = i
			t := tally{Name: n, Href: q.With(param, n), On: q.get(param) == n, Counts: make([]int64, len(d.Sources))}
			for k := range t.Counts {
				t.Counts[k] = -1
			}
			out = append(out, t)
		}
		t := &out[i]
		k := slices.Index(d.Sources, x.Source)
		t.Counts[k] = rows.PlusBound(max(0, t.Counts[k]), x.Packets)
		t.most = max(t.most, t.Counts[k])
		t.Inexact = t.Inexact || x.Flags != 0 || x.Perhaps > 0 || t.most == math.MaxInt64
	}
	slices.SortFunc(out, func(a, b tally) int { return cmp.Or(cmp.Compare(b.most, a.most), natural(a.Name, b.Name)) })
	c := columnsOf[tally]("by-"+by).text("name", func(t *tally) string { return t.Name })
	heads := []template.HTML{q.Head(c.table+"name", by, "")}
	for _, of := range d.Of { // also those that are not chosen: a link may have another choice than that of the order
		i := slices.Index(d.Sources, of.End)
		c.number(of.End, func(t *tally) (float64, bool) {
			if i < 0 || t.Counts[i] < 0 {
				return 0, false
			}
			return float64(t.Counts[i]), true
		})
		if i >= 0 {
			heads = append(heads, q.Head(c.table+of.End, cmp.Or(of.End, "source not named"), "n"))
		}
	}
	if err := c.sort(q, out); err != nil {
		return err
	}
	var most int64 = 1
	for _, t := range out {
		most = max(most, t.most)
	}
	more := max(0, len(out)-mostTallies)
	out = out[:len(out)-more]
	for i := range out {
		for _, c := range out[i].Counts {
			out[i].Bars = append(out[i].Bars, barOf(0, max(0, c), most, "resident"))
		}
	}
	d.Tallies = append(d.Tallies, tallies{by, heads, d.Sources, out, more})
	return nil
}

// mostDied bounds the packets that are shown beside drops.
const mostDied = 12

// died adds packets that were dropped like the chosen drops, with the tables that they passed.
func (d *dropsData) died(q *request) {
	if s := q.get("source"); s != "" && s != "record" || q.get("where") != "" {
		return
	}
	for i := len(q.snap.Died) - 1; i >= 0; i-- {
		j := &q.snap.Died[i]
		k := slices.IndexFunc(j.Hops, func(h result.JourneyHop) bool {
			return h.Dropped != "" && matches(q, "switch", h.Switch) && matches(q, "reason", h.Dropped)
		})
		if k < 0 || q.get("rule") != "" {
			continue
		}
		if len(d.Died) == mostDied {
			d.DiedMore++
			continue
		}
		h := j.Hops[k]
		d.Died = append(d.Died, diedRow{packetRowOf(q, j), h.Switch, cmp.Or(h.Out, h.In), h.Dropped, "", h.Tables})
	}
}
