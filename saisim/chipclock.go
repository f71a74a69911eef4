package saisim

import (
	"fmt"
	"time"

	"tamtam/saisim/engine"
	"tamtam/saisim/tailstamp"
)

// TimeOfDay returns what the chip's time-of-day clock says at a cycle, rounded
// down to nanoseconds. Times of cycles to come are as things are now. It may be
// called from output functions and observers, as may the three below.
func (c *Chip) TimeOfDay(at Cycle) time.Time { return c.Timestamp(at).Time() }

// Timestamp is [Chip.TimeOfDay] as records carry it.
func (c *Chip) Timestamp(at Cycle) tailstamp.Timestamp { return c.engine.Clock().At(at) }

// TrueTime returns what an ideal clock says at a cycle: Config.Start +
// floor(at * 10^9 / ClockHz) ns.
func (c *Chip) TrueTime(at Cycle) time.Time {
	return c.engine.Clock().True(at).Time()
}

// ClockError returns by how much the time-of-day clock is ahead at a cycle: the
// difference of [Chip.TimeOfDay] and [Chip.TrueTime].
func (c *Chip) ClockError(at Cycle) time.Duration {
	t := c.engine.Clock()
	return t.At(at).Sub(t.True(at))
}

// CycleAt returns the first cycle that is not before d after the start.
func (c *Chip) CycleAt(d time.Duration) Cycle { return c.engine.Clock().CycleAt(d) }

// StepClock sets the time of day forward by d, or back, at the current cycle.
func (c *Chip) StepClock(d time.Duration) error { return c.changeClock(d, func(*engine.Clock) {}) }

// SetClockDrift makes the oscillator fast by that many parts per billion, or
// slow, from the current cycle on; at most MaxClockRate.
func (c *Chip) SetClockDrift(ppb int64) error {
	if ppb < -MaxClockRate || ppb > MaxClockRate {
		return fmt.Errorf("clock: drift is %d ppb, want %d to %d", ppb, -MaxClockRate, MaxClockRate)
	}
	return c.changeClock(0, func(t *engine.Clock) { t.Drift = ppb })
}

// SetClockRate makes the clock faster by that many parts per billion than the
// oscillator drives it, or slower, from the current cycle on; at most
// MaxClockRate. It is what a servo sets.
func (c *Chip) SetClockRate(ppb int64) error {
	if ppb < -MaxClockRate || ppb > MaxClockRate {
		return fmt.Errorf("clock: rate is %d ppb, want %d to %d", ppb, -MaxClockRate, MaxClockRate)
	}
	return c.changeClock(0, func(t *engine.Clock) { t.Rate = ppb })
}

// SetClockSynchronised says whether the clock is synchronised, which it is in
// the beginning. A record one of whose times was taken while it is not carries
// [tailstamp.Unsynchronised].
func (c *Chip) SetClockSynchronised(ok bool) {
	_ = c.changeClock(0, func(t *engine.Clock) { t.Unsynchronised = !ok })
}

// Discipline applies what a [Servo] says, all at the current cycle.
func (c *Chip) Discipline(k Correction) error {
	rate := min(max(k.Rate, -MaxClockRate), MaxClockRate)
	return c.changeClock(k.Step, func(t *engine.Clock) { t.Rate, t.Unsynchronised = rate, !k.Synchronised })
}

func (c *Chip) changeClock(step time.Duration, set func(*engine.Clock)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.ChangeClock(step, set)
}
