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
	"strings"
)

// build builds the program of a tree in dir.
func build(ctx context.Context, tree, dir string) (program string, err error) {
	program = filepath.Join(dir, "counted")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-pgo=cmd/tamtam/chip.pgo", "-gcflags=all=-dwarf=false",
		"-ldflags=-w", "-o", program, "./lab/bench/instructions")
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", tree, err, said)
	}
	return program, nil
}

// measure builds the program of a tree and counts all loads. dir is for its files.
func measure(ctx context.Context, tree, dir string) (table, error) {
	program, err := build(ctx, tree, dir)
	if err != nil {
		return table{}, err
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
	said, err := callgrind(ctx, program, name, "/dev/null")
	if err != nil {
		return 0, err
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

// callgrind runs a load under callgrind, which writes its profile to a file. It returns what callgrind prints.
func callgrind(ctx context.Context, program, name, profile string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "valgrind", "--tool=callgrind", "--callgrind-out-file="+profile,
		"--toggle-collect=main.measured", program, "load", name, strconv.Itoa(counted))
	cmd.Env = append(os.Environ(), "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", "GOGC=off")
	said, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: install Debian's valgrind", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return said, nil
}

// A line of callgrind_annotate for a function: its instructions, their share, and its name after the file.
var annotated = regexp.MustCompile(`(?m)^ *([\d,]+) \([ \d.]+%\)  [^:\n]*:(\S+)`)

// functions returns the instructions for a packet of a load in each function, without those in functions that it calls,
// beginning with the largest. Functions with less than one instruction for a packet are left out.
func functions(ctx context.Context, program, name, dir string) ([]row, error) {
	profile := filepath.Join(dir, "profile")
	if _, err := callgrind(ctx, program, name, profile); err != nil {
		return nil, err
	}
	said, err := exec.CommandContext(ctx, "callgrind_annotate", "--auto=no", "--threshold=100", profile).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("callgrind_annotate: %w: %s", err, said)
	}
	var rows []row
	for _, m := range annotated.FindAllSubmatch(said, -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(string(m[1]), ",", ""))
		if err != nil {
			return nil, err
		}
		if n >= counted {
			rows = append(rows, row{strings.TrimPrefix(string(m[2]), "tamtam/"), n / counted})
		}
	}
	return rows, nil
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
