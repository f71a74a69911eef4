package orch

import (
	"errors"

	"tamtam/swss"
)

// Retryable reports whether what failed may succeed later as it is: the switch had no
// room (so says any error with a method LacksRoom, too), or Redis was away.
func Retryable(err error) bool {
	var lack interface{ LacksRoom() }
	return err != nil && (Classify(err) == Retry || errors.Is(err, swss.ErrUnavailable) || errors.As(err, &lack))
}

// Verdict returns the outcome of a row in the words that [Reporting] declares for its table of
// STATE_DB: the row is in force, waits, or failed, and why.
func (o *outcomes) Verdict(stateTable string, err error) (status, reason string) {
	words := o.reports[stateTable].Words.withDefaults()
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

// SomethingRemoved says, in words, when sessions that there was no room for are tried again.
const SomethingRemoved = "something is removed from the switch"
