package cli

import (
	"slices"
	"strings"
	"testing"

	"tamtam/cli/kit"
)

// narrow is the console of a terminal with 80 columns.
type narrow struct{ fakeConsole }

func (c *narrow) size() (width, height int) { return 80, 100000 }

// At a terminal with 80 columns no show command prints a line that the terminal would break within a word. A filter
// gets the whole lines.
func TestShowFitsATerminal(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"tam", "altmark", "flymon", "tablerecord", "health"} {
		s.server.load(t, testFile(t, name+".json"))
	}
	s.pager = &pager{con: &narrow{}, out: s.out}
	tried := 0
	for _, p := range s.session.Grammar.Forms[kit.ModeExec] {
		var words []string
		for _, e := range p.Fixed {
			words = append(words, e.Word)
		}
		line := strings.Join(words, " ")
		if p.Cmd.Show == nil || slices.Contains(words, "") || strings.HasPrefix(line, "show running") {
			continue // a line of the configuration is one command
		}
		s.out.Reset()
		if s.Exec(t.Context(), line) != nil {
			continue
		}
		tried++
		for row := range strings.Lines(s.out.String()) {
			if runes := []rune(strings.TrimSuffix(row, "\n")); len(runes) > 80 && runes[79] != ' ' && runes[80] != ' ' {
				t.Errorf("%s: the terminal breaks a word at %q in:\n%s", line, string(runes[75:]), row)
			}
		}
		whole := s.do(t, line+" | no-more")
		s.pager = nil
		unbounded := s.do(t, line)
		if filtered := s.do(t, line+" | exclude ^never$"); filtered != unbounded {
			t.Errorf("%s: a filter gets\n%s\nwant\n%s", line, filtered, unbounded)
		}
		s.pager = &pager{con: &narrow{}, out: s.out}
		if len(strings.Fields(whole)) < len(strings.Fields(unbounded)) {
			t.Errorf("%s: the terminal shows\n%s\nof\n%s", line, whole, unbounded)
		}
	}
	if tried < 40 {
		t.Errorf("%d commands were tried", tried)
	}
}
