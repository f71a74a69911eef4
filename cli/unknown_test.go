package cli

import (
	"testing"

	"tamtam/cli/tree"
)

// An interface with unknown state is shown neither as up nor as down.
func TestUnknownIsShown(t *testing.T) {
	entry := func(oper string) tree.Node {
		state := map[string]any{"oper-status": oper, "admin-status": "UP", "status": "active", "reason": "syncd is gone"}
		return tree.Of(map[string]any{"config": map[string]any{}, "state": state})
	}
	for oper, letter := range map[string]string{"UP": "U", "DOWN": "D", "UNKNOWN": "?"} {
		if got := stateLetter(entry(oper)); got != letter {
			t.Errorf("%s is shown as %s, want %s", oper, got, letter)
		}
	}
}
