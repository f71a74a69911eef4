package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The commands of docs/reference/table-recording.md print what the page shows.
func TestPlanPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/table-recording.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	// The comparison ignores times and the details of the search.
	other := regexp.MustCompile(`plan [0-9a-f]{8}|\d+ sets weighed|\d+ held|\d+\.\d\d s`)
	shown := regexp.MustCompile("(?s)```\n\\$ tamtam (plan [^\n]*)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(shown) < 2 {
		t.Fatalf("%d commands on the page", len(shown))
	}
	for _, c := range shown {
		_, out := tamtam(t, strings.Fields(c[1])...)
		if got, want := other.ReplaceAllString(out, "..."), other.ReplaceAllString(c[2], "..."); got != want {
			t.Errorf("%s prints\n%s\nthe page says\n%s", c[1], got, want)
		}
	}
}
