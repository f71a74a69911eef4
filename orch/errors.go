package orch

import (
	"errors"
	"fmt"
	"strings"

	"tamtam/sai"
)

// A Dep is a condition that a task can wait for. Kind is a word that an operator understands: "port", "flow group",
// "ACL table", "ACL rule", "feature".
type Dep struct{ Kind, Name string }

func (d Dep) String() string { return strings.TrimSpace(d.Kind + " " + d.Name) }

// resourceKind is the kind of the Dep of a task for which the switch had no capacity.
const resourceKind = "switch resource"

// ResourceDep returns the dependency of a task that lacks capacity for an object of a type, or whose object is still in
// use. A daemon resolves all such dependencies whenever a delete has succeeded. Handlers may resolve one earlier.
func ResourceDep(t sai.ObjectType) Dep { return Dep{Kind: resourceKind, Name: t.String()} }

// A WaitError parks a task until On is resolved.
type WaitError struct {
	On     Dep
	Reason string // for the operator; "" means the name of On
}

func (e *WaitError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	return "waiting for " + e.On.String()
}

// Wait returns a WaitError. If reason is empty, the error names the dependency.
func Wait(kind, name, reason string, args ...any) error {
	if len(args) > 0 {
		reason = fmt.Sprintf(reason, args...)
	}
	return &WaitError{On: Dep{kind, name}, Reason: reason}
}

// An InvalidError reports a field that can never be applied as it is.
type InvalidError struct {
	Object string // for example "ACL rule TAM|web"; "" if the context contains it
	Field  string
	Value  string
	Want   string // the valid form
}

func (e *InvalidError) Error() string {
	s := fmt.Sprintf("%s %q", e.Field, e.Value)
	if e.Object != "" {
		s = e.Object + ": " + s
	}
	if e.Want != "" {
		s += ": want " + e.Want
	}
	return s
}

// InvalidField marks the error as a rejection.
func (e *InvalidError) InvalidField() {}

// invalid reports whether err holds the rejection of a field.
func invalid(err error) bool {
	var e interface{ InvalidField() }
	return errors.As(err, &e)
}

// A Class is the meaning of a SAI status for the task that received it, as in SONiC's failure handling.
type Class uint8

// The classes.
const (
	Done      Class = iota // no error
	Benign                 // the target state exists already
	Retry                  // can succeed after something was removed
	Permanent              // cannot succeed by itself
)

func (c Class) String() string {
	return [...]string{"done", "benign", "retry", "permanent"}[min(c, Permanent)]
}

// Classify returns the class of an error. Errors without a SAI status are permanent.
func Classify(err error) Class {
	status, ok := sai.StatusOf(err)
	if !ok {
		return Permanent
	}
	var call *sai.CallError
	errors.As(err, &call)
	switch status {
	case sai.StatusSuccess:
		return Done
	case sai.StatusTableFull, sai.StatusInsufficientResources, sai.StatusObjectInUse, sai.StatusNoMemory:
		return Retry
	case sai.StatusItemNotFound:
		if call != nil && strings.HasSuffix(call.Op, "remove") {
			return Benign
		}
	}
	return Permanent
}

// oneLine returns an error's text for a STATE_DB field.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
