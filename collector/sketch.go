package collector

import (
	"math"
	"math/bits"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

// A budget is how many bytes are left for distributions, all that share it together.
type budget struct{ left int64 }

// DefaultMemory is how many bytes all distributions of latencies take together at most, unless it is said.
const DefaultMemory = 256 << 20

// valuesBytes is what a map of so many values takes: groups of eight with a byte each to find them. Small maps double,
// large ones are many of 1,024 places, half full at the least.
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

// A sketch is a DDSketch that knows how much memory it takes. Its library does not say how many bins there are.
type sketch struct {
	values             ddsketch.DDSketch
	positive, negative bins
}

// bins are those of one sign.
type bins struct {
	store       *store.DenseStore
	least, most uint64 // magnitudes so far; least is greater than most before the first
}

func newSketch() *sketch {
	m, err := mapping.NewLogarithmicMapping(sketchWithin)
	if err != nil {
		panic(err) // only where the error is not between 0 and 1
	}
	s := &sketch{
		positive: bins{store: store.NewDenseStore(), least: math.MaxUint64},
		negative: bins{store: store.NewDenseStore(), least: math.MaxUint64},
	}
	s.values = *ddsketch.NewDDSketch(m, s.positive.store, s.negative.store)
	return s
}

// add adds a value that was measured n times. It takes every number of 64 bits; counts are exact up to 2^53. True: the
// sketch may have grown.
func (s *sketch) add(ns, n int64) bool {
	if err := s.values.AddWithCount(float64(ns), float64(n)); err != nil {
		panic(err) // only for what is beyond 64 bits, or a negative count
	}
	switch {
	case ns > 0:
		return s.positive.reach(uint64(ns))
	case ns < 0:
		return s.negative.reach(-uint64(ns))
	}
	return false // a count of its own
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
		panic(err) // only of sketches with other errors
	}
	for _, b := range [][2]*bins{{&s.positive, &o.positive}, {&s.negative, &o.negative}} {
		b[0].least, b[0].most = min(b[0].least, b[1].least), max(b[0].most, b[1].most)
	}
}

// bytes is what a sketch takes at most.
func (s *sketch) bytes() int64 {
	const itself = 512
	return itself + s.positive.bytes() + s.negative.bytes()
}

// bytes: a store has 64 bins besides those that it needs, and its slice may have grown by a half when it had to grow.
func (b *bins) bytes() int64 {
	const spare = 64
	least, err := b.store.MinIndex()
	if err != nil {
		return 0 // there are none
	}
	most, _ := b.store.MaxIndex()
	n := int64(most-least) + 1 + spare
	return 8 * (n + min(n, n/4+256))
}
