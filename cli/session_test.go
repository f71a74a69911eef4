package cli

import (
	"strings"
	"testing"
)

// All of a feature is removed at once, if the answer is yes.
func TestClearConfigurationOfAFeature(t *testing.T) {
	s := newSession(t)
	s.server.load(t, testFile(t, "tam.json"))
	const line = "clear tam tail-stamping configuration"
	got := s.fails(t, line)
	if !strings.Contains(got, "This removes session http_236") || !strings.Contains(got, "add the word yes") {
		t.Error(got)
	}
	answer, asked := false, ""
	s.session.Confirm = func(question string) (bool, error) {
		asked = question
		return answer, nil
	}
	s.do(t, line)
	if len(s.server.sets) > 0 || !strings.HasPrefix(asked, "Remove session http_236, session ") {
		t.Errorf("asked %q, and sent %v", asked, s.server.sets)
	}
	answer = true
	s.do(t, line)
	if got := s.sent(); strings.Count(got, "delete /openconfig-tam:tam/tailstamping-sessions/tailstamping-session[") < 2 {
		t.Errorf("sent %s", got)
	}
	if got := s.fails(t, line+" yes"); !strings.Contains(got, "nothing configured") {
		t.Error(got)
	}
}
