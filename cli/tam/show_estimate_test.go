package tam

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/cli/tree"
)

// The cells contain the possible and the actual error of an estimate.
func TestEstimateCells(t *testing.T) {
	for _, tt := range []struct {
		name, state string
		want        []string
	}{
		{"nothing", `{}`, []string{"-", "-", "-", "-"}},
		{"no bound", `{"estimate": "3.14159"}`, []string{"3.1416", "no bound", "-", "-"}},
		{"no upper bound", `{"estimate": "1024.0", "lower": "900.5", "confidence": "0.95", "saturated": true}`,
			[]string{"1024", "saturated, 900.5 or more (95 %)", "-", "-"}},
		{"full, and no bound", `{"estimate": "255.0", "saturated": true}`, []string{"255", "saturated, no bound", "-", "-"}},
		{"exact", `{"estimate": "7.0", "lower": "7.0", "upper": "7.0", "confidence": "1.0"}`,
			[]string{"7", "exact", "-", "-"}},
		{"both sides", `{"estimate": "100.0", "lower": "97.5", "upper": "102.5", "confidence": "0.95"}`,
			[]string{"100", "± 2.5 (95 %)", "-", "-"}},
		{"both sides, rounded", `{"estimate": "5.0", "lower": "3.0001", "upper": "7.0", "confidence": "0.95"}`,
			[]string{"5", "± 2 (95 %)", "-", "-"}},
		{"probably a member", `{"estimate": "1.0", "lower": "1.0", "upper": "1.0", "confidence": "0.9995"}`,
			[]string{"1", "± 0 (99.95 %)", "-", "-"}},
		{"one side", `{"estimate": "100.0", "lower": "90.0", "upper": "100.0", "confidence": "0.865"}`,
			[]string{"100", "-10 +0 (86.5 %)", "-", "-"}},
		{"saturated", `{"estimate": "255.0", "lower": "0.0", "upper": "255.0", "confidence": "0.9", "saturated": true}`,
			[]string{"255", "saturated", "-", "-"}},
		{"too high", `{"estimate": "110.0", "exact": "100.0"}`, []string{"110", "no bound", "100", "+10.00 %"}},
		{"too low", `{"estimate": "123456.789", "exact": "200000.0"}`, []string{"123457", "no bound", "200000", "-38.27 %"}},
		{"no flow, and one seen", `{"estimate": "1.0", "exact": "0.0"}`, []string{"1", "no bound", "0", "-"}},
		{"no flow, and none seen", `{"estimate": "0.0", "exact": "0.0"}`, []string{"0", "no bound", "0", "+0.00 %"}},
		{"too much for a number", `{"saturated": true}`, []string{"-", "saturated", "-", "-"}},
		{"no estimate", `{"exact": "5.0"}`, []string{"-", "-", "5", "-"}},
	} {
		var state map[string]any
		if err := json.Unmarshal([]byte(tt.state), &state); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, estimateCells(tree.Of(state))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// The source of bounds is shown once, with its rows.
func TestTheories(t *testing.T) {
	bounds := func(texts ...string) []string {
		var b theories
		for i, text := range texts {
			cells := []string{"1", "-", "-", "-"}
			if text == "counted" {
				cells[1] = exactBound
			}
			b.add(string(rune('a'+i)), cells, text)
		}
		return b.lines()
	}
	for _, tt := range []struct{ got, want []string }{
		{bounds(), nil},
		{bounds("", "counted"), nil},
		{bounds("x", "x"), []string{"Bound: x"}},
		{bounds("x", "", "x"), []string{"Bound of a, c: x"}},
		{bounds("x", "y", "x", "x", "x", "x"), []string{"Bound of a, c, d and 2 more: x", "Bound of b: y"}},
		{bounds("1", "2", "3", "4", "5", "6", "7", "8"), []string{"Bound of a: 1", "Bound of b: 2", "Bound of c: 3",
			"Bound of d: 4", "Bound of e: 5", "Bound of f: 6", "and 2 more, which | json shows"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
