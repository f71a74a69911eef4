package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// A line is a command line without the common first words. code is its expected exit code, and want a part of its
// expected output.
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

// listening runs a command that listens. It returns the address, and a function that waits for the command's end and
// returns its exit code and output.
func listening(t *testing.T, args ...string) (at string, end func() (code int, printed string)) {
	t.Helper()
	pr, pw := io.Pipe()
	var out bytes.Buffer
	done := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		code := run(ctx, args, strings.NewReader(""), &out, pw)
		pw.Close()
		done <- code
	}()
	lines := bufio.NewReader(pr)
	answer, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, lines)
	return strings.TrimSpace(strings.TrimPrefix(answer, "tamtam: listening at ")), func() (int, string) {
		code := <-done
		return code, out.String()
	}
}
