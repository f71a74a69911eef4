package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
)

// compareParam is the parameter that selects the earlier range with which a range is compared.
const compareParam = "compare"

// compareBefore selects the range that ends where the shown one begins.
const compareBefore = "before"

// A compared is an earlier range, which is as long as the shown one.
type compared struct {
	Shift    int64 // by which the range is earlier
	From, To int64
	Rounded  bool // Shift was rounded to slots
	Nothing  bool // the earlier range ends before the run of a simulation began
	snap     *rows.Snapshot
}

// compare reads the range that is compared with the shown one. It returns nil if none is requested. The range is
// earlier by a multiple of a length, so that its slots and the shown ones are at the same times.
func (p *Page) compare(q *request, shown rows.Interval, length int64) (*compared, error) {
	text := q.get(compareParam)
	q.shown = shown
	if text == "" {
		return nil, nil
	}
	shift, err := q.shift(text, &shown)
	if err != nil || shown.To <= shown.From {
		return nil, err
	}
	c := &compared{Shift: shift}
	if length = max(length, 1); shift > math.MaxInt64-length {
		return nil, wrong("compare=%.40q: it is before 1970: want less", text)
	}
	c.Shift = rows.FloorTo(shift+length-1, length)
	c.Rounded = c.Shift != shift
	c.From, c.To = shown.From-c.Shift, shown.To-c.Shift
	if c.To <= 0 {
		return nil, wrong("compare=%.40q: the range would end before 1970: want less", text)
	}
	c.From, c.Nothing = max(c.From, 0), c.To <= q.begins
	word := fmt.Sprintf("%d-%d", c.From, c.To)
	c.snap, err = p.cache.get(q.ctx, span{Word: word, from: c.From, to: c.To}, q.now)
	return c, err
}

// shift returns by how much the range to compare with is earlier. It sets shown to the requested range, if that has
// both ends.
func (q *request) shift(text string, shown *rows.Interval) (int64, error) {
	if s, err := q.span(); err == nil {
		switch {
		case s.to != 0:
			*shown = rows.Interval{From: s.from, To: s.to}
		case s.length > 0:
			*shown = rows.Interval{From: q.now.Add(-s.length).UnixNano(), To: q.now.UnixNano()}
		}
	}
	if text == compareBefore {
		return shown.To - shown.From, nil
	}
	days, isDays := strings.CutSuffix(text, "d")
	if n, err := strconv.ParseInt(days, 10, 32); isDays && err == nil && n > 0 {
		return n * int64(24*time.Hour), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, wrong("compare=%.40q: want before, or how much earlier the other range is, such as 10m, 1h or 1d", text)
	}
	return int64(d), nil
}

// slots returns the slots of the earlier range, at the times of the shown range.
func (c *compared) slots(length int64) []rows.Slot {
	return c.snap.Time.Slots(c.snap, length, c.Shift)
}

// A choice is a link that sets a parameter.
type choice struct {
	Text, Href string
	On         bool
}

// Comparisons returns the ranges that can be compared with the shown one, or nil if there is none: a simulation has no
// rows of times before its begin.
func (q *request) Comparisons() (list []choice) {
	for _, x := range [][2]string{{"", "nothing"}, {compareBefore, "the range before"}, {"1h", "1 h earlier"},
		{"1d", "1 day earlier"}, {"7d", "7 days earlier"}} {
		on, shown := q.get(compareParam) == x[0], q.shown
		if x[0] != "" && !on {
			if shift, err := q.shift(x[0], &shown); err != nil || shown.To-shift <= q.begins {
				continue
			}
		}
		list = append(list, choice{x[1], q.With(compareParam, x[0]), on})
	}
	if len(list) == 1 {
		return nil
	}
	return list
}

// OverTime returns the views of series that can have data here, with the requested time and comparison.
func (q *request) OverTime() (list []choice) {
	for _, x := range [][2]string{{"/time", "rows"}, {"/load", "load"}, {"/totals", "totals of sketches"}} {
		if q.lacks[x[0]] == "" {
			list = append(list, choice{x[1], q.Link(x[0], compareParam, q.get(compareParam)), q.view.path == x[0]})
		}
	}
	return list
}

// cellOf returns a row's cell of a column. With a comparison its note has the earlier value and the difference.
func cellOf[R any](t *query.Table[R], r *R, column rows.Column, compared bool) groupCell {
	name := column.Name
	f := t.Field(name)
	c := f.Cell(r)
	cell := groupCell{Name: column.Word, Text: cellText(&c), Unknown: !c.Known(), Class: "n"}
	if !compared {
		return cell
	}
	before, difference := t.Field(name+".before").Cell(r), t.Field(name+".difference").Cell(r)
	cell.Note = "before: " + cellText(&before)
	if difference.Known() {
		cell.Note += ", difference: " + cellText(&difference)
	}
	return cell
}
