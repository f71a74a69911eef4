package marking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/collector/marks"
	"tamtam/internal/randtest"
	"tamtam/lab"
)

// An event that upsets a measurement causes flagged or missing periods, never wrong numbers. The measurement continues
// after it if the clocks are right.
func TestMarkingUpset(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	randtest.Run(t, randtest.Cases{Seed: 5}, func(t *testing.T, seed uint64) {
		for name, events := range map[string]string{
			"clock stepped ahead":   `{do: step-clock, switch: s1, by: 3ms}`,
			"clock stepped back":    `{do: step-clock, switch: s0, by: -3L}`,
			"orchagent restarted":   `{do: restart, switch: s1, what: orchagent}`,
			"managers restarted":    `{do: restart, switch: s0, what: managers}`,
			"initiator's chip lost": `{do: restart, switch: s0, what: syncd}`,
			"second chip lost":      `{do: restart, switch: s1, what: syncd}`,
		} {
			t.Run(name, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 0))
				c := randomCase(rnd)
				for c.points != 2 || !c.holds || c.session.Interval < -9 || c.session.Interval > -6 ||
					!c.session.Method.Loss() || c.link[0].Duplicate > 0 { // a copy hides a loss, or is one packet too many
					c = randomCase(rnd)
				}
				c.offset = [3]lab.Time{}
				l := length(c.session.Interval)
				c.traffic.Kind, c.traffic.Burst, c.traffic.PPS = "", lab.OnOff{}, uint64(100*lab.Second/l)
				at := 8*l + l*3/10
				// A step back by 3 L in period 8 gives periods 4 to 8 a second report; earlier periods stay as they
				// were.
				what := strings.Replace(events, "-3L", fmt.Sprint(-3*l), 1)
				top := c.topology(t, "events: ["+strings.Replace(what, "{", fmt.Sprintf("{at: %v, ", at), 1)+"]\n")
				r, err := lab.Run(t.Context(), withTime(top, 20*l), lab.Options{Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range reportOf(r)["p"].Segments[0].Periods {
					if p.Lost != nil && *p.Lost != p.TrueLost {
						t.Errorf("period %d at %v (%s): %d lost of %d, truly %d of %d %q", p.Period, p.Start, p.Status, *p.Lost, *p.Sent,
							p.TrueLost, p.TrueSent, p.Reasons)
					}
				}
				n := reportOf(r)["p"].Segments[0].Numbers
				if n["flagged"] == 0 {
					t.Error("nothing is flagged")
				}
				for i, p := range reportOf(r)["p"].Segments[0].Periods {
					// The clocks stay apart. If one is set back, periods from 4 on occur twice.
					stepped := i >= 4 && strings.Contains(events, "step-clock")
					if undisturbed(i) && !stepped && p.Status != "ok" && slices.ContainsFunc(p.Reasons, notOfTraffic) {
						t.Errorf("period %d is %s: %q", i, p.Status, p.Reasons)
					}
				}
				t.Logf("%d complete, %d flagged, %d missing", n["complete"], n["flagged"], n["missing"])
			})
		}
	})
}

// undisturbed reports whether only the fate of packets can flag a period of TestMarkingUpset. The first two are flagged
// as first periods, and two at the end lack a report that would show late packets. The event in period 8 makes one
// period missing, which also affects the two before it. The restart may make two more missing.
func undisturbed(i int) bool { return i >= 2 && i < 5 || i > 9 && i < 17 }

// notOfTraffic reports whether a reason has another cause than lost, late or duplicated packets. Muxed marking without
// a pulse, or with packets out of its slots, cannot distinguish these. Every method reports more packets than were
// sent.
func notOfTraffic(reason string) bool {
	words := []string{marks.Pulses, marks.Split, "out-of-window", "out of window", "late-pulse", "many-pulses"}
	return !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(reason, word) })
}
