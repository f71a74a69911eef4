package marks

import (
	"slices"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

// Delays are measured by clocks with evidence for their accuracy: either because they follow the same kernel, or by
// evidence for each clock. Losses are measured by any clock.
func TestAltMarkClockTrust(t *testing.T) {
	const us = time.Microsecond
	said := func(kernel string, ahead, most time.Duration) altmark.Clock {
		return altmark.Clock{Says: "the kernel says", Kernel: kernel, Ahead: ahead, Error: most}
	}
	declared := altmark.Clock{Says: altmark.SaysDeclared}
	for _, tt := range []struct {
		name   string
		clocks [2]altmark.Clock
		bad    [2]bool
		want   string
		notice []string
	}{
		{"the chips say", [2]altmark.Clock{}, [2]bool{}, "10 mp1>mp3 ok lost 1 delay 9ms", nil},
		{"a chip says that it is not", [2]altmark.Clock{}, [2]bool{false, true},
			"10 mp1>mp3 flagged lost 1: mp3: unsynchronised", nil},
		{"one kernel", [2]altmark.Clock{said("a", 0, 0), said("a", 0, 0)}, [2]bool{true, true},
			"10 mp1>mp3 ok lost 1 delay 9ms", nil},
		{"one kernel that was set before the second started", [2]altmark.Clock{said("a", 0, 0), said("a", 3*ms, 0)},
			[2]bool{true, true},
			"10 mp1>mp3 flagged lost 1: mp1: unsynchronised: the kernel says; mp3: unsynchronised: the kernel says", nil},
		{"one kernel that was set after both started", [2]altmark.Clock{said("a", 3*ms, 0), said("a", 3*ms+us, 0)},
			[2]bool{true, true},
			"10 mp1>mp3 ok lost 1 delay 9ms", nil},
		{"two kernels", [2]altmark.Clock{said("a", 0, 0), said("b", 0, 100*us)}, [2]bool{true, false},
			"10 mp1>mp3 flagged lost 1: mp1: unsynchronised: the kernel says", nil},
		{"two that are synchronised", [2]altmark.Clock{said("a", 0, 400*us), said("b", 0, 600*us)}, [2]bool{},
			"10 mp1>mp3 ok lost 1 delay 9ms", nil},
		{"two that are within A, but not of each other", [2]altmark.Clock{said("a", 0, 500*us), said("b", 0, 600*us)},
			[2]bool{},
			"10 mp1>mp3 flagged lost 1: unsynchronised: by their kernels' reports the clocks of mp1 and mp3 may differ by " +
				"1.1ms, A is 1ms", nil},
		{"nobody knows", [2]altmark.Clock{said("", 0, 0), said("", 0, 0)}, [2]bool{true, true},
			"10 mp1>mp3 flagged lost 1: mp1: unsynchronised: the kernel says; mp3: unsynchronised: the kernel says", nil},
		{"declared", [2]altmark.Clock{said("a", 0, 100*us), declared}, [2]bool{}, "10 mp1>mp3 ok lost 1 delay 9ms",
			[]string{"the clock of mp3 is declared by the operator: delays are as good as that"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newTestJoiner(t, twoPoints(altmark.Double))
			var got []Result
			for k := uint64(10); k < 13; k++ {
				for i, p := range []altmark.Period{report(k, 10, 0), report(k, 9, 9*ms)} {
					if p.Clock = tt.clocks[i]; tt.bad[i] {
						p.Flags |= altmark.Unsynchronised
					}
					got = append(got, add(m, i, p)...)
				}
			}
			wantLines(t, got, tt.want)
			if n := m.Notices(); !slices.Equal(n, tt.notice) {
				t.Errorf("the path says %q, want %q", n, tt.notice)
			}
		})
	}
}
