package orch

import (
	"errors"
	"fmt"
	"strings"

	"tamtam/sai"
)

// A Dep is something a task can wait for. Kind is a word that an operator understands: "port",
// "flow group", "ACL table", "ACL rule", "feature".
type Dep struct{ Kind, Name string }

func (d Dep) String() string { return strings.TrimSpace(d.Kind + " " + d.Name) }

// resourceKind is the kind of the Dep of a task for which the switch had no
// room.
const resourceKind = "switch resource"

// ResourceDep is what a task waits for when the switch has no room for one more
// object of a type, or still uses one that should go. A daemon resolves all of
// them whenever a delete succeeded; handlers may resolve one earlier.
func ResourceDep(t sai.ObjectType) Dep { return Dep{Kind: resourceKind, Name: t.String()} }

// A WaitError parks a task until On is resolved.
type WaitError struct {
	On     Dep
	Reason string // for the operator; "" names On
}

func (e *WaitError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	return "waiting for " + e.On.String()
}

// Wait returns a WaitError. An empty reason names the dependency.
func Wait(kind, name, reason string, args ...any) error {
	if len(args) > 0 {
		reason = fmt.Sprintf(reason, args...)
	}
	return &WaitError{On: Dep{kind, name}, Reason: reason}
}

// An InvalidError is a field that can never be applied as it is.
type InvalidError struct {
	Object string // "ACL rule TAM|web"; "" if the context says it
	Field  string
	Value  string
	Want   string // what would be right
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

// A Class says what a SAI status means for the task that met it, as in SONiC's failure handling.
type Class uint8

// The classes.
const (
	Done      Class = iota // no error
	Benign                 // the wanted state exists anyway
	Retry                  // can succeed once something was removed
	Permanent              // will not succeed by itself
)

func (c Class) String() string {
	return [...]string{"done", "benign", "retry", "permanent"}[min(c, Permanent)]
}

// Classify returns the class of an error. Errors without a SAI status are
// permanent.
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
