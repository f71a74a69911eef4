package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
)

func main() {
	var s settings
	flag.StringVar(&s.rev, "rev", "", "the commit to measure beside this tree")
	flag.StringVar(&s.pgo, "pgo", "", "a profile: this tree compiled without it and with it")
	flag.IntVar(&s.rounds, "rounds", 25, "turns of each")
	flag.StringVar(&s.only, "only", "", "a regular expression: loads and parts to measure")
	load := flag.String("serve", "", "send packets of this load, as many as each line of standard input says")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *load != "":
		err = serve(ctx, *load, os.Stdin, os.Stdout)
	case flag.NArg() > 0 || (s.rev == "") == (s.pgo == "") || s.rounds < 1:
		err = errors.New("want -rev COMMIT or -pgo FILE")
	default:
		err = s.compare(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "paired:", err)
		os.Exit(1)
	}
}

type settings struct {
	rev, pgo, only string
	rounds         int
}

// compare builds two programs, measures them in turn, and prints what came out.
func (s settings) compare(ctx context.Context, out io.Writer) error {
	only, err := regexp.Compile(s.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "paired")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	r := report{before: "without", now: "with"}
	if s.rev != "" {
		r = report{before: "at " + s.rev, now: "now", gains: true}
		tree := filepath.Join(dir, "tree")
		if err := errors.Join(unpack(ctx, s.rev, tree), adapt(tree)); err != nil {
			return err
		}
		err = errors.Join(build(ctx, tree, first, "off"), build(ctx, ".", second, "off"))
	} else {
		var profile string
		if profile, err = filepath.Abs(s.pgo); err == nil {
			err = errors.Join(build(ctx, ".", first, "off"), build(ctx, ".", second, profile))
		}
	}
	if err != nil {
		return err
	}
	b := bench{programs: [2]string{first, second}, rounds: s.rounds, known: map[string]pair{}}
	if err := r.measure(ctx, &b, only); err != nil {
		return err
	}
	return r.write(out)
}
