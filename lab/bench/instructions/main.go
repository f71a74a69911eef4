package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"tamtam/lab/bench/chipload"
)

// file is the table, from the root of the tree.
const file = "lab/bench/instructions/counts.txt"

// A load is a row of the table.
type load struct {
	name string
	chipload.Load
}

var loads = []load{
	{"bridged", chipload.Load{}},
	{"bridged, in priority groups", chipload.Load{Accounts: true}},
	{"routed", chipload.Load{Routes: 1000}},
	{"ECMP over 32 ports", chipload.Load{Routes: 1024, ECMP: true}},
	{"1,000 rules", chipload.Load{Rules: 1000}},
	{"1,000 rules, stamped", chipload.Load{Rules: 1000, Stamp: true}},
	{"1,000 rules, stamped, three count-min rows", chipload.Load{Rules: 1000, Stamp: true, Sketch: true}},
	{"three count-min rows", chipload.Load{Sketch: true}},
	{"nine CMU groups", chipload.Load{Flows: 1024, Groups: 9}},
	{"10,000 flows marked", chipload.Load{Flows: 10_000, Marked: true}},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 3 && args[0] == "load" { // the counted program
		return send(ctx, args[1], args[2])
	}
	flags := flag.NewFlagSet("instructions", flag.ContinueOnError)
	update := flags.Bool("update", false, "write the counts to the table")
	of := flags.String("functions", "", "print the functions of a `load` of the table in place of comparing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected %q: want an option or nothing, in the root of the tree", flags.Arg(0))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	known, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	dir, err := os.MkdirTemp("", "instructions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *of != "" {
		return printFunctions(ctx, *of, dir, out)
	}
	now, err := measure(ctx, ".", dir)
	if err != nil {
		return err
	}
	if *update {
		return os.WriteFile(file, []byte(now.String()), 0o644)
	}
	if known.on != now.on {
		fmt.Fprintf(out, "the table is of %s, this is %s: counting the tree of the table's commit, too\n", known.on, now.on)
		if known, err = measureCommit(ctx, dir); err != nil {
			return err
		}
	}
	return compare(known, now, out)
}

// printFunctions prints the instructions for a packet of a load by function.
func printFunctions(ctx context.Context, name, dir string, out io.Writer) error {
	program, err := build(ctx, ".", dir)
	if err != nil {
		return err
	}
	rows, err := functions(ctx, program, name, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, r := range rows {
		fmt.Fprintf(out, "%6d  %s\n", r.instructions, r.load)
	}
	return nil
}

// Packets before and while instructions are counted.
const (
	warm    = 4000
	counted = 10_000
)

// send runs a load. Only the calls below [measured] are counted.
func send(ctx context.Context, name, packets string) error {
	n, err := strconv.Atoi(packets)
	if err != nil || n < 1 {
		return fmt.Errorf("packets %q: want a number, at least 1", packets)
	}
	for _, l := range loads {
		if l.name != name {
			continue
		}
		f, err := chipload.New(ctx, l.Load)
		if err != nil {
			return err
		}
		if err := f.Send(warm); err != nil {
			return err
		}
		return measured(f, n)
	}
	return fmt.Errorf("load %q: there is none of this name", name)
}

//go:noinline
func measured(f *chipload.Feed, n int) error { return f.Send(n) }

// measureCommit measures the tree of the last commit that changed the table.
func measureCommit(ctx context.Context, dir string) (table, error) {
	commit, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H", "--", file).Output()
	if err != nil {
		return table{}, fmt.Errorf("the commit of %s: %w", file, err)
	}
	tree, archive := filepath.Join(dir, "tree"), filepath.Join(dir, "tree.tar")
	for _, args := range [][]string{
		{"git", "archive", "-o", archive, string(bytes.TrimSpace(commit))},
		{"mkdir", tree},
		{"tar", "-xf", archive, "-C", tree},
	} {
		if said, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return table{}, fmt.Errorf("%s: %w: %s", args[0], err, said)
		}
	}
	return measure(ctx, tree, dir)
}
