package web

import (
	"fmt"
	"math"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
	"tamtam/tam/query"
)

// A chart draws one value over time, in a picture of 1000 by 100.
type chart struct {
	Name, Words string
	Most        string
	Parts       []chartPart
	Legend      []legendWord
	None        bool // no time has a value
}

// A chartPart is a rectangle of a chart.
type chartPart struct{ X, Y, W, H, Class, Title string }

// chartData is the charts of a view, which all show the same time.
type chartData struct {
	Charts   []chart
	From, To int64
	Wider    string // address of a range that is twice as long; empty if all is shown
	Snap     int64  // length to whose multiples a chosen range is rounded; 0 if it is not rounded
	Compared *compared
}

// A point is a value of a series in an interval.
type point struct {
	at       rows.Interval
	value    query.Range
	known    bool
	flags    result.Flags
	overlaps bool // the value may belong to another time in part
}

// begin sets the time that the charts show.
func (d *chartData) begin(q *request, from, to int64) {
	if d.From, d.To = from, to; q.other != nil {
		d.Wider = q.Range(from-(to-from)/2, to+(to-from)/2)
	}
}

// chart adds a chart of points, and of those of an earlier range. Times without a value are gaps.
func (d *chartData) chart(name string, kind query.Kind, now, was []point) {
	c := chart{Name: name, None: true}
	most, known := int64(1), 0
	for _, list := range [][]point{now, was} {
		for i := range list {
			if x := &list[i]; x.known {
				if most = max(most, x.value.Low); !x.value.Open() {
					most = max(most, x.value.High)
				}
				c.None = false
			}
		}
	}
	c.Most = rangeText(query.Exactly(most), kind)
	top := float64(most)
	for i := range now {
		x := &now[i]
		if !x.known {
			continue
		}
		known++
		title := rangeText(x.value, kind)
		if x.overlaps {
			title += " (what is above the lower bound " + rows.MayLie + ")"
		}
		c.bar(d, x.at, 0, float64(x.value.Low), top, "resident", title)
		if !x.value.Exact() {
			c.bar(d, x.at, float64(x.value.Low), float64(min(x.value.High, most)), top, "band", title)
		}
		c.flag(d, x.at, x.flags)
	}
	for i := range was {
		if x := &was[i]; x.known {
			c.before(d, x.at, float64(x.value.Low), float64(min(x.value.High, most)), top, rangeText(x.value, kind))
		}
	}
	c.Words = fmt.Sprintf("%d of %d times have a value, up to %s", known, len(now), c.Most)
	d.Charts = append(d.Charts, c)
}

// place returns the position and the width of an interval in a chart. It returns false if the chart does not show it.
func (d *chartData) place(v rows.Interval) (x, wide float64, ok bool) {
	v = rows.Interval{From: max(v.From, d.From), To: min(v.To, d.To)}
	scale := 1000 / float64(max(1, d.To-d.From))
	return float64(v.From-d.From) * scale, float64(v.To-v.From) * scale, v.To > v.From
}

// height returns the distance of a value from the top of a chart.
func height(value, most float64) float64 {
	return 100 - float64(100*max(0, min(1, value/max(1, most))))
}

// bar adds a rectangle from one value to another.
func (c *chart) bar(d *chartData, at rows.Interval, from, to, most float64, class, title string) {
	x, wide, ok := d.place(at)
	if !ok {
		return
	}
	high := max(height(from, most)-height(to, most), 1)
	c.Parts = append(c.Parts, chartPart{coord(x), coord(max(0, height(to, most)-1)), coord(max(wide-0.5, 0.5)),
		coord(high), class, title})
}

// before adds the value of an earlier range: a line at the lower bound, and a band up to the upper one.
func (c *chart) before(d *chartData, at rows.Interval, low, high, most float64, title string) {
	x, wide, ok := d.place(at)
	if !ok {
		return
	}
	title = "before: " + title
	if y := height(high, most); high > low {
		c.Parts = append(c.Parts, chartPart{coord(x), coord(y), coord(wide), coord(max(height(low, most)-y, 1)), "was-band",
			title})
	}
	c.Parts = append(c.Parts, chartPart{coord(x), coord(math.Max(0, height(low, most)-2)), coord(wide), "2.0", "was",
		title})
}

// flag marks a time that may be inexact.
func (c *chart) flag(d *chartData, at rows.Interval, flags result.Flags) {
	if x, wide, ok := d.place(at); ok && flags != 0 {
		c.Parts = append(c.Parts, chartPart{coord(x), "0.0", coord(wide), "6.0", "flag",
			"not exact: " + rows.FlagWords(flags)[0]})
	}
}
