package collector

import (
	"math"
	"math/bits"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"

	"tamtam/tam/libm"
)

// A budget is the number of bytes that remain for all distributions that share it.
type budget struct{ left int64 }

// DefaultMemory is the default maximum memory of all latency distributions together in bytes.
const DefaultMemory = 256 << 20

// valuesBytes returns the memory of a map of n values: groups of eight with a control byte each. Small maps double,
// large ones consist of tables with 1,024 places, at least half full.
func valuesBytes(n int) int64 {
	const header, place, most = 112, 18, 1024
	places := int64(8)
	if n > 8 {
		places = 1 << bits.Len(uint((n*8+6)/7-1))
	}
	if places <= most {
		return header + place*places
	}
	return header + 40*int64(n)
}

// A sketch is a DDSketch that tracks its memory. Its library does not report the number of bins.
type sketch struct {
	values             ddsketch.DDSketch
	positive, negative bins
}

// bins holds the bins of one sign.
type bins struct {
	store       *store.DenseStore
	least, most uint64 // range of magnitudes so far; least exceeds most before the first value
}

func newSketch() *sketch {
	m := newLogarithmic(sketchWithin)
	s := &sketch{
		positive: bins{store: store.NewDenseStore(), least: math.MaxUint64},
		negative: bins{store: store.NewDenseStore(), least: math.MaxUint64},
	}
	s.values = *ddsketch.NewDDSketch(m, s.positive.store, s.negative.store)
	return s
}

// logarithmic maps values to bins as the library's mapping does, with the same results on every architecture.
type logarithmic struct {
	*mapping.LogarithmicMapping
	multiplier float64
}

func newLogarithmic(within float64) logarithmic {
	of, err := mapping.NewLogarithmicMapping(within)
	if err != nil {
		panic(err) // only if the error is not between 0 and 1
	}
	return logarithmic{of, 1 / libm.Log((1+within)/(1-within))}
}

// Equals implements [mapping.IndexMapping], and so do the other methods.
func (m logarithmic) Equals(other mapping.IndexMapping) bool {
	o, ok := other.(logarithmic)
	return ok && o.multiplier == m.multiplier
}

func (m logarithmic) Index(value float64) int { return int(math.Floor(libm.Log(value) * m.multiplier)) }

func (m logarithmic) LowerBound(index int) float64 { return libm.Exp(float64(index) / m.multiplier) }

func (m logarithmic) Value(index int) float64 {
	return m.LowerBound(index) * (1 + m.RelativeAccuracy())
}

// add adds a value that was measured n times. It accepts every 64-bit number. Counts are exact up to 2^53. It returns
// true if the sketch may have grown.
func (s *sketch) add(ns, n int64) bool {
	if err := s.values.AddWithCount(float64(ns), float64(n)); err != nil {
		panic(err) // only for values beyond 64 bits, or a negative count
	}
	switch {
	case ns > 0:
		return s.positive.reach(uint64(ns))
	case ns < 0:
		return s.negative.reach(-uint64(ns))
	}
	return false // zero has its own counter
}

func (b *bins) reach(magnitude uint64) bool {
	if magnitude >= b.least && magnitude <= b.most {
		return false
	}
	b.least, b.most = min(b.least, magnitude), max(b.most, magnitude)
	return true
}

func (s *sketch) merge(o *sketch) {
	if err := s.values.MergeWith(&o.values); err != nil {
		panic(err) // fails only for different accuracies
	}
	for _, b := range [][2]*bins{{&s.positive, &o.positive}, {&s.negative, &o.negative}} {
		b[0].least, b[0].most = min(b[0].least, b[1].least), max(b[0].most, b[1].most)
	}
}

// bytes returns the maximum memory of a sketch.
func (s *sketch) bytes() int64 {
	const itself = 512
	return itself + s.positive.bytes() + s.negative.bytes()
}

// bytes returns the maximum memory of the bins. A store has 64 spare bins, and its slice may have grown by a half.
func (b *bins) bytes() int64 {
	const spare = 64
	least, err := b.store.MinIndex()
	if err != nil {
		return 0 // there are no bins
	}
	most, _ := b.store.MaxIndex()
	n := int64(most-least) + 1 + spare
	return 8 * (n + min(n, n/4+256))
}
