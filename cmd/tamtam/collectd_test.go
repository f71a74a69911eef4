package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The collector's program is found in the directory of tamtam, or else in PATH. If it is in neither, the error explains
// how to install it.
func TestFindCollectd(t *testing.T) {
	beside, path := t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)
	f := findCollectd{func() (string, error) { return filepath.Join(beside, "tamtam"), nil }, exec.LookPath}
	if _, err := f.find(); err == nil || !strings.Contains(err.Error(), "go build ./cmd/tamtam-collectd") {
		t.Errorf("%v: want how it is built", err)
	}
	for _, dir := range []string{path, beside} { // the program in the second directory is preferred
		want := filepath.Join(dir, collectd)
		if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got, err := f.find(); err != nil || got != want {
			t.Errorf("%s, %v: want %s", got, err, want)
		}
	}
	f.self = func() (string, error) { return "", errors.New("not known") }
	if got, err := f.find(); err != nil || got != filepath.Join(path, collectd) {
		t.Errorf("%s, %v: want the one in PATH", got, err)
	}
}
