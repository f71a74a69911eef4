package cli

import "testing"

// Ctrl-R finds the newest line that contains the typed text. Pressed again, it finds the next older one. A different
// text starts a new search.
func TestHistorySearch(t *testing.T) {
	h := &history{}
	for _, l := range []string{"show version", "configure", "show alarms", "tam"} {
		h.Add(l)
	}
	for i, step := range []struct {
		typed, want string
		ok          bool
	}{
		{"show", "show alarms", true}, {"show alarms", "show version", true}, {"show version", "", false},
		{"conf", "configure", true}, {"configure", "", false}, {"nothing", "", false}, {"", "tam", true},
		{"tam", "show alarms", true},
	} {
		if got, ok := h.search(step.typed); got != step.want || ok != step.ok {
			t.Errorf("step %d, %q: %q, %v, want %q, %v", i, step.typed, got, ok, step.want, step.ok)
		}
	}
}
