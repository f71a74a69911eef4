package saisim

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

func bigInt(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

// However often drift, rate and phase change, over 2^60 cycles the clock is what
// exact fractions say, rounded down; and without a step back it never goes back.
func TestClockIsExact(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 5}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		start := time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
		for _, hz := range []uint64{1, 3, 1_000_000_000, 1_250_000_000, 999_999_937, 8_000_000_000} {
			tod := newTimeOfDay(hz, start)
			// In units of 1/(hz * 10^9) s, which are 1/hz ns.
			unit := bigInt(hz)
			want := new(big.Int).Mul(big.NewInt(start.UnixNano()), unit)
			from, last := uint64(0), tailstamp.Timestamp{}
			for i := range 600 {
				c := from + rnd.Uint64N(1+(1<<60-from)>>rnd.IntN(58))/4
				speed := int64(nanos) + tod.drift + tod.rate
				now := new(big.Int).Add(want, new(big.Int).Mul(bigInt(c-from), big.NewInt(speed)))
				ns := new(big.Int).Div(now, unit)
				sec, rest := new(big.Int).DivMod(ns, big.NewInt(nanos), new(big.Int))
				got := tod.at(Cycle(c))
				if got.Seconds != sec.Uint64() || uint64(got.Nanoseconds) != rest.Uint64() {
					t.Fatalf("%d Hz, change %d, cycle %d: %+v, want %d s %d ns", hz, i, c, got, sec, rest)
				}
				step := time.Duration(0)
				switch rnd.IntN(4) {
				case 0:
					tod.drift = rnd.Int64N(2*MaxClockRate+1) - MaxClockRate
				case 1:
					tod.rate = rnd.Int64N(2*MaxClockRate+1) - MaxClockRate
				case 2:
					step = time.Duration(rnd.Int64N(int64(time.Hour)))
				case 3:
					step = -time.Duration(rnd.Int64N(int64(10 * time.Second)))
				}
				if difference(got, last) < 0 {
					t.Fatalf("%d Hz, change %d: %+v after %+v", hz, i, got, last)
				}
				next, err := tod.change(Cycle(c), step)
				if err != nil {
					t.Fatal(err)
				}
				tod, from, want = next, c, now.Add(now, new(big.Int).Mul(big.NewInt(int64(step)), unit))
				last = tod.at(Cycle(c))
			}
		}
	})
}

// The clock remembers how it went before a change: times of earlier cycles stay
// as they were, as do those of a clock that somebody is still reading.
func TestClockRemembers(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	tod := newTimeOfDay(1_000_000_000, time.Unix(1000, 0))
	var was []*timeOfDay
	for i := range 3 * maxSegments {
		was = append(was, tod)
		tod.rate = int64(i)
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
		if got, want := tod.at(c), was[i].at(c); got != want {
			t.Fatalf("cycle %d: %+v, was %+v", c, got, want)
		}
	}
}

func TestClockRefuses(t *testing.T) {
	c, err := New(Config{Profile: profile.Small(), Start: time.Unix(10, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{c.StepClock(-10 * time.Second), ""},
		{c.StepClock(-1), "a step of -1ns leads to a time before 1970"},
		{c.SetClockDrift(100_000_001), "drift is 100000001 ppb, want -100000000 to 100000000"},
		{c.SetClockRate(-100_000_001), "rate is -100000001 ppb, want"},
	} {
		if tt.want == "" != (tt.err == nil) || tt.err != nil && !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%v, want %q", tt.err, tt.want)
		}
	}
}

// disciplined lets a servo discipline a clock that is 1 ms and 20 ppm off, over
// a path of 10 µs to us and back more from us, with an exchange every 125 ms. It
// returns the error of the clock before each exchange.
func disciplined(t *testing.T, back time.Duration) (errs []time.Duration, sync []bool) {
	t.Helper()
	const there = 10 * time.Microsecond
	c, err := New(Config{Profile: profile.Small(), Start: time.Unix(1_700_000_000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StepClock(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := c.SetClockDrift(20_000); err != nil {
		t.Fatal(err)
	}
	c.SetClockSynchronised(false)
	var s Servo
	for i := range 200 {
		t1 := time.Duration(i) * 125 * time.Millisecond
		c2, c3 := c.CycleAt(t1+there), c.CycleAt(t1+time.Millisecond)
		c.Advance(c3)
		master := func(cy Cycle, after time.Duration) tailstamp.Timestamp {
			return tailstamp.At(c.TrueTime(cy).Add(after))
		}
		errs = append(errs, c.ClockError(c2))
		k := s.Sample(master(0, t1), c.Timestamp(c2), c.Timestamp(c3), master(c3, there+back))
		if err := c.Discipline(k); err != nil {
			t.Fatal(err)
		}
		sync = append(sync, k.Synchronised)
	}
	return errs, sync
}

// From 1 ms and 20 ppm off the clock is within 10 ns of the master's from the
// twelfth exchange on, and says that it is synchronised; before, it says that it
// is not. If the ways differ by a, it settles a/2 off: behind if the way from
// the master is the longer.
func TestServo(t *testing.T) {
	for _, tt := range []struct {
		back time.Duration // by how much the way to the master takes longer
		want time.Duration
	}{{0, 0}, {500 * time.Nanosecond, 250 * time.Nanosecond}, {-500 * time.Nanosecond, -250 * time.Nanosecond}} {
		errs, sync := disciplined(t, tt.back)
		if errs[0] < time.Millisecond || sync[0] || sync[3] || !sync[11] {
			t.Errorf("%v: at first %v off, synchronised %v", tt.back, errs[0], sync[:12])
		}
		worst := time.Duration(0)
		for _, e := range errs[12:] {
			worst = max(worst, (e - tt.want).Abs())
		}
		t.Logf("back %v: %v; worst after: %v", tt.back, errs[:13], worst)
		if worst > 10 {
			t.Errorf("%v: %v from %v off", tt.back, worst, tt.want)
		}
	}
}

// A clock that is stepped in mid-run is stepped back.
func TestServoSteps(t *testing.T) {
	var s Servo
	at := func(n int64) tailstamp.Timestamp {
		return tailstamp.Timestamp{Seconds: 100 + uint64(n/nanos), Nanoseconds: uint32(n % nanos)}
	}
	offset := int64(0)
	for i := range int64(20) {
		now := i * nanos
		if i == 8 {
			offset += 3_000_000
		}
		k := s.Sample(at(now), at(now+500+offset), at(now+1000+offset), at(now+1500))
		offset += int64(k.Step)
		if wantSync := i >= 3 && i < 8 || i >= 12; k.Synchronised != wantSync || k.Delay != 500 || k.Rate != 0 && i < 8 {
			t.Errorf("exchange %d: %+v", i, k)
		}
		if i == 8 && k.Step != -3*time.Millisecond {
			t.Errorf("no step: %+v", k)
		}
	}
}
