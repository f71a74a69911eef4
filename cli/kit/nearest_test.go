package kit

import "testing"

func TestNearest(t *testing.T) {
	words := []string{"show", "configure", "interface", "tail-stamping", "collectors", "copy", "end", "exit"}
	for typed, want := range map[string]string{
		"shwo": "show", "shw": "show", "SHOW": "show", "confgiure": "configure", "interfcae": "interface",
		"tailstamping": "tail-stamping", "tail_stampng": "tail-stamping", "collector": "collectors",
		"x": "", "": "", "ping": "", "description": "", "en": "end",
	} {
		if got := Nearest(typed, words); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
