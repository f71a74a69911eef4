// Package tick makes goroutines that do periodic work wake at the same instants: the whole multiples of their period in
// the time of day. Each time that an idle process wakes, the kernel and Go's scheduler do more work than a typical
// check. One wake-up for all checks of a second costs a fraction of one for each.
package tick

import "time"

// After returns a channel that receives a value at the next whole multiple of a period. If the time of day is set
// meanwhile, the value arrives when it would have otherwise.
func After(period time.Duration) <-chan time.Time { return time.After(Until(time.Now(), period)) }

// Until returns the time from now to the next whole multiple of a period: more than zero, at most the period.
func Until(now time.Time, period time.Duration) time.Duration {
	return now.Truncate(period).Add(period).Sub(now.Round(0))
}

// Next returns the next whole multiple of a period after now. It has now's reading of the monotonic clock, if there is
// one, so that a wait for it ends in time even if the time of day is set meanwhile.
func Next(now time.Time, period time.Duration) time.Time { return now.Add(Until(now, period)) }
