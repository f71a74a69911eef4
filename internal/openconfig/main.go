package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openconfig:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "paths" {
		return runPaths(args[1:], out)
	}
	flags := flag.NewFlagSet("openconfig", flag.ContinueOnError)
	public := flags.String("public", "", "a checkout of openconfig/public")
	own := flags.String("yang", "yang", "the modules of the switch")
	tree := flags.String("tree", "", "what a switch serves, as JSON_IETF")
	update := flags.Bool("update", false, "write tamtam-deviations")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *public == "" {
		return fmt.Errorf("-public DIR is missing: a checkout of https://github.com/openconfig/public")
	}
	c, err := load(*own, *public)
	if err != nil {
		return err
	}
	if c.tree, err = served(); err != nil {
		return err
	}
	problems := c.compare()
	for _, p := range problems {
		fmt.Fprintln(out, p)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d nodes or modules are not as OpenConfig has them", len(problems))
	}
	file := filepath.Join(*own, deviationsName+".yang")
	if err := compare(file, c.deviations(), *update); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d modules are as OpenConfig has them, with %d deviations\n", len(c.shared), len(c.found))
	if *tree == "" {
		return nil
	}
	return lint(out, *own, *public, *tree, c.shared)
}

// runPaths runs the command paths: [FOLDER] [-tree FILE].
func runPaths(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("openconfig paths", flag.ContinueOnError)
	tree := flags.String("tree", "", "what a switch serves, as JSON_IETF; paths with data are counted")
	features := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		features, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is too much: want paths [FOLDER] [-tree FILE]", flags.Arg(0))
	}
	return paths(features, *tree, bufio.NewWriter(out))
}

// compare compares a file with its expected content, or writes it.
func compare(file string, want []byte, update bool) error {
	if update {
		return os.WriteFile(file, want, 0o644)
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("%s is not what follows from the modules: -update writes it", file)
	}
	return nil
}

// lint validates a tree against the published modules.
func lint(out io.Writer, own, public, tree string, shared []string) error {
	args := []string{"-i", "-t", "data", "-f", "json"}
	for _, dir := range searchDirs(public) {
		args = append(args, "-p", dir)
	}
	for _, m := range shared {
		file, err := findModule(public, m)
		if err != nil {
			return err
		}
		args = append(args, file)
	}
	alone, err := os.MkdirTemp("", "yang")
	if err != nil {
		return err
	}
	defer os.RemoveAll(alone)
	files, err := copyOwn(own, alone, shared)
	if err != nil {
		return err
	}
	args = append(append(args, "-p", alone), files...)
	said, err := exec.Command("yanglint", append(args, tree)...).CombinedOutput()
	faults := 0
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "libyang err") || strings.HasPrefix(line, "YANGLINT[E]") {
			faults++
			fmt.Fprint(out, line)
		}
	}
	switch {
	case faults > 0:
		return fmt.Errorf("yanglint finds %d errors", faults)
	case err != nil:
		return fmt.Errorf("yanglint: %w", err)
	}
	fmt.Fprintf(out, "yanglint finds no error in %s\n", tree)
	return nil
}

// copyOwn copies our unpublished modules to a directory that contains no others.
func copyOwn(own, to string, shared []string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(own, "*.yang"))
	if err != nil {
		return nil, err
	}
	var files []string
	for _, file := range all {
		if slices.Contains(shared, strings.TrimSuffix(filepath.Base(file), ".yang")) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		copied := filepath.Join(to, filepath.Base(file))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return nil, err
		}
		files = append(files, copied)
	}
	return files, nil
}
