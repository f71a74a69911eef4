package engine

import (
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/saisim/tailstamp"
)

func bigInt(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// However often drift, rate and phase change over 2^60 cycles, the clock equals exact fractions, rounded down. Without
// a step back it never runs backwards.
func TestClockIsExact(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		start := time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
		for _, hz := range []uint64{1, 3, 1_000_000_000, 1_250_000_000, 999_999_937, 8_000_000_000} {
			tod := newClock(hz, start)
			// In units of 1/(hz * 10^9) s, which are 1/hz ns.
			unit := bigInt(hz)
			want := new(big.Int).Mul(big.NewInt(start.UnixNano()), unit)
			from, last := uint64(0), tailstamp.Timestamp{}
			for i := range 600 {
				c := from + rnd.Uint64N(1+(1<<60-from)>>rnd.IntN(58))/4
				speed := int64(nanos) + tod.Drift + tod.Rate
				now := new(big.Int).Add(want, new(big.Int).Mul(bigInt(c-from), big.NewInt(speed)))
				ns := new(big.Int).Div(now, unit)
				sec, rest := new(big.Int).DivMod(ns, big.NewInt(nanos), new(big.Int))
				got := tod.At(Cycle(c))
				if got.Seconds != sec.Uint64() || uint64(got.Nanoseconds) != rest.Uint64() {
					t.Fatalf("%d Hz, change %d, cycle %d: %+v, want %d s %d ns", hz, i, c, got, sec, rest)
				}
				step := time.Duration(0)
				switch rnd.IntN(4) {
				case 0:
					tod.Drift = rnd.Int64N(2*MaxClockRate+1) - MaxClockRate
				case 1:
					tod.Rate = rnd.Int64N(2*MaxClockRate+1) - MaxClockRate
				case 2:
					step = time.Duration(rnd.Int64N(int64(time.Hour)))
				case 3:
					step = -time.Duration(rnd.Int64N(int64(10 * time.Second)))
				}
				if got.Seconds < last.Seconds || got.Seconds == last.Seconds && got.Nanoseconds < last.Nanoseconds {
					t.Fatalf("%d Hz, change %d: %+v after %+v", hz, i, got, last)
				}
				next, err := tod.change(Cycle(c), step)
				if err != nil {
					t.Fatal(err)
				}
				tod, from, want = next, c, now.Add(now, new(big.Int).Mul(big.NewInt(int64(step)), unit))
				last = tod.At(Cycle(c))
			}
		}
	})
}

// The packet path's readings, and those of an ideal clock, equal those by long division. This holds for every
// oscillator that a profile may have. Cycles mostly advance but sometimes step back a little, often just after a full
// second or nanosecond, and the clock is changed meanwhile.
func TestReaderIsTheClock(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 6, Count: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		hz := 1 + rnd.Uint64N(8_000_000_000)>>rnd.IntN(33)
		switch rnd.IntN(4) {
		case 0:
			hz = []uint64{1, 2, 3, 1_000_000_000, 1_250_000_000, 7_999_999_999, 8_000_000_000}[rnd.IntN(7)]
		case 1:
			hz = 1 << bits.Len64(hz>>1)
		}
		var r clockReader
		tod := newClock(hz, time.Unix(int64(rnd.Uint32()), rnd.Int64N(nanos)))
		ideal := tod.Ideal()
		at, changed := Cycle(0), Cycle(0)
		check := func(c Cycle) {
			want, wantUnsync := tod.read(c)
			if got, unsync := r.read(tod, c); got != want || unsync != wantUnsync {
				t.Fatalf("%d Hz, cycle %d: %+v %v, want %+v %v", hz, c, got, unsync, want, wantUnsync)
			}
			if got, want := ideal.At(c), tod.True(c); got != want {
				t.Fatalf("%d Hz, cycle %d of the ideal clock: %+v, want %+v", hz, c, got, want)
			}
		}
		for range 5000 {
			at += Cycle(rnd.Uint64N(1<<40) >> rnd.IntN(41))
			check(at)
			check(at - min(at, Cycle(rnd.Uint64N(1<<20)>>rnd.IntN(21))))
			if rnd.IntN(2) == 0 { // beside a full second, or a full nanosecond
				s := tod.segment(at)
				_, rest := s.advance(hz, at)
				full := []uint64{hz * nanos, hz}[rnd.IntN(2)]
				n := Cycle((full - rest%full) / s.speed)
				check(at + n)
				check(at + n + 1)
				at += n + 1
			}
			if rnd.IntN(50) == 0 {
				changed = max(changed, at-min(at, Cycle(rnd.IntN(100))))
				tod.Drift, tod.Rate = rnd.Int64N(2*MaxClockRate+1)-MaxClockRate, rnd.Int64N(2*MaxClockRate+1)-MaxClockRate
				tod.Unsynchronised = rnd.IntN(2) == 0
				next, err := tod.change(changed, time.Duration(rnd.Int64N(3*nanos)-nanos))
				if err != nil {
					t.Fatal(err)
				}
				tod = next
			}
		}
	})
}

// A change keeps the clock's history: times of earlier cycles stay as they were. A clock that is still in use does not
// change either.
func TestClockRemembers(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	tod := newClock(1_000_000_000, time.Unix(1000, 0))
	var was []*Clock
	for i := range 3 * maxSegments {
		was = append(was, tod)
		tod.Rate = int64(i)
		next, err := tod.change(Cycle(i/2*100), time.Duration(1-i%2*3))
		if err != nil {
			t.Fatal(err)
		}
		tod = next
		if len(tod.segments) > maxSegments {
			t.Fatalf("%d segments", len(tod.segments))
		}
	}
	for i := len(was) - 1000; i < len(was); i++ {
		c := Cycle(i/2*100 - 1)
		if got, want := tod.At(c), was[i].At(c); got != want {
			t.Fatalf("cycle %d: %+v, was %+v", c, got, want)
		}
	}
}

// BenchmarkReadClock measures a reading, and the division for comparison.
func BenchmarkReadClock(b *testing.B) {
	tod := newClock(1_250_000_000, time.Unix(1_800_000_000, 0))
	tod.Drift = 12_345
	tod, err := tod.change(1000, time.Second)
	if err != nil {
		b.Fatal(err)
	}
	var sum uint64
	b.Run("reader", func(b *testing.B) {
		var r clockReader
		for i := range b.N {
			at, _ := r.read(tod, Cycle(1<<40+i*7))
			sum += uint64(at.Nanoseconds)
		}
	})
	b.Run("division", func(b *testing.B) {
		for i := range b.N {
			at, _ := tod.read(Cycle(1<<40 + i*7))
			sum += uint64(at.Nanoseconds)
		}
	})
	if sum == 0 {
		b.Error("time stands still")
	}
}
