package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of a figure, in points.
const (
	panelWidth, panelHeight = 450, 280
	lowHeight               = 190 // height of one panel among several
	margin                  = 6   // margin of the picture, and inside a legend
	clearance               = 4   // distance between legend and curves, for the size of markers
)

// A layout is a figure with the positions of all its parts.
type layout struct {
	width, height vg.Length
	panels        []panelLayout
}

// A panelLayout is a panel with its position.
type panelLayout struct {
	*Panel
	*graph
	canvas draw.Canvas
	x, y   func(float64) vg.Length
	box    vg.Rectangle // place of the legend; empty if there is none
}

func (f *Figure) layout() (*layout, error) {
	n := len(f.Panels)
	l := &layout{width: panelWidth, height: panelHeight}
	if n > 1 {
		l.height = vg.Length(n) * lowHeight
	}
	graphs := make([][]*plot.Plot, n)
	for i := range f.Panels {
		p := f.Panels[i].onAxes()
		g, err := p.graph()
		if err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.File, err)
		}
		l.panels = append(l.panels, panelLayout{Panel: &p, graph: g})
		graphs[i] = []*plot.Plot{g.Plot}
	}
	tiles := draw.Tiles{
		Rows: n, Cols: 1, PadY: margin, PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: 2 * margin,
	}
	for i, row := range plot.Align(graphs, tiles, draw.NewCanvas(nil, l.width, l.height)) {
		p := &l.panels[i]
		p.canvas = row[0]
		l.width = max(l.width, p.placeLegend()+margin)
	}
	return l, nil
}

// draw draws the figure to a canvas of its size.
func (l *layout) draw(to vg.Canvas) {
	for i := range l.panels {
		p := &l.panels[i]
		p.Draw(draw.Canvas{Canvas: to, Rectangle: p.canvas.Rectangle})
		if p.entries > 0 {
			box := draw.Canvas{Canvas: to, Rectangle: p.box}
			box.FillPolygon(color.White, around(p.box))
			box.StrokeLines(faint(), around(p.box))
			p.legend.Draw(draw.Crop(box, margin, -margin, margin, 2-margin))
		}
	}
}

func faint() draw.LineStyle { return draw.LineStyle{Color: color.Gray{Y: 0xdd}, Width: 0.5} }

// placeLegend places the legend in the plotting area where it covers no curve. If there is no such place, the legend is
// beside the area. It returns how far to the right the legend extends.
func (p *panelLayout) placeLegend() vg.Length {
	area := p.DataCanvas(p.canvas)
	p.x, p.y = p.Transforms(&area)
	if p.entries == 0 {
		return 0
	}
	size := p.legend.Rectangle(area).Size().Add(vg.Point{X: 2 * margin, Y: 2 * margin})
	left, right := area.Min.X+margin, area.Max.X-margin-size.X
	bottom, top := area.Min.Y+margin, area.Max.Y-margin-size.Y
	middle, centre := (left+right)/2, (bottom+top)/2
	if left < right && bottom < top {
		for _, at := range []vg.Point{
			{X: right, Y: top}, {X: left, Y: top}, {X: right, Y: bottom}, {X: left, Y: bottom},
			{X: middle, Y: top}, {X: middle, Y: bottom}, {X: right, Y: centre}, {X: left, Y: centre},
		} {
			p.box = vg.Rectangle{Min: at, Max: at.Add(size)}
			if len(p.covered()) == 0 {
				return p.box.Max.X
			}
		}
	}
	at := vg.Point{X: area.Max.X + 2*margin, Y: area.Max.Y - size.Y}
	p.box = vg.Rectangle{Min: at, Max: at.Add(size)}
	return p.box.Max.X
}

// covered returns the names of the curves that the legend covers.
func (p *panelLayout) covered() (names []string) {
	if p.entries == 0 {
		return nil
	}
	near := vg.Point{X: clearance, Y: clearance}
	box := vg.Rectangle{Min: p.box.Min.Sub(near), Max: p.box.Max.Add(near)}
	for i := range p.Curves {
		if c := &p.Curves[i]; p.touches(c, box) {
			names = append(names, cmp.Or(c.Name, "a curve without a name"))
		}
	}
	return names
}

// touches reports whether any part of a curve is in a rectangle.
func (p *panelLayout) touches(c *Curve, box vg.Rectangle) bool {
	at := func(x, y float64) vg.Point { return vg.Point{X: p.x(x), Y: p.y(y)} }
	for k, v := range c.Points {
		last := v
		if k > 0 && c.Style != Truth {
			last = c.Points[k-1]
		}
		if crosses(at(last.X, last.Y), at(v.X, v.Y), box) {
			return true
		}
	}
	for k, r := range c.Most {
		x := c.Points[k].X
		if crosses(at(x, r.Low), at(x, r.High), box) {
			return true
		}
		if k == 0 || c.bars() {
			continue
		}
		lastX, last := c.Points[k-1].X, c.Most[k-1]
		if crosses(at(lastX, last.Low), at(x, r.Low), box) || crosses(at(lastX, last.High), at(x, r.High), box) {
			return true
		}
	}
	return false
}

// crosses reports whether a line from a to b has a point in a rectangle. It clips the line to one pair of sides after
// the other.
func crosses(a, b vg.Point, box vg.Rectangle) bool {
	from, to := vg.Length(0), vg.Length(1)
	for _, side := range []struct{ start, span, low, high vg.Length }{
		{a.X, b.X - a.X, box.Min.X, box.Max.X}, {a.Y, b.Y - a.Y, box.Min.Y, box.Max.Y},
	} {
		if side.span == 0 {
			if side.start < side.low || side.start > side.high {
				return false
			}
			continue
		}
		in, out := (side.low-side.start)/side.span, (side.high-side.start)/side.span
		from, to = max(from, min(in, out)), min(to, max(in, out))
	}
	return from <= to && !math.IsNaN(float64(from+to))
}
