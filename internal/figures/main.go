package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var c checker
	flag.BoolVar(&c.quick, "quick", false, "long commands in their short form, whose output is not compared, or left out")
	flag.StringVar(&c.only, "only", "", "PAGE, PAGE:LINE or PAGE:LINE-LINE, as in lab, research/flymon or "+
		"docs/lab.md:57: a page, or blocks and what they need")
	flag.StringVar(&c.update, "update", "", "1: rewrite what differs; all: everything, figures of this machine too")
	flag.Parse()
	if flag.NArg() > 0 || c.update != "" && c.update != "1" && c.update != "all" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c.out = os.Stdout
	good, err := c.inTree(ctx, ".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// A checker checks the pages.
type checker struct {
	tree, tool   string
	quick        bool
	only, update string
	out          io.Writer
	blocks, bad  int
	short, later int // number of long blocks that ran in short form, and of those that were omitted
	cpu          time.Duration
}

// inTree builds the tree's tamtam and checks every page with it.
func (c *checker) inTree(ctx context.Context, tree string) (bool, error) {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if c.tree, err = filepath.Abs(tree); err != nil {
		return false, err
	}
	c.tool = filepath.Join(dir, "tamtam")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", c.tool, "./cmd/tamtam")
	cmd.Dir = c.tree
	if out, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%w\n%s", err, out)
	}
	return c.all(ctx)
}

// all checks every page, and reports whether each agrees with its commands.
func (c *checker) all(ctx context.Context) (bool, error) {
	start := time.Now()
	pages, err := c.pages()
	if err != nil {
		return false, err
	}
	for _, p := range pages {
		if err := c.page(ctx, p); err != nil {
			return false, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	fmt.Fprintf(c.out, "%d blocks run, %d of them in short form, %d wrong, %d long ones left out; %.1f s, %.1f s of "+
		"processor time\n",
		c.blocks, c.short, c.bad, c.later, time.Since(start).Seconds(), c.cpu.Seconds())
	return c.bad == 0, nil
}

// pages reads the pages, and reports and counts mistakes in their annotations.
func (c *checker) pages() ([]*page, error) {
	names := []string{filepath.Join(c.tree, "README.md")}
	err := filepath.WalkDir(filepath.Join(c.tree, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) == ".md" {
			names = append(names, file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var pages []*page
	var problems []problem
	for _, file := range names {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name, _ := filepath.Rel(c.tree, file)
		p, wrong := parse(filepath.ToSlash(name), string(text))
		pages, problems = append(pages, p), append(problems, wrong...)
	}
	if !slices.ContainsFunc(pages, func(p *page) bool { return c.names(p.name) }) {
		return nil, fmt.Errorf("no page %q: want README.md or a page in docs, or PAGE:LINE", c.only)
	}
	problems = append(problems, twice(pages)...)
	for _, p := range problems {
		if c.names(p.page) {
			c.bad++
			fmt.Fprintln(c.out, p)
		}
	}
	return pages, nil
}

// names reports whether a page was requested, by its path from the root or, with or without .md, from docs.
func (c *checker) names(page string) bool {
	name, _, _ := strings.Cut(c.only, ":")
	return name == "" || name == page || strings.TrimSuffix(name, ".md")+".md" == strings.TrimPrefix(page, "docs/")
}

// wanted returns the blocks of a page to run.
func (c *checker) wanted(p *page) []*block {
	if !c.names(p.name) {
		return nil
	}
	_, lines, single := strings.Cut(c.only, ":")
	from, to, several := strings.Cut(lines, "-")
	first, _ := strconv.Atoi(from)
	last := first
	if several {
		last, _ = strconv.Atoi(to)
	}
	var list []*block
	behind := false // true after a block in short form
	for i, b := range p.blocks {
		if single && b.line > last {
			break
		}
		if b.with != "" && os.Getenv(b.with) == "" {
			if !c.quick {
				fmt.Fprintf(c.out, "skipped: %s:%d: %s is not set\n", p.name, b.line, b.with)
			}
			continue
		}
		switch asked := single && (i+1 == len(p.blocks) || p.blocks[i+1].line > first); {
		case asked || !b.long || !c.quick && (!single || b.setup):
			list = append(list, b)
		case c.quick && !single && b.hasShort(behind):
			b.inShort, behind = true, true
			list = append(list, b)
			c.short++
		case c.quick:
			c.later++
		}
	}
	return list
}

// page runs a page's blocks in their order.
func (c *checker) page(ctx context.Context, p *page) error {
	list := c.wanted(p)
	if len(list) == 0 {
		return nil
	}
	for _, tool := range []string{"redis-cli", "curl"} {
		if _, err := exec.LookPath(tool); err == nil || !p.needs(tool) {
			continue
		}
		fmt.Fprintf(c.out, "skipped: %s: %s is not installed\n", p.name, tool)
		return nil
	}
	if err := mayWire(ctx); err != nil && p.needs(" --port ") {
		fmt.Fprintf(c.out, "skipped: %s: no interfaces can be made for its switch: %v\n", p.name, err)
		return nil
	}
	s, err := openSession(c.tree, c.tool)
	if err != nil {
		return err
	}
	start, bad := time.Now(), c.bad
	defer s.close()
	for _, b := range list {
		if err := c.block(ctx, s, p, b); err != nil {
			c.bad++
			fmt.Fprintf(c.out, "%s:%d: %v\n", p.name, b.line, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	s.stopSwitch() // end the switch, so that its processor time does not affect the block
	c.blocks, c.cpu = c.blocks+len(list), c.cpu+s.cpu
	if bad == c.bad {
		fmt.Fprintf(c.out, "ok  %s: %d blocks, %.1f s, %.1f s of processor time\n",
			p.name, len(list), time.Since(start).Seconds(), s.cpu.Seconds())
	}
	if len(p.edits) == 0 {
		return nil
	}
	fmt.Fprintf(c.out, "    %s: %d outputs rewritten\n", p.name, len(p.edits))
	return os.WriteFile(filepath.Join(c.tree, filepath.FromSlash(p.name)), []byte(p.edited()), 0o644)
}

// block runs the commands of a block and compares their output. It fails if a command does not run or has an unexpected
// exit status. Differences are printed and counted.
func (c *checker) block(ctx context.Context, s *session, p *page, b *block) error {
	if b.file != "" {
		return os.WriteFile(filepath.Join(s.dir, "page", b.file), []byte(strings.Join(b.body, "\n")+"\n"), 0o644)
	}
	for _, st := range b.before {
		if lines, ok, err := s.run(ctx, st, b); err != nil || !ok {
			return failed(st.command, err, lines)
		}
	}
	if b.picture != "" && !b.inShort {
		return c.pictured(s, p, b)
	}
	for i, st := range b.steps {
		got, err := s.answer(ctx, st, b, b.fails && i == len(b.steps)-1)
		if err == nil && !b.inShort {
			err = c.compare(p, b, st, got)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answer runs a command of a block, and returns its output. It fails if the exit status is unexpected.
func (s *session) answer(ctx context.Context, st step, b *block, fails bool) ([]string, error) {
	got, ok, err := s.ask(ctx, st, b, func(lines []string) bool { return b.same(st.want, lines) })
	switch {
	case err != nil || !ok && !fails:
		return got, failed(st.command, err, got)
	case ok && fails:
		return got, fmt.Errorf("%s: does not fail, and the block has the option fails", st.command)
	}
	return got, nil
}

// pictured compares a picture with the file that the commands make, or replaces the picture.
func (c *checker) pictured(s *session, p *page, b *block) error {
	made, err := os.ReadFile(filepath.Join(s.dir, "page", filepath.FromSlash(b.picture)))
	if err != nil {
		return err
	}
	shown := filepath.Join(c.tree, filepath.FromSlash(path.Join(path.Dir(p.name), b.image)))
	have, err := os.ReadFile(shown)
	switch {
	case err == nil && (bytes.Equal(have, made) || b.machine && c.update != "all"):
	case c.update != "":
		fmt.Fprintf(c.out, "    %s: %s made again\n", p.name, b.image)
		return os.WriteFile(shown, made, 0o644)
	default:
		c.bad++
		fmt.Fprintf(c.out, "%s:%d: %s is not as %s is now\n", p.name, b.line, b.image, b.picture)
	}
	return nil
}

// compare prints and counts the differences between a command's output and the page, or rewrites the page.
func (c *checker) compare(p *page, b *block, st step, got []string) error {
	same := b.same(st.want, got)
	switch {
	case !same && c.update == "":
		c.bad++
		fmt.Fprintf(c.out, "%s:%d: %s gives something else:\n%s", p.name, st.at+1, st.command, difference(st.want, got))
	case !same || c.update == "all":
		lines, err := b.rewrite(st.want, got)
		if err != nil {
			return fmt.Errorf("%s: %w; it gives\n%s", st.command, err, strings.Join(got, "\n"))
		}
		p.edits = append(p.edits, edit{st.at, len(st.want), lines})
	}
	return nil
}

// failed returns the error of a command with an unexpected exit status.
func failed(command string, err error, lines []string) error {
	if err == nil {
		err = errors.New("fails")
	}
	return fmt.Errorf("%s: %w\n%s", command, err, strings.Join(lines, "\n"))
}
