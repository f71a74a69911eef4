package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FieldError reports a field of a row that is invalid, and the valid form. It is permanent: the row must be changed.
type FieldError struct {
	Object string // table and key, as in CONFIG_DB: "PORT|Ethernet0"
	Field  string // empty if the key itself is invalid
	Value  string // the invalid value; empty if the field is missing
	Want   string // the valid form, in words
	Whole  string // replaces Field, Value and Want: the error of the whole row, and the valid form
}

// empty is the Value for a field that is present but empty.
const empty = " "

// Error returns object, field, value and the valid form.
func (e *FieldError) Error() string { return plain(e.Object) + ": " + e.Reason() }

// Reason returns Error without the object, for a context that already contains it. It is one line of printable text
// and of bounded length, whatever the row contains.
func (e *FieldError) Reason() string {
	switch {
	case e.Whole != "":
		return e.Whole
	case e.Field == "":
		return fmt.Sprintf("key %s: want %s", quoted(e.Value), e.Want)
	case e.Value == "":
		return fmt.Sprintf("%s is missing: want %s", plain(e.Field), e.Want)
	case e.Value == empty:
		return fmt.Sprintf("%s is empty: want %s", plain(e.Field), e.Want)
	default:
		return fmt.Sprintf("%s %s: want %s", plain(e.Field), quoted(e.Value), e.Want)
	}
}

// maxShown is the maximum length of a name or value in errors, in bytes.
const maxShown = 80

// quoted quotes a value, shortened if it is long.
func quoted(v string) string {
	if len(v) <= maxShown {
		return strconv.Quote(v)
	}
	return fmt.Sprintf("%q... (%d bytes)", v[:maxShown], len(v))
}

// plain returns a name without quotes, unless it is long or has unusual characters.
func plain(name string) string {
	strange := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(name) > maxShown || strings.ContainsFunc(name, strange) {
		return quoted(name)
	}
	return name
}

// InvalidField marks errors of this kind for packages that do not import schema.
func (e *FieldError) InvalidField() {}

// Reason returns the text of a Parse function's error for a status row: the reasons of all its field errors without
// the object, in order.
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

// flatten returns the leaves of errors made by errors.Join.
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
