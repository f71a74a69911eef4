package saisim_test

import (
	"strings"
	"testing"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/saisim/tailstamp"
)

// Changes that lead to a time before 1970, or exceed the limits, are refused.
func TestClockRefuses(t *testing.T) {
	c, err := saisim.New(saisim.Config{Profile: profile.Small(), Start: time.Unix(10, 0)})
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

// disciplined runs a servo for a clock that is 1 ms and 20 ppm off, with an exchange every 125 ms. The delay from the
// master is 10 µs; the delay back is longer by the given time. It returns the error of the clock before each exchange.
func disciplined(t *testing.T, back time.Duration) (errs []time.Duration, sync []bool) {
	t.Helper()
	const there = 10 * time.Microsecond
	c := need(saisim.New(saisim.Config{Profile: profile.Small(), Start: time.Unix(1_700_000_000, 0)}))(t)
	noError(t, c.StepClock(time.Millisecond))
	noError(t, c.SetClockDrift(20_000))
	c.SetClockSynchronised(false)
	var s saisim.Servo
	for i := range 200 {
		t1 := time.Duration(i) * 125 * time.Millisecond
		c2, c3 := c.CycleAt(t1+there), c.CycleAt(t1+time.Millisecond)
		c.Advance(c3)
		master := func(cy saisim.Cycle, after time.Duration) tailstamp.Timestamp {
			return tailstamp.At(c.TrueTime(cy).Add(after))
		}
		errs = append(errs, c.ClockError(c2))
		k := s.Sample(master(0, t1), c.Timestamp(c2), c.Timestamp(c3), master(c3, there+back))
		noError(t, c.Discipline(k))
		sync = append(sync, k.Synchronised)
	}
	return errs, sync
}

// From 1 ms and 20 ppm off, the clock is within 10 ns of the master's from the twelfth exchange on, and is reported as
// synchronised. Before, it is reported as not synchronised. If the two directions differ by a, the clock stays a/2 off:
// slow if the path from the master is the longer one.
func TestServo(t *testing.T) {
	for _, tt := range []struct {
		back time.Duration // additional time of the path to the master
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

// A clock that is stepped during a run is stepped back.
func TestServoSteps(t *testing.T) {
	const nanos = 1_000_000_000
	var s saisim.Servo
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
