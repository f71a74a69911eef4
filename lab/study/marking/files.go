package marking

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tamtam/device"
	"tamtam/lab"
	"tamtam/lab/figure"
)

// segments returns the segments of all paths, in the order of the paths' names.
func (r Report) segments() (list []*Segment) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		list = append(list, r[name].Segments...)
	}
	return list
}

// Metrics returns a text that lists the metrics.
func (r Report) Metrics() string {
	return "PATH.FROM.TO.(periods complete flagged flagged.WORD missing sent received lost (sent lost " +
		"delay).at.TIME loss.max " +
		"loss_error.max delay.samples delay.min delay.mean delay.max delay.untrue true_delay.min true_delay.max " +
		"delay_error.max jitter.max correlation truth.sent truth.received truth.lost truth.doubled)"
}

// Notices returns the notices of whole paths.
func (r Report) Notices() (all []string) {
	for _, name := range device.SortedKeys(r) {
		for _, notice := range r[name].Notices {
			all = append(all, "path "+name+": "+notice)
		}
	}
	return all
}

// WriteTable prints nothing: the lab prints flow groups.
func (r Report) WriteTable(io.Writer) error { return nil }

// CSV returns, for each segment of each path, the measured and true values of each period.
func (r Report) CSV() map[string][]byte {
	files := map[string][]byte{}
	for _, s := range r.segments() {
		files[s.name()+".csv"] = s.csv()
	}
	return files
}

// Figures returns a figure for each segment.
func (r Report) Figures(string) (list []*figure.Figure) {
	for _, s := range r.segments() {
		list = append(list, s.figure())
	}
	return list
}

// csv returns a line for each period. Fields that were not measured are empty.
func (s *Segment) csv() []byte {
	var b bytes.Buffer
	b.WriteString("period,start_ps,status,sent,received,lost,delay_ns,jitter_ns," +
		"true_sent,true_lost,true_delay_ps,reasons\n")
	for _, p := range s.Periods {
		fmt.Fprintf(&b, "%d,%d,%s,%s,%s,%s,%s,%s,%d,%d,%s,%q\n", p.Period, int64(p.Start), p.Status, cell(p.Sent),
			cell(p.Received), cell(p.Lost),
			cell(p.Delay), cell(p.Jitter), p.TrueSent, p.TrueLost, cell(p.TrueDelay), strings.Join(p.Reasons, "; "))
	}
	return b.Bytes()
}

func cell[T ~int64 | ~uint64](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%d", *v)
}

// figure draws loss above delay, as in figure 6 of the paper. True values are crosses over the measured ones.
func (s *Segment) figure() *figure.Figure {
	loss, delay := figure.Curve{Name: "measured"}, figure.Curve{Name: "measured"}
	const red = 1
	trueLoss := figure.Curve{Name: "true", Style: figure.Truth, Colour: red}
	trueDelay := trueLoss
	for _, p := range s.Periods {
		x := float64(p.Start) / float64(lab.Second)
		add := func(c *figure.Curve, y float64) { c.Points = append(c.Points, figure.Point{X: x, Y: y}) }
		add(&trueLoss, float64(p.TrueLost))
		if p.Lost != nil {
			add(&loss, float64(*p.Lost))
		}
		if p.Delay != nil {
			add(&delay, float64(*p.Delay)/1e3)
		}
		if p.TrueDelay != nil {
			add(&trueDelay, float64(*p.TrueDelay)/1e6)
		}
	}
	panel := func(label string, curves ...figure.Curve) figure.Panel {
		p := figure.Panel{Y: figure.Axis{Label: label}}
		for _, c := range curves {
			if len(c.Points) > 0 {
				p.Curves = append(p.Curves, c)
			}
		}
		return p
	}
	upper, lower := panel("lost packets per period", loss, trueLoss), panel("delay, µs", delay, trueDelay)
	upper.Title = fmt.Sprintf("%s: %s to %s", s.path, s.From, s.To)
	lower.X.Label = "simulated time, s"
	return &figure.Figure{File: s.name(), Panels: []figure.Panel{upper, lower}}
}
