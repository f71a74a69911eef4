package sai

import (
	"errors"
	"fmt"
)

// A Status is a sai_status_t. As an error it is any status except success.
type Status int32

// StatusSuccess is SAI_STATUS_SUCCESS; calls report it as a nil error.
const StatusSuccess Status = 0

// Error returns SAI's name of the status.
func (s Status) Error() string { return s.String() }

// A CallError is a failed SAI call with its details. It unwraps to its [Status].
type CallError struct {
	Op     string // name of the call, such as create, remove, set, get
	Type   ObjectType
	Attr   AttrID // the invalid attribute; 0 if there is none
	Status Status
	Reason string // reason in words; "" if there is nothing to add
}

func (e *CallError) Error() string {
	s := fmt.Sprintf("%s %s: %s", e.Op, e.Type, e.Status)
	if e.Attr != 0 {
		s += fmt.Sprintf(" (%s)", e.Attr)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Unwrap returns the status.
func (e *CallError) Unwrap() error { return e.Status }

// Unsupported reports whether err is a status which means that an implementation lacks an operation, an object type,
// an attribute or a statistic. The call itself was valid.
func Unsupported(err error) bool {
	s, ok := StatusOf(err)
	in := func(first, last Status) bool { return s <= first && s >= last }
	return ok && (s == StatusNotSupported || s == StatusNotImplemented ||
		in(StatusAttrNotImplemented0, StatusAttrNotImplementedMax) ||
		in(StatusAttrNotSupported0, StatusAttrNotSupportedMax) ||
		in(StatusUnknownAttribute0, StatusUnknownAttributeMax))
}

// StatusOf returns the SAI status in err: StatusSuccess for nil, and false if err holds none.
func StatusOf(err error) (Status, bool) {
	if err == nil {
		return StatusSuccess, true
	}
	var s Status
	ok := errors.As(err, &s)
	return s, ok
}
