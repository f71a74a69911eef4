package lab

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Time is simulated time, or a span of it, in picoseconds. Time 0 is the start of the run. The 9 * 10^18 ps of an int64
// are 106 days.
type Time int64

// Units of Time.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// maxTime is the longest run: 30 days.
const maxTime = 30 * 24 * 3600 * Second

var timeUnits = []struct {
	name string
	unit Time
}{{"ps", Picosecond}, {"ns", Nanosecond}, {"us", Microsecond}, {"µs", Microsecond}, {"ms", Millisecond}, {"s", Second}}

// Parse reads a time such as 250ns, 1.5ms or -20us.
func (t *Time) Parse(s string) error {
	const want = "want a time with its unit (ps, ns, us, ms, s), such as 250ns or 1.5ms, of at most 30 days"
	for _, u := range timeUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok || digits == "" || digits[len(digits)-1] > '9' {
			continue
		}
		digits, negative := strings.CutPrefix(strings.TrimSpace(digits), "-")
		n, ok := decimal(digits, uint64(u.unit))
		if !ok || n > uint64(maxTime) {
			return errors.New(want)
		}
		if *t = Time(n); negative {
			*t = -*t
		}
		return nil
	}
	return errors.New(want)
}

// String returns the exact time in the largest unit in which it is at least 1.
func (t Time) String() string {
	if t < 0 {
		return "-" + (-t).String()
	}
	for i := len(timeUnits) - 1; i >= 0; i-- {
		if u := timeUnits[i]; u.name != "µs" && (t >= u.unit || i == 0) {
			whole, rest := t/u.unit, t%u.unit
			if rest == 0 {
				return fmt.Sprintf("%d%s", whole, u.name)
			}
			frac := fmt.Sprint(int64(u.unit) + int64(rest))[1:]
			return fmt.Sprintf("%d.%s%s", whole, strings.TrimRight(frac, "0"), u.name)
		}
	}
	return "0ps"
}

// Rate is a rate in bits per second.
type Rate uint64

var rateUnits = []struct {
	name string
	unit uint64
}{{"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"bps", 1}}

// Parse reads a rate such as 10Gbps, 2.5G or 300kbps.
func (r *Rate) Parse(s string) error {
	for _, u := range rateUnits {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			if n, ok := decimal(strings.TrimSpace(digits), u.unit); ok && n >= 1 && n <= 1e13 {
				*r = Rate(n)
				return nil
			}
			break
		}
	}
	return fmt.Errorf("want a rate with its unit (bps, kbps, Mbps, Gbps), such as 10Gbps or 2.5Gbps, of at most 10000Gbps")
}

func (r Rate) String() string {
	for _, u := range rateUnits[:3] {
		if uint64(r)%u.unit == 0 && r > 0 {
			return fmt.Sprintf("%d%s", uint64(r)/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%dbps", uint64(r))
}

// Probability is a probability in parts per 10^9.
type Probability uint32

const certain = 1_000_000_000

// Parse reads a probability such as 0.001 or 0.1%.
func (p *Probability) Parse(s string) error {
	digits, percent := strings.CutSuffix(s, "%")
	unit := uint64(certain)
	if percent {
		unit /= 100
	}
	n, ok := decimal(strings.TrimSpace(digits), unit)
	if !ok || n > certain {
		return fmt.Errorf("want a probability from 0 to 1, such as 0.001 or 0.1%%, of at most nine decimals")
	}
	*p = Probability(n)
	return nil
}

// Thousandths is a decimal number with three decimals.
type Thousandths uint32

// Parse reads a number such as 1.1, from 0 to 1000.
func (t *Thousandths) Parse(s string) error {
	n, ok := decimal(s, 1000)
	if !ok || n > 1_000_000 {
		return fmt.Errorf("want a number from 0 to 1000 with at most three decimals")
	}
	*t = Thousandths(n)
	return nil
}

// decimal returns s times unit if that is a whole number below 2^63. It reads digits and one point, so nothing is
// rounded.
func decimal(s string, unit uint64) (uint64, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" || len(whole) > 18 || len(frac) > 18 || strings.ContainsAny(s, "+-_") {
		return 0, false
	}
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return 0, false
	}
	hi, n := bits.Mul64(n, unit)
	if hi > 0 || n >= 1<<62 {
		return 0, false
	}
	for _, c := range frac {
		if c < '0' || c > '9' {
			return 0, false
		}
		if unit%10 != 0 && c != '0' {
			return 0, false
		}
		unit /= 10
		n += uint64(c-'0') * unit
	}
	return n, true
}

// mulDiv returns floor(a*b/c) for results below 2^63, and whether there was a remainder. Larger results become 2^63-1.
func mulDiv(a, b, c uint64) (q uint64, rest bool) {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 1<<63 - 1, false
	}
	q, r := bits.Div64(hi, lo, c)
	return min(q, 1<<63-1), r > 0
}

func mulDivUp(a, b, c uint64) uint64 {
	q, rest := mulDiv(a, b, c)
	if rest {
		q++
	}
	return q
}

// String formats the number as Parse reads it.
func (t Thousandths) String() string { return fmt.Sprintf("%g", float64(t)/1000) }
