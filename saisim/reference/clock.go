package reference

import (
	"math/big"
	"time"

	"tamtam/saisim"
	"tamtam/saisim/tailstamp"
)

// A clock is the chip's time of day since a change: exact, in nanoseconds.
type clock struct {
	from         saisim.Cycle
	begin        *big.Rat // ns since 1970
	speed        *big.Rat // ns per cycle
	synchronised bool
	steps        uint64 // number of times that it had been set
}

func (k clock) at(c saisim.Cycle) *big.Rat {
	d := cycle(c - k.from)
	return d.Add(d.Mul(d, k.speed), k.begin)
}

func newClock(hz uint64, start time.Time) clock {
	begin := new(big.Rat).SetInt64(start.Unix())
	begin.Mul(begin, big.NewRat(1e9, 1)).Add(begin, big.NewRat(int64(start.Nanosecond()), 1))
	return clock{begin: begin, speed: speed(hz, 0), synchronised: true}
}

// speed returns the nanoseconds that a cycle of the oscillator adds, at ppb parts per billion from its nominal rate.
func speed(hz uint64, ppb int64) *big.Rat {
	return new(big.Rat).SetFrac(big.NewInt(1_000_000_000+ppb), new(big.Int).SetUint64(hz))
}

// ChangeClock changes the time of day at the current cycle. It sets the time forward by step, and from now on applies
// drift and rate, in parts per billion.
func (c *Chip) ChangeClock(step time.Duration, drift, rate int64, synchronised bool) {
	if step != 0 {
		c.clockSteps++
	}
	last := c.clocks[len(c.clocks)-1]
	begin := last.at(c.now)
	begin.Add(begin, big.NewRat(int64(step), 1))
	if last.from == c.now {
		c.clocks = c.clocks[:len(c.clocks)-1]
	}
	c.clocks = append(c.clocks, clock{c.now, begin, speed(c.prof.ClockHz, drift+rate), synchronised, c.clockSteps})
}

// clockAt returns the clock in its state at a cycle.
func (c *Chip) clockAt(at saisim.Cycle) clock {
	i := len(c.clocks) - 1
	for i > 0 && c.clocks[i].from > at {
		i--
	}
	return c.clocks[i]
}

// setBetween reports whether the clock was set after one cycle, up to another.
func (c *Chip) setBetween(from, to saisim.Cycle) bool {
	return c.clockAt(from).steps != c.clockAt(to).steps
}

// timeOfDay returns the clock's time at a cycle, rounded down to nanoseconds.
func (c *Chip) timeOfDay(at saisim.Cycle) tailstamp.Timestamp {
	t := c.clockAt(at).at(at)
	ns := new(big.Int).Quo(t.Num(), t.Denom())
	s, rest := new(big.Int).QuoRem(ns, big.NewInt(1e9), new(big.Int))
	return tailstamp.Timestamp{Seconds: s.Uint64(), Nanoseconds: uint32(rest.Uint64())}
}
