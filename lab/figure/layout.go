package figure

import (
	"cmp"
	"math"
)

// Sizes of a figure, in pixels of SVG.
const (
	panelWidth, panelHeight = 600.0, 375.0
	lowHeight               = 250.0 // of one panel among several
	titleSize, labelSize    = 14.0, 13.0
	tickSize, legendSize    = 11.0, 11.5
	entryHeight, sample     = 16.0, 26.0 // of a legend's entries: height, width of the piece of line
	margin                  = 8.0
	clearance               = 5.0 // between legend and curves: markers have a size
)

// A layout is a figure of which every place is known.
type layout struct {
	width, height float64
	panels        []panelLayout
}

// A panelLayout is where a panel is.
type panelLayout struct {
	*Panel
	x, y      scale
	low, high Point // corners of the plotting area: upper left, lower right
	left      float64
	entries   []int    // curves in the legend
	dashed    bool     // and one for theory
	legend    [2]Point // its corners; alike: there is none
	letters   *letters
}

func (f *Figure) layout() (*layout, error) {
	letters, err := newLetters()
	if err != nil {
		return nil, err
	}
	l := &layout{}
	height := panelHeight
	if len(f.Panels) > 1 {
		height = lowHeight
	}
	var left, beside float64
	for i := range f.Panels {
		p := panelLayout{Panel: &f.Panels[i], letters: letters}
		p.x, p.y = p.X.scale(p.horizontal), p.Y.scale(p.vertical)
		left = max(left, p.leftMargin())
		p.listEntries()
		l.panels = append(l.panels, p)
	}
	for i := range l.panels {
		p := &l.panels[i]
		top, bottom := l.height+margin, margin+1.5*tickSize
		if p.Title != "" {
			top += 1.6 * titleSize
		}
		if p.X.Label != "" {
			bottom += 1.6 * labelSize
		}
		p.low, p.high = Point{left, top}, Point{panelWidth - 2*margin, l.height + height - bottom}
		l.height += height
		beside = max(beside, p.placeLegend())
	}
	l.width = panelWidth + beside
	return l, nil
}

// horizontal calls f with all places on the x axis.
func (p *Panel) horizontal(f func(float64)) {
	for _, c := range p.Curves {
		for _, at := range c.Points {
			f(at.X)
		}
	}
}

// vertical calls f with all places on the y axis.
func (p *Panel) vertical(f func(float64)) {
	for _, c := range p.Curves {
		for _, at := range c.Points {
			f(at.Y)
		}
		for _, r := range c.Most {
			f(r.Low)
			f(r.High)
		}
	}
}

// leftMargin is the room for the ticks and the label of the y axis.
func (p *panelLayout) leftMargin() float64 {
	wide := 0.0
	for _, t := range p.y.ticks {
		wide = max(wide, p.letters.width(t.base+t.power, tickSize))
	}
	return margin + 1.5*labelSize + wide + margin
}

// at is where a point is drawn.
func (p *panelLayout) at(v Point) Point {
	return Point{
		p.low.X + p.x.part(v.X)*(p.high.X-p.low.X),
		p.high.Y - p.y.part(v.Y)*(p.high.Y-p.low.Y),
	}
}

// listEntries finds what the legend has: nothing where there is one curve without a name. Theory has one entry for
// all curves, whose colours it shares.
func (p *panelLayout) listEntries() {
	for i, c := range p.Curves {
		switch {
		case c.Style == Theory:
			p.dashed = true
		case c.Name != "":
			p.entries = append(p.entries, i)
		}
	}
}

// placeLegend finds a place in the plotting area where no curve is; if there is none the legend is beside it, and
// needs so much room.
func (p *panelLayout) placeLegend() (beside float64) {
	rows := len(p.entries)
	if p.dashed {
		rows++
	}
	if rows == 0 {
		return 0
	}
	wide := p.letters.width("theory", legendSize)
	for _, i := range p.entries {
		wide = max(wide, p.letters.width(p.Curves[i].Name, legendSize))
	}
	wide, high := wide+sample+3*margin, float64(rows)*entryHeight+margin
	const off = 6 // from the frame
	left, right := p.low.X+off, p.high.X-off-wide
	top, bottom := p.low.Y+off, p.high.Y-off-high
	middle := (left + right) / 2
	centre := (top + bottom) / 2
	if left < right && top < bottom {
		for _, at := range []Point{
			{right, top}, {left, top}, {right, bottom}, {left, bottom},
			{middle, top}, {middle, bottom}, {right, centre}, {left, centre},
		} {
			p.legend = [2]Point{at, {at.X + wide, at.Y + high}}
			if len(p.covered()) == 0 {
				return 0
			}
		}
	}
	at := Point{panelWidth - margin, p.low.Y}
	p.legend = [2]Point{at, {at.X + wide, at.Y + high}}
	return wide
}

// covered names the curves that the legend lies over.
func (p *panelLayout) covered() (names []string) {
	low, high := p.legend[0], p.legend[1]
	if low == high {
		return nil
	}
	low, high = Point{low.X - clearance, low.Y - clearance}, Point{high.X + clearance, high.Y + clearance}
	for i := range p.Curves {
		c := &p.Curves[i]
		if p.touches(c, low, high) {
			names = append(names, cmp.Or(c.Name, "a curve without a name"))
		}
	}
	return names
}

// touches says whether anything of a curve is in a rectangle.
func (p *panelLayout) touches(c *Curve, low, high Point) bool {
	var last Point
	for k, v := range c.Points {
		at := p.at(v)
		if k == 0 || c.Style == Truth {
			last = at
		}
		if crosses(last, at, low, high) {
			return true
		}
		last = at
	}
	for k, r := range c.Most {
		below, above := p.at(Point{c.Points[k].X, r.Low}), p.at(Point{c.Points[k].X, r.High})
		if crosses(below, above, low, high) {
			return true
		}
		if k == 0 || len(c.Most) <= mostBars {
			continue
		}
		b, a := c.Most[k-1].Low, c.Most[k-1].High
		x := c.Points[k-1].X
		if crosses(p.at(Point{x, b}), below, low, high) || crosses(p.at(Point{x, a}), above, low, high) {
			return true
		}
	}
	return false
}

// crosses says whether a line from a to b has a point in a rectangle: what is left of it between its
// sides, one pair after the other.
func crosses(a, b, low, high Point) bool {
	from, to := 0.0, 1.0
	for _, side := range []struct{ start, way, low, high float64 }{
		{a.X, b.X - a.X, low.X, high.X}, {a.Y, b.Y - a.Y, low.Y, high.Y},
	} {
		if side.way == 0 {
			if side.start < side.low || side.start > side.high {
				return false
			}
			continue
		}
		in, out := (side.low-side.start)/side.way, (side.high-side.start)/side.way
		from, to = max(from, min(in, out)), min(to, max(in, out))
	}
	return from <= to && !math.IsNaN(from+to)
}
