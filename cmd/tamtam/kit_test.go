package main

import (
	"bytes"
	"strings"
	"testing"
)

// A line is a command line, behind words that several have in common; the exit code that it must have, and a part of
// what it prints.
type line struct {
	args string
	code int
	want string
}

// try runs command lines that begin with a word.
func try(t *testing.T, first string, lines ...line) {
	t.Helper()
	for _, l := range lines {
		args := strings.Fields(first + " " + l.args)
		if code, printed := tamtam(t, args...); code != l.code || !strings.Contains(printed, l.want) {
			t.Errorf("%q: exit %d, %s; want %d, %s", args, code, printed, l.code, l.want)
		}
	}
}

// tamtam runs a command and returns its exit code, and what it prints to both outputs.
func tamtam(t *testing.T, args ...string) (code int, printed string) {
	t.Helper()
	var out bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &out)
	return code, out.String()
}
