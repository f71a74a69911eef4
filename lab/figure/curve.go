package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	mostMarkers = 40 // maximum number of markers per curve; more would hide it, so some are left out
	mostBars    = 24 // maximum number of error bars of a curve; more are drawn as a band
)

// palette returns a colour of the palette of Okabe and Ito, made for all kinds of colour vision. Its yellow, which is
// too light for a line on white, is left out.
func palette(i int) color.NRGBA {
	list := []color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x00, 0x00, 0xff},
	}
	return list[i%len(list)]
}

// marker returns a shape by place. Each place in the palette has a different shape, and so has each repetition of a
// colour.
func marker(i int) draw.GlyphDrawer {
	list := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{},
		draw.TriangleGlyph{}, draw.PlusGlyph{}, draw.CrossGlyph{},
	}
	return list[i%len(list)]
}

func dashed(ink color.Color) draw.LineStyle {
	return draw.LineStyle{Color: ink, Width: 0.9, Dashes: []vg.Length{4.5, 3}}
}

// A cross is the marker of a true value, thick enough to be visible over another marker.
type cross struct{}

func (cross) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	arm, line := s.Radius, draw.LineStyle{Color: s.Color, Width: 1}
	c.StrokeLine2(line, at.X-arm, at.Y-arm, at.X+arm, at.Y+arm)
	c.StrokeLine2(line, at.X-arm, at.Y+arm, at.X+arm, at.Y-arm)
}

// xys returns the points in gonum's type.
func (c *Curve) xys() plotter.XYs {
	list := make(plotter.XYs, len(c.Points))
	for i, p := range c.Points {
		list[i] = plotter.XY(p)
	}
	return list
}

// addCurve draws the curve, and its entry in the legend.
func (g *graph) addCurve(c *Curve) error {
	if len(c.Points) == 0 {
		return nil
	}
	line, err := plotter.NewLine(c.xys())
	if err != nil {
		return err
	}
	ink := palette(c.Colour)
	marks := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: ink, Radius: 2.5, Shape: marker(c.Colour)}}
	line.LineStyle = draw.LineStyle{Color: ink, Width: 1.2}
	entry := []plot.Thumbnailer{line, marks}
	switch c.Style {
	case Measured:
		for chunk := range slices.Chunk(line.XYs, (len(line.XYs)+mostMarkers-1)/mostMarkers) {
			marks.XYs = append(marks.XYs, chunk[0])
		}
		g.put(line, marks)
	case Truth:
		marks.XYs, marks.Shape = line.XYs, cross{}
		g.put(marks)
		entry = entry[1:]
	case Theory:
		line.LineStyle = dashed(ink)
		g.put(line)
		return nil
	case Series:
		line.Width = 0.75
		g.put(line)
		entry = entry[:1]
	}
	if c.Name != "" {
		g.explain(c.Name, entry...)
	}
	return nil
}

// addSpread draws the spread of values around a curve: the middle half, and all of them more faintly. With a small
// number of points it draws error bars. The more bands overlap, the fainter they are, with an edge to distinguish them.
func (g *graph) addSpread(c *Curve) error {
	ink := palette(c.Colour)
	if c.bars() {
		spread := make(plotter.YErrors, len(c.Most))
		for i, r := range c.Most {
			spread[i].Low, spread[i].High = c.Points[i].Y-r.Low, r.High-c.Points[i].Y
		}
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{c.xys(), spread})
		if err != nil {
			return err
		}
		bars.Color, bars.Width = ink, 0.75
		g.put(bars)
		return nil
	}
	for _, band := range []struct {
		ranges []Range
		opaque int
	}{{c.Most, 0x22}, {c.Half, 0x44}} {
		if len(band.ranges) < 2 || !c.banded() {
			continue
		}
		edge := make(plotter.XYs, 2*len(band.ranges))
		for i, r := range band.ranges {
			edge[i] = plotter.XY{X: c.Points[i].X, Y: r.High}
			edge[len(edge)-1-i] = plotter.XY{X: c.Points[i].X, Y: r.Low}
		}
		area, err := plotter.NewPolygon(edge)
		if err != nil {
			return err
		}
		ink.A = uint8(band.opaque / g.bands)
		area.Color, area.Width = ink, 0
		if ink.A = 0x66; g.bands > 1 {
			area.LineStyle = draw.LineStyle{Color: ink, Width: 0.5}
		}
		g.put(area)
	}
	return nil
}

// bars reports whether the spread is drawn as error bars.
func (c *Curve) bars() bool { return len(c.Most) > 0 && len(c.Most) <= mostBars && len(c.Half) == 0 }

// banded reports whether the spread is drawn as bands with a width.
func (c *Curve) banded() bool {
	return !c.bars() && slices.ContainsFunc(c.Most, func(r Range) bool { return r.Low < r.High })
}
