package altmark

import (
	"fmt"
	"math/big"
	"math/bits"
	"time"
)

// The mean delay of RFC 9341: each point sums up when the packets of a period came. Where two
// points have summed up the same N packets the difference of their sums, divided by N, is the mean
// of the N delays, exactly.

// A Sum is a sum of times or delays in ns: a number of 128 bits with a sign, modulo 2^128.
//
// A chip sums up times since 1970, which are below 2^78 ns, without end. The difference of two
// readings less N times the beginning of a period is the sum of what N packets are behind that
// beginning, modulo 2^128. It is not ambiguous: no packet is 2^78 ns from it, and no period has 2^49
// packets.
type Sum struct{ Hi, Lo uint64 }

// SinceEpoch is a time in ns since 1970.
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

// String is the number, decimal.
func (s Sum) String() string { return s.Big().String() }

// MarshalText gives what [Sum.String] gives.
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// SumForm is what [ParseSum] reads, in words.
const SumForm = "a whole number of 128 bits"

// ParseSum reads what [Sum.String] writes.
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

// UnmarshalText reads what [Sum.MarshalText] gives.
func (s *Sum) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSum(string(text))
	return err
}

// Mean is the sum divided by n, rounded to the nearest ns, half of one up; false without packets, or if that is no
// time.Duration.
func (s Sum) Mean(n uint64) (time.Duration, bool) {
	if n == 0 {
		return 0, false
	}
	by := new(big.Int).SetUint64(n)
	twice := new(big.Int).Lsh(s.Big(), 1)
	mean := twice.Add(twice, by).Div(twice, by.Lsh(by, 1)) // Euclidean: by is positive, so it rounds down
	return time.Duration(mean.Int64()), mean.IsInt64()
}

// Arrivals are when the packets of a period came to a point: how many packets were summed up, and the sum of the times
// since the period began, as [Interval.Start] has it, by the point's clock. Of a session that does not ask for it all
// are zero.
type Arrivals struct {
	Summed  bool // the session asks for it
	Packets uint64
	Sum     Sum
}

// ChipArrivals are what a chip has summed up of a colour.
type ChipArrivals struct {
	Packets        uint64
	Sum            Sum    // of their times since 1970
	Unsynchronised uint64 // packets at whose time the clock was not synchronised
}

// Add takes one more packet.
func (a *ChipArrivals) Add(t Time, unsynchronised bool) {
	a.Packets++
	a.Sum = a.Sum.Add(SinceEpoch(t))
	if unsynchronised {
		a.Unsynchronised++
	}
}

// arrivalWords is how many numbers encode what a chip has summed up of a colour.
const arrivalWords = 4

// Words appends the numbers to a list.
func (a ChipArrivals) Words(list []uint64) []uint64 {
	return append(list, a.Packets, a.Sum.Hi, a.Sum.Lo, a.Unsynchronised)
}

// ParseChipArrivals reads what a window says of some flows into them; nil: it says nothing.
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

// Since returns what came between an earlier reading and a, of a period of the interval.
func (a ChipArrivals) Since(earlier ChipArrivals, n Interval, period uint64) Arrivals {
	packets := a.Packets - earlier.Packets
	begin := SinceEpoch(n.Start(period)).Times(packets)
	return Arrivals{Summed: true, Packets: packets, Sum: a.Sum.Sub(earlier.Sum).Sub(begin)}
}
