package orch

import "time"

// A clock is the daemon's time. In [Daemon.Run] it begins with the time of day and advances steadily. So no timer is
// early or late after the time of day was set, for example by NTP.
type clock struct {
	now   time.Time
	live  bool // true while Run runs
	time  func() (day time.Time, since time.Duration)
	begun time.Time // start of the clock, as a time of day
	after time.Duration
}

func newClock(report func() (time.Time, time.Duration)) *clock {
	if report == nil {
		start := time.Now()
		report = func() (time.Time, time.Duration) { return time.Now(), time.Since(start) }
	}
	c := &clock{time: report}
	c.begun, c.after = report()
	c.begun = c.begun.Round(0) // without the reading of a monotonic clock
	return c
}

// Now returns the daemon's time, which is the time of the current step or call of Do. Only handlers, observers and
// timers may call it.
func (c *clock) Now() time.Time { return c.now }

// Clock returns the current time. In [Daemon.Run] it has advanced since the step began. Otherwise it is the time of the
// current step.
func (c *clock) Clock() time.Time {
	if c.live {
		return c.steady()
	}
	return c.now
}

// steady returns the time since the clock began, as a time of day.
func (c *clock) steady() time.Time {
	_, since := c.time()
	return c.begun.Add(since - c.after)
}

// TimeOfDay returns the current time of day, for reports to people.
func (c *clock) TimeOfDay() time.Time { return c.ofDay() }

// ofDay returns the current time of day, or the time of the step in a simulation.
func (c *clock) ofDay() time.Time {
	if !c.live {
		return c.now
	}
	day, _ := c.time()
	return day
}
