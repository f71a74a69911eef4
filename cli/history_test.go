package cli

import "testing"

// Ctrl-R finds the newest line that holds what was typed; again, the one before; other text begins anew.
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
