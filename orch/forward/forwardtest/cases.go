package forwardtest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A Case writes rows, then looks at one table of APPL_DB and at statuses.
type Case struct {
	Name   string
	Do     []string          // lines, see [Bench.Do]
	Table  string            // of APPL_DB; "": none is looked at
	Want   []string          // rows of Table, see [Bench.ApplOf]
	Status map[string]string // by row of STATE_DB, see [Bench.Status]; "" is no row
}

// Check checks cases, each on managers of its own that fresh starts, and that a restart changes nothing in the tables
// that they write.
func Check(t *testing.T, fresh func(*testing.T) *Bench, cases []Case, appl, state []string) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			b := fresh(t)
			b.Do(c.Do...)
			if c.Table != "" {
				if d := cmp.Diff(c.Want, b.ApplOf(c.Table)); d != "" {
					t.Errorf("%s: %s", c.Table, d)
				}
			}
			for row, want := range c.Status {
				if got := b.Status(row); got != want {
					t.Errorf("%s\n got %s\nwant %s", row, got, want)
				}
			}
			before := slices.Concat(b.Appl(appl...), b.States(state...))
			b.Do("restart")
			if d := cmp.Diff(before, slices.Concat(b.Appl(appl...), b.States(state...))); d != "" {
				t.Errorf("after a restart: %s", d)
			}
		})
	}
}
