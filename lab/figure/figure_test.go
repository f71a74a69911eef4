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

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// curve returns a curve with n points of a function over 0 to 1.
func curve(name string, n int, f func(float64) float64) Curve {
	c := Curve{Name: name}
	for i := range n {
		x := float64(i) / float64(n-1)
		c.Points = append(c.Points, Point{x, f(x)})
	}
	return c
}

// A legend covers no curve: it is in a free corner, or else beside the plot.
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
		{"bars", []Curve{{Name: "bars", Points: []Point{{0, 0.5}, {0.5, 0.5}, {1, 0.5}},
			Most: []Range{{0, 1}, {0, 1}, {0, 1}}}}, true},
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
		if n := colouredBelow(l); n > 0 {
			t.Errorf("%s: %d pixels of curves are below the legend", tt.name, n)
		}
	}
}

// colouredBelow counts the coloured pixels below the future legends, in a picture without legends.
func colouredBelow(l *layout) (n int) {
	picture := vgimg.New(l.width, l.height)
	for i := range l.panels {
		p := &l.panels[i]
		p.Draw(draw.Canvas{Canvas: picture, Rectangle: p.canvas.Rectangle})
	}
	dots := func(v vg.Length) int { return int(v.Dots(picture.DPI())) }
	for i := range l.panels {
		box := l.panels[i].box
		for x := dots(box.Min.X); x <= dots(box.Max.X); x++ {
			for y := dots(l.height - box.Max.Y); y <= dots(l.height-box.Min.Y); y++ {
				if r, g, b, _ := picture.Image().At(x, y).RGBA(); r != g || g != b {
					n++
				}
			}
		}
	}
	return n
}

// colouredBelow finds existing pixels below the legend.
func TestColouredBelow(t *testing.T) {
	f := &Figure{Panels: []Panel{{Curves: []Curve{curve("rising", 20, func(x float64) float64 { return x })}}}}
	l, err := f.layout()
	if err != nil {
		t.Fatal(err)
	}
	l.panels[0].box = l.panels[0].canvas.Rectangle
	if colouredBelow(l) == 0 {
		t.Error("no curve in the whole panel")
	}
	if len(l.panels[0].covered()) == 0 {
		t.Error("a legend over the whole panel covers nothing")
	}
}

// A line touches a rectangle also if it only passes through it.
func TestCrosses(t *testing.T) {
	box := vg.Rectangle{Min: vg.Point{X: 1, Y: 1}, Max: vg.Point{X: 2, Y: 2}}
	tests := []struct {
		a, b vg.Point
		want bool
	}{
		{vg.Point{X: 0, Y: 0}, vg.Point{X: 3, Y: 3}, true},
		{vg.Point{X: 0, Y: 1.5}, vg.Point{X: 9, Y: 1.5}, true},
		{vg.Point{X: 1.5, Y: 1.5}, vg.Point{X: 1.5, Y: 1.5}, true},
		{vg.Point{X: 0, Y: 0}, vg.Point{X: 0.9, Y: 0.9}, false},
		{vg.Point{X: 0, Y: 2}, vg.Point{X: 1, Y: 3}, false},
		{vg.Point{X: 0, Y: 0}, vg.Point{X: 0, Y: 5}, false},
		{vg.Point{X: 2, Y: 0}, vg.Point{X: 2, Y: 5}, true},
	}
	for _, tt := range tests {
		if got := crosses(tt.a, tt.b, box); got != tt.want {
			t.Errorf("%v to %v: %v", tt.a, tt.b, got)
		}
	}
}

// labels returns the labels of an axis over some values.
func labels(kind Scale, values ...float64) string {
	axis := plot.New().X
	for _, v := range values {
		v = Axis{Scale: kind}.of(v)
		axis.Min, axis.Max = min(axis.Min, v), max(axis.Max, v)
	}
	Axis{Scale: kind}.shape(&axis)
	var words []string
	for _, t := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		if t.Label != "" {
			words = append(words, t.Label)
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
		{Linear, []float64{0, 60000}, "0 20000 40000 60000"},
		{Linear, []float64{5.42, 5.85}, "5.5 5.6 5.7 5.8"},
		{Linear, []float64{3, 3}, "2.6 2.8 3.0 3.2 3.4"},
		{Linear, nil, "0 0.2 0.4 0.6 0.8 1.0"},
		{Log10, []float64{0.001, 1}, "0.001 0.01 0.1 1"},
		{Log10, []float64{2, 7}, "2 5"},
		{Log10, []float64{1, 1e6}, "1 10 100 1000 10000 100000 1e6"},
		{Log10, []float64{1e-6, 1e-4}, "1e-6 1e-5 0.0001"},
		{Log10, []float64{50, 50}, "50"},
		{Log10, nil, "1 10"},
		{Log2, []float64{3, 120}, "4 8 16 32 64 128"},
	}
	for _, tt := range tests {
		if got := labels(tt.kind, tt.values...); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
}

// A value that has no place on an axis is an error, rather than left out of the picture.
func TestNoPlace(t *testing.T) {
	tests := map[string]Panel{
		"x on a logarithmic axis": {X: Axis{Scale: Log2}, Curves: []Curve{{Points: []Point{{0, 1}}}}},
		"y on a logarithmic axis": {Y: Axis{Scale: Log10}, Curves: []Curve{{Points: []Point{{1, -1}}}}},
		"a range on a logarithmic axis": {Y: Axis{Scale: Log10},
			Curves: []Curve{{Points: []Point{{1, 1}}, Most: []Range{{0, 1}}}}},
		"no number": {Curves: []Curve{{Points: []Point{{1, math.NaN()}}}}},
		"infinite":  {Curves: []Curve{{Points: []Point{{1, 1}}, Most: []Range{{0, math.Inf(1)}}}}},
	}
	for name, panel := range tests {
		f := &Figure{File: "f", Panels: []Panel{panel}}
		dir := t.TempDir()
		if err := f.Write(dir); err == nil {
			t.Errorf("%s: no error", name)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: %v, %v", name, files, err)
		}
	}
}

// Numbers are drawn even if they are so close together that no tick between them is a different floating-point number.
func TestNearlyAlike(t *testing.T) {
	panel := Panel{Curves: []Curve{{Points: []Point{{1e22, 0}, {1e22 + 1<<21, 1}}}}}
	if err := (&Figure{File: "f", Panels: []Panel{panel}}).Write(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// All styles are drawn in both formats, which can be read. The bytes are the same each time.
func TestWrite(t *testing.T) {
	f := &Figure{File: "all", Panels: []Panel{
		{Title: "all <styles>", Y: Axis{Label: "y, µs", Scale: Log10}, Curves: []Curve{
			curve("measured", 12, func(x float64) float64 { return 1 + x }),
			{Style: Theory, Points: []Point{{0, 1}, {1, 900}}},
			{Name: "true", Style: Truth, Colour: 1, Points: []Point{{0.5, 3}}},
			{Name: "spread", Colour: 2, Points: []Point{{0, 50}, {1, 60}}, Most: []Range{{40, 70}, {50, 80}},
				Half: []Range{{45, 60}, {55, 70}}},
		}},
		{X: Axis{Label: "x"}, Curves: []Curve{{Style: Series, Points: []Point{{0, 1}, {1, 2}}},
			{Points: []Point{{0, 1}}, Most: []Range{{0, 2}}}}},
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
