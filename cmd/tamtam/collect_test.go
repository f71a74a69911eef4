package main

import (
	"os"
	"path/filepath"
	"testing"

	"tamtam/internal/command"
)

// Errors on the command line of the collector, or in its file, are reported by name.
func TestCollectRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "paths.yaml")
	if err := os.WriteFile(file, []byte("paths: [{name: p, points: [{switch: a, target: nowhere, session: s}]}]"),
		0o600); err != nil {
		t.Fatal(err)
	}
	at := "--paths " + file
	try(t, "collect",
		line{"", command.ExitUsage, "--paths is missing"},
		line{at + " --format xml", command.ExitUsage, `--format "xml": want text, json or csv`},
		line{at + "x", command.ExitFailed, "paths.yamlx: no such file"},
		line{at, command.ExitFailed, `path 1 (p): point 1: target is "nowhere", want HOST:PORT or unix:/PATH`},
		line{at, command.ExitFailed, "path p: 1 points, want two or more"},
		line{"graphs", command.ExitUsage, "want --topology or --target"},
		line{"graphs --topology ampm-ecmp", command.ExitFailed,
			"switch leaf1: the topology has no address for it"})
}
