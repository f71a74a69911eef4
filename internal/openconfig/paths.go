package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// A named is a path that READMEs of featureprofiles name, without keys and prefixes.
type named struct {
	path     string
	families []string // folders of these READMEs, sorted
}

func (n named) config() bool { return strings.Contains(n.path, "/config") }

// coverage begins the part of a README with the paths. A path is on a line by itself, and ends in a colon or not.
const coverage = "OpenConfig Path and RPC Coverage"

var (
	pathLine = regexp.MustCompile(`^\s+(/[A-Za-z0-9/_.:\[\]=*'"-]+?):?\s*(#.*)?$`)
	keysOf   = regexp.MustCompile(`\[[^\]]*\]`)
)

// readFeatures returns the paths that READMEs below a folder name, sorted.
func readFeatures(folder string) ([]named, error) {
	families := map[string]map[string]bool{}
	top := filepath.Join(folder, "feature")
	err := filepath.WalkDir(top, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(file) != "README.md" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		family, _, _ := strings.Cut(filepath.ToSlash(below), "/")
		for _, path := range pathsOf(string(text)) {
			if families[path] == nil {
				families[path] = map[string]bool{}
			}
			families[path][family] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(families) == 0 {
		return nil, fmt.Errorf("no README below %s names a path", top)
	}
	var list []named
	for _, path := range slices.Sorted(maps.Keys(families)) {
		list = append(list, named{path, slices.Sorted(maps.Keys(families[path]))})
	}
	return list, nil
}

// pathsOf returns the paths of a README.
func pathsOf(text string) (list []string) {
	_, text, _ = strings.Cut(text, coverage)
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "paths:"):
			in = true
		case strings.HasPrefix(line, "rpcs:"), strings.HasPrefix(line, "## "):
			in = false
		}
		m := pathLine.FindStringSubmatch(line)
		if !in || m == nil {
			continue
		}
		var steps []string
		for step := range strings.SplitSeq(strings.Trim(keysOf.ReplaceAllString(m[1], ""), "/:"), "/") {
			steps = append(steps, step[strings.LastIndexByte(step, ':')+1:])
		}
		list = append(list, "/"+strings.Join(steps, "/"))
	}
	return list
}

// formatPaths and parsePaths convert between paths and the text of paths.txt, a line for each.
func formatPaths(list []named) []byte {
	var b bytes.Buffer
	b.WriteString("# The paths that READMEs of openconfig/featureprofiles name, with their families. " +
		"Written by the command paths.\n")
	for _, n := range list {
		fmt.Fprintf(&b, "%s %s\n", n.path, strings.Join(n.families, ","))
	}
	return b.Bytes()
}

func parsePaths(text []byte) (list []named) {
	for line := range strings.Lines(string(text)) {
		if path, families, ok := strings.Cut(strings.TrimSpace(line), " "); ok && path[0] == '/' {
			list = append(list, named{path, strings.Split(families, ",")})
		}
	}
	return list
}

// A subject is a line of subjects.txt.
type subject struct {
	prefix string
	not    string // why the switch does not have it; empty if it does
}

func parseSubjects(text []byte) (list []subject, err error) {
	for line := range strings.Lines(string(text)) {
		prefix, answer, _ := strings.Cut(strings.TrimSpace(line), " ")
		why, no := strings.CutPrefix(answer, "no: ")
		switch {
		case prefix == "" || prefix == "#":
		case prefix[0] != '/' || answer != "yes" && (!no || why == ""):
			return nil, fmt.Errorf("%q is not PREFIX yes, or PREFIX no: WHY", line)
		case no:
			list = append(list, subject{prefix, why})
		default:
			list = append(list, subject{prefix, ""})
		}
	}
	return list, nil
}

// of returns the subject of a path: the one with the longest prefix.
func of(path string, subjects []subject) *subject {
	var found *subject
	for i, s := range subjects {
		if strings.HasPrefix(path, s.prefix) && (found == nil || len(s.prefix) > len(found.prefix)) {
			found = &subjects[i]
		}
	}
	return found
}

// A count counts the paths of a family, or of all.
type count struct{ config, subject, writable, shown, state, stateSubject, served, data int }

// report writes the table of families, and the paths without a node although the switch has their subject. data, if not
// nil, reports whether the switch's data has the path.
func report(list []named, subjects []subject, m *tree.Model, data func(path string) bool) string {
	counts := map[string]*count{}
	reasons := map[string]int{}
	var missing []string
	add := func(family string, n named, has bool) {
		c := counts[family]
		if c == nil {
			c = &count{}
			counts[family] = c
		}
		node := m.Find(n.path)
		one := func(to *int, is bool) {
			if is {
				*to++
			}
		}
		if n.config() {
			c.config++
			one(&c.subject, has)
			one(&c.writable, node != nil && node.Writable())
			one(&c.shown, node != nil && !node.Writable())
			return
		}
		c.state++
		one(&c.stateSubject, has)
		one(&c.served, has && node != nil) // others are there for clients that name them, without values
		one(&c.data, node != nil && data != nil && data(n.path))
	}
	for _, n := range list {
		s := of(n.path, subjects)
		has := s != nil && s.not == ""
		add("all", n, has)
		for _, f := range n.families {
			add(f, n, has)
		}
		switch {
		case !has:
			reasons[s.not]++
		case m.Find(n.path) == nil:
			missing = append(missing, n.path)
		}
	}
	var b strings.Builder
	b.WriteString("| family | config | of the switch | writable | read only | state | of the switch | served |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		c := counts[f]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", f, c.config, c.subject, c.writable, c.shown, c.state,
			c.stateSubject, c.served)
	}
	if data != nil {
		fmt.Fprintf(&b, "\n%d paths of state have data.\n", counts["all"].data)
	}
	b.WriteString("\n| why not | paths |\n| --- | --- |\n")
	for _, why := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	}) {
		fmt.Fprintf(&b, "| %s | %d |\n", why, reasons[why])
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "\nThese %d paths of subjects that the switch has are not served:\n\n```text\n%s\n```\n",
			len(missing), strings.Join(missing, "\n"))
	}
	return b.String()
}

// dataIn returns a function that reports whether JSON_IETF has a value at a path without keys.
func dataIn(text []byte) (func(path string) bool, error) {
	var top any
	if err := json.Unmarshal(text, &top); err != nil {
		return nil, err
	}
	var has func(v any, steps []string) bool
	has = func(v any, steps []string) bool {
		switch v := v.(type) {
		case []any:
			if len(steps) > 0 {
				return slices.ContainsFunc(v, func(e any) bool { return has(e, steps) })
			}
		case map[string]any:
			for name, below := range v {
				if len(steps) > 0 && name[strings.LastIndexByte(name, ':')+1:] == steps[0] && has(below, steps[1:]) {
					return true
				}
			}
		}
		return len(steps) == 0
	}
	return func(path string) bool { return has(top, strings.Split(strings.Trim(path, "/"), "/")) }, nil
}

const (
	pathsFile    = "internal/openconfig/paths.txt"
	subjectsFile = "internal/openconfig/subjects.txt"
	pathsPage    = "docs/reference/openconfig-paths.md"
)

// pageHead begins the page with the table.
const pageHead = `# OpenConfig's paths: reference

Use this page to compare switches. It counts the paths that the READMEs of
[featureprofiles](https://github.com/openconfig/featureprofiles) name, by family. [gNMI and RESTCONF](gnmi.md) has the
tree of all paths. Paths *of the switch* have a subject that the chip or the control plane has. A path is *writable* if
a Set may change it, or may give the only value that it can have. It is *read only* if the switch shows it, but it is
configured elsewhere or not at all. The command
` + "`go run ./internal/openconfig paths`" + ` writes this page from the lists in
` + "`internal/openconfig`" + `.

`

// page returns the page for lists in files below a folder.
func page(folder string, data func(path string) bool) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, pathsFile))
	if err != nil {
		return "", err
	}
	lines, err := os.ReadFile(filepath.Join(folder, subjectsFile))
	if err != nil {
		return "", err
	}
	subjects, err := parseSubjects(lines)
	if err != nil {
		return "", fmt.Errorf("%s: %w", subjectsFile, err)
	}
	m, err := served()
	if err != nil {
		return "", err
	}
	return pageHead + report(parsePaths(text), subjects, m, data), nil
}

// served returns the tree that the switch serves.
func served() (*tree.Model, error) {
	redis := swss.Look(swss.Config{}) // the model never queries it
	defer redis.Close()
	return tree.New(redis, models.All())
}

// paths runs the command paths. features is a checkout of featureprofiles, or "" to keep the list of paths.
func paths(features, treeFile string, out *bufio.Writer) error {
	if features != "" {
		list, err := readFeatures(features)
		if err != nil {
			return err
		}
		if err := os.WriteFile(pathsFile, formatPaths(list), 0o644); err != nil {
			return err
		}
	}
	text, err := page(".", nil)
	if err != nil {
		return err
	}
	if err := os.WriteFile(pathsPage, []byte(text), 0o644); err != nil {
		return err
	}
	if treeFile != "" {
		served, err := os.ReadFile(treeFile)
		if err != nil {
			return err
		}
		data, err := dataIn(served)
		if err != nil {
			return fmt.Errorf("%s: %w", treeFile, err)
		}
		if text, err = page(".", data); err != nil {
			return err
		}
	}
	_, body, _ := strings.Cut(text, "| family")
	body, _, _ = strings.Cut("| family"+body, "\nThese ")
	fmt.Fprint(out, body)
	return out.Flush()
}
