package join

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/alarm"
	"tamtam/collector/marks"
	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/stream"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
)

// Whichever workers end and whatever is delivered twice, the alarms of the rows equal those that `tamtam collect
// --alarm` prints for the same reports, word for word. Each alarm appears once. Their periods raise and clear them.
func TestPeriodsAlarms(t *testing.T) {
	racetest.Stepped(t)
	alarms, cleared := 0, 0
	fixed := randtest.Cases{Seed: 1, Count: 16}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 15))
		file, err := dial.ReadFile(strings.NewReader(markedFile))
		if err != nil {
			t.Fatal(err)
		}
		threshold := r.Float64() / 80
		drills, err := file.Drills(threshold)
		if err != nil {
			t.Fatal(err)
		}
		said := map[int64]string{} // keyed by the start of the period
		m := &marking{file: file, truth: map[lossKey]result.Loss{}, send: func(x marks.Result) {
			if x.Path != "web" {
				return
			}
			at := x.Start.Std().UnixNano()
			delete(said, at)
			if a, _ := drills["web"].Add(x); a.Whole.Path != "" {
				said[at] = a.String()
			}
		}}
		marked(t, r, m, 1+r.IntN(90))
		o := Options{Window: time.Duration(1+r.IntN(3)) * time.Second, Silence: time.Hour, Expect: m.names, Paths: file}
		log := stream.NewMemory(0)
		messages, _ := m.deliver(t, r, log, 0)
		rows, _ := losses(t, work(t, r, log, o, messages))
		rules, err := alarm.New(file, threshold)
		if err != nil {
			t.Fatal(err)
		}
		g := judged(rules, rows)
		got := map[int64]string{}
		for i := range g.Periods {
			if p := &g.Periods[i]; p.Verdict == marks.Above {
				got[p.Start] = p.Alarm.String()
			}
		}
		if !maps.Equal(got, said) {
			t.Errorf("alarms\n%s\nwant\n%s", alarmLines(got), alarmLines(said))
		}
		if got, want := runsOf(g), wantRuns(m.truth, said); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		alarms += len(said)
		for _, a := range g.Alarms {
			cleared += int(min(1, a.Cleared))
		}
	})
	if (alarms == 0 || cleared == 0) && run.Whole(fixed) {
		t.Errorf("%d alarms, %d were cleared: want some", alarms, cleared)
	}
}

// judged returns the alarm state of the graph by the rows that exist so far.
func judged(rules *alarm.Rules, rows map[lossKey]result.Loss) alarm.Graph {
	newest := int64(0)
	list := func(yield func(*result.Loss) bool) {
		for _, l := range rows {
			newest = max(newest, l.Window.Start)
			if !yield(&l) {
				return
			}
		}
	}
	for range list { // to find the newest
	}
	return rules.Judge(list, time.Unix(0, newest))[0]
}

func alarmLines(alarms map[int64]string) string {
	var lines []string
	for _, at := range slices.Sorted(maps.Keys(alarms)) {
		lines = append(lines, fmt.Sprint(at, " ", alarms[at]))
	}
	return strings.Join(lines, "\n")
}

func runsOf(g alarm.Graph) string {
	text := ""
	for _, a := range g.Alarms {
		text += fmt.Sprintf("raised %d cleared %d above %d; ", a.Raised, a.Cleared, a.Above)
	}
	return text + g.State.String()
}

// wantRuns returns the expected text, by the whole-graph periods of a collector that received everything.
func wantRuns(truth map[lossKey]result.Loss, said map[int64]string) string {
	whole := map[int64]result.Loss{}
	for key, l := range truth {
		if key.flow == "web" && key.from == "l1" && key.to == "l2" {
			whole[key.start] = l
		}
	}
	text, state, raised, above := "", alarm.NotKnown, int64(0), 0
	for _, at := range slices.Sorted(maps.Keys(whole)) {
		switch {
		case said[at] != "":
			if state != alarm.Raised {
				raised, above = at, 0
			}
			state, above = alarm.Raised, above+1
		case whole[at].Known:
			if state == alarm.Raised {
				text += fmt.Sprintf("raised %d cleared %d above %d; ", raised, at, above)
			}
			state = alarm.Accepted
		case state != alarm.Raised:
			state = alarm.NotKnown
		}
	}
	if state == alarm.Raised {
		text += fmt.Sprintf("raised %d cleared 0 above %d; ", raised, above)
	}
	return text + state.String()
}
