package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed tests.txt
var tests string

// A reason is the kind of cause for which a test does not pass.
type reason int

const (
	absent    reason = iota // the switch has no such feature
	generator               // the test needs a traffic generator
	vendor                  // the test has names or commands of a vendor
	reasons                 // the number of reasons
)

var reasonWords = [reasons]string{"absent", "generator", "vendor"}

// A table is the content of tests.txt.
type table struct {
	deviations []string // fields of featureprofiles' message Deviations, as text
	folders    []*folder
}

// A folder is a folder of featureprofiles with tests, which are one binary.
type folder struct {
	path   string
	edits  []replacement
	passes []string // tests without "/"
	others []other
	whole  *other // why the folder is not run; nil if it is
}

// An other is a test that does not pass, and the cause. It includes the subtests of the test.
type other struct {
	name   string
	reason reason
	text   string // the feature, or what the test needs
}

// A replacement is an edit of the source of a test.
type replacement struct{ old, new string }

// parseTable parses the text of tests.txt.
func parseTable(text string) (*table, error) {
	t := &table{}
	paths := map[string]bool{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := t.parseLine(line, paths); err != nil {
			return nil, fmt.Errorf("tests.txt:%d: %w", number, err)
		}
	}
	for _, f := range t.folders {
		if (f.whole == nil) == (len(f.passes)+len(f.others) == 0) {
			return nil, fmt.Errorf("tests.txt: %s has neither tests nor a reason for all of them, or both", f.path)
		}
	}
	return t, nil
}

// parseLine parses a line, which follows a line "test FOLDER" unless it is one or a deviation.
func (t *table) parseLine(line string, paths map[string]bool) error {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case word == "deviation":
		t.deviations = append(t.deviations, rest)
		return nil
	case word == "test":
		if paths[rest] {
			return fmt.Errorf("%s is there twice", rest)
		}
		paths[rest] = true
		t.folders = append(t.folders, &folder{path: rest})
		return nil
	case len(t.folders) == 0:
		return fmt.Errorf("%q: want a line \"test FOLDER\" before it", line)
	}
	return t.folders[len(t.folders)-1].parseLine(word, rest)
}

// parseLine parses a line of the folder.
func (f *folder) parseLine(word, rest string) error {
	switch word {
	case "edit":
		from, to, ok := strings.Cut(rest, " => ")
		if !ok {
			return fmt.Errorf("edit %q: want OLD => NEW", rest)
		}
		f.edits = append(f.edits, replacement{from, to})
		return nil
	case "passes":
		if rest == "" || strings.ContainsAny(rest, "/ ") {
			return fmt.Errorf("passes %q: want the name of a test, not of a subtest", rest)
		}
		f.passes = append(f.passes, rest)
		return nil
	}
	r := slices.Index(reasonWords[:], word)
	if r < 0 {
		return fmt.Errorf("%q: want deviation, test, edit, passes, absent, generator or vendor", word)
	}
	name, text, ok := strings.Cut(rest, ": ")
	if !ok {
		f.whole = &other{reason: reason(r), text: rest}
		return nil
	}
	f.others = append(f.others, other{name: name, reason: reason(r), text: text})
	return nil
}

// A summary counts tests.
type summary struct {
	passed  int // tests without subtests
	reasons [reasons]int
}

func (s *summary) add(t summary) {
	s.passed += t.passed
	for r := range s.reasons {
		s.reasons[r] += t.reasons[r]
	}
}

func (s summary) String() string {
	text := fmt.Sprintf("%d pass", s.passed)
	for r, n := range s.reasons {
		if n > 0 {
			text += fmt.Sprintf(", %d %s", n, reasonWords[r])
		}
	}
	return text
}

// compare compares the results of the folder's tests, by name, with the table. It returns numbers of tests and the
// differences.
func (f *folder) compare(results map[string]string) (summary, []string) {
	var s summary
	var differences []string
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	for _, name := range f.passes {
		if results[name] != "PASS" {
			differ("%s passes in tests.txt: %s", name, resultOf(results, name))
		}
	}
	for _, o := range f.others {
		s.reasons[o.reason]++
		switch results[o.name] {
		case "PASS", "":
			differ("%s does not pass in tests.txt (%s %s): %s",
				o.name, reasonWords[o.reason], o.text, resultOf(results, o.name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(results)) {
		if f.explained(name) || hasChild(results, name) {
			continue
		}
		if results[name] != "PASS" {
			differ("%s is not in tests.txt: %s", name, results[name])
			continue
		}
		s.passed++
		if !f.named(name) {
			differ("%s is not in tests.txt: PASS", name)
		}
	}
	return s, differences
}

func resultOf(results map[string]string, name string) string {
	if r := results[name]; r != "" {
		return r
	}
	return "it did not run"
}

// explained reports whether the table has a reason for which this test does not pass, for itself or a test above.
func (f *folder) explained(name string) bool {
	return slices.ContainsFunc(f.others, func(o other) bool { return below(name, o.name) })
}

// named reports whether the table has the test of this name, or of which this is a subtest.
func (f *folder) named(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(f.passes, top) ||
		slices.ContainsFunc(f.others, func(o other) bool { return below(o.name, top) })
}

// below reports whether name is the test or a subtest of it.
func below(name, test string) bool {
	rest, ok := strings.CutPrefix(name, test)
	return ok && (rest == "" || rest[0] == '/')
}

// hasChild reports whether the result of a test is that of its subtests: one has the same result.
func hasChild(results map[string]string, name string) bool {
	for other, result := range results {
		if other != name && below(other, name) && result == results[name] {
			return true
		}
	}
	return false
}
