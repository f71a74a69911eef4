package cli

import (
	"strings"
	"testing"
)

// What is unknown looks neither up nor down, and is counted where sessions are counted.
func TestUnknownIsShown(t *testing.T) {
	entry := func(oper, status string) tree {
		state := map[string]any{"oper-status": oper, "admin-status": "UP", "status": status, "reason": "syncd is gone"}
		return tree{map[string]any{"config": map[string]any{}, "state": state}}
	}
	for oper, letter := range map[string]string{"UP": "U", "DOWN": "D", "UNKNOWN": "?"} {
		if got := stateLetter(entry(oper, "active")); got != letter {
			t.Errorf("%s is shown as %s, want %s", oper, got, letter)
		}
	}
	var p printout
	p.tally("Sessions", []tree{entry("UP", "active"), entry("UP", "unknown"), entry("UP", "failed")})
	if got := p.String(); !strings.Contains(got, "3, 1 failed, 1 unknown") {
		t.Errorf("of three sessions it says %q", got)
	}
}
