package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// notice matches the names of files whose text must go along with a program.
var notice = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// copyright returns the licence of tamtam, and those of all that a program contains: parts of this module, Go's
// library, and the modules that the linker recorded. A text stands once, below the names of all that have it.
func (p program) copyright() ([]byte, error) {
	root, err := run(nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	type part struct{ name, dir string }
	parts := []part{{"tamtam", "."}, {"tamtam/tam/libm", "tam/libm"}, {"Go " + p.info.GoVersion, strings.TrimSpace(root)}}
	if len(p.info.Deps) > 0 {
		args := []string{"list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}
		for _, m := range p.info.Deps {
			args = append(args, m.Path)
		}
		out, err := run([]string{"GOFLAGS=-mod=mod"}, "go", args...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			name, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
			parts = append(parts, part{name, dir})
		}
	}
	var texts []string
	of := map[string][]string{}
	for _, part := range parts {
		found, err := noticesIn(part.dir)
		if err != nil {
			return nil, fmt.Errorf("licence of %s: %w", part.name, err)
		}
		for _, text := range found {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], part.name)
		}
	}
	var all strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&all, "%s\n%s\n\n%s\n\n", strings.Join(of[text], "\n"), strings.Repeat("-", 72), text)
	}
	return []byte(all.String()), nil
}

// noticesIn returns the texts of the licences and notices in a folder, sorted by name of file. It is an error if there
// are none.
func noticesIn(dir string) (texts []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if !f.Type().IsRegular() || !notice.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		if s := strings.TrimSpace(string(text)); !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no file LICENSE, COPYING or NOTICE", dir)
	}
	return texts, nil
}
