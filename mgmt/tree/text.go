package tree

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A databaseError is an error of a database, not of the request.
type databaseError struct{ error }

func (e databaseError) Error() string { return "database: " + e.error.Error() }

func (e databaseError) Unwrap() error { return e.error }

// Unavailable marks an error as caused by a database.
func Unavailable(err error) error { return databaseError{err} }

// IsUnavailable reports whether an error was caused by a database.
func IsUnavailable(err error) bool {
	var e databaseError
	return errors.As(err, &e)
}

// Split returns the parts of an error from errors.Join.
func Split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || IsRefusal(err) {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, e := range joined.Unwrap() {
		all = append(all, Split(e)...)
		texts = append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() { // it contains more than its parts
		return []error{err}
	}
	return all
}

// Cut shortens a text to at most most bytes, between characters.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xc0 == 0x80 {
		most--
	}
	return text[:most] + "..."
}

// MaxShown bounds how much of a key, name or value errors show, in bytes.
const MaxShown = 80

// Quoted returns a quoted text, cut if it is long.
func Quoted(text string) string {
	if len(text) <= MaxShown {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%q (%d bytes)", Cut(text, MaxShown), len(text))
}

// maxPathText bounds how much of a path errors repeat, in bytes.
const maxPathText = 500

// PathText returns a path as gNMI writes it, for errors.
func PathText(p *gpb.Path) string {
	if len(p.GetElem()) == 0 {
		return "/"
	}
	var b strings.Builder
	for _, el := range p.GetElem() {
		b.WriteByte('/')
		b.WriteString(el.GetName())
		if b.Len() > maxPathText {
			return Cut(b.String(), maxPathText)
		}
		for _, k := range slices.Sorted(maps.Keys(el.GetKey())) {
			b.WriteString("[" + k + "=" + strings.NewReplacer(`\`, `\\`, `]`, `\]`).Replace(el.GetKey()[k]) + "]")
		}
	}
	if b.Len() > maxPathText {
		return Cut(b.String(), maxPathText)
	}
	return b.String()
}

// SortedKeys returns the keys of a map, sorted.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
