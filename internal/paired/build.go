package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// taken are the folders that are compiled in the other tree too.
var taken = []string{"lab/bench/chipload", "internal/paired"}

// unpack puts the tree of a commit in a folder, with the loads of this one.
func unpack(ctx context.Context, rev, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	script := `git archive "$1" | tar -x -C "$2"`
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", script, "unpack", rev, dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("commit %s: %w\n%s", rev, err, out)
	}
	for _, from := range taken {
		if err := take(from, filepath.Join(dir, from)); err != nil {
			return err
		}
	}
	return nil
}

// take puts the Go files of a folder, without tests, in the place of another.
func take(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// An age is what trees have from some time on, and what those before it get in its place.
type age struct {
	has   string            // a folder, or a file
	files map[string]string // that the older tree gets
	words []string          // old, new, old, new of the loads' text
}

var ages = []age{
	{has: "saisim/profile", files: map[string]string{"saisim/profile/profile.go": `package profile

import "tamtam/saisim"

func Default() saisim.Profile { return saisim.DefaultProfile() }
`}},
	{has: "saisim/describe", files: map[string]string{"saisim/describe/describe.go": `package describe

import "tamtam/saisim"

var Program = saisim.DescribeProgram
`}},
	{has: "tam/flymon", words: []string{
		`"tamtam/tam/altmark"`, `"tamtam/altmark"`, `"tamtam/tam/flymon"`, `"tamtam/flymon"`,
		`"tamtam/tam/record"`, `"tamtam/record"`,
	}, files: map[string]string{
		"altmark/object.go": "package altmark\n\nconst ObjectProfile = \"tamtam.altmark.profile\"\n",
		"flymon/object.go":  "package flymon\n\nconst ObjectTask = \"tamtam.flymon.task\"\n",
	}},
	// No load that is compared has a drop monitor, or sampling.
	{has: "tam/dropreport", files: map[string]string{"lab/bench/chipload/report.go": `package chipload

import "tamtam/sai"

type Monitor uint8

const NoMonitor Monitor = 0

func (s *calls) monitor(sai.Key, sai.OID, Monitor) {}
`}},
	{has: "saisim/objects/sample.go", files: map[string]string{"lab/bench/chipload/sample.go": `package chipload

import "tamtam/sai"

func (s *calls) sample([]sai.OID, uint32) {}
func (t *Feed) tell()                     {}
func (t *Feed) checkSamples() error       { return nil }
`}},
}

// byValue is how a tree is told to whom packets go, where these are not passed by a pointer.
var byValue = regexp.MustCompile(`func \(c \*Chip\) SetOutput\(\w+ func\(Out\)\)`)

// adapt gives an older tree what the loads need, and the loads the words of that tree.
func adapt(tree string) error {
	var words []string
	for _, a := range ages {
		if _, err := os.Stat(filepath.Join(tree, a.has)); err == nil {
			continue
		}
		words = append(words, a.words...)
		for name, text := range a.files {
			file := filepath.Join(tree, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	chip, err := filepath.Glob(filepath.Join(tree, "saisim", "*.go"))
	if err != nil {
		return err
	}
	for _, file := range chip {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if byValue.Match(text) {
			words = append(words, "(o *saisim.Out)", "(o saisim.Out)")
		}
	}
	return reword(filepath.Join(tree, taken[0]), strings.NewReplacer(words...))
}

// reword rewrites all files of a folder.
func reword(dir string, words *strings.Replacer) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(file, []byte(words.Replace(string(text))), 0o644)
	})
}

// build compiles this program in a tree, with a profile or without one ("off").
func build(ctx context.Context, tree, program, profile string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-pgo="+profile, "-o", program, "./"+taken[1])
	cmd.Dir = tree
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", tree, err, out)
	}
	return nil
}
