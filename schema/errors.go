package schema

import (
	"errors"
	"fmt"
	"strings"
)

// FieldError says which field of which row cannot be used, and what would be
// right. It is permanent: the row must be changed.
type FieldError struct {
	Object string // table and key, as in CONFIG_DB: "PORT|Ethernet0"
	Field  string // empty when the key itself is wrong
	Value  string // what was found; empty when the field is missing
	Want   string // what would be right, in words
}

// Error names object, field, value and what would be right.
func (e *FieldError) Error() string { return e.Object + ": " + e.Reason() }

// Reason is Error without the object, for a place that names it already.
func (e *FieldError) Reason() string {
	switch {
	case e.Field == "":
		return fmt.Sprintf("key %q: want %s", e.Value, e.Want)
	case e.Value == "":
		return fmt.Sprintf("%s is missing: want %s", e.Field, e.Want)
	default:
		return fmt.Sprintf("%s %q: want %s", e.Field, e.Value, e.Want)
	}
}

// InvalidField marks errors of this kind for those who do not import schema.
func (e *FieldError) InvalidField() {}

// Reason puts an error of a Parse function into the words of a status row:
// the reasons of all its field errors without the object, in order.
func Reason(err error) string {
	var parts []string
	for _, e := range flatten(err) {
		if fe := (*FieldError)(nil); errors.As(e, &fe) {
			parts = append(parts, fe.Reason())
			continue
		}
		parts = append(parts, e.Error())
	}
	return strings.Join(parts, "; ")
}

// flatten lists the leaves of errors made by errors.Join.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}
