package figure

import "slices"

// mostBars is how many points may have error bars: more become a band.
const mostBars = 24

func (l *layout) draw(c canvas) {
	for i := range l.panels {
		p := &l.panels[i]
		p.drawAxes(c)
		for k := range p.Curves {
			p.drawBands(c, &p.Curves[k])
		}
		for k := range p.Curves {
			p.drawCurve(c, &p.Curves[k])
		}
		p.drawLegend(c)
	}
}

// drawAxes draws frame, grid, ticks and labels.
func (p *panelLayout) drawAxes(c canvas) {
	const long, few = 5.0, 3.0
	for _, t := range p.x.ticks {
		x := p.low.X + p.x.part(t.at)*(p.high.X-p.low.X)
		if t.base == "" {
			c.line([]Point{{x, p.high.Y}, {x, p.high.Y - few}}, 0.8, black, nil)
			continue
		}
		c.line([]Point{{x, p.low.Y}, {x, p.high.Y}}, 0.6, grey, nil)
		c.line([]Point{{x, p.high.Y}, {x, p.high.Y - long}}, 0.8, black, nil)
		p.label(c, Point{x, p.high.Y + 1.3*tickSize}, t, 0.5)
	}
	for _, t := range p.y.ticks {
		y := p.high.Y - p.y.part(t.at)*(p.high.Y-p.low.Y)
		if t.base == "" {
			c.line([]Point{{p.low.X, y}, {p.low.X + few, y}}, 0.8, black, nil)
			continue
		}
		c.line([]Point{{p.low.X, y}, {p.high.X, y}}, 0.6, grey, nil)
		c.line([]Point{{p.low.X, y}, {p.low.X + long, y}}, 0.8, black, nil)
		p.label(c, Point{p.low.X - 5, y + 0.35*tickSize}, t, 1)
	}
	frame := rectangle(p.low, p.high)
	c.line(append(frame, frame[0]), 0.8, black, nil)
	middle := Point{(p.low.X + p.high.X) / 2, (p.low.Y + p.high.Y) / 2}
	c.text(Point{middle.X, p.low.Y - 0.6*titleSize}, p.Title, titleSize, 0.5, false)
	c.text(Point{middle.X, p.high.Y + 1.3*tickSize + 1.5*labelSize}, p.X.Label, labelSize, 0.5, false)
	c.text(Point{margin + labelSize, middle.Y}, p.Y.Label, labelSize, 0.5, true)
}

// label writes a tick's number, with its power above it.
func (p *panelLayout) label(c canvas, at Point, t tick, align float64) {
	if t.power == "" {
		c.text(at, t.base, tickSize, align, false)
		return
	}
	const small = 0.72 * tickSize
	base, power := p.letters.width(t.base, tickSize), p.letters.width(t.power, small)
	at.X -= align * (base + power)
	c.text(at, t.base, tickSize, 0, false)
	c.text(Point{at.X + base, at.Y - 0.4*tickSize}, t.power, small, 0, false)
}

// drawBands draws how values spread around a curve: half of them, and faint all; of few points as bars.
func (p *panelLayout) drawBands(c canvas, curve *Curve) {
	ink := palette(curve.Colour)
	for _, band := range []struct {
		ranges []Range
		bars   bool
		ink    colour
	}{
		{curve.Most, len(curve.Most) <= mostBars && len(curve.Half) == 0, ink.faint(0x22)},
		{curve.Half, false, ink.faint(0x44)},
	} {
		var above, below []Point
		for k, r := range band.ranges {
			above = append(above, p.at(Point{curve.Points[k].X, r.High}))
			below = append(below, p.at(Point{curve.Points[k].X, r.Low}))
		}
		if !band.bars {
			slices.Reverse(below)
			if len(above) > 1 {
				c.fill(append(above, below...), band.ink)
			}
			continue
		}
		const arm = 3.0
		for k := range above {
			if a, b := above[k], below[k]; b.Y-a.Y > 0.5 {
				c.line([]Point{a, b}, 1, ink, nil)
				c.line([]Point{{a.X - arm, a.Y}, {a.X + arm, a.Y}}, 1, ink, nil)
				c.line([]Point{{b.X - arm, b.Y}, {b.X + arm, b.Y}}, 1, ink, nil)
			}
		}
	}
}

// mostMarkers of a curve: more would hide it, and some are left out.
const mostMarkers = 40

func (p *panelLayout) drawCurve(c canvas, curve *Curve) {
	path := make([]Point, len(curve.Points))
	for k, v := range curve.Points {
		path[k] = p.at(v)
	}
	p.drawLine(c, curve, path)
	stride := (len(path) + mostMarkers - 1) / mostMarkers
	for k, at := range path {
		if curve.Style == Truth || k%max(1, stride) == 0 {
			drawMarker(c, curve, at)
		}
	}
}

func (p *panelLayout) drawLine(c canvas, curve *Curve, path []Point) {
	ink := palette(curve.Colour)
	switch curve.Style {
	case Measured:
		c.line(path, 1.6, ink, nil)
	case Theory:
		c.line(path, 1.2, ink, []float64{6, 4})
	case Series:
		c.line(path, 1, ink, nil)
	}
}

func drawMarker(c canvas, curve *Curve, at Point) {
	ink := palette(curve.Colour)
	switch curve.Style {
	case Measured:
		c.fill(marker(curve.Colour, at), ink)
	case Truth:
		for _, arm := range cross(at) {
			c.line(arm, 1.3, ink, nil)
		}
	}
}

func (p *panelLayout) drawLegend(c canvas) {
	low, high := p.legend[0], p.legend[1]
	if low == high {
		return
	}
	box := rectangle(low, high)
	c.fill(box, white)
	c.line(append(box, box[0]), 0.6, grey, nil)
	y := low.Y + margin/2 + entryHeight/2
	entry := func(curve *Curve, name string) {
		from, to := Point{low.X + margin, y}, Point{low.X + margin + sample, y}
		p.drawLine(c, curve, []Point{from, to})
		drawMarker(c, curve, Point{(from.X + to.X) / 2, y})
		c.text(Point{to.X + margin, y + 0.35*legendSize}, name, legendSize, 0, false)
		y += entryHeight
	}
	for _, i := range p.entries {
		entry(&p.Curves[i], p.Curves[i].Name)
	}
	if p.dashed {
		const blackest = 6 // of the palette: of no curve alone
		entry(&Curve{Style: Theory, Colour: blackest}, "theory")
	}
}
