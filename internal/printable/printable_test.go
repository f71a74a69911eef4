package printable

import (
	"encoding/json"
	"testing"
)

func TestHiddenCharactersAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                 "plain",
		"größer 漢字 e\u0301":     "größer 漢字 e\u0301",
		"a\x1b[2Jb":             `a\x1b[2Jb`,
		"a\u009bm":              `a\u009bm`,        // a control character of eight bits
		"a\u202eb\u2066c":       `a\u202eb\u2066c`, // the text after them would be shown backwards
		"a\u200bb\ufeffc\u00ad": `a\u200bb\ufeffc\u00ad`,
		"a\tb\nc\u2028d":        `a\tb\nc\u2028d`,
		"a\xffb":                "a\ufffdb",
		"\U000e0041":            `\U000e0041`,
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := Lines("a\nb\rc"), "a\nb\\rc"; got != want {
		t.Errorf("Lines: %q, want %q", got, want)
	}
}

// A document of JSON has the same value after its characters were escaped, also those outside of the basic plane.
func TestDocument(t *testing.T) {
	const value = "a\u202eb\u009b漢\U000e0041"
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	got := Document(text)
	if want := `"a\u202eb\u009b漢\udb40\udc41"`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	var back string
	if err := json.Unmarshal(got, &back); err != nil || back != value {
		t.Errorf("%q, %v", back, err)
	}
}

// The widths are those of wcwidth.
func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "漢字": 4, "ﾊﾝｶｸ": 4, "Ａ": 2, "größe": 5,
		"e\u0301": 1, "한": 2, "\u1112\u1161\u11ab": 2, "🙂": 2, "±": 1,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q has %d columns, want %d", text, got, want)
		}
	}
	if got := Pad("漢", 4) + "|"; got != "漢  |" {
		t.Errorf("%q", got)
	}
}
