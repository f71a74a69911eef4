package cli

import (
	"strings"
	"testing"

	"tamtam/cli/kit"
)

// help explains the shell, and lists the commands of the mode.
func TestHelpCommand(t *testing.T) {
	s := newSession(t)
	s.session.Mode = kit.ModeTAM
	got := s.do(t, "help")
	for _, want := range []string{"TAB completes", "Commands here:", "  flow-group "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// The lines of a session are shown with their numbers.
func TestShowHistory(t *testing.T) {
	s := newSession(t)
	s.session.History = func() []string { return []string{"show vlan", "configure"} }
	if got, want := s.do(t, "show history"), "    1  show vlan\n    2  configure\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.do(t, "show history | json"); !strings.Contains(got, `"configure"`) {
		t.Error(got)
	}
}
