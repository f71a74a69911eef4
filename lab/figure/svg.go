package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
)

// An svg is a canvas of text.
type svg struct{ b bytes.Buffer }

func newSVG(width, height float64) *svg {
	s := new(svg)
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" `+
		`font-family="Go, Helvetica, Arial, sans-serif">`+"\n", short(width), short(height))
	s.fill(rectangle(Point{0, 0}, Point{width, height}), white)
	return s
}

func short(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// place writes a coordinate with two decimals.
func place(v float64) string {
	if v = float64(int64(v*100+0.5)) / 100; v < 0 {
		v = 0
	}
	return short(v)
}

func (s *svg) path(path []Point) {
	for i, p := range path {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		s.b.WriteString(place(p.X) + "," + place(p.Y))
	}
}

func (c colour) hex() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

func (s *svg) line(path []Point, width float64, ink colour, dashes []float64) {
	s.b.WriteString(`<polyline points="`)
	s.path(path)
	fmt.Fprintf(&s.b, `" fill="none" stroke="%s" stroke-width="%s" stroke-linejoin="round"`, ink.hex(), short(width))
	for i, d := range dashes {
		if i == 0 {
			s.b.WriteString(` stroke-dasharray="`)
		} else {
			s.b.WriteByte(' ')
		}
		s.b.WriteString(short(d))
		if i == len(dashes)-1 {
			s.b.WriteByte('"')
		}
	}
	s.b.WriteString("/>\n")
}

func (s *svg) fill(path []Point, ink colour) {
	s.b.WriteString(`<polygon points="`)
	s.path(path)
	fmt.Fprintf(&s.b, `" fill="%s"`, ink.hex())
	if ink.a < 0xff {
		fmt.Fprintf(&s.b, ` fill-opacity="%.2f"`, float64(ink.a)/0xff)
	}
	s.b.WriteString("/>\n")
}

func (s *svg) text(at Point, word string, size, align float64, upwards bool) {
	anchor := map[float64]string{0: "start", 0.5: "middle", 1: "end"}[align]
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" font-size="%s" fill="%s" text-anchor="%s"`,
		place(at.X), place(at.Y), short(size), black.hex(), anchor)
	if upwards {
		fmt.Fprintf(&s.b, ` transform="rotate(-90 %s %s)"`, place(at.X), place(at.Y))
	}
	s.b.WriteByte('>')
	_ = xml.EscapeText(&s.b, []byte(word)) // a buffer takes all
	s.b.WriteString("</text>\n")
}

func (s *svg) bytes() []byte { return append(s.b.Bytes(), "</svg>\n"...) }
