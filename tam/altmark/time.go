package altmark

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// A Time is a time of day as in IEEE 1588 clocks: seconds since 1970 and nanoseconds below 10^9.
type Time struct {
	Seconds     uint64
	Nanoseconds uint32
}

// At returns t as a Time. A time before 1970 becomes zero.
func At(t time.Time) Time {
	if t.Unix() < 0 {
		return Time{}
	}
	return Time{uint64(t.Unix()), uint32(t.Nanosecond())}
}

// IsZero reports whether there is no time.
func (t Time) IsZero() bool { return t == Time{} }

// Sub returns t - u, clamped at 292 years.
func (t Time) Sub(u Time) time.Duration {
	return time.Unix(int64(t.Seconds), int64(t.Nanoseconds)).Sub(time.Unix(int64(u.Seconds), int64(u.Nanoseconds)))
}

// Add returns t + d. A time before 1970 becomes zero.
func (t Time) Add(d time.Duration) Time { return At(t.Std().Add(d)) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.Unix(int64(t.Seconds), int64(t.Nanoseconds)).UTC() }

// String returns seconds, a point and nine digits.
func (t Time) String() string { return fmt.Sprintf("%d.%09d", t.Seconds, t.Nanoseconds) }

// ParseTime parses the output of [Time.String]. Seconds must fit in 48 bits.
func ParseTime(s string) (Time, error) {
	sec, frac, ok := strings.Cut(s, ".")
	a, err := strconv.ParseUint(sec, 10, 48)
	b, err2 := strconv.ParseUint(frac, 10, 32)
	if !ok || err != nil || err2 != nil || len(frac) != 9 {
		return Time{}, fmt.Errorf("time %q, want seconds since 1970, a point and nine digits", s)
	}
	return Time{a, uint32(b)}, nil
}

// An Interval is the length of a period, 2^n seconds for n from -10 to 8: from
// 0.98 ms to 256 s.
type Interval int8

// Bounds of an Interval.
const (
	MinInterval Interval = -10
	MaxInterval Interval = 8
)

const second = uint64(time.Second)

// Valid reports whether the interval is within its bounds.
func (n Interval) Valid() bool { return n >= MinInterval && n <= MaxInterval }

// Duration returns the interval's length, rounded down to nanoseconds.
func (n Interval) Duration() time.Duration {
	if n < 0 {
		return time.Second >> -n
	}
	return time.Second << n
}

// String returns the length as text, such as 976.5625us.
func (n Interval) String() string {
	if n >= 0 {
		return n.Duration().String()
	}
	us := 1e6 / float64(uint64(1)<<-n)
	if us >= 1000 {
		return strconv.FormatFloat(us/1000, 'f', -1, 64) + "ms"
	}
	return strconv.FormatFloat(us, 'f', -1, 64) + "us"
}

// Quarter returns floor(4 t / 2^n), the number of quarters of periods since 1970. Quarter q is slot q&3 of period q>>2.
func (n Interval) Quarter(t Time) uint64 {
	if n <= 0 { // a second is 2^(2-n) quarters
		sh := 2 - n
		return t.Seconds<<sh + uint64(t.Nanoseconds)<<sh/second
	}
	return (t.Seconds<<2 + uint64(t.Nanoseconds)<<2/second) >> n
}

// Period returns the number of the period that contains t: floor(t / 2^n). Its lowest bit is the period's colour.
func (n Interval) Period(t Time) uint64 { return n.Quarter(t) >> 2 }

// Slot returns the quarter of its period that contains t, 0 to 3.
func (n Interval) Slot(t Time) uint8 { return uint8(n.Quarter(t) & 3) }

// Start returns the begin of period k, rounded up to nanoseconds: the first Time in it.
func (n Interval) Start(k uint64) Time { return n.quarterStart(k, 0) }

// Middle returns the begin of the second half of period k.
func (n Interval) Middle(k uint64) Time { return n.quarterStart(k, 2) }

// QuarterStart returns the begin of slot 0 to 3 of period k.
func (n Interval) QuarterStart(k uint64, slot uint8) Time { return n.quarterStart(k, uint64(slot)) }

func (n Interval) quarterStart(k, slot uint64) Time {
	hi, lo := bits.Mul64(k, 4)
	lo, carry := bits.Add64(lo, slot, 0)
	hi += carry
	if n > 0 {
		hi = hi<<n | lo>>(64-n)
		lo <<= n
	}
	sh := uint(2)
	if n < 0 {
		sh += uint(-n)
	}
	secs := hi<<(64-sh) | lo>>sh
	rest := lo & (1<<sh - 1)
	return Time{secs, uint32((rest*second + 1<<sh - 1) >> sh)}
}

// Within reports whether t is at least guard after the begin of its period and more than early before its end. Then
// only packets of that period may arrive.
func (n Interval) Within(t Time, guard, early time.Duration) bool {
	phase, length := n.phase(t), second
	behind, before := uint64(max(guard, 0)), uint64(max(early, 0))
	if n > 0 {
		length <<= n
	} else {
		if max(behind, before) > second {
			return false
		}
		behind, before = behind<<-n, before<<-n
	}
	return phase >= behind && length-phase > before
}

// phase returns the offset of t in its period, in ns, or in units of 2^n ns if n < 0.
func (n Interval) phase(t Time) uint64 {
	if n > 0 {
		return (t.Seconds&(1<<n-1))*second + uint64(t.Nanoseconds)
	}
	return uint64(t.Nanoseconds) << -n % second
}
