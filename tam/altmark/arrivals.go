package altmark

import (
	"fmt"
	"math/big"
	"math/bits"
	"time"
)

// The mean delay of RFC 9341: each point adds up the arrival times of a period's packets. If two points have added up
// the same N packets, the difference of their sums, divided by N, is the exact mean delay.

// A Sum is a sum of times or delays in ns: a signed number of 128 bits, modulo 2^128.
//
// A chip adds up Unix times, which are below 2^78 ns, without end. Take the difference of two readings, minus N times
// the begin of a period. The result is the sum of the offsets of N packets from that begin, modulo 2^128. It is
// unambiguous: no packet is 2^78 ns from the begin, and no period has 2^49 packets.
type Sum struct{ Hi, Lo uint64 }

// SinceEpoch returns a time in ns since 1970.
func SinceEpoch(t Time) (s Sum) {
	var carry uint64
	s.Hi, s.Lo = bits.Mul64(t.Seconds, second)
	s.Lo, carry = bits.Add64(s.Lo, uint64(t.Nanoseconds), 0)
	s.Hi += carry
	return s
}

// Add returns s + o.
func (s Sum) Add(o Sum) Sum {
	lo, carry := bits.Add64(s.Lo, o.Lo, 0)
	hi, _ := bits.Add64(s.Hi, o.Hi, carry)
	return Sum{hi, lo}
}

// Sub returns s - o.
func (s Sum) Sub(o Sum) Sum {
	lo, borrow := bits.Sub64(s.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(s.Hi, o.Hi, borrow)
	return Sum{hi, lo}
}

// Times returns n times s.
func (s Sum) Times(n uint64) Sum {
	hi, lo := bits.Mul64(s.Lo, n)
	return Sum{hi + s.Hi*n, lo}
}

// Big returns the number.
func (s Sum) Big() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(int64(s.Hi)), 64)
	return n.Add(n, new(big.Int).SetUint64(s.Lo))
}

// String returns the number in decimal.
func (s Sum) String() string { return s.Big().String() }

// MarshalText returns the text of [Sum.String].
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SumForm describes the input of [ParseSum].
const SumForm = "a whole number of 128 bits"

// ParseSum parses the output of [Sum.String].
func ParseSum(text string) (Sum, error) {
	var n big.Int
	if len(text) > 40 || n.UnmarshalText([]byte(text)) != nil || n.String() != text {
		return Sum{}, fmt.Errorf("sum %q, want "+SumForm, text)
	}
	if most := new(big.Int).Lsh(big.NewInt(1), 127); n.CmpAbs(most) > 0 || n.Cmp(most) == 0 {
		return Sum{}, fmt.Errorf("sum %q, want "+SumForm, text)
	}
	lo := new(big.Int).And(&n, new(big.Int).SetUint64(1<<64-1)).Uint64()
	return Sum{uint64(n.Rsh(&n, 64).Int64()), lo}, nil
}

// UnmarshalText parses the output of [Sum.MarshalText].
func (s *Sum) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSum(string(text))
	return err
}

// Mean returns the sum divided by n, rounded to the nearest ns, with halves rounded up. It returns false if n is zero
// or the mean is no time.Duration.
func (s Sum) Mean(n uint64) (time.Duration, bool) {
	if n == 0 {
		return 0, false
	}
	by := new(big.Int).SetUint64(n)
	twice := new(big.Int).Lsh(s.Big(), 1)
	mean := twice.Add(twice, by).Div(twice, by.Lsh(by, 1)) // Euclidean: by is positive, so it rounds down
	return time.Duration(mean.Int64()), mean.IsInt64()
}

// Arrivals holds the arrivals of a period's packets at a point: their number, and the sum of their times. Times are
// measured from the period's begin ([Interval.Start]) by the point's clock. All fields are zero if the session does not
// measure arrivals.
type Arrivals struct {
	Summed  bool // true if the session measures arrivals
	Packets uint64
	Sum     Sum
}

// ChipArrivals holds a chip's sums of one colour.
type ChipArrivals struct {
	Packets        uint64
	Sum            Sum    // sum of the arrival times since 1970
	Unsynchronised uint64 // number of packets that arrived while the clock was not synchronised
}

// Add adds a packet.
func (a *ChipArrivals) Add(t Time, unsynchronised bool) {
	a.Packets++
	a.Sum = a.Sum.Add(SinceEpoch(t))
	if unsynchronised {
		a.Unsynchronised++
	}
}

// arrivalWords is the number of words that encode a ChipArrivals.
const arrivalWords = 4

// Words appends the encoded arrivals to a list of words.
func (a ChipArrivals) Words(list []uint64) []uint64 {
	return append(list, a.Packets, a.Sum.Hi, a.Sum.Lo, a.Unsynchronised)
}

// ParseChipArrivals decodes the arrivals of a read of flows into these flows. If words is nil, it changes nothing.
func ParseChipArrivals(flows []ChipFlow, words []uint64) error {
	if words == nil {
		return nil
	}
	if want := 2 * arrivalWords * len(flows); len(words) != want {
		return fmt.Errorf("%d numbers as %s, want %d for %d flows", len(words), AttrArrivals, want, len(flows))
	}
	for i := range flows {
		for colour := range flows[i].Of {
			w := words[(2*i+colour)*arrivalWords:]
			flows[i].Of[colour].Arrivals = ChipArrivals{Packets: w[0], Sum: Sum{w[1], w[2]}, Unsynchronised: w[3]}
		}
	}
	return nil
}

// Since returns the arrivals between an earlier reading and a, for a period of the interval.
func (a ChipArrivals) Since(earlier ChipArrivals, n Interval, period uint64) Arrivals {
	packets := a.Packets - earlier.Packets
	begin := SinceEpoch(n.Start(period)).Times(packets)
	return Arrivals{Summed: true, Packets: packets, Sum: a.Sum.Sub(earlier.Sum).Sub(begin)}
}
