package web

import (
	"cmp"
	"math"
	"slices"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

// mostTotalCharts bounds the series of totals that have a chart.
const mostTotalCharts = 24

// totalTable declares totals, and comparedTotals totals that are compared with an earlier range.
var totalTable, comparedTotals = rows.TotalTables(numberText)

type totalRow struct {
	result.Sketch
	Cell groupCell
}

type totalsData struct {
	chartData
	Rows []totalRow
	More int  // number of series that have no chart
	One  bool // no series has several epochs, so that there are no charts
}

// totals returns the view of the totals of sketch tasks over time.
func (p *Page) totals(q *request) (any, error) {
	d := &totalsData{}
	items, shown := rows.TotalItems(q.snap, 0), rows.Interval{From: math.MaxInt64, To: 0}
	var epoch int64 = math.MaxInt64
	for i := range items {
		shown = rows.Interval{From: min(shown.From, items[i].At.From), To: max(shown.To, items[i].At.To)}
		if items[i].Whole {
			epoch = min(epoch, items[i].At.To-items[i].At.From)
		}
	}
	if epoch == math.MaxInt64 {
		epoch = 1
	}
	var err error
	if d.Compared, err = p.compare(q, shown, epoch); err != nil {
		return nil, err
	}
	table := totalTable
	if c := d.Compared; c != nil {
		table = comparedTotals
		was := rows.TotalItems(c.snap, c.Shift)
		for i := range items {
			items[i].Was = rows.NearestTotal(was, &items[i])
		}
	}
	list, err := choose(q, since(p, table), items, "")
	if err != nil {
		return nil, err
	}
	if !q.grouped && len(list) > 0 {
		d.begin(q, shown.From, shown.To)
		d.draw(list)
	}
	if list, err = pageOf(q, list); err != nil {
		return nil, err
	}
	bounds := rows.Column{Name: "value", Word: "Bounds"}
	for i := range list {
		d.Rows = append(d.Rows, totalRow{*list[i].Sketch, cellOf(table, &list[i], bounds, d.Compared != nil)})
	}
	return d, nil
}

// draw draws each series: the estimates with their bounds as bands.
func (d *totalsData) draw(items []rows.TotalItem) {
	series := map[rows.SketchKey][]*rows.TotalItem{}
	var keys []rows.SketchKey
	for i := range items {
		k := rows.SketchKey{Sw: items[i].Switch, Task: items[i].Task, Key: items[i].Key}
		if series[k] == nil {
			keys = append(keys, k)
		}
		series[k] = append(series[k], &items[i])
	}
	slices.SortFunc(keys, func(a, b rows.SketchKey) int {
		return cmp.Or(natural(a.Sw, b.Sw), natural(a.Task, b.Task), natural(a.Key, b.Key))
	})
	d.One = d.Compared == nil && !slices.ContainsFunc(keys, func(k rows.SketchKey) bool { return len(series[k]) > 1 })
	if d.One {
		return
	}
	d.More = max(0, len(keys)-mostTotalCharts)
	for _, k := range keys[:len(keys)-d.More] {
		c := chart{Name: k.Task + " of " + k.Sw + ": " + k.Key}
		most := 0.0
		finite := func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }
		for _, x := range series[k] {
			for _, y := range []*rows.TotalItem{x, x.Was} {
				if y == nil {
					continue
				}
				for _, v := range []float64{y.Estimate, y.High, y.Truth} {
					if finite(v) {
						most = max(most, v)
					}
				}
			}
		}
		c.Most = numberText(most)
		scale := 1.0
		if most > 0 {
			scale = 1 / most
		}
		for _, x := range series[k] {
			title := "estimate " + numberText(x.Estimate)
			if x.Bounded {
				title += ", between " + numberText(x.Low) + " and " + numberText(x.High)
				low, high := max(0, x.Low)*scale, 1.0
				if finite(x.High) {
					high = x.High * scale
				}
				c.bar(&d.chartData, x.At, low, max(low, high), 1, "band", title)
			}
			if finite(x.Estimate) {
				v := x.Estimate * scale
				c.bar(&d.chartData, x.At, v, v, 1, "resident", title)
			}
			if x.Known {
				v := x.Truth * scale
				c.bar(&d.chartData, x.At, v, v, 1, "truth", "truth "+numberText(x.Truth))
			}
			if y := x.Was; y != nil && finite(y.Estimate) {
				low, high := y.Estimate, y.Estimate
				if y.Bounded && finite(y.Low) {
					low = y.Low
				}
				if y.Bounded && finite(y.High) {
					high = y.High
				}
				c.before(&d.chartData, x.At, max(0, low)*scale, high*scale, 1, numberText(y.Estimate))
			}
			if x.Flags != "" {
				c.flag(&d.chartData, x.At, result.Gap)
				c.Parts[len(c.Parts)-1].Title = "not exact: " + x.Flags
			}
		}
		c.Words = numberText(float64(len(series[k]))) + " epochs, up to " + c.Most
		d.Charts = append(d.Charts, c)
	}
}
