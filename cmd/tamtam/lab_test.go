package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/command"
)

// The command line of the lab returns the right exit codes, tables and files.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector: workers are against each other in the tests of ./lab")
	}
	out := t.TempDir()
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout []string
		stderr string
	}{
		{"list", []string{"lab", "list"}, 0, []string{"congestion-10g   a 10G port offered 11 Gb/s", "leaf-spine "}, ""},
		{"run", []string{"lab", "run", "congestion-10g", "--out", out, "--workers", "2"}, 0,
			[]string{"seed 1, 11ms of simulated time", "ok  longest wait", "64000 ns"}, ""},
		{"a check fails", []string{"lab", "run", "congestion-10g", "--set", "traffic.load.rate=10Gbps", "--seed", "5"},
			command.ExitFailed,
			[]string{"seed 5", "FAILED  dropped for want of buffer"}, "not all checks passed"},
		{"for a page", []string{"lab", "run", "congestion-10g", "--format", "markdown"}, 0,
			[]string{"| | want | measured |\n", "| longest wait | 64000 ± 2 | 64000 ns |\n"}, ""},
		{"short", []string{"lab", "run", "flymon-fig14g", "--short"}, 0,
			[]string{"flymon-fig14g, short form, seed 1", "ok  "}, ""},
		{"not short", []string{"lab", "run", "congestion-10g", "--short"}, command.ExitUsage, nil,
			"congestion-10g has no short form"},
		{"format", []string{"lab", "run", "congestion-10g", "--format", "html"}, command.ExitUsage, nil,
			"want text, json or markdown"},
		{"no such experiment", []string{"lab", "run", "nothing"}, command.ExitUsage, nil, "clock-drift, congestion-10g"},
		{"bad set", []string{"lab", "run", "congestion-10g", "--set", "links.fast.delay=soon"}, command.ExitFailed, nil,
			`links[fast].delay: "soon": want a time`},
		{"bad duration", []string{"lab", "run", "congestion-10g", "--duration", "5"}, command.ExitUsage, nil, "--duration"},
		{"bad workers", []string{"lab", "run", "congestion-10g", "--workers", "-1"}, command.ExitUsage, nil, "--workers"},
		{"no name", []string{"lab", "run"}, command.ExitUsage, nil, "accepts 1 arg"},
		{"nothing to do", []string{"lab"}, command.ExitUsage, nil, "list, run, serve or sweep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), tt.args, nil, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, stderr.String())
			}
			for _, want := range tt.stdout {
				if !strings.Contains(stdout.String(), want) {
					t.Errorf("printed\n%s\nwant %q in it", stdout.String(), want)
				}
			}
			if !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("said %q, want %q in it", stderr.String(), tt.stderr)
			}
		})
	}
	text, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Experiment string
		Seed       uint64
		Checks     []struct {
			Name, Paper, Unit string
			Measured          json.Number
			Pass              bool
		}
		Series map[string]any
	}
	if err := json.Unmarshal(text, &report); err != nil || report.Experiment != "congestion-10g" || report.Seed != 1 ||
		len(report.Checks) < 10 || len(report.Series) != 3 {
		t.Errorf("report.json: %v, %+v", err, report)
	}
	for _, name := range []string{"queue.csv", "queue.png", "queue.svg"} {
		if s, err := os.Stat(filepath.Join(out, name)); err != nil || s.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
