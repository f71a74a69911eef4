package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
)

// measure builds the program of a tree and counts all loads. dir is for its files.
func measure(ctx context.Context, tree, dir string) (table, error) {
	program := filepath.Join(dir, "counted")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo=cmd/tamtam/chip.pgo", "-gcflags=all=-dwarf=false",
		"-ldflags=-w", "-o", program, "./lab/bench/instructions")
	build.Dir = tree
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if said, err := build.CombinedOutput(); err != nil {
		return table{}, fmt.Errorf("building %s: %w: %s", tree, err, said)
	}
	cpu, err := processor()
	if err != nil {
		return table{}, err
	}
	t := table{on: runtime.Version() + ", " + cpu}
	for _, l := range loads {
		n, err := count(ctx, program, l.name)
		if err != nil {
			return table{}, fmt.Errorf("%s: %w", l.name, err)
		}
		t.rows = append(t.rows, row{l.name, n})
	}
	return t, nil
}

var collected = regexp.MustCompile(`(?m)Collected *: *(\d+)$`)

// count returns the number of instructions for a packet of a load.
func count(ctx context.Context, program, name string) (int, error) {
	cmd := exec.CommandContext(ctx, "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
		"--toggle-collect=main.measured", program, "load", name, strconv.Itoa(counted))
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", "GOGC=off")
	said, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return 0, fmt.Errorf("%w: install Debian's valgrind", err)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, said)
	}
	m := collected.FindSubmatch(said)
	if m == nil {
		return 0, fmt.Errorf("callgrind reports no instructions: %s", said)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err == nil && n < counted {
		err = fmt.Errorf("callgrind counted only %d instructions of %d packets", n, counted)
	}
	return n / counted, err
}

var model = regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`)

// processor returns the name of the processor.
func processor() (string, error) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	if m := model.FindSubmatch(text); m != nil {
		return string(m[1]), nil
	}
	return runtime.GOARCH, nil
}
