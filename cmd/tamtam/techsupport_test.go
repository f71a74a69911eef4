package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/command"
	"tamtam/internal/racetest"
)

// An archive is made without Redis and without a gNMI server. Missing parts are reported.
func TestTechsupport(t *testing.T) {
	racetest.Live(t)
	var out, errs bytes.Buffer
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	args := []string{"techsupport", "--redis", "127.0.0.1:1", "--gnmi", "127.0.0.1:1", "--target", "127.0.0.1:1",
		"--insecure",
		"--timeout", "100ms", "--data", t.TempDir(), "-o", file}
	if code := run(t.Context(), args, nil, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	for _, name := range []string{"redis and all databases: Redis does not answer",
		"show.txt: show running-configuration: "} {
		if !strings.Contains(errs.String(), "not in the archive: "+name) {
			t.Errorf("it is not told that %s: %s", name, errs.String())
		}
	}
	args[len(args)-1] = filepath.Join(t.TempDir(), "none", "a.tar.gz")
	if code := run(t.Context(), args, nil, &out, &errs); code != command.ExitFailed {
		t.Errorf("exit %d for a directory that is not there", code)
	}
}
