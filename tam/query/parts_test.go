package query

import (
	"slices"
	"testing"
)

// The parts of a filter are what it joins by and, outside of parentheses and beside no or.
func TestParts(t *testing.T) {
	number := func(name string) Field[int64] {
		return Field[int64]{Name: name, Kind: Count, Number: One(func(r *int64) (Range, bool) { return Exactly(*r), true })}
	}
	table := &Table[int64]{Rows: "numbers", Fields: []Field[int64]{number("a"), number("b")}}
	for text, want := range map[string][]string{
		"":                               nil,
		"a = 1":                          {"a = 1"},
		"a = 1 and b > 2 AND a in (3,4)": {"a = 1", "b > 2", "a in (3,4)"},
		"(a = 1 and b = 2) and b = 3":    {"(a = 1 and b = 2)", "b = 3"},
		"not (a = 1) and b not in 2..3":  {"not (a = 1)", "b not in 2..3"},
		"a = 1 or b = 2 and a = 3":       {"a = 1 or b = 2 and a = 3"},
		"a = 1 and b = 2 or (a = 3)":     {"a = 1 and b = 2 or (a = 3)"},
	} {
		parts, err := table.Parts(text)
		var got []string
		for _, p := range parts {
			got = append(got, p.String())
			if len(p.Fields) == 0 {
				t.Errorf("%q: part %q has no fields", text, p)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := table.Parts("a = 1 and c = 2"); err == nil || err.(*Error).Column != 11 {
		t.Errorf("%v, want an error at character 11", err)
	}
}
