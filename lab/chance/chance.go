// Package chance generates the random numbers of the lab. Its integer generators, one for each use, give the same
// numbers on every machine.
package chance

import (
	"hash/fnv"
	"math/bits"
)

// A Source is a generator of random numbers, splitmix64. Each use of chance has its own source, derived from the run's
// seed and the name of the use. Examples of uses are the loss of one direction of a link, and the sizes of one traffic
// source. So an addition to a topology does not change the random numbers of the rest. It holds integers only and gives
// the same numbers on every machine.
type Source struct{ state uint64 }

// New returns the source of a use of chance, by its name, in a run with a seed.
func New(seed uint64, name string) Source {
	h := fnv.New64a()
	h.Write([]byte(name)) // cannot fail
	r := Source{seed ^ h.Sum64()}
	r.Next() // seeds that differ in one bit start with different numbers
	return Source{r.Next()}
}

// At returns the source with a given state. The same state gives the same numbers.
func At(state uint64) Source { return Source{state} }

// Next returns 64 random bits.
func (r *Source) Next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below returns a number from 0 to n-1, or 0 if n is 0. Its bias is below n / 2^64.
func (r *Source) Below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.Next(), n)
	return hi
}

// Exponential returns an exponentially distributed number with the given mean:
// -ln(u) * mean, u uniform in (0, 1]. The logarithm is accurate to 2^-30.
func (r *Source) Exponential(mean uint64) uint64 {
	u := r.Next() | 1
	x := 64<<32 - log2(u)  // -log2(u / 2^64), 32 fractional bits
	const ln2 = 2977044472 // ln 2 * 2^32
	hi, lo := bits.Mul64(x, ln2)
	nat := hi<<32 | lo>>32
	hi, lo = bits.Mul64(nat, mean)
	return hi<<32 | lo>>32
}

// Normal returns a number from 0 to n of an almost normal distribution around n/2 with standard deviation n/12. It is
// the sum of twelve uniform numbers (Irwin-Hall), scaled to n.
func (r *Source) Normal(n uint64) uint64 {
	var sum uint64
	for range 12 {
		sum += r.Next() >> 32
	}
	hi, lo := bits.Mul64(sum, n)
	q, _ := bits.Div64(hi, lo, 12<<32)
	return q
}

// log2 returns the binary logarithm of x with 32 fractional bits, rounded down. x must not be 0.
func log2(x uint64) uint64 {
	n := uint64(bits.Len64(x) - 1)
	m := x << (63 - n) // fixed point, 63 fractional bits
	y := n
	for range 32 {
		hi, _ := bits.Mul64(m, m) // fixed point, 62 fractional bits
		y <<= 1
		if hi>>63 == 1 {
			y |= 1
			m = hi
		} else {
			m = hi << 1
		}
	}
	return y
}

// exp2neg returns 2^-x for x with 32 fractional bits, as a fraction with 62 bits. It returns 0 for x of 62 and more.
func exp2neg(x uint64) uint64 {
	n := x >> 32
	if n >= 62 {
		return 0
	}
	y := uint64(1) << 62
	// roots[i] is 2^-(2^-(i+1)), by repeated square roots of 1/2.
	root := uint64(1) << 61
	for bit := 31; bit >= 0; bit-- {
		root = sqrt62(root)
		if x>>bit&1 == 1 {
			hi, lo := bits.Mul64(y, root)
			y = hi<<2 | lo>>62
		}
	}
	return y >> n
}

// sqrt62 returns the square root of a fraction with 62 bits.
func sqrt62(x uint64) uint64 {
	// The root of x * 2^62, bit by bit.
	var root uint64
	hi, lo := x>>2, x<<62
	for bit := 62; bit >= 0; bit-- {
		try := root | 1<<bit
		h, l := bits.Mul64(try, try)
		if h < hi || h == hi && l <= lo {
			root = try
		}
	}
	return root
}

// Zipf returns the cumulative shares of n things, of which the k-th has a share proportional to 1/k^s, with s in
// thousandths. Thing i has shares[i] - shares[i-1] of 2^63. If s is 0, all shares are equal.
func Zipf(n int, s uint64) []uint64 {
	weights := make([]uint64, n)
	var total uint64
	for i := range weights {
		hi, lo := bits.Mul64(log2(uint64(i+1)), s)
		x, _ := bits.Div64(hi, lo, 1000)
		// 40 bits each: a million of them add up to less than 2^61.
		weights[i] = max(1, exp2neg(x)>>22)
		total += weights[i]
	}
	var sum uint64
	for i, w := range weights {
		sum += w
		hi, lo := bits.Mul64(sum, 1<<63)
		weights[i], _ = bits.Div64(hi, lo, total)
	}
	return weights
}

// Pick returns the index of the share into which a random number falls.
func (r *Source) Pick(shares []uint64) int {
	x := r.Next() >> 1
	lo, hi := 0, len(shares)-1
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if x < shares[mid] {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
