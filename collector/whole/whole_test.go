package whole

import "testing"

// A number that should be an integer is reported with its line and field. Other values and invalid YAML are ignored.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"seeds: {first: 1, count: 20}":                   "",
		"seeds: {first: 1.5}":                            "line 1: first: 1.5: want a whole number",
		"a:\n- {count: -.inf}":                           "line 2: count: -.inf: want a whole number",
		"x: &x 2e3\nb: [{c: {first: *x}}]":               "line 1: first: 2e3: want a whole number",
		"x: &x first\n*x : 1.5":                          "line 2: first: 1.5: want a whole number",
		`{count: "1.5", loss: 0.5, first: many, 1.5: 2}`: "",
		"{": "",
		"":  "",
	} {
		got := ""
		if err := Check([]byte(text), "first", "count"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
