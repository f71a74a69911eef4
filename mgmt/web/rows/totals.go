package rows

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
	mostTotals = 1_000 // number of series
	mostEpochs = 500   // number of epochs of a series, the latest ones
)

// isTotal reports whether a sketch task's answer is about all packets of its epoch, such as the number of flows.
func isTotal(key string) bool {
	return key != "" && !strings.ContainsAny(key, "0123456789.:,") && !strings.HasPrefix(key, "change of ")
}

// addTotal adds an answer to the series of its task.
func (s *Snapshot) addTotal(key SketchKey, k *result.Sketch) {
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
func (s *Snapshot) trimTotals(list []result.Sketch) []result.Sketch {
	slices.SortStableFunc(list, func(a, b result.Sketch) int { return cmp.Compare(a.Time, b.Time) })
	list = lastOf(list, func(a, b *result.Sketch) bool { return a.Time == b.Time })
	n := max(0, len(list)-mostEpochs)
	if n > 0 {
		s.Left["epochs of sketch totals"] += int64(n)
	}
	return list[n:]
}

// A TotalItem is an answer of a sketch task about all packets of an epoch.
type TotalItem struct {
	*result.Sketch
	At    Interval // the epoch, or its end if its start is not known
	Whole bool     // the start of the epoch is known
	Was   *TotalItem
}

// value returns the bounds of the answer as whole numbers.
func (x *TotalItem) value() (query.Range, bool) {
	if !x.Bounded || x.Low >= math.MaxInt64 || math.IsInf(x.Low, -1) {
		return query.Range{}, false
	}
	r := query.Range{Low: int64(math.Floor(x.Low)), High: math.MaxInt64}
	if x.High < math.MaxInt64 {
		r.High = int64(math.Ceil(x.High))
	}
	return r, true
}

// TotalTables declares totals, and totals that are compared with an earlier range. text returns an estimate as text.
func TotalTables(text func(float64) string) (totals, withEarlier *query.Table[TotalItem]) {
	t := &query.Table[TotalItem]{Rows: "totals", Fields: []query.Field[TotalItem]{
		timeField("time", "end of the epoch", func(r *TotalItem) int64 { return r.Time }),
		numberField("length", "length of the epoch, if its start is known", query.Duration, query.NoTotal,
			func(r *TotalItem) (query.Range, bool) { return query.Exactly(r.At.To - r.At.From), r.Whole }),
		textField("switch", "where it was counted", func(r *TotalItem) string { return r.Switch }),
		textField("task", "task of the sketch", func(r *TotalItem) string { return r.Task }),
		textField("quantity", "what is estimated", func(r *TotalItem) string { return r.Key }),
		textField("estimate", "the estimate", func(r *TotalItem) string { return text(r.Estimate) }),
		numberField("value", "bounds of the quantity, rounded outwards to whole numbers", query.Count, query.Between,
			(*TotalItem).value),
		textField("truth", "the exact value, where the chip counts it beside the sketch", func(r *TotalItem) string {
			if !r.Known {
				return ""
			}
			return text(r.Truth)
		}),
		textField("flags", "why the answer may not be exact", func(r *TotalItem) string { return r.Flags }),
	}}
	t.Field("flags").Whole = always[TotalItem]
	c := &query.Table[TotalItem]{Rows: t.Rows, Fields: slices.Clone(t.Fields)}
	before := query.FieldOf(*t.Field("value"), func(r *TotalItem) *TotalItem { return r.Was })
	c.Fields = append(c.Fields, query.Comparison(*t.Field("value"), before)...)
	return t, c
}

// TotalItems returns the totals of a snapshot, each as much later as shift is. An epoch that is missing is a gap.
func TotalItems(s *Snapshot, shift int64) (items []TotalItem) {
	keys := make([]SketchKey, 0, len(s.totals))
	for k := range s.totals {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b SketchKey) int {
		return cmp.Or(query.Natural(a.Sw, b.Sw), query.Natural(a.Task, b.Task), query.Natural(a.Key, b.Key))
	})
	for _, k := range keys {
		list := slices.Clone(s.totals[k])
		for i := range list {
			one := &list[i]
			one.Time += shift
			x := TotalItem{Sketch: one, At: Interval{one.Time - 1, one.Time}, Whole: one.Start > 0}
			if one.Start += shift; x.Whole {
				x.At.From = min(one.Start, x.At.From)
			}
			items = append(items, x)
		}
	}
	return items
}

// NearestTotal returns the answer of the same series whose epoch contains most of the other one's, or nil.
func NearestTotal(list []TotalItem, x *TotalItem) (near *TotalItem) {
	var most int64
	for i := range list {
		y := &list[i]
		if y.Switch != x.Switch || y.Task != x.Task || y.Key != x.Key {
			continue
		}
		if n := min(x.At.To, y.At.To) - max(x.At.From, y.At.From); n > most {
			near, most = y, n
		}
	}
	return near
}
