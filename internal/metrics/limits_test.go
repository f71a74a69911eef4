package main

import (
	"slices"
	"strings"
	"testing"
)

// A limit is broken by what is beyond it as printed, and by nothing else.
func TestLimits(t *testing.T) {
	most, least := limit{value: 0.5, wanted: 0.5}, limit{value: 0.55, wanted: 0.55, least: true}
	for _, tt := range []struct {
		l      limit
		value  float64
		broken bool
	}{
		{most, 0.4, false}, {most, 0.5, false}, {most, 0.504, false}, {most, 0.506, true}, {most, 7, true},
		{least, 0.56, false}, {least, 0.55, false}, {least, 0.546, false}, {least, 0.544, true}, {least, 0, true},
	} {
		tt.l.figure, tt.l.reason = "f", "it is too much"
		f := figure{"f", tt.value, 2, []finding{{"a.go:1", "this", 9}}}
		var out strings.Builder
		good, err := check(&out, []figure{f}, []limit{tt.l})
		if good == tt.broken || err != nil {
			t.Errorf("%v at %s %v: good %v, %v", tt.value, tt.l.sign(), tt.l.value, good, err)
		}
		says := []string{"f: " + f.text(), "want " + tt.l.sign(), "it is too much", "9  a.go:1  this"}
		lacks := func(s string) bool { return !strings.Contains(out.String(), s) }
		if tt.broken != (out.Len() > 0) || tt.broken && slices.ContainsFunc(says, lacks) {
			t.Errorf("%v at %s %v says %q, want %q", tt.value, tt.l.sign(), tt.l.value, &out, says)
		}
	}
	if _, err := check(&strings.Builder{}, nil, []limit{{figure: "typo"}}); err == nil {
		t.Error("a limit of no figure is no error")
	}
}

// What is better than a limit that is not yet the wanted one is told, and no fault.
func TestLimitsCanBeTightened(t *testing.T) {
	for _, tt := range []struct {
		l     limit
		value float64
		told  bool
	}{
		{limit{value: 9, wanted: 5}, 8, true}, {limit{value: 9, wanted: 5}, 9, false},
		{limit{value: 5, wanted: 5}, 4, false},
		{limit{value: 5, wanted: 9, least: true}, 6, true}, {limit{value: 5, wanted: 9, least: true}, 5, false},
	} {
		tt.l.figure = "f"
		var out strings.Builder
		good, err := check(&out, []figure{{name: "f", value: tt.value}}, []limit{tt.l})
		if !good || err != nil || tt.told != strings.Contains(out.String(), "can be tightened") {
			t.Errorf("%v at %+v: good %v, %v, says %q", tt.value, tt.l, good, err, &out)
		}
	}
}

// The gate's limits are of figures that there are, have a reason, and lead to what is wanted.
func TestGateLimits(t *testing.T) {
	var names []string
	for _, f := range makeTree(t, nil).figures() {
		names = append(names, f.name)
	}
	seen := map[string]bool{}
	for _, l := range limits {
		if !slices.Contains(names, l.figure) || seen[l.figure] || l.reason == "" {
			t.Errorf("limit %+v: want a figure, once, and a reason", l)
		}
		seen[l.figure] = true
		if l.least && l.value > l.wanted || !l.least && l.value < l.wanted {
			t.Errorf("limit %+v: tighter than what is wanted", l)
		}
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
		{map[string]string{"a/a.go": lines(4), "a/a_test.go": lines(3)}, "-limits", 0, ""},
		{map[string]string{"a/a.go": lines(4), "a/a_test.go": lines(2)}, "-limits", 1,
			"tests : code: 0.50, want >= 0.55"},
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
