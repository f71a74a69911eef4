package kit

import (
	"strings"
	"testing"
)

// The start time is shown once if all counters share it, and otherwise per counter. It is not shown if it is unknown.
func TestSinces(t *testing.T) {
	const early, late = "2026-01-01T00:00:00.25Z", "2026-01-01T00:00:01Z"
	for _, c := range []struct {
		a, b, counter string
		want          string
	}{
		{"", "", "", ""},
		{"soon", "", "", ""},
		{early, early, early, "Counted since 2026-01-01T00:00:00Z"},
		{early, "2026-01-01T00:00:00.75Z", early, "Counted since 2026-01-01T00:00:00Z"},
		{early, early, late, "Counted since 2026-01-01T00:00:00Z: all; Counted since 2026-01-01T00:00:01Z: ALL"},
		{late, early, late,
			"Counted since 2026-01-01T00:00:00Z: all at b; Counted since 2026-01-01T00:00:01Z: all at a, ALL"},
		{early, "", early, "Since when is unknown: all at b; Counted since 2026-01-01T00:00:00Z: all at a, ALL"},
	} {
		var s Sinces
		s.Add("all", []string{"a", "b"}, map[string]string{"a": c.a, "b": c.b})
		s.Add("ALL", []string{""}, map[string]string{"": c.counter})
		if got := strings.Join(s.Lines(), "; "); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
