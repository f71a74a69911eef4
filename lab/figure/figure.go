// Package figure draws curves as papers have them: measured ones solid with markers, theory dashed, in colours
// that colour-blind people can tell apart, with a legend that covers no curve. The same figure gives the
// same bytes of SVG and PNG.
package figure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A Figure is a picture of panels, one above the other.
type Figure struct {
	File   string // its name, without what comes behind the point
	Panels []Panel
}

// A Panel is a pair of axes with curves.
type Panel struct {
	Title  string
	X, Y   Axis
	Curves []Curve
}

// An Axis says what is along it.
type Axis struct {
	Label string // with the unit
	Scale Scale
}

// A Scale says which distances are equal.
type Scale int

// Linear has equal distances for equal differences; Log10 and Log2 for equal ratios, with ticks at powers of
// 10 and of 2.
const (
	Linear Scale = iota
	Log10
	Log2
)

// A Curve is a line, or marks, or both.
type Curve struct {
	Name  string // in the legend; "": not there
	Style Style
	// Colour is a place in the palette, the same for what belongs together.
	Colour int
	Points []Point
	// Most are how far the values behind each point go, and Half what half of them do; nil: nobody says.
	Most, Half []Range
}

// A Point is in the units of the axes.
type Point struct{ X, Y float64 }

// A Range goes from the least value to the greatest.
type Range struct{ Low, High float64 }

// A Style says how a curve is drawn.
type Style int

// Measured is a line with markers, Theory one that is dashed, Truth crosses without a line, Series a thin line
// of many points.
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
		return fmt.Errorf("figure %s: %w", f.File, err)
	}
	vector := newSVG(l.width, l.height)
	raster, err := newPNG(l.width, l.height)
	if err != nil {
		return fmt.Errorf("figure %s: %w", f.File, err)
	}
	l.draw(vector)
	l.draw(raster)
	text, err := raster.bytes()
	path := filepath.Join(dir, f.File)
	return errors.Join(err, os.WriteFile(path+".svg", vector.bytes(), 0o644), os.WriteFile(path+".png", text, 0o644))
}

// Covered names the curves that the legends lie over.
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
