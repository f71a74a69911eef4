package drift

import (
	"context"
	"strconv"
	"time"

	"tamtam/swss"
)

// Table is the table of STATE_DB with one row per daemon.
const Table = "TAMTAM_CONSISTENCY"

// Fields of its rows.
const (
	FieldState   = "state"   // one of the words below
	FieldReason  = "reason"  // which objects of which stage differ, and how
	FieldSince   = "since"   // when the first of them was seen
	FieldObjects = "objects" // that the last whole pass has looked at
	FieldBegan   = "began"   // when it began
	FieldPass    = "pass"    // when it ended
	FieldPasses  = "passes"  // that have ended, in this life of the daemon
	FieldOpen    = "open"    // differences under observation, also those seen once; not what waits ([Finding.Late])
	FieldDrift   = "drift"   // how often drift was seen by this process
	FieldHealed  = "healed"  // how much of it was healed
)

// Words of [FieldState].
const (
	Consistent = "consistent"
	Differs    = "drift"
	Checking   = "checking" // no whole pass has ended yet
)

// A State is how far a daemon is.
type State struct {
	Reason       string // "": nothing differs
	Since        time.Time
	Passes       int       // that have ended
	Began, Ended time.Time // the last one
	Objects      int       // that it looked at
	Open         int
	Due          int // of them those that something was done about
	Drift        uint64
	Healed       uint64
}

// After is the state with what an earlier life of the daemon has counted. What that had begun to heal is healed, as
// soon as nothing differs.
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

// Word is one of the words of [FieldState].
func (s State) Word() string {
	switch {
	case s.Reason != "":
		return Differs
	case s.Passes == 0:
		return Checking
	}
	return Consistent
}

// Lacks says why the daemon is not ready; "": it is.
func (s State) Lacks() string {
	switch s.Word() {
	case Checking:
		return "what is configured has not been compared with what is in force yet"
	case Differs:
		return s.Reason
	}
	return ""
}

// Row is the state as a row of [Table].
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

// Author says how many passes a daemon has ended, in its present life, and whether nothing differs; -1 where nothing
// was heard of it.
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

// Sum is a digest of a row, whatever the order of its fields; that of no row is 0.
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

// SumOf is a digest of texts in their order (FNV-1a, with the ends of the texts).
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
