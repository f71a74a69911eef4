package cli

import (
	"context"
	"strings"
	"testing"
)

// Ctrl-R finds the newest line that contains the typed text, and searches again after each key. Pressed again, it finds
// the next older line.
func TestHistorySearch(t *testing.T) {
	h := &history{}
	for _, l := range []string{"show version", "configure", "show alarms", "tam", "show alarms"} {
		h.Add(l)
	}
	for _, tt := range []struct{ line, keys, want, rest string }{
		{"", "show\r", "show alarms", "\r"},
		{"", "show ve\r", "show version", "\r"},
		{"show", "\r", "show alarms", "\r"},
		{"show", "\x12\r", "show version", "\r"}, // the equal line before is skipped
		{"show", "\x12\x12\r", "show version", "\r"},
		{"", "conf\x15", "configure", "\x15"},
		{"", "show ve\x7f\x7f\r", "show alarms", "\r"},
		{"tam", "x\r", "tam", "\r"}, // nothing has it: the line found stays
		{"typed", "\r", "typed", "\r"},
		{"typed", "tam\x07", "typed", ""},
		{"", "", "", ""},
		{"", "sho\x1b[A", "show alarms", "\x1b[A"},
	} {
		keys := make(chan []byte, 1)
		keys <- []byte(tt.keys)
		close(keys)
		var out strings.Builder
		f := &finder{history: h, keys: &keyReader{
			ctx: context.Background(), keys: keys, interrupt: abandon}, out: &out, width: 30}
		if got := f.find(tt.line, 6); got != tt.want || string(f.keys.rest) != tt.rest {
			t.Errorf("%q, %q: %q and keys %q, want %q and %q", tt.line, tt.keys, got, f.keys.rest, tt.want, tt.rest)
		}
		for row := range strings.SplitSeq(out.String(), "\r\x1b[K") {
			if n := len(strings.TrimSuffix(row, "\r\n")); n >= 30 && !strings.Contains(row, "\x1b") {
				t.Errorf("%q: the row %q does not fit", tt.keys, row)
			}
		}
	}
}
