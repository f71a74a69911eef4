package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A head is the commit that is released.
type head struct {
	commit   string
	time     time.Time
	modified bool
	module   string // version of the main module in the programs, such as v1.2.0 or a pseudo-version
}

// readHead returns the commit of the tree in the current directory.
func readHead() (h head, err error) {
	out, err := run(nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return h, err
	}
	var seconds string
	h.commit, seconds, _ = strings.Cut(strings.TrimSpace(out), " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return h, fmt.Errorf("git log: time of the commit: %w", err)
	}
	h.time = time.Unix(at, 0).UTC()
	out, err = run(nil, "git", "status", "--porcelain")
	h.modified = out != ""
	return h, err
}

// untagged matches the end of a pseudo-version, which Go gives to a commit without a tag.
var untagged = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})`)

// pseudo returns the pseudo-version of a commit for which go build recorded none.
func (h head) pseudo() string {
	return fmt.Sprintf("v0.0.0-%s-%.12s", h.time.Format("20060102150405"), h.commit)
}

// version returns the version in names of files and packages. A commit without a tag sorts before the release that Go
// counts it to, as Debian's versions do with a tilde.
func (h head) version() string {
	v := strings.TrimPrefix(h.module, "v")
	v = untagged.ReplaceAllString(v, "~$1.$2")
	return strings.ReplaceAll(v, "-", "~")
}

// A program is one of the programs, as it was built.
type program struct {
	name     string
	text     []byte
	info     *buildinfo.BuildInfo
	licences []byte // of all that it contains
}

// build compiles the programs of the current directory for Linux. Without needs of C they are static. The profile is
// that of "make build"; tables for debuggers are left out. The image has only tamtam, the first program.
func build(arch, work string, imageOnly bool) ([]program, error) {
	names := []string{"tamtam", "tamtam-collectd"}
	if imageOnly {
		names = names[:1]
	}
	compiler := "-gcflags=all=-dwarf=false"
	if arch == "arm64" {
		compiler += " -d=fmahash=qn" // no fused multiply-add, in other modules either
	}
	args := []string{"build", "-trimpath", "-buildvcs=true", "-pgo=cmd/tamtam/chip.pgo", compiler, "-ldflags=-s -w",
		"-o", work + string(filepath.Separator)}
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=",
		"GOWORK=off"}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	if _, err := run(env, "go", args...); err != nil {
		return nil, err
	}
	var all []program
	for _, name := range names {
		p, err := readProgram(filepath.Join(work, name), name)
		if err != nil {
			return nil, err
		}
		if p.licences, err = p.copyright(); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// readProgram reads a program.
func readProgram(path, name string) (p program, err error) {
	p.name = name
	if p.text, err = os.ReadFile(path); err != nil {
		return p, err
	}
	p.info, err = buildinfo.Read(bytes.NewReader(p.text))
	return p, err
}

// check returns an error if a program is not static, or computes other numbers than on amd64.
func (p program) check() error {
	f, err := elf.NewFile(bytes.NewReader(p.text))
	if err != nil {
		return err
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		return fmt.Errorf("%s needs %s: want a static program", p.name, strings.Join(libraries, " "))
	}
	lines, err := fusedIn(p.text)
	if err == nil && len(lines) > 0 {
		err = fmt.Errorf("%s: %d lines have a fused multiply-add, so results differ from those of amd64; "+
			"want the compiler's flag that forbids them, and float64(x*y) + z in this module:\n%s", p.name, len(lines),
			strings.Join(lines, "\n"))
	}
	return err
}

// run runs a program with additions to the environment, and returns its output. An error has what it printed.
func run(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, exit.Stderr)
	}
	return string(out), err
}
