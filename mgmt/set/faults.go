package set

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tamtam/internal/printable"
	"tamtam/mgmt/tree"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Bounds on errors in one response. They are sent in a header, of which clients accept only 8 kB by default. A byte
// that is not printable ASCII needs three bytes there.
const (
	maxErrors     = 20
	maxErrorText  = 1000 // bytes of one error
	maxErrorsText = 7500 // bytes of all errors together, as encoded in the header
)

// Faults holds the errors of a Set: the first ones in the order of the request, and their total number.
type Faults struct {
	made unknowns // data that failed steps would have created or changed
	// data that failed steps would have deleted; this does not excuse errors in the data that the Set writes
	gone  unknowns
	first []fault // the first faults, by step
	count int
	code  codes.Code // common to all faults
}

// A fault is one error, and the step that it belongs to.
type fault struct {
	step int
	text string
}

// add adds an error of a step; joined errors count one each.
func (f *Faults) add(step int, err error) {
	if err == nil {
		return
	}
	for _, e := range tree.Split(err) {
		text, code := explain(e)
		f.code = together(f.code, code)
		f.count++
		i := len(f.first)
		for i > 0 && f.first[i-1].step > step {
			i--
		}
		if i < maxErrors {
			f.first = slices.Insert(f.first, i, fault{step, text})
			f.first = f.first[:min(len(f.first), maxErrors)]
		}
	}
}

// together returns the code of errors with these codes, where OK means no error. Unimplemented has precedence, since no
// other value would help. Otherwise different codes result in InvalidArgument.
func together(a, b codes.Code) codes.Code {
	switch {
	case a == codes.OK || a == b:
		return b
	case a == codes.Unimplemented || b == codes.Unimplemented:
		return codes.Unimplemented
	}
	return codes.InvalidArgument
}

// explain returns the text of an error as one bounded line, and its gRPC code.
func explain(err error) (string, codes.Code) {
	text, code := err.Error(), codes.InvalidArgument
	if tree.IsRefusal(err) {
		code = codes.FailedPrecondition
	}
	var st interface{ GRPCStatus() *status.Status }
	if errors.As(err, &st) {
		code = st.GRPCStatus().Code()
		text = strings.Replace(text, st.(error).Error(), st.GRPCStatus().Message(), 1)
	}
	return tree.Cut(printable.Line(text), maxErrorText), code
}

// Together returns one error with the texts of several, as the error of a Set has them, or nil if there are none.
func Together(errs []error) error {
	f := &Faults{}
	for i, err := range errs {
		f.add(i, err)
	}
	return f.err()
}

// err returns the error of the Set, or nil if there are no faults.
func (f *Faults) err() error {
	if f.count == 0 {
		return nil
	}
	var texts []string
	size := 0
	for _, x := range f.first {
		if size += travels(x.text) + 3; size > maxErrorsText {
			break
		}
		texts = append(texts, x.text)
	}
	if more := f.count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return status.Error(f.code, strings.Join(texts, "\n"))
}

// travels returns the length in bytes of a text in the header grpc-message.
func travels(text string) int {
	n := len(text)
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			n += 2
		}
	}
	return n
}
