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

// A question at a terminal is answered by y, yes, n or no. Anything else asks again. Ctrl-C and the end of the input
// mean no, and this is shown. Answers are not in the history.
func TestQuestionsAreAskedUntilAnswered(t *testing.T) {
	for answer, want := range map[string]struct{ removes, ends bool }{
		"yes\r": {true, false}, "Y\r": {true, false}, "ye\r\ryEs\r": {true, false}, "ye\rn\r": {false, false},
		"NO\r": {false, false}, "yeah\r": {false, true}, "ye\x03": {false, true}, "": {false, true},
	} {
		keys := "clear tam tail-stamping configuration\r" + answer
		s := newSession(t)
		s.server.load(t, testFile(t, "tam.json"))
		con := &fakeConsole{Reader: strings.NewReader(keys)}
		if err := s.interact(t.Context(), con); err != nil {
			t.Fatal(err)
		}
		if did := len(s.server.sets) > 0; did != want.removes {
			t.Errorf("%q removes: %v, want %v:\n%q", keys, did, want.removes, con.String())
		}
		if ends := strings.Contains(con.String(), "no, because there is no answer"); ends != want.ends {
			t.Errorf("%q: the end is shown: %v, want %v\n%q", keys, ends, want.ends, con.String())
		}
		if asks := strings.Contains(con.String(), `"ye" is not an answer`); asks != strings.Contains(keys, "ye\r") {
			t.Errorf("%q: asked again: %v", keys, asks)
		}
		if lines := s.session.History(); len(lines) != 1 {
			t.Errorf("%q: history %q", keys, lines)
		}
	}
}
