package figure

import "math"

// A canvas is what panels are drawn on: coordinates are in pixels of SVG, from the upper left corner.
type canvas interface {
	line(path []Point, width float64, ink colour, dashes []float64)
	fill(path []Point, ink colour)
	// text writes a word whose baseline has the point at its start (0), middle (0.5) or end (1); upright,
	// or from below to above.
	text(at Point, word string, size, align float64, upwards bool)
}

// A colour is red, green, blue and how opaque it is.
type colour struct{ r, g, b, a uint8 }

func (c colour) faint(a uint8) colour { return colour{c.r, c.g, c.b, a} }

// palette is that of Okabe and Ito, made for all kinds of colour vision; its yellow, which is too light for
// a line on white, is left out.
func palette(i int) colour {
	list := []colour{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x00, 0x00, 0xff},
	}
	return list[i%len(list)]
}

var (
	black = colour{0x22, 0x22, 0x22, 0xff}
	grey  = colour{0xdd, 0xdd, 0xdd, 0xff}
	white = colour{0xff, 0xff, 0xff, 0xff}
)

// marker is the outline of a curve's marker around a point: another shape for each place in the palette, and for
// those that have a colour again.
func marker(i int, at Point) []Point {
	const round = 16
	corners := []struct {
		n     int
		turn  float64 // of the first corner, in full turns from the right
		scale float64
	}{
		{round, 0, 1}, {4, 0.125, 1.25}, {3, -0.25, 1.35}, {4, 0, 1.35}, {3, 0.25, 1.35}, {5, -0.25, 1.2},
		{6, 0, 1.15}, {8, 0.0625, 1},
	}
	c := corners[i%len(corners)]
	const radius = 3.2
	path := make([]Point, c.n)
	for k := range path {
		sin, cos := math.Sincos(2 * math.Pi * (c.turn + float64(k)/float64(c.n)))
		path[k] = Point{at.X + radius*c.scale*cos, at.Y + radius*c.scale*sin}
	}
	return path
}

// cross is the marker of what is true.
func cross(at Point) [2][]Point {
	const arm = 3.2
	return [2][]Point{
		{{at.X - arm, at.Y - arm}, {at.X + arm, at.Y + arm}},
		{{at.X - arm, at.Y + arm}, {at.X + arm, at.Y - arm}},
	}
}

func rectangle(low, high Point) []Point {
	return []Point{low, {high.X, low.Y}, high, {low.X, high.Y}}
}
