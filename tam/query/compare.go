package query

import "math"

// FieldOf returns a field of a part of a row. The row has no known value if it lacks the part.
func FieldOf[R, P any](f Field[P], part func(*R) *P) Field[R] {
	g := Field[R]{Name: f.Name, Help: f.Help, Kind: f.Kind, Words: f.Words, Closed: f.Closed, Spelling: f.Spelling,
		Total: f.Total, Key: f.Key, Bounded: f.Bounded}
	if f.Text != nil {
		g.Text = func(r *R, i int) (text string, ok bool) {
			if p := part(r); p != nil {
				text, ok = f.Text(p, i)
			}
			return text, ok
		}
	}
	if f.Number != nil {
		g.Number = func(r *R, i int) (n Range, ok bool) {
			if p := part(r); p != nil {
				n, ok = f.Number(p, i)
			}
			return n, ok
		}
	}
	if f.Whole != nil {
		g.Whole = func(r *R) bool { p := part(r); return p != nil && f.Whole(p) }
	}
	return g
}

// Comparison returns the fields that compare a number with that of an earlier range: NAME.before and NAME.difference.
func Comparison[R any](now, before Field[R]) []Field[R] {
	difference := now
	before.Name, before.Help, before.Key = now.Name+".before", now.Help+", in the range that is compared", false
	difference.Name, difference.Help = now.Name+".difference", now.Help+", minus that in the range that is compared"
	difference.Total, difference.Bounded, difference.Key, difference.Whole = NoTotal, true, false, nil
	difference.Number = One(func(r *R) (Range, bool) {
		a, known := now.Number(r, 0)
		b, was := before.Number(r, 0)
		return minus(a, b), known && was && !b.Open()
	})
	return []Field[R]{before, difference}
}

// minus returns the range of the difference of two numbers, of which the second has an upper bound.
func minus(a, b Range) Range {
	d := Range{Low: less(a.Low, b.High), High: less(a.High, b.Low)}
	if a.Open() {
		d.High = math.MaxInt64
	}
	return d
}

// less subtracts numbers. The result is bounded by those that fit.
func less(a, b int64) int64 {
	switch d := a - b; {
	case b > 0 && d > a:
		return math.MinInt64
	case b < 0 && d < a:
		return math.MaxInt64
	default:
		return d
	}
}
