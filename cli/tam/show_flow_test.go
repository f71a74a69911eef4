package tam

import (
	"strings"
	"testing"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Sessions with unknown status are counted.
func TestUnknownIsCounted(t *testing.T) {
	entry := func(status string) tree.Node {
		return tree.Of(map[string]any{"config": map[string]any{}, "state": map[string]any{"status": status}})
	}
	var p kit.Printout
	writeTally(&p, "Sessions", []tree.Node{entry("active"), entry("unknown"), entry("failed")})
	if got := p.String(); !strings.Contains(got, "3, 1 failed, 1 unknown") {
		t.Errorf("of three sessions it says %q", got)
	}
}
