package join

import (
	"fmt"
	"slices"
	"testing"

	"tamtam/collector/journey"
	"tamtam/collector/result"
)

// A row of copies has the distinct ends of up to mostEnds copies. A copy that may have become one of several packets
// has that as its end. A row with one end has only that.
func TestEndsOfCopies(t *testing.T) {
	row := func(exits ...*journey.Exit) result.Journey {
		return rowOf("key", journey.Journey{Visits: []*journey.Visit{{Switch: "leaf1", In: "Ethernet0", Exits: exits}}})
	}
	to := func(end string) *journey.Exit { return &journey.Exit{Out: "Ethernet4", End: end} }
	var many []*journey.Exit
	for i := range 20 {
		many = append(many, to(fmt.Sprint("to h", i)))
	}
	alike := &journey.Exit{Out: "Ethernet8", Candidates: []*journey.Visit{{Switch: "spine1"}, {Switch: "spine1"}},
		Alike: 2}
	for _, tt := range []struct {
		exits []*journey.Exit
		want  string
	}{
		{[]*journey.Exit{to("to h1")}, "to h1"},
		{[]*journey.Exit{to("to h1"), to("dropped: acl"), to("to h1")}, "to h1; dropped: acl"},
		{[]*journey.Exit{alike}, "one of 2 visits that are alike"},
		{[]*journey.Exit{to("to h1"), alike}, "to h1; one of 2 visits that are alike"},
		{many, "to h0; to h1; to h2; to h3; to h4; to h5; to h6; to h7; and more"},
	} {
		j := row(tt.exits...)
		if j.End != tt.want || len(j.Hops) != len(tt.exits) || j.Ambiguous != slices.Contains(tt.exits, alike) {
			t.Errorf("%q, %d hops, ambiguous %v; want %q", j.End, len(j.Hops), j.Ambiguous, tt.want)
		}
	}
}
