package orch

import (
	"errors"

	"tamtam/swss"
)

// Retryable reports whether a failed operation may succeed later without a change of configuration: the switch had no
// capacity, or Redis was unavailable. Any error with a method LacksRoom reports a lack of capacity, too.
func Retryable(err error) bool {
	var lack interface{ LacksRoom() }
	return err != nil && (Classify(err) == Retry || errors.Is(err, swss.ErrUnavailable) || errors.As(err, &lack))
}

// Verdict returns the outcome of a row in the words that [Reporting] declares for its table of STATE_DB. The row is in
// force, waits, or has failed; reason is why.
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

// SomethingRemoved describes when sessions without capacity are retried.
const SomethingRemoved = "something is removed from the switch"
