package figure

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// curve has n points of a function of 0 to 1.
func curve(name string, n int, f func(float64) float64) Curve {
	c := Curve{Name: name}
	for i := range n {
		x := float64(i) / float64(n-1)
		c.Points = append(c.Points, Point{x, f(x)})
	}
	return c
}

// A legend is where no curve is: in a corner that is free, else beside the plot.
func TestLegendCoversNothing(t *testing.T) {
	wild := func(x float64) float64 { return math.Sin(60 * x) }
	tests := []struct {
		name   string
		curves []Curve
		inside bool
	}{
		{"rising", []Curve{curve("rising", 20, func(x float64) float64 { return x })}, true},
		{"falling", []Curve{curve("falling", 20, func(x float64) float64 { return 1 - x })}, true},
		{"low", []Curve{curve("low", 20, func(x float64) float64 { return x * x * x })}, true},
		{"everywhere", []Curve{curve("everywhere", 500, wild)}, false},
		{"long lines between few points", []Curve{
			{Name: "a", Points: []Point{{0, 0}, {1, 1}}}, {Name: "b", Points: []Point{{0, 1}, {1, 0}}},
			{Name: "c", Points: []Point{{0, 0.9}, {1, 0.9}}}, {Name: "d", Points: []Point{{0, 0.1}, {1, 0.1}}},
			{Name: "e", Points: []Point{{0.03, 0}, {0.03, 1}}}, {Name: "f", Points: []Point{{0.97, 0}, {0.97, 1}}},
		}, false},
		{"bars", []Curve{{Name: "bars", Points: []Point{{0, 0.5}, {0.5, 0.5}, {1, 0.5}}, Most: []Range{{0, 1}, {0, 1}, {0, 1}}}}, true},
	}
	for _, tt := range tests {
		f := &Figure{Panels: []Panel{{Curves: tt.curves}}}
		covered, err := f.Covered()
		if err != nil || len(covered) > 0 {
			t.Errorf("%s: the legend covers %v, %v", tt.name, covered, err)
		}
		l, err := f.layout()
		if err != nil {
			t.Fatal(err)
		}
		if inside := l.width == panelWidth; inside != tt.inside {
			t.Errorf("%s: the legend is inside: %v, want %v", tt.name, inside, tt.inside)
		}
	}
}

// A line is in a rectangle also where it only passes through.
func TestCrosses(t *testing.T) {
	low, high := Point{1, 1}, Point{2, 2}
	tests := []struct {
		a, b Point
		want bool
	}{
		{Point{0, 0}, Point{3, 3}, true}, {Point{0, 1.5}, Point{9, 1.5}, true}, {Point{1.5, 1.5}, Point{1.5, 1.5}, true},
		{Point{0, 0}, Point{0.9, 0.9}, false}, {Point{0, 2}, Point{1, 3}, false}, {Point{0, 0}, Point{0, 5}, false},
		{Point{2, 0}, Point{2, 5}, true},
	}
	for _, tt := range tests {
		if got := crosses(tt.a, tt.b, low, high); got != tt.want {
			t.Errorf("%v to %v: %v", tt.a, tt.b, got)
		}
	}
}

// labels are those of an axis over some values.
func labels(kind Scale, values ...float64) string {
	s := Axis{Scale: kind}.scale(func(f func(float64)) {
		for _, v := range values {
			f(v)
		}
	})
	var words []string
	for _, t := range s.ticks {
		if t.power != "" {
			words = append(words, t.base+"^"+t.power)
		} else if t.base != "" {
			words = append(words, t.base)
		}
	}
	return strings.Join(words, " ")
}

func TestTicks(t *testing.T) {
	tests := []struct {
		kind   Scale
		values []float64
		want   string
	}{
		{Linear, []float64{0, 1}, "0 0.2 0.4 0.6 0.8 1.0"},
		{Linear, []float64{0, 60000}, "0 20k 40k 60k"},
		{Linear, []float64{5.42, 5.85}, "5.5 5.6 5.7 5.8"},
		{Linear, []float64{3, 3}, "2.6 2.8 3.0 3.2 3.4"},
		{Linear, nil, "0 0.2 0.4 0.6 0.8 1.0"},
		{Log10, []float64{0.001, 1}, "10^-3 10^-2 10^-1 1"},
		{Log10, []float64{0, 2, 7}, "2 5"},
		{Log10, []float64{1, 1e6}, "1 10 100 10^3 10^4 10^5 10^6"},
		{Log2, []float64{3, 120}, "4 8 16 32 64 128"},
	}
	for _, tt := range tests {
		if got := labels(tt.kind, tt.values...); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
}

func TestDashes(t *testing.T) {
	pieces := dashed([]Point{{0, 0}, {10, 0}, {10, 5}}, []float64{6, 3})
	if len(pieces) != 2 || pieces[0][1] != (Point{6, 0}) || pieces[1][0] != (Point{9, 0}) || pieces[1][2] != (Point{10, 5}) {
		t.Errorf("%v", pieces)
	}
}

// All styles are drawn, as the same bytes each time, in both formats, which can be read.
func TestWrite(t *testing.T) {
	f := &Figure{File: "all", Panels: []Panel{
		{Title: "all <styles>", Y: Axis{Label: "y, µs", Scale: Log10}, Curves: []Curve{
			curve("measured", 12, func(x float64) float64 { return 1 + x }),
			{Style: Theory, Points: []Point{{0, 1}, {1, 900}}},
			{Name: "true", Style: Truth, Colour: 1, Points: []Point{{0.5, 3}}},
			{Name: "spread", Colour: 2, Points: []Point{{0, 50}, {1, 60}}, Most: []Range{{40, 70}, {50, 80}}, Half: []Range{{45, 60}, {55, 70}}},
		}},
		{X: Axis{Label: "x"}, Curves: []Curve{{Style: Series, Points: []Point{{0, 1}, {1, 2}}}, {Points: []Point{{0, 1}}, Most: []Range{{0, 2}}}}},
	}}
	var first map[string][]byte
	for range 2 {
		dir := t.TempDir()
		if err := f.Write(dir); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, name := range []string{"all.svg", "all.png"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if files[name] = text; first != nil && !bytes.Equal(first[name], text) {
				t.Errorf("%s is another", name)
			}
		}
		first = files
	}
	if _, err := png.Decode(bytes.NewReader(first["all.png"])); err != nil {
		t.Error(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(first["all.svg"])); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"all &lt;styles&gt;", "y, µs", "stroke-dasharray", "theory", "fill-opacity"} {
		if !bytes.Contains(first["all.svg"], []byte(want)) {
			t.Errorf("no %q", want)
		}
	}
	if err := f.Write(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("written into no folder")
	}
}
