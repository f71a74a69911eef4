package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"tamtam/tam/libm"
)

// of returns a value, or its logarithm on a logarithmic axis. gonum's own logarithmic scale reserves space for a label
// in the wrong place.
func (a Axis) of(v float64) float64 {
	switch a.Scale {
	case Log10:
		return libm.Log10(v)
	case Log2:
		return libm.Log2(v)
	}
	return v
}

// shape sets the ends of an axis, a little outside of all curves, and its ticks and label.
func (a Axis) shape(of *plot.Axis) {
	of.Label.Text, of.Label.Padding = a.Label, padding
	of.Width, of.Padding = 0, 0 // the frame serves as the line
	of.Tick.Length = 4
	sans(&of.Label.TextStyle, labelSize)
	sans(&of.Tick.Label, tickSize)
	if of.Min > of.Max { // there is no curve
		of.Min, of.Max = 0, 1
	}
	if a.Scale == Linear && of.Min > 0 && of.Min < of.Max/2 {
		of.Min = 0
	}
	room := 0.04 * (of.Max - of.Min)
	switch {
	case room == 0 && a.Scale == Linear:
		room = max(0.1*math.Abs(of.Max), 0.5)
	case room == 0:
		room = 0.04
	}
	if of.Max += room; of.Min != 0 || a.Scale != Linear {
		of.Min -= room
	}
	switch a.Scale {
	case Linear:
		of.Tick.Marker = round{}
	case Log10:
		of.Tick.Marker = powers(10)
	case Log2:
		of.Tick.Marker = powers(2)
	}
}

// round makes ticks at multiples of 1, 2 or 5 times a power of ten, with all their digits. gonum's own ticks may be at
// 5.45, printed as 5.5.
type round struct{}

// Ticks implements [plot.Ticker].
func (round) Ticks(least, most float64) (list []plot.Tick) {
	rough := (most - least) / 6
	unit := libm.Pow(10, math.Floor(libm.Log10(rough)))
	step := unit
	for _, m := range []float64{2, 5, 10} {
		if step < rough {
			step = float64(m * unit)
		}
	}
	decimals := max(0, int(-math.Floor(float64(libm.Log10(step))+1e-9)))
	first := math.Ceil(least/step - 1e-9)
	for n := 0.0; n < 16; n++ { // for nearly equal numbers the next may be the same
		i := first + n
		if i*step > most {
			break
		}
		t := plot.Tick{Value: i * step, Label: "0"}
		if i != 0 {
			t.Label = strconv.FormatFloat(t.Value, 'f', decimals, 64)
		}
		list = append(list, t)
	}
	return list
}

// powers makes ticks at the powers of a number, on an axis of their exponents. For base 10 there are short ticks
// between them, with labels if the axis has fewer than two powers.
type powers float64

// Ticks implements [plot.Ticker].
func (p powers) Ticks(least, most float64) (list []plot.Tick) {
	first, last := math.Floor(least), math.Ceil(most)
	stride := math.Ceil((last - first) / 10)
	few := p == 10 && math.Floor(most)-math.Ceil(least) < 1
	for e := first; e <= last; e++ {
		for m := 1.0; m < float64(p) && (m == 1 || p == 10 && stride == 1); m++ {
			t := plot.Tick{Value: e + float64(libm.Log10(m))}
			if math.Mod(e, stride) == 0 && (m == 1 || few && (m == 2 || m == 5)) {
				label := strconv.FormatFloat(m*libm.Pow(float64(p), e), 'g', -1, 64)
				t.Label = strings.NewReplacer("e+0", "e", "e-0", "e-").Replace(label)
			}
			if t.Value >= least && t.Value <= most {
				list = append(list, t)
			}
		}
	}
	return list
}
