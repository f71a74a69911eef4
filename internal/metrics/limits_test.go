package main

import (
	"slices"
	"strings"
	"testing"
)

// A limit is broken by what is beyond it as printed, and by nothing else.
func TestLimits(t *testing.T) {
	most, least := goal{value: 0.5}, goal{value: 0.55, least: true}
	for _, tt := range []struct {
		l      goal
		value  float64
		broken bool
	}{
		{most, 0.4, false}, {most, 0.5, false}, {most, 0.504, false}, {most, 0.506, true}, {most, 7, true},
		{least, 0.56, false}, {least, 0.55, false}, {least, 0.546, false}, {least, 0.544, true}, {least, 0, true},
	} {
		tt.l.figure, tt.l.reason = "f", "it is too much"
		f := figure{"f", tt.value, 2, []finding{{"a.go:1", "this", 9}}}
		var out strings.Builder
		good, err := check(&out, []figure{f}, []goal{tt.l})
		if good == tt.broken || err != nil {
			t.Errorf("%v at %s %v: good %v, %v", tt.value, tt.l.sign(), tt.l.value, good, err)
		}
		says := []string{"f: " + f.text(), "want " + tt.l.sign(), "it is too much", "9  a.go:1  this"}
		lacks := func(s string) bool { return !strings.Contains(out.String(), s) }
		if tt.broken != (out.Len() > 0) || tt.broken && slices.ContainsFunc(says, lacks) {
			t.Errorf("%v at %s %v says %q, want %q", tt.value, tt.l.sign(), tt.l.value, &out, says)
		}
	}
	if _, err := check(&strings.Builder{}, nil, []goal{{figure: "typo"}}); err == nil {
		t.Error("a limit of no figure is no error")
	}
}

// What is only a goal does not fail the gate.
func TestGoalsAreNoLimits(t *testing.T) {
	var out strings.Builder
	good, err := check(&out, []figure{{name: "f", value: 9}}, []goal{{figure: "f", value: 5}})
	if !good || err != nil || out.Len() > 0 {
		t.Errorf("good %v, %v, says %q", good, err, &out)
	}
}

// Goals are of figures that there are, each once.
func TestGoals(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range makeTree(t, nil).figures() {
		seen[f.name] = false
	}
	for _, g := range goals {
		if again, there := seen[g.figure]; !there || again {
			t.Errorf("goal %+v: want a figure, once", g)
		}
		seen[g.figure] = true
	}
}

// The program ends with 1 where a limit is broken, and says by what.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		files map[string]string
		args  string
		code  int
		want  string
	}{
		{map[string]string{"a/a.go": lines(4)}, "-limits", 0, ""},
		{map[string]string{"a/a.go": lines(6001)}, "-limits", 1, "packages too large: 1, want <= 0"},
		{map[string]string{"a/a.go": lines(4)}, "", 0, "| lines of code | 4 |"},
		{map[string]string{"a/a.go": lines(4)}, "-list", 0, "     4  a/a.go  file"},
		{map[string]string{"a/a.go": "what"}, "", 1, "metrics: a/a.go:1:1: expected 'package'"},
		{nil, "-limits -list", 2, "want -list, -limits or nothing"},
		{nil, "tree", 2, "want -list, -limits or nothing"},
		{nil, "-what", 2, "-what"},
	} {
		var out strings.Builder
		code := run(inMemory(tt.files), strings.Fields(tt.args), &out, &out)
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q: exit status %d, want %d with %q:\n%s", tt.args, code, tt.code, tt.want, &out)
		}
	}
}
