package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tamtam/lab"
	"tamtam/lab/figure"
)

func TestQuartiles(t *testing.T) {
	tests := []struct {
		values []float64
		want   [5]float64 // minimum, quartile, median, quartile, maximum
	}{
		{[]float64{3}, [5]float64{3, 3, 3, 3, 3}},
		{[]float64{2, 1}, [5]float64{1, 1.25, 1.5, 1.75, 2}},
		{[]float64{5, 1, 4, 2, 3}, [5]float64{1, 2, 3, 4, 5}},
	}
	for _, tt := range tests {
		m := Quartered(tt.values...)
		if got := [5]float64{m.Min, *m.Q1, m.Median, *m.Q3, m.Max}; got != tt.want {
			t.Errorf("%v: %v, want %v", tt.values, got, tt.want)
		}
	}
}

// Missing curves, points, metrics and quartiles have no value.
func TestMetric(t *testing.T) {
	var r Curves
	r.Add("a", "fig", "1", 1, "x", Quartered(1, 2, 3))
	r.Add("b", "", "1", 1, "x", Predicted([]float64{1}, Unpredicted()))
	for name, want := range map[string]int64{"a.1.x.q3": 2_500_000, "b.1.x.max": 1_000_000, "b.x.bounded": 0} {
		if m, ok := r.Metric(name); !ok || m.Value != want {
			t.Errorf("%s: %v %v, want %d", name, m, ok, want)
		}
	}
	for _, name := range []string{"c.1.x.min", "a.2.x.min", "a.1.y.min", "b.1.x.q1", "a.1.x.theory", "b.x.outside",
		"b.x.all", "a"} {
		if m, ok := r.Metric(name); ok {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// NaN, and values that do not fit, are outside of all bounds. No check of them passes.
func TestNoNumber(t *testing.T) {
	var r Curves
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e13, -1e13} {
		at := fmt.Sprint(i)
		r.Add("a", "", at, 1, "x", Predicted([]float64{v}, Prediction{1, 0, 2}))
		if m, ok := r.Metric("a." + at + ".x.median"); !ok || m.Known() {
			t.Errorf("%v: %v %v, want that nothing is known", v, m, ok)
		}
	}
	if m, ok := r.Metric("a.x.outside"); !ok || m.Value != 5 {
		t.Errorf("%v %v outside, want 5", m, ok)
	}
	if m, ok := r.Metric("a.0.x.upper"); !ok || m.Value != 2_000_000 {
		t.Errorf("%v %v, want 2", m, ok)
	}
}

// A table has the same numbers as the CSV, with fewer digits.
func TestWriteColumns(t *testing.T) {
	var r Curves
	r.Add("a", "fig", "1KiB", 1024, "x", Predicted([]float64{1.23456}, Prediction{1, 0.5, 2}))
	var out bytes.Buffer
	if err := r.WriteColumns(&out, "memory", "curve", "at", "x", "median", "theory", "bounds", "seeds", "figure",
		"metric"); err != nil {
		t.Fatal(err)
	}
	want := "Curve memory X Median Theory Bounds Seeds Figure Metric a 1KiB 1024 1.235 1 0.5 to 2 1 fig x"
	if got := strings.Join(strings.Fields(out.String()), " "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Curves of one figure are drawn together, each with its prediction in the same colour. A curve of one point is not
// drawn. On a logarithmic axis 0 is drawn at the smallest value.
func TestPlot(t *testing.T) {
	var r Curves
	for i, x := range []float64{1, 2} {
		r.Add("a", "fig", fmt.Sprint(x), x*1024, "m", Predicted([]float64{float64(100 * i), 100}, Prediction{50, 0, 100}))
		r.Add("b", "fig", fmt.Sprint(x), x*1024, "m", Quartered(1, 2, 3))
		r.Add("c", "other", fmt.Sprint(x), x, "m", Quartered(1))
	}
	r.Add("d", "fig", "1", 1, "m", Quartered(1))
	f := r.Plot("fig", Axes{File: "f", Metric: "m", Y: figure.Axis{Scale: figure.Log10}, Per: 1024})
	curves := f.Panels[0].Curves
	if len(curves) != 3 || curves[0].Name != "a" || curves[1].Style != figure.Theory || curves[2].Name != "b" {
		t.Fatalf("%+v", curves)
	}
	if curves[1].Colour != curves[0].Colour || curves[2].Colour == curves[0].Colour || curves[2].Half == nil {
		t.Errorf("%+v", curves)
	}
	if at := curves[0].Points[0]; at.X != 1 || curves[0].Most[0].Low != 1 || f.Panels[0].Y.Scale != figure.Log10 {
		t.Errorf("%+v, %+v", at, curves[0].Most)
	}
	if f := r.Plot("fig", Axes{Metric: "none"}); f != nil {
		t.Errorf("a figure of nothing: %+v", f)
	}
	if got := r.MetricNames(); !slices.Equal(got, []string{"m"}) {
		t.Errorf("%v", got)
	}
}

// Each seed is run once, and the errors of all are returned. Progress goes from 0 to the end.
func TestWork(t *testing.T) {
	var last lab.Time
	var done uint64
	opts := lab.Options{Seed: 7, Workers: 2, Progress: func(now lab.Time, n uint64) { last, done = now, n }}
	w := NewWork(&lab.Topology{Duration: lab.Second}, opts, 4)
	w.Expect(8)
	var sum atomic.Uint64
	err := w.EachSeed(t.Context(), func(i int, seed uint64) error {
		sum.Add(seed)
		w.Done(2)
		if i == 2 {
			return errors.New("seed of 9")
		}
		return nil
	})
	if sum.Load() != 7+8+9+10 || err == nil || err.Error() != "seed of 9" || last != lab.Second || done != 8 {
		t.Errorf("sum %d, %v, at %v, %d done", sum.Load(), err, last, done)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	w.OneByOne()
	if err := w.EachSeed(ctx, func(int, uint64) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
