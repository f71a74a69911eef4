package orch

import (
	"errors"
	"fmt"

	"tamtam/schema"
	"tamtam/swss"
)

// Retryable says whether what failed may succeed later as it is: the switch had no
// room (so says any error with a method LacksRoom, too), or Redis was away.
func Retryable(err error) bool {
	var lack interface{ LacksRoom() }
	return err != nil && (Classify(err) == Retry || errors.Is(err, swss.ErrUnavailable) || errors.As(err, &lack))
}

// Verdict puts what became of a row into the words of a table of STATE_DB, those that
// [Reporting] declares of it: the row is in force, waits, or failed, and why.
func (d *Daemon) Verdict(stateTable string, err error) (status, reason string) {
	words := d.reports[stateTable].Words.withDefaults()
	var wait *WaitError
	switch {
	case err == nil:
		return words.Active, ""
	case errors.As(err, &wait):
		return words.Pending, oneLine(wait)
	case !Retryable(err):
		return words.Failed, Explain(err)
	case words.Again == "":
		return words.Pending, Explain(err)
	}
	return words.Pending, Explain(err) + "; tried again when " + words.Again
}

// SomethingRemoved is when sessions are tried again for which there was no room.
const SomethingRemoved = "something is removed from the switch"

// Refused are rows of a TAM feature that the switch has no room for.
type Refused struct {
	N, All int
	What   string // sessions, tasks
	First  string // by name
	Err    error  // of the first
}

// FeatureOutcome is op-status of a TAM feature that is active, with the reason.
// unsupported is why the switch cannot do it at all, "" if it can.
func FeatureOutcome(unsupported string, r Refused) (status, reason string) {
	switch {
	case unsupported != "":
		return schema.FeatureUnsupported, unsupported
	case r.N > 0:
		return schema.FeatureInsufficient, fmt.Sprintf("%d of %d %s do not fit into the switch, the first is %s: %s",
			r.N, r.All, r.What, r.First, Explain(r.Err))
	}
	return schema.FeatureActive, ""
}
