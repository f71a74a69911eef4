package feature

import "time"

// A Reading is when an orch reads counters: once per [TryAgain], while there is something that counts.
type Reading struct {
	Now   func() time.Time
	There func() bool

	at time.Time // when next; zero: at once
}

// Next is when counters are read, for [orch.Daemon.At]; zero: never.
func (r *Reading) Next() time.Time {
	switch {
	case !r.There():
		return time.Time{}
	case r.at.IsZero():
		return r.Now()
	}
	return r.at
}

// Due reports whether it is time.
func (r *Reading) Due(now time.Time) bool { return !now.Before(r.at) }

// Begin notes that counters are read now; false: there are none.
func (r *Reading) Begin() bool {
	r.at = r.Now().Add(TryAgain)
	return r.There()
}
