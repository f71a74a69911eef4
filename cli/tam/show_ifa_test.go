package tam

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Whatever the number of sessions, no line is wider than 120 columns, and each session's counters appear once.
func TestIFACountersFit(t *testing.T) {
	const most = uint64(math.MaxUint64)
	for _, n := range []int{1, 7, 8, 30} {
		first, heads, columns := kit.Col("Counter", 12, 2), []kit.Column{}, []tree.Node{}
		for i := range n {
			name := fmt.Sprintf("s%d%s", i, strings.Repeat("x", i%40))
			heads = append(heads, kit.Col(name, 12, 2))
			columns = append(columns, tree.Of(map[string]any{"matched": fmt.Sprint(most - uint64(i)), "inserted": "7"}))
		}
		names := []string{}
		for _, h := range heads {
			names = append(names, h.Head)
		}
		p := &kit.Printout{}
		ifaCounts(p, first, heads, columns)
		text := p.String()
		for _, line := range strings.Split(text, "\n") {
			if len(line) > lineWidth {
				t.Errorf("%d sessions: %d columns: %s", n, len(line), line)
			}
		}
		for i, name := range names {
			if c := strings.Count(text+" ", name+" ") + strings.Count(text, name+"\n"); c != 1 {
				t.Errorf("%d sessions: %s is there %d times", n, name, c)
			}
			if c := strings.Count(text, fmt.Sprint(most-uint64(i))); c != 1 {
				t.Errorf("%d sessions: the count of %s is there %d times", n, name, c)
			}
		}
	}
}
