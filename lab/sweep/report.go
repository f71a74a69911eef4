package sweep

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// Report writes the results of a sweep: a table to w, and sweep.csv and the plots to a directory. The error lists the
// failed checks.
func (f *File) Report(w io.Writer, dir string, all []Outcome) error {
	rows := f.Rows(all)
	errs := []error{f.WriteText(w, rows), f.Write(dir, rows)}
	failed := map[string]int{}
	for _, out := range all {
		for _, check := range out.Failed {
			failed[check]++
		}
	}
	for _, check := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, fmt.Errorf("the check %q failed in %d of %d runs", check, failed[check], len(all)))
	}
	return errors.Join(errs...)
}

// OwnProgram returns a checksum of this program, for the Program of [Options]. Any change to the program gives another
// one.
func OwnProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return sumOf(path)
}
