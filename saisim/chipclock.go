package saisim

import (
	"fmt"
	"time"

	"tamtam/saisim/engine"
	"tamtam/saisim/tailstamp"
)

// TimeOfDay returns the time of the chip's time-of-day clock at a cycle, rounded down to nanoseconds. Times of future
// cycles assume that the clock is not changed. It may be called from output functions and observers, and so may the
// next three methods.
func (c *Chip) TimeOfDay(at Cycle) time.Time { return c.Timestamp(at).Time() }

// Timestamp does [Chip.TimeOfDay] in the form used in records.
func (c *Chip) Timestamp(at Cycle) tailstamp.Timestamp { return c.engine.Clock().At(at) }

// TrueTime returns the time of an ideal clock at a cycle: Config.Start + floor(at * 10^9 / ClockHz) ns.
func (c *Chip) TrueTime(at Cycle) time.Time {
	return c.engine.Clock().True(at).Time()
}

// IdealClock returns a fast reader of [Chip.TrueTime] for many cycles.
func (c *Chip) IdealClock() *IdealClock { return c.engine.Clock().Ideal() }

// ClockError returns the time by which the time-of-day clock is ahead at a cycle. It is the difference of
// [Chip.TimeOfDay] and [Chip.TrueTime].
func (c *Chip) ClockError(at Cycle) time.Duration {
	t := c.engine.Clock()
	return t.At(at).Sub(t.True(at))
}

// CycleAt returns the first cycle that is not before d after the start.
func (c *Chip) CycleAt(d time.Duration) Cycle { return c.engine.Clock().CycleAt(d) }

// StepClock sets the time of day forward by d at the current cycle, or back if d is negative.
func (c *Chip) StepClock(d time.Duration) error { return c.changeClock(d, func(*engine.Clock) {}) }

// SetClockDrift makes the oscillator fast by the given parts per billion from the current cycle on, or slow if
// negative. The maximum is MaxClockRate.
func (c *Chip) SetClockDrift(ppb int64) error {
	if ppb < -MaxClockRate || ppb > MaxClockRate {
		return fmt.Errorf("clock: drift is %d ppb, want %d to %d", ppb, -MaxClockRate, MaxClockRate)
	}
	return c.changeClock(0, func(t *engine.Clock) { t.Drift = ppb })
}

// SetClockRate makes the clock faster than the oscillator by the given parts per billion from the current cycle on, or
// slower if negative. The maximum is MaxClockRate. A servo sets this rate.
func (c *Chip) SetClockRate(ppb int64) error {
	if ppb < -MaxClockRate || ppb > MaxClockRate {
		return fmt.Errorf("clock: rate is %d ppb, want %d to %d", ppb, -MaxClockRate, MaxClockRate)
	}
	return c.changeClock(0, func(t *engine.Clock) { t.Rate = ppb })
}

// SetClockSynchronised sets whether the clock is synchronised. A new chip's clock is synchronised. A record carries
// [tailstamp.Unsynchronised] if one of its times was read while the clock was not synchronised.
func (c *Chip) SetClockSynchronised(ok bool) {
	_ = c.changeClock(0, func(t *engine.Clock) { t.Unsynchronised = !ok })
}

// Discipline applies the correction of a [Servo] at the current cycle.
func (c *Chip) Discipline(k Correction) error {
	rate := min(max(k.Rate, -MaxClockRate), MaxClockRate)
	return c.changeClock(k.Step, func(t *engine.Clock) { t.Rate, t.Unsynchronised = rate, !k.Synchronised })
}

func (c *Chip) changeClock(step time.Duration, set func(*engine.Clock)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.ChangeClock(step, set)
}
