package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	var c collector
	var only string
	flag.IntVar(&c.workers, "workers", 0, "cores that an experiment works on; 0: all")
	flag.BoolVar(&c.long, "long", false, "experiments whole, not in their short form; takes an hour or more")
	flag.IntVar(&c.cases, "cases", 20, "cases of the differential test; 0: none")
	flag.StringVar(&only, "only", "", "a regular expression: outputs as in lab/two-switches, demo or engines")
	flag.Parse()
	pattern, err := regexp.Compile(only)
	if err != nil || flag.NArg() > 0 || c.workers < 0 || c.cases < 0 {
		fmt.Fprintln(os.Stderr, "outputs: want options only, -workers and -cases 0 or more")
		flag.Usage()
		os.Exit(2)
	}
	c.only, c.out, c.errs = pattern, os.Stdout, os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := inTree(ctx, &c); err != nil {
		fmt.Fprintln(os.Stderr, "outputs:", err)
		stop()
		os.Exit(1)
	}
}

// inTree builds the tamtam of the current folder and collects what it puts out.
func inTree(ctx context.Context, c *collector) error {
	dir, err := os.MkdirTemp("", "outputs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.dir, c.tool = dir, filepath.Join(dir, "tamtam")
	build := exec.CommandContext(ctx, "go", "build", "-o", c.tool, "./cmd/tamtam")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return c.all(ctx)
}
