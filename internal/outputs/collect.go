package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A collector runs commands and writes the hashes of their output.
type collector struct {
	dir, tool      string // a folder to run commands in, and tamtam
	workers, cases int
	long           bool
	only           *regexp.Regexp
	out, errs      io.Writer
}

// all collects everything, going on after failures.
func (c *collector) all(ctx context.Context) error {
	var errs []error
	if c.only.MatchString("demo") {
		errs = append(errs, c.collect(ctx, "demo", clocked{}, "demo"))
	}
	names, err := c.experiments(ctx)
	errs = append(errs, err)
	for _, name := range names {
		if c.only.MatchString("lab/"+name) && ctx.Err() == nil {
			errs = append(errs, c.experiment(ctx, name))
		}
	}
	if c.only.MatchString("engines") && c.cases > 0 {
		errs = append(errs, c.engines(ctx))
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// experiments lists the experiments of the lab.
func (c *collector) experiments(ctx context.Context) (names []string, err error) {
	out, err := exec.CommandContext(ctx, c.tool, "lab", "list").Output()
	if err != nil {
		return nil, fmt.Errorf("tamtam lab list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 0 {
			names = append(names, words[0])
		}
	}
	return names, nil
}

// errNoShortForm is found in the error of a run that asked for one.
var errNoShortForm = errors.New("no short form")

// experiment runs one, in its short form if it has one and -long was not given.
func (c *collector) experiment(ctx context.Context, name string) error {
	run := []string{"lab", "run", name, "--workers", fmt.Sprint(c.workers)}
	if !c.long {
		err := c.collect(ctx, "lab/"+name+"/short", clockedOf(name), append(run, "--short")...)
		if !errors.Is(err, errNoShortForm) {
			return err
		}
	}
	return c.collect(ctx, "lab/"+name+"/whole", clockedOf(name), run...)
}

// collect runs a command of tamtam with --out, and writes the hashes of what it prints and of its
// files. A command that fails only because a check did has written them all the same.
func (c *collector) collect(ctx context.Context, what string, clock clocked, args ...string) error {
	const folder = "out" // a fixed name: it is printed
	defer os.RemoveAll(filepath.Join(c.dir, folder))
	cmd := exec.CommandContext(ctx, c.tool, append(args, "--out", folder)...)
	cmd.Dir = c.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if strings.Contains(stderr.String(), errNoShortForm.Error()) {
			return errNoShortForm
		}
		if stdout.Len() == 0 || ctx.Err() != nil {
			return fmt.Errorf("%s: %w\n%s", what, err, &stderr)
		}
		fmt.Fprintf(c.errs, "outputs: %s: %v: %s\n", what, err, bytes.TrimSpace(stderr.Bytes()))
	}
	c.line(what+"/stdout", []byte(clock.printed(stdout.String())))
	if _, err := os.Stat(filepath.Join(c.dir, folder)); err != nil {
		return fmt.Errorf("%s: %w\n%s", what, err, &stderr)
	}
	files := os.DirFS(filepath.Join(c.dir, folder))
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if text, err = clock.blurred(name, text); err != nil {
			return fmt.Errorf("%s/%s: %w", what, name, err)
		}
		c.line(what+"/"+name, text)
		return nil
	})
}

// line writes the hash of an output; nil is one that the wall clock measured.
func (c *collector) line(what string, text []byte) {
	hash := "-"
	if text != nil {
		hash = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	fmt.Fprintf(c.out, "%-64s  %s\n", hash, what)
}

// enginesSeed is the first one of the cases, as in "make differential".
const enginesSeed = 1_000_000

// enginesLine is what the differential test prints of a case where TAMTAM_OUTPUTS is set.
var enginesLine = regexp.MustCompile(`outputs of seed (\d+): fast ([0-9a-f]{64}), reference ([0-9a-f]{64})`)

// engines runs the first cases of the differential test. That is test code, so the test itself
// makes the hashes: of all frames that left, when and where, and of the books.
func (c *collector) engines(ctx context.Context) error {
	args := []string{"test", "-count=1", "-timeout=1h", "-v", "-run", "^TestEnginesAgree$", "./saisim/reference"}
	cmd := exec.CommandContext(ctx, "go", args...)
	cases, seed := fmt.Sprint("TAMTAM_CASES=", c.cases), fmt.Sprint("TAMTAM_SEED=", enginesSeed)
	cmd.Env = append(os.Environ(), "TAMTAM_OUTPUTS=1", cases, seed)
	text, err := cmd.CombinedOutput()
	return errors.Join(err, c.engineLines(string(text)))
}

// engineLines writes the hashes that the differential test printed.
func (c *collector) engineLines(text string) error {
	cases := enginesLine.FindAllStringSubmatch(text, -1)
	for _, m := range cases {
		fmt.Fprintf(c.out, "%s  engines/%s/fast\n%s  engines/%s/reference\n", m[2], m[1], m[3], m[1])
	}
	if len(cases) != c.cases {
		return fmt.Errorf("the differential test printed the outputs of %d cases, want %d:\n%s", len(cases), c.cases, text)
	}
	return nil
}
