package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"tamtam/mgmt/web/rows"
)

type timeData struct {
	chartData
	Rows   []timeRow
	Length int64
}

type timeRow struct {
	At      int64
	Href    string // shows the time around the slot
	Cells   []groupCell
	Reasons []string
}

// over returns the view of the rows over time.
func (p *Page) over(q *request) (any, error) {
	line := &q.snap.Time
	d := &timeData{Length: line.Length(rows.StampRows)}
	var err error
	if d.Compared, err = p.compare(q, line.Span(), d.Length); err != nil {
		return nil, err
	}
	table := rows.TimedTable
	var was []rows.Slot
	if d.Compared != nil {
		was, table = d.Compared.slots(d.Length), rows.ComparedTable
	}
	all := rows.Besides(line.Slots(q.snap, d.Length, 0), was)
	shown, err := choose(q, since(p, table), slices.Clone(all), "")
	if err != nil {
		return nil, err
	}
	if shown, err = pageOf(q, shown); err != nil {
		return nil, err
	}
	for i := range shown {
		x := &shown[i]
		r := timeRow{At: x.At, Href: q.Range(x.At-4*x.Length, x.At+5*x.Length), Reasons: x.Reasons()}
		for _, c := range rows.TimeColumns {
			r.Cells = append(r.Cells, cellOf(table, x, c, d.Compared != nil))
		}
		d.Rows = append(d.Rows, r)
	}
	if len(all) == 0 || q.grouped {
		return d, nil
	}
	d.begin(q, all[0].At, all[len(all)-1].At+d.Length)
	d.Snap = d.Length
	d.draw(q.snap)
	return d, nil
}

// Columns returns the columns with numbers.
func (*timeData) Columns() []rows.Column { return rows.TimeColumns }

// draw draws the charts, each in slots that are as long as the windows of its rows need.
func (d *timeData) draw(s *rows.Snapshot) {
	var slots, was [rows.RowKinds][]rows.Slot
	for of := range rows.RowKinds {
		length := s.Time.Length(of)
		slots[of] = s.Time.Slots(s, length, 0)
		if d.Compared != nil {
			was[of] = d.Compared.slots(length)
		}
	}
	d.dropCharts(slots[rows.DropRows], was[rows.DropRows])
	for _, x := range []struct {
		name, field string
		of          rows.RowKind
	}{
		{"Lost packets, by alternate marking", "lost", rows.MarkRows},
		{"Median time in a switch", "delay.p50", rows.StampRows},
		{"99 % of times in a switch", "delay.p99", rows.StampRows}, {"Stamped packets", "packets", rows.StampRows},
		{"Bytes in queues, at least", "queue.depth", rows.PacketRows},
	} {
		f := rows.SlotTable.Field(x.field)
		points := func(list []rows.Slot) (points []point) {
			for i := range list {
				r, ok := f.Number(&list[i], 0)
				points = append(points, point{at: rows.Interval{From: list[i].At, To: list[i].At + list[i].Length}, value: r,
					known: ok,
					flags: list[i].Flags[x.of], overlaps: list[i].Overlaps})
			}
			return points
		}
		d.chart(x.name, f.Kind, points(slots[x.of]), points(was[x.of]))
	}
}

// dropCharts draws the drops of each source, divided by reason. Those of an earlier range are a line.
func (d *timeData) dropCharts(all, was []rows.Slot) {
	bySource := map[string]map[string]int64{}
	most := map[string]int64{}
	sum := func(x *rows.Slot) (in, may map[string]int64) {
		in, may = map[string]int64{}, map[string]int64{}
		for k, n := range x.In.Drops {
			in[k.Source] = rows.PlusBound(in[k.Source], n)
		}
		for k, n := range x.May.Drops {
			may[k.Source] = rows.PlusBound(may[k.Source], n)
		}
		return in, may
	}
	for _, list := range [][]rows.Slot{all, was} {
		for i := range list {
			in, may := sum(&list[i])
			for _, of := range []map[rows.DropPart]int64{list[i].In.Drops, list[i].May.Drops} {
				for k, n := range of {
					if bySource[k.Source] == nil {
						bySource[k.Source] = map[string]int64{}
					}
					bySource[k.Source][k.Reason] = rows.PlusBound(bySource[k.Source][k.Reason], n)
					most[k.Source] = max(most[k.Source], rows.PlusBound(in[k.Source], may[k.Source]))
				}
			}
		}
	}
	for _, source := range sortedKeys(bySource) {
		reasons := sortedKeys(bySource[source])
		slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(bySource[source][b], bySource[source][a]) })
		c := chart{Name: "Drops by reason, reported by " + cmp.Or(source, "a source without a name"),
			Most: count(most[source])}
		for i, r := range reasons {
			if i < mostColours {
				c.Legend = append(c.Legend, legendWord{cmp.Or(r, notKnown), "k" + strconv.Itoa(i)})
			}
		}
		if len(reasons) > mostColours {
			c.Legend[mostColours-1].Word = "others"
		}
		top := float64(most[source])
		for i := range all {
			x := &all[i]
			at, from := rows.Interval{From: x.At, To: x.At + x.Length}, 0.0
			for k, r := range reasons {
				if n := float64(x.In.Drops[rows.DropPart{Source: source, Reason: r}]); n > 0 {
					c.bar(&d.chartData, at, from, from+n, top, "k"+strconv.Itoa(min(k, mostColours-1)), r+": "+numberText(n))
					from += n
				}
			}
			for _, r := range reasons {
				if n := float64(x.May.Drops[rows.DropPart{Source: source, Reason: r}]); n > 0 {
					c.bar(&d.chartData, at, from, from+n, top, "band", r+": up to "+numberText(n)+" more may lie here")
					from += n
				}
			}
			c.flag(&d.chartData, at, x.Flags[rows.DropRows])
		}
		for i := range was {
			in, may := sum(&was[i])
			c.before(&d.chartData, rows.Interval{From: was[i].At, To: was[i].At + was[i].Length}, float64(in[source]),
				float64(rows.PlusBound(in[source], may[source])), top, count(in[source]))
		}
		c.Words = fmt.Sprintf("%d reasons, up to %s packets in a slot", len(reasons), c.Most)
		d.Charts = append(d.Charts, c)
	}
}

// Range returns the address of this view for another range of time.
func (q *request) Range(after, before int64) string {
	v := url.Values{}
	for k, list := range q.values {
		if k != "since" && k != "page" {
			v[k] = list
		}
	}
	v.Set("after", strconv.FormatInt(max(0, after), 10))
	v.Set("before", strconv.FormatInt(before, 10))
	return q.view.path + "?" + v.Encode()
}

// Everything returns the address of this view for all times.
func (q *request) Everything() string {
	v := url.Values{}
	for k, list := range q.values {
		if k != "after" && k != "before" && k != "page" {
			v[k] = list
		}
	}
	v.Set("since", "all")
	return q.view.path + "?" + v.Encode()
}
