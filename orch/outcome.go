package orch

import (
	"errors"
	"fmt"

	"tamtam/schema"
	"tamtam/swss"
)

// Retryable says whether a SAI call may succeed later as it is.
func Retryable(err error) bool {
	return err != nil && (Classify(err) == Retry || errors.Is(err, swss.ErrUnavailable))
}

// Outcome puts what became of a row of a TAM feature into the words of STATE_DB.
// retry says that it is tried again, and again when, in words.
func Outcome(err error, retry bool, again string) (status, reason string) {
	var wait *WaitError
	var field *schema.FieldError
	switch {
	case err == nil:
		return schema.StatusActive, ""
	case errors.As(err, &wait):
		return schema.StatusPending, wait.Error()
	case errors.As(err, &field):
		return schema.StatusFailed, schema.Reason(err)
	}
	reason = Explain(err)
	if retry {
		return schema.StatusPending, reason + "; tried again when " + again
	}
	return schema.StatusFailed, reason
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
