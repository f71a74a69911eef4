package altmark_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// quarter returns floor(4 t / 2^n), computed with rational numbers.
func quarter(n altmark.Interval, t altmark.Time) *big.Int {
	x := new(big.Rat).Add(new(big.Rat).SetUint64(t.Seconds), big.NewRat(int64(t.Nanoseconds), 1e9))
	x.Mul(x, big.NewRat(4, 1))
	if n >= 0 {
		x.Quo(x, new(big.Rat).SetInt64(1<<n))
	} else {
		x.Mul(x, new(big.Rat).SetInt64(1<<-n))
	}
	return new(big.Int).Quo(x.Num(), x.Denom())
}

// Quarters, periods and their begins are exact at every interval, although most intervals are not a whole number of
// nanoseconds.
func TestQuarters(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		for n := altmark.MinInterval; n <= altmark.MaxInterval; n++ {
			for range 2000 {
				at := altmark.Time{Seconds: 1000 + rnd.Uint64N(1<<(1+rnd.UintN(47))), Nanoseconds: rnd.Uint32N(1e9)}
				q := n.Quarter(at)
				if want := quarter(n, at); !want.IsUint64() || want.Uint64() != q {
					t.Fatalf("interval %d: quarter of %v is %d, want %v", n, at, q, want)
				}
				k, slot := n.Period(at), n.Slot(at)
				if k != q>>2 || uint64(slot) != q&3 {
					t.Fatalf("interval %d: %v is in slot %d of period %d, want quarter %d", n, at, slot, k, q)
				}
				begin := n.QuarterStart(k, slot)
				if n.Quarter(begin) != q || n.Quarter(before(begin)) != q-1 || begin.Sub(at) > 0 {
					t.Fatalf("interval %d: slot %d of period %d begins at %v, %v is in it", n, slot, k, begin, at)
				}
			}
		}
	})
}

func before(t altmark.Time) altmark.Time {
	if t.Nanoseconds == 0 {
		return altmark.Time{Seconds: t.Seconds - 1, Nanoseconds: 999_999_999}
	}
	t.Nanoseconds--
	return t
}

// Within is exact to the nanosecond at the begin and at the end of a period. Late packets have a delay and clock
// errors, early ones only clock errors.
func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		n            altmark.Interval
		guard, early time.Duration
		at           altmark.Time
		want         bool
	}{
		{0, time.Millisecond, time.Millisecond, altmark.Time{Seconds: 5, Nanoseconds: 999_999}, false},
		{0, time.Millisecond, time.Millisecond, altmark.Time{Seconds: 5, Nanoseconds: 1_000_000}, true},
		{0, time.Millisecond, time.Millisecond, altmark.Time{Seconds: 5, Nanoseconds: 998_999_999}, true},
		{0, time.Millisecond, time.Millisecond, altmark.Time{Seconds: 5, Nanoseconds: 999_000_000}, false},
		{4, 2 * time.Second, 2 * time.Second, altmark.Time{Seconds: 16 + 1, Nanoseconds: 999_999_999}, false},
		{4, 2 * time.Second, 2 * time.Second, altmark.Time{Seconds: 16 + 2}, true},
		{4, 2 * time.Second, 2 * time.Second, altmark.Time{Seconds: 16 + 13, Nanoseconds: 999_999_999}, true},
		{4, 2 * time.Second, 2 * time.Second, altmark.Time{Seconds: 16 + 14}, false},
		{-10, 100, 100, altmark.Time{Nanoseconds: 976_562 + 100}, false}, // the period begins at 976562.5 ns
		{-10, 100, 100, altmark.Time{Nanoseconds: 976_562 + 101}, true},
		{-10, 100, 100, altmark.Time{Nanoseconds: 2*976_562 + 1 - 101}, true}, // the period ends at 1953125 ns
		{-10, 100, 100, altmark.Time{Nanoseconds: 2*976_562 + 1 - 100}, false},
		{0, time.Millisecond, time.Microsecond, altmark.Time{Seconds: 5, Nanoseconds: 999_998_999}, true},
		{0, time.Millisecond, time.Microsecond, altmark.Time{Seconds: 5, Nanoseconds: 999_999_000}, false},
		{0, time.Millisecond, time.Microsecond, altmark.Time{Seconds: 5, Nanoseconds: 999_999}, false},
		{0, 0, 0, altmark.Time{Seconds: 5}, true},
		{0, time.Hour, 0, altmark.Time{Seconds: 5}, false},
		{-10, 0, time.Hour, altmark.Time{Seconds: 5}, false},
	} {
		if got := tt.n.Within(tt.at, tt.guard, tt.early); got != tt.want {
			t.Errorf("interval %d, guard %v and %v: %v is within: %v, want %v", tt.n, tt.guard, tt.early, tt.at, got, tt.want)
		}
	}
}

// Check refuses a session whose interval cannot hold its guard, and names the numbers.
func TestCheck(t *testing.T) {
	muxed := altmark.Session{Role: altmark.Initiator, Method: altmark.Muxed, Interval: 0, Mark: altmark.DSCP0,
		SlotSync:   true,
		ClockError: time.Millisecond, MaxDelay: 10 * time.Millisecond}
	with := func(f func(*altmark.Session)) altmark.Session { s := muxed; f(&s); return s }
	for _, tt := range []struct {
		name string
		s    altmark.Session
		want string // expected part of the error; "" means no error
	}{
		{"the paper's", muxed, ""},
		{"slots: A + Dmax is L/4", with(func(s *altmark.Session) { s.MaxDelay = 249 * time.Millisecond }),
			"A + Dmax = 1ms + 249ms = 250ms, want less than L/4 = 250ms"},
		{"just below", with(func(s *altmark.Session) { s.MaxDelay = 249*time.Millisecond - 1 }), ""},
		{"step: A + Dmax is L/2", with(func(s *altmark.Session) {
			s.Method, s.MaxDelay = altmark.Step,
				499*time.Millisecond
		}), "A + Dmax = 1ms + 499ms = 500ms, want less than L/2 = 500ms"},
		{"step: a small spread behind a long way, read before all have come", with(func(s *altmark.Session) {
			s.Method, s.MinDelay, s.MaxDelay = altmark.Step, 300*time.Millisecond, 499*time.Millisecond
		}), "A + Dmax = 1ms + 499ms = 500ms, want less than L/2 = 500ms"},
		{"step: just below", with(func(s *altmark.Session) { s.Method, s.MaxDelay = altmark.Step, 499*time.Millisecond-1 }),
			""},
		{"without slots: Dmax - Dmin is L/8", with(func(s *altmark.Session) {
			s.SlotSync, s.MaxDelay = false,
				125*time.Millisecond
		}), "want less than L/8 = 125ms"},
		{"pulses: A + Dmax is L", with(func(s *altmark.Session) {
			s.Method, s.MaxDelay = altmark.Pulse,
				999*time.Millisecond
		}), "too short for pulses"},
		{"double without a second bit", with(func(s *altmark.Session) { s.Method = altmark.Double }), "mark2 is not given"},
		{"double with one bit twice", with(func(s *altmark.Session) { s.Method, s.Mark2 = altmark.Double, altmark.DSCP0 }),
			"mark2 is dscp0, as mark is"},
		{"double over two headers", with(func(s *altmark.Session) { s.Method, s.Mark2 = altmark.Double, altmark.IPv6Delay }),
			"no packet has both"},
		{"a second bit for one", with(func(s *altmark.Session) { s.Mark2 = altmark.DSCP1 }),
			"only double marking has two bits"},
		{"an initiator that clears", with(func(s *altmark.Session) { s.Clear = true }), "only a terminator clears"},
		{"step without slots", with(func(s *altmark.Session) { s.Method, s.SlotSync = altmark.Step, false }),
			"only muxed marking has slots"},
		{"pulses and their mean delay", with(func(s *altmark.Session) { s.Method, s.MeanDelay = altmark.Pulse, true }),
			"mean-delay is true, but pulse marking"},
		{"the mean delay of steps", with(func(s *altmark.Session) { s.Method, s.MeanDelay = altmark.Step, true }), ""},
		{"delays the wrong way round", with(func(s *altmark.Session) { s.MinDelay = time.Second }),
			"delay-max not below delay-min"},
		{"an interval beyond the bounds", with(func(s *altmark.Session) { s.Interval = 9 }), "want -10 to 8"},
	} {
		err := tt.s.Check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A pulse that leaves within A + Dmax of the third quarter's end may arrive too late.
func TestPulseTooLate(t *testing.T) {
	s := altmark.Session{Method: altmark.Muxed, Interval: 4, ClockError: time.Second, MaxDelay: time.Second}
	for at, want := range map[uint64]bool{32 + 8: false, 32 + 10: false, 32 + 11: true} {
		if got := s.PulseTooLate(altmark.Time{Seconds: at}); got != want {
			t.Errorf("a pulse %d s into the period is too late: %v, want %v", at-32, got, want)
		}
	}
	s.Method = altmark.Double
	if s.PulseTooLate(altmark.Time{Seconds: 32 + 11}) {
		t.Error("a pulse in a bit of its own has no slot")
	}
}

// Every word parses to the value that it was written for. Other words are refused.
func TestWords(t *testing.T) {
	for _, w := range altmark.RoleWords() {
		if r, err := altmark.ParseRole(w); err != nil || r.String() != w {
			t.Errorf("role %s: %v, %v", w, r, err)
		}
	}
	for _, w := range altmark.MethodWords() {
		if m, err := altmark.ParseMethod(w); err != nil || m.String() != w {
			t.Errorf("method %s: %v, %v", w, m, err)
		}
	}
	for _, w := range altmark.MarkWords() {
		if m, err := altmark.ParseMark(w); err != nil || m.String() != w {
			t.Errorf("mark %s: %v, %v", w, m, err)
		}
	}
	_, err1 := altmark.ParseRole("")
	_, err2 := altmark.ParseMethod("Step")
	_, err3 := altmark.ParseMark("dscp6")
	if err := errors.Join(err1, err2, err3); err1 == nil || err2 == nil || err3 == nil ||
		!strings.Contains(err.Error(), `mark "dscp6", want dscp0`) {
		t.Errorf("%v", err)
	}
	all := altmark.Flags(0x1ff)
	if f, err := altmark.ParseFlags(all.String()); err != nil || f != all || len(all.Words()) != 9 {
		t.Errorf("flags %v: %v, %v", all, f, err)
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"0.000000000", "1700000000.123456789", "1.5", "-1.000000000", ".", "1.0000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if x, err := altmark.ParseTime(s); err == nil {
			if y, err := altmark.ParseTime(x.String()); err != nil || y != x {
				t.Errorf("%q is %v, and that %v, %v", s, x, y, err)
			}
		}
	})
}
