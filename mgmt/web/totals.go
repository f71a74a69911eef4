package web

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// Bounds of the totals of sketch tasks in a snapshot.
const (
	mostTotals      = 1_000 // number of series
	mostEpochs      = 500   // number of epochs of a series, the latest ones
	mostTotalCharts = 24
)

// isTotal reports whether a sketch task's answer is about all packets of its epoch, such as the number of flows.
func isTotal(key string) bool {
	return key != "" && !strings.ContainsAny(key, "0123456789.:,") && !strings.HasPrefix(key, "change of ")
}

// addTotal adds an answer to the series of its task.
func (s *snapshot) addTotal(key sketchKey, k *result.Sketch) {
	if !isTotal(k.Key) {
		return
	}
	list, ok := s.totals[key]
	if !ok && !s.room("series of sketch totals", len(s.totals), mostTotals) {
		return
	}
	if list = append(list, *k); len(list) >= 2*mostEpochs {
		list = s.trimTotals(list)
	}
	s.totals[key] = list
}

// trimTotals sorts the answers of a series, and keeps the latest. If one is repeated, it keeps the last.
func (s *snapshot) trimTotals(list []result.Sketch) []result.Sketch {
	slices.SortStableFunc(list, func(a, b result.Sketch) int { return cmp.Compare(a.Time, b.Time) })
	list = lastOf(list, func(a, b *result.Sketch) bool { return a.Time == b.Time })
	n := max(0, len(list)-mostEpochs)
	if n > 0 {
		s.left["epochs of sketch totals"] += int64(n)
	}
	return list[n:]
}

// A totalItem is an answer of a sketch task about all packets of an epoch.
type totalItem struct {
	*result.Sketch
	at    interval // the epoch; its beginning is not known if it has no neighbour
	whole bool     // the beginning of the epoch is known
	was   *totalItem
}

// value returns the bounds of the answer as whole numbers.
func (x *totalItem) value() (query.Range, bool) {
	if !x.Bounded || x.Low >= math.MaxInt64 || math.IsInf(x.Low, -1) {
		return query.Range{}, false
	}
	r := query.Range{Low: int64(math.Floor(x.Low)), High: math.MaxInt64}
	if x.High < math.MaxInt64 {
		r.High = int64(math.Ceil(x.High))
	}
	return r, true
}

// totalTable declares totals, and comparedTotals totals that are compared with an earlier range.
var totalTable, comparedTotals = func() (_, _ *query.Table[totalItem]) {
	t := &query.Table[totalItem]{Rows: "totals", Fields: []query.Field[totalItem]{
		timeField("time", "end of the epoch", func(r *totalItem) int64 { return r.Time }),
		numberField("length", "length of the epoch", query.Duration, query.NoTotal,
			func(r *totalItem) (query.Range, bool) { return query.Exactly(r.at.to - r.at.from), r.whole }),
		textField("switch", "where it was counted", func(r *totalItem) string { return r.Switch }),
		textField("task", "task of the sketch", func(r *totalItem) string { return r.Task }),
		textField("quantity", "what is estimated", func(r *totalItem) string { return r.Key }),
		textField("estimate", "the estimate", func(r *totalItem) string { return numberText(r.Estimate) }),
		numberField("value", "bounds of the quantity, rounded outwards to whole numbers", query.Count, query.Between,
			(*totalItem).value),
		textField("flags", "why the answer may be inexact", func(r *totalItem) string { return r.Flags }),
	}}
	t.Field("flags").Whole = always[totalItem]
	c := &query.Table[totalItem]{Rows: t.Rows, Fields: slices.Clone(t.Fields)}
	before := query.FieldOf(*t.Field("value"), func(r *totalItem) *totalItem { return r.was })
	c.Fields = append(c.Fields, query.Comparison(*t.Field("value"), before)...)
	return t, c
}()

type totalRow struct {
	result.Sketch
	Cell groupCell
}

type totalsData struct {
	chartData
	Rows []totalRow
	More int // number of series that have no chart
}

// totals returns the view of the totals of sketch tasks over time.
func (p *Page) totals(q *request) (any, error) {
	d := &totalsData{}
	items, shown := totalItems(q.snap, 0), interval{math.MaxInt64, 0}
	var epoch int64 = math.MaxInt64
	for i := range items {
		shown = interval{min(shown.from, items[i].at.from), max(shown.to, items[i].at.to)}
		if items[i].whole {
			epoch = min(epoch, items[i].at.to-items[i].at.from)
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
		was := totalItems(c.snap, c.Shift)
		for i := range items {
			items[i].was = nearestTotal(was, &items[i])
		}
	}
	list, err := choose(q, since(p, table), items, "")
	if err != nil {
		return nil, err
	}
	if !q.grouped && len(list) > 0 {
		d.begin(q, shown.from, shown.to)
		d.draw(list)
	}
	if list, err = pageOf(q, list); err != nil {
		return nil, err
	}
	for i := range list {
		d.Rows = append(d.Rows, totalRow{*list[i].Sketch, cellOf(table, &list[i], "value", d.Compared != nil)})
	}
	return d, nil
}

// totalItems returns the totals of a snapshot, each as much later as shift is. An epoch that is missing is a gap: an
// epoch is never longer than the shortest time between two answers of its series.
func totalItems(s *snapshot, shift int64) (items []totalItem) {
	keys := make([]sketchKey, 0, len(s.totals))
	for k := range s.totals {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b sketchKey) int {
		return cmp.Or(natural(a.sw, b.sw), natural(a.task, b.task), natural(a.key, b.key))
	})
	for _, k := range keys {
		list := slices.Clone(s.totals[k])
		var epoch int64 = math.MaxInt64
		for i := range list {
			if list[i].Time += shift; i > 0 {
				epoch = min(epoch, list[i].Time-list[i-1].Time)
			}
		}
		for i := range list {
			x := totalItem{Sketch: &list[i], at: interval{list[i].Time - 1, list[i].Time}, whole: epoch != math.MaxInt64}
			if x.whole {
				x.at.from = list[i].Time - epoch
			}
			items = append(items, x)
		}
	}
	return items
}

// nearestTotal returns the answer of the same series whose epoch contains most of the other one's, or nil.
func nearestTotal(list []totalItem, x *totalItem) (near *totalItem) {
	var most int64
	for i := range list {
		y := &list[i]
		if y.Switch != x.Switch || y.Task != x.Task || y.Key != x.Key {
			continue
		}
		if n := min(x.at.to, y.at.to) - max(x.at.from, y.at.from); n > most {
			near, most = y, n
		}
	}
	return near
}

// draw draws each series: the estimates with their bounds as bands.
func (d *totalsData) draw(items []totalItem) {
	series := map[sketchKey][]*totalItem{}
	var keys []sketchKey
	for i := range items {
		k := sketchKey{items[i].Switch, items[i].Task, items[i].Key}
		if series[k] == nil {
			keys = append(keys, k)
		}
		series[k] = append(series[k], &items[i])
	}
	slices.SortFunc(keys, func(a, b sketchKey) int {
		return cmp.Or(natural(a.sw, b.sw), natural(a.task, b.task), natural(a.key, b.key))
	})
	d.More = max(0, len(keys)-mostTotalCharts)
	for _, k := range keys[:len(keys)-d.More] {
		c := chart{Name: k.task + " of " + k.sw + ": " + k.key}
		most := 0.0
		finite := func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }
		for _, x := range series[k] {
			for _, y := range []*totalItem{x, x.was} {
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
				c.bar(&d.chartData, x.at, low, max(low, high), 1, "band", title)
			}
			if finite(x.Estimate) {
				v := x.Estimate * scale
				c.bar(&d.chartData, x.at, v, v, 1, "resident", title)
			}
			if x.Known {
				v := x.Truth * scale
				c.bar(&d.chartData, x.at, v, v, 1, "truth", "truth "+numberText(x.Truth))
			}
			if y := x.was; y != nil && finite(y.Estimate) {
				low, high := y.Estimate, y.Estimate
				if y.Bounded && finite(y.Low) {
					low = y.Low
				}
				if y.Bounded && finite(y.High) {
					high = y.High
				}
				c.before(&d.chartData, x.at, max(0, low)*scale, high*scale, 1, numberText(y.Estimate))
			}
			if x.Flags != "" {
				c.flag(&d.chartData, x.at, result.Gap)
				c.Parts[len(c.Parts)-1].Title = "not exact: " + x.Flags
			}
		}
		c.Words = numberText(float64(len(series[k]))) + " epochs, up to " + c.Most
		d.Charts = append(d.Charts, c)
	}
}
