package drift

import (
	"context"
	"strconv"
	"time"

	"tamtam/swss"
)

// Table is the table of STATE_DB with one row per daemon.
const Table = "TAMTAM_CONSISTENCY"

// Fields of the rows of [Table].
const (
	FieldState   = "state"   // Consistent, Differs or Checking
	FieldReason  = "reason"  // which objects of which stage differ, and how
	FieldSince   = "since"   // time at which the first of the present differences was found
	FieldObjects = "objects" // number of objects in the last whole pass
	FieldBegan   = "began"   // time at which the last whole pass began
	FieldPass    = "pass"    // time at which the last whole pass ended
	FieldPasses  = "passes"  // number of passes that have ended in this run of the daemon
	FieldOpen    = "open"    // number of differences under observation, also those seen once; without [Finding.Late]
	FieldDrift   = "drift"   // number of times that this process has found drift
	FieldHealed  = "healed"  // number of drifts that this process has healed
)

// Words of [FieldState].
const (
	Consistent = "consistent"
	Differs    = "drift"
	Checking   = "checking" // no whole pass has ended yet
)

// A State is the progress and result of a daemon's comparison.
type State struct {
	Reason       string // "" if nothing differs
	Since        time.Time
	Passes       int       // the number of passes that have ended
	Began, Ended time.Time // times of the last whole pass
	Objects      int       // the number of objects in the last pass
	Open         int
	Due          int // number of differences for which Heal was called
	Drift        uint64
	Healed       uint64
}

// After adds the counts of an earlier run of the daemon to the state. Drift that the earlier run had begun to heal
// counts as healed as soon as nothing differs.
func (s State) After(earlier State) State {
	s.Drift += earlier.Drift
	s.Healed += earlier.Healed
	if s.Word() == Consistent {
		s.Healed += uint64(earlier.Due)
	} else {
		s.Due += earlier.Due
	}
	return s
}

// Word returns one of the words of [FieldState].
func (s State) Word() string {
	switch {
	case s.Reason != "":
		return Differs
	case s.Passes == 0:
		return Checking
	}
	return Consistent
}

// Lacks returns the reason why the daemon is not ready, or "" if it is ready.
func (s State) Lacks() string {
	switch s.Word() {
	case Checking:
		return "what is configured has not been compared with what is in force yet"
	case Differs:
		return s.Reason
	}
	return ""
}

// Row returns the state as a row of [Table].
func (s State) Row() swss.FieldValues {
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return swss.FieldValues{
		FieldState: s.Word(), FieldReason: s.Reason, FieldSince: when(s.Since),
		FieldObjects: strconv.Itoa(s.Objects), FieldBegan: when(s.Began), FieldPass: when(s.Ended),
		FieldPasses: strconv.Itoa(s.Passes), FieldOpen: strconv.Itoa(s.Open), FieldDrift: strconv.FormatUint(s.Drift, 10),
		FieldHealed: strconv.FormatUint(s.Healed, 10),
	}
}

// Author returns the number of passes that a daemon has ended in its present run, and whether nothing differs. passes
// is -1 if the daemon has reported nothing.
func Author(ctx context.Context, r *swss.Redis, daemon string) (passes int, well bool) {
	row, ok, err := swss.NewTable(r.DB(swss.StateDB), Table).Get(ctx, daemon)
	if err != nil || !ok {
		return -1, false
	}
	if passes, err = strconv.Atoi(row[FieldPasses]); err != nil {
		return -1, false
	}
	return passes, row[FieldOpen] == "0"
}

// Sum returns a digest of a row, which does not depend on the order of its fields. The digest of no row is 0.
func Sum(fields swss.FieldValues) uint64 {
	sum := uint64(0)
	for f, v := range fields {
		sum += SumOf(f, v)
	}
	if fields != nil {
		sum += uint64(len(fields)) + 1
	}
	return sum
}

// SumOf returns a digest of texts in their order (FNV-1a, including the ends of the texts).
func SumOf(texts ...string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, text := range texts {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * prime
		}
		h = (h ^ 0x100) * prime
	}
	return h
}
