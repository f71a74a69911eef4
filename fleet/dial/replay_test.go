package dial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/marks"
	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

const replayed = `
graphs:
- name: web
  points: [{switch: l1, target: "l1:1", session: s}, {switch: s1, target: "s1:1", session: s},
    {switch: s2, target: "s2:1", session: s}, {switch: l2, target: "l2:1", session: s}]
  links: [[l1, s1], [l1, s2], [s1, l2], [s2, l2]]
paths:
- {name: east, back: west, points: [{switch: l1, target: "l1:1", session: s}, {switch: s1, target: "s1:1", session: s},
    {switch: l2, target: "l2:1", session: s}]}
- {name: west, back: east, points: [{switch: l2, target: "l2:1", session: b}, {switch: l1, target: "l1:1", session: b}]}
`

// Replay processes the reports of a period together, and gives the final results of a join that processes them one by
// one.
func TestReplayRandom(t *testing.T) {
	known := 0
	fixed := randtest.Cases{Seed: 914204000, Count: 16, Short: 6}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		f, err := ReadFile(strings.NewReader(replayed))
		if err != nil {
			t.Fatal(err)
		}
		reports := randomReports(rand.New(rand.NewPCG(seed, 0)))
		got, err := f.Replay(reports)
		if err != nil {
			t.Fatal(err)
		}
		want := oneByOne(t, f, reports)
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || !reflect.DeepEqual(lasting(got[i]), lasting(want[i])) {
				t.Fatalf("%d results, want %d; result %d is\n%+v\nwant\n%+v", len(got), len(want), i, got[min(i, len(got)-1)],
					want[min(i, len(want)-1)])
			}
			if got[i].LossValid && got[i].DelayValid && got[i].Mean.Valid {
				known++
			}
		}
	})
	if known == 0 && (testing.Short() || run.Whole(fixed)) {
		t.Error("no result has loss, delay and mean delay")
	}
}

// Everything that targets have sent is joined, even if the context ends meanwhile: the results equal those of a join
// that processed the same events one by one.
func TestEndedContextJoinsAll(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 16, Short: 6}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		f, err := ReadFile(strings.NewReader(replayed))
		if err != nil {
			t.Fatal(err)
		}
		join := func() *Join {
			j, err := NewJoin(f, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			clear(j.waiting)
			return j
		}
		var list []Event
		for _, x := range randomReports(r) {
			list = append(list, Event{Target: x.Target, Session: x.Session, Kind: Settings, Settings: x.Settings},
				Event{Target: x.Target, Session: x.Session, Kind: Period, Period: x.Period, Arrived: x.Arrived})
		}
		one, want := join(), 0
		for _, e := range list {
			want += len(one.Apply(e, time.Time{}))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		j, got, at := join(), 0, r.IntN(len(list))
		j.targets = map[string][]string{"l1:1": nil} // one target sends all, in order
		events, failed := j.watch(t.Context(), func(_ string, _ []string, report func(Event)) error {
			for i, e := range list {
				if i == at {
					cancel()
				}
				report(e)
			}
			return nil
		})
		err = j.run(events, failed, nil, func(Event) {}, func(results []marks.Result) error {
			got += len(results)
			return nil
		})
		if err != nil || got != want || ctx.Err() == nil {
			t.Errorf("%d results, %v; want %d", got, err, want)
		}
	})
}

// lasting returns a result with only the fields that Replay fills in.
func lasting(r marks.Result) marks.Result {
	r.Jitter, r.JitterValid, r.Window, r.Revised = 0, false, marks.Delays{}, false
	return r
}

func oneByOne(t *testing.T, f File, reports []Report) []marks.Result {
	t.Helper()
	j, err := NewJoin(f, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	clear(j.waiting)
	last := map[resultKey]marks.Result{}
	keep := func(results []marks.Result) {
		for _, r := range results {
			last[resultKey{r.Segment(), r.Period, r.Start}] = r
		}
	}
	settings := func(r Report) {
		keep(j.apply(Event{Target: r.Target, Session: r.Session, Kind: Settings, Settings: r.Settings}, time.Time{}))
	}
	if reports, err = byStart(reports); err != nil {
		t.Fatal(err)
	}
	j.begin(reports, settings)
	for ; len(reports) > 0; reports = reports[sameStart(reports):] {
		for _, r := range reports[:sameStart(reports)] {
			settings(r)
		}
		for _, r := range reports[:sameStart(reports)] {
			keep(j.apply(Event{Target: r.Target, Session: r.Session, Kind: Period, Period: r.Period, Arrived: r.Arrived},
				time.Time{}))
		}
	}
	for _, p := range j.paths {
		keep(j.both(p.am.Flush()))
	}
	var all []marks.Result
	for _, r := range last {
		all = append(all, r)
	}
	slices.SortFunc(all, byPeriod)
	return all
}

// randomReports returns reports of some periods in both directions: some missing, repeated, amended, contradicted, or
// flagged. Settings may change once, and clocks may go back.
func randomReports(r *rand.Rand) (reports []Report) {
	n := altmark.Interval(r.IntN(3) - 1)
	length := n.Duration()
	base := altmark.Session{Method: altmark.Double, Interval: n, Mark: altmark.DSCP0, Mark2: altmark.DSCP1, SlotSync: true,
		MeanDelay: r.IntN(4) > 0, ClockError: length / 64, MaxDelay: length / 8}
	first, count, early, trouble := n.Period(altmark.Time{Seconds: 1000}), 1+r.IntN(70), r.IntN(6), 2+r.IntN(60)
	change := r.IntN(4 * count)
	for i := range count {
		k := first + uint64(i)
		if i > count/2 && r.IntN(2*trouble) == 0 {
			k -= uint64(r.IntN(20)) // the clocks are set
		}
		if i == change {
			base.MaxDelay /= 2
		}
		sent, through := uint64(10+r.IntN(100)), uint64(r.IntN(10))
		for p, name := range []string{"l1 s", "s1 s", "s2 s", "l2 s", "l2 b", "l1 b"} {
			target, session, _ := strings.Cut(name, " ")
			one := Report{Target: target + ":1", Session: session, Settings: base}
			one.Settings.Role = []altmark.Role{altmark.Initiator, altmark.Transit, altmark.Transit, altmark.Terminator,
				altmark.Initiator, altmark.Terminator}[p]
			one.Period = altmark.Period{Number: k, Colour: uint8(k & 1), ReadAt: n.Start(k + 1).Add(length / 2),
				Packets: []uint64{sent, sent - through, through, sent, sent, sent}[p]}
			if one.Period.Packets -= min(one.Period.Packets, uint64(r.IntN(trouble)/(trouble-1))); one.Period.Packets > 0 &&
				p != 2 {
				one.Period.Captures, one.Period.Digest = 1, uint32(k)
				one.Period.Timestamp = n.Start(k).Add(length/2 + time.Duration([]int{0, 1, 1, 2, 0, 2}[p])*time.Microsecond)
			}
			if base.MeanDelay {
				at := altmark.SinceEpoch(altmark.At(time.Unix(0, int64(length/3)+int64(1000*p%4000+r.IntN(1000)))))
				one.Period.Arrivals = altmark.Arrivals{Summed: true, Packets: one.Period.Packets, Sum: at.Times(one.Period.Packets)}
			}
			if i >= early {
				one.Arrived = one.Period.ReadAt.Std().Add(time.Duration(r.Int64N(int64(length / 4))))
			}
			reports = append(reports, troubled(r, trouble, one)...)
		}
	}
	return reports
}

// troubled returns what arrives in place of a report: nothing, the report with or without a change, or both.
func troubled(r *rand.Rand, trouble int, one Report) []Report {
	again := one
	switch r.IntN(8 * trouble) {
	case 0:
		return nil
	case 1:
		again.Period.Flags |= altmark.LateFrames
	case 2:
		again.Period.Packets++
	case 3:
	case 4:
		one.Period.Flags |= []altmark.Flags{altmark.OutOfWindow, altmark.LateRead, altmark.First,
			altmark.ClockStep}[r.IntN(4)]
		return []Report{one}
	case 5:
		one.Arrived = one.Arrived.Add(time.Hour)
		return []Report{one}
	default:
		return []Report{one}
	}
	return []Report{one, again}
}

// A report with an impossible time is an error.
func TestReplayRefuses(t *testing.T) {
	f, err := ReadFile(strings.NewReader(replayed))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Replay([]Report{{Target: "l1:1", Session: "s", Settings: altmark.Session{Interval: 9}}})
	if want := "period 0 of 2^9 s"; err == nil || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
