// Package figure draws curves as papers do: measured ones solid with markers, theory dashed, in colours that
// colour-blind people can distinguish. The legend covers no curve. The same figure gives the same bytes of SVG and PNG.
package figure

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// resolution is the resolution of the PNG, in pixels per inch.
const resolution = 144

// A Figure is a picture of panels, one above the other.
type Figure struct {
	File   string // file name without the extension
	Panels []Panel
}

// A Panel is a pair of axes with curves.
type Panel struct {
	Title  string
	X, Y   Axis
	Curves []Curve
}

// An Axis describes one side of a panel.
type Axis struct {
	Label string // name of the quantity, with its unit
	Scale Scale
}

// A Scale determines which distances are equal.
type Scale int

// Linear has equal distances for equal differences. Log10 and Log2 have equal distances for equal ratios, with ticks at
// powers of 10 and of 2.
const (
	Linear Scale = iota
	Log10
	Log2
)

// A Curve is a line, or marks, or both.
type Curve struct {
	Name  string // name in the legend; empty means that it has no entry
	Style Style
	// Colour is a place in the palette, the same for curves that belong together.
	Colour int
	Points []Point
	// Most are the ranges of all values at each point, and Half the ranges of the middle half of the values. They are
	// nil if they are not drawn.
	Most, Half []Range
}

// A Point is in the units of the axes.
type Point struct{ X, Y float64 }

// A Range goes from the minimum to the maximum.
type Range struct{ Low, High float64 }

// A Style determines how a curve is drawn.
type Style int

// Measured is a line with markers, Theory a dashed line, Truth crosses without a line, and Series a thin line of many
// points.
const (
	Measured Style = iota
	Theory
	Truth
	Series
)

// Write draws the figure to FILE.svg and FILE.png in a directory.
func (f *Figure) Write(dir string) error {
	l, err := f.layout()
	if err != nil {
		return err
	}
	vector := vgsvg.New(l.width, l.height)
	raster := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(l.width, l.height), vgimg.UseDPI(resolution))}
	l.draw(vector)
	l.draw(raster)
	var svg, png bytes.Buffer
	_, svgErr := vector.WriteTo(&svg)
	_, pngErr := raster.WriteTo(&png)
	// A viewer without Liberation Sans uses a font of the same widths.
	const font, fonts = "Liberation Sans;", "Liberation Sans,Arial,Helvetica,sans-serif;"
	text := bytes.ReplaceAll(svg.Bytes(), []byte(font), []byte(fonts))
	path := filepath.Join(dir, f.File)
	return errors.Join(svgErr, pngErr,
		os.WriteFile(path+".svg", text, 0o644), os.WriteFile(path+".png", png.Bytes(), 0o644))
}

// Covered returns the names of the curves that the legends cover.
func (f *Figure) Covered() ([]string, error) {
	l, err := f.layout()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range l.panels {
		names = append(names, l.panels[i].covered()...)
	}
	return names, nil
}
