package figure

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// sharpness is how many pixels of a PNG one of the SVG is.
const sharpness = 1.5

// A bitmap is a canvas of pixels.
type bitmap struct {
	picture *image.RGBA
	shape   *vector.Rasterizer
	rings   [][]Point // of the shape
	letters *letters
}

func newPNG(width, height float64) (*bitmap, error) {
	w, h := int(width*sharpness+0.5), int(height*sharpness+0.5)
	letters, err := newLetters()
	if err != nil {
		return nil, err
	}
	b := &bitmap{image.NewRGBA(image.Rect(0, 0, w, h)), vector.NewRasterizer(w, h), nil, letters}
	draw.Draw(b.picture, b.picture.Bounds(), image.White, image.Point{}, draw.Src)
	return b, nil
}

func (c colour) ink() image.Image { return image.NewUniform(color.NRGBA{c.r, c.g, c.b, c.a}) }

// ring adds a closed path to the shape, always in the same direction: what paths have in common counts once.
func (b *bitmap) ring(path []Point) {
	area := 0.0
	for i, p := range path {
		q := path[(i+1)%len(path)]
		area += p.X*q.Y - q.X*p.Y
	}
	ring := make([]Point, len(path))
	for i, p := range path {
		k := i
		if area < 0 {
			k = len(path) - 1 - i
		}
		ring[k] = Point{p.X * sharpness, p.Y * sharpness}
	}
	b.rings = append(b.rings, ring)
}

// paint draws the shape and begins another. Only the pixels around it are looked at.
func (b *bitmap) paint(ink colour) {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{}
	for _, ring := range b.rings {
		for _, p := range ring {
			low, high = Point{min(low.X, p.X), min(low.Y, p.Y)}, Point{max(high.X, p.X), max(high.Y, p.Y)}
		}
	}
	around := image.Rect(int(low.X), int(low.Y), int(high.X)+2, int(high.Y)+2).Intersect(b.picture.Bounds())
	if len(b.rings) == 0 || around.Empty() {
		return
	}
	b.shape.Reset(around.Dx(), around.Dy())
	for _, ring := range b.rings {
		for i, p := range ring {
			if x, y := float32(p.X-float64(around.Min.X)), float32(p.Y-float64(around.Min.Y)); i == 0 {
				b.shape.MoveTo(x, y)
			} else {
				b.shape.LineTo(x, y)
			}
		}
		b.shape.ClosePath()
	}
	b.shape.Draw(b.picture, around, ink.ink(), image.Point{})
	b.rings = b.rings[:0]
}

func (b *bitmap) fill(path []Point, ink colour) {
	b.ring(path)
	b.paint(ink)
}

func (b *bitmap) line(path []Point, width float64, ink colour, dashes []float64) {
	for _, piece := range dashed(path, dashes) {
		for i := 1; i < len(piece); i++ {
			p, q := piece[i-1], piece[i]
			long := math.Hypot(q.X-p.X, q.Y-p.Y)
			if long == 0 {
				continue
			}
			dx, dy := (q.Y-p.Y)/long*width/2, (p.X-q.X)/long*width/2
			b.ring([]Point{{p.X + dx, p.Y + dy}, {q.X + dx, q.Y + dy}, {q.X - dx, q.Y - dy}, {p.X - dx, p.Y - dy}})
			if i > 1 { // a round joint
				joint := make([]Point, 8)
				for k := range joint {
					sin, cos := math.Sincos(2 * math.Pi * float64(k) / 8)
					joint[k] = Point{p.X + width/2*cos, p.Y + width/2*sin}
				}
				b.ring(joint)
			}
		}
	}
	b.paint(ink)
}

// dashed cuts a path into dashes: lengths drawn and left out, by turns.
func dashed(path []Point, dashes []float64) (pieces [][]Point) {
	if len(dashes) == 0 || len(path) == 0 {
		return [][]Point{path}
	}
	i, left := 0, dashes[0]
	piece := []Point{path[0]}
	for k := 1; k < len(path); k++ {
		p, q := path[k-1], path[k]
		long := math.Hypot(q.X-p.X, q.Y-p.Y)
		for done := 0.0; long > 0; {
			step := min(left, long-done)
			done, left = done+step, left-step
			at := Point{p.X + (q.X-p.X)*done/long, p.Y + (q.Y-p.Y)*done/long}
			if piece = append(piece, at); left > 0 {
				break
			}
			if i%2 == 0 {
				pieces = append(pieces, piece)
			}
			i++
			left, piece = dashes[i%len(dashes)], []Point{at}
		}
	}
	if i%2 == 0 && len(piece) > 1 {
		pieces = append(pieces, piece)
	}
	return pieces
}

func (b *bitmap) text(at Point, word string, size, align float64, upwards bool) {
	face := b.letters.face(size * sharpness)
	wide := float64(font.MeasureString(face, word)) / 64
	if !upwards {
		d := font.Drawer{Dst: b.picture, Src: black.ink(), Face: face, Dot: point(at.X*sharpness-align*wide, at.Y*sharpness)}
		d.DrawString(word)
		return
	}
	// Written beside, and turned.
	high := int(2 * size * sharpness)
	flat := image.NewAlpha(image.Rect(0, 0, int(wide)+2, high))
	d := font.Drawer{Dst: flat, Src: image.Opaque, Face: face, Dot: point(0, float64(high)*3/4)}
	d.DrawString(word)
	turned := image.NewAlpha(image.Rect(0, 0, high, flat.Rect.Dx()))
	for y := range high {
		for x := range flat.Rect.Dx() {
			turned.SetAlpha(y, flat.Rect.Dx()-1-x, flat.AlphaAt(x, y))
		}
	}
	corner := image.Pt(int(at.X*sharpness)-high*3/4, int(at.Y*sharpness-(1-align)*wide))
	draw.DrawMask(b.picture, turned.Rect.Add(corner), black.ink(), image.Point{}, turned, image.Point{}, draw.Over)
}

func point(x, y float64) fixed.Point26_6 {
	return fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}
}

func (b *bitmap) bytes() ([]byte, error) {
	var out bytes.Buffer
	err := png.Encode(&out, b.picture)
	return out.Bytes(), err
}

// letters is the font, in the sizes that were asked for.
type letters struct {
	outlines *opentype.Font
	faces    map[float64]font.Face
}

func newLetters() (*letters, error) {
	outlines, err := opentype.Parse(goregular.TTF)
	return &letters{outlines, map[float64]font.Face{}}, err
}

// face is the font in one size, in pixels.
func (l *letters) face(size float64) font.Face {
	f := l.faces[size]
	if f == nil {
		f, _ = opentype.NewFace(l.outlines, &opentype.FaceOptions{Size: size, DPI: 72}) // fails in no case
		l.faces[size] = f
	}
	return f
}

// width is how wide a word is.
func (l *letters) width(word string, size float64) float64 {
	return float64(font.MeasureString(l.face(size), word)) / 64
}
