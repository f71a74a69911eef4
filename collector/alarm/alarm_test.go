package alarm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/internal/randtest"
)

const graphs = `
graphs:
- name: web
  points: [{switch: l1, target: "l1:1", session: w}, {switch: s1, target: "s1:1", session: w},
    {switch: s2, target: "s2:1", session: w}, {switch: l2, target: "l2:1", session: w}]
  links: [[l1, s1], [l1, s2], [s1, l2], [s2, l2]]
- name: voice
  points: [{switch: s1, target: "s1:1", session: v}, {switch: l2, target: "l2:1", session: v}]
  links: [[s1, l2]]
`

func rulesOf(t *testing.T, threshold float64) *Rules {
	t.Helper()
	f, err := dial.ReadFile(strings.NewReader(graphs))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(f, threshold)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const length = int64(time.Second)

// row returns a row of the period that is the second of its number, in which 100 packets were sent. A loss of -1 means
// that it is unknown.
func row(flow, from, to string, period, lost int64, flags result.Flags) result.Loss {
	l := result.Loss{Flow: flow, From: from, To: to, Period: uint64(period), Status: "ok", Known: lost >= 0, Flags: flags,
		Window: result.Window{Start: period * length, Length: length}}
	if l.Known {
		l.Sent, l.Received, l.Lost = 100, 100-lost, lost
	} else {
		l.Status, l.Detail = "missing", from+": no report; "+to+": no report"
	}
	return l
}

// web returns the three rows of a period of the graph web.
func web(period, first, second, whole int64, flags result.Flags) []result.Loss {
	return []result.Loss{row("web", "l1", "s1+s2", period, first, flags), row("web", "s1+s2", "l2", period, second, 0),
		row("web", "l1", "l2", period, whole, 0)}
}

func (r *Rules) of(now int64, rows ...[]result.Loss) []Graph {
	return r.Judge(func(yield func(*result.Loss) bool) {
		for _, l := range slices.Concat(rows...) {
			if !yield(&l) {
				return
			}
		}
	}, time.Unix(0, now*length))
}

// text returns the state of a graph in a line. {missing unknown inexact} are undecided periods.
func text(g *Graph) string {
	all := fmt.Sprintf("%v %v", g.State, g.Uncertain)
	for _, a := range g.Alarms {
		all += fmt.Sprintf("; %d to %d, above %d, inexact %d, %v", a.Raised/length, a.Cleared/length, a.Above, a.Inexact,
			a.Uncertain)
	}
	return all
}

func TestJudge(t *testing.T) {
	excess := row("web", "l1", "l2", 10, -1, 0)
	excess.Excess, excess.Sent, excess.Received = true, 100, 90
	excess.Detail = "split-or-duplicated: l2 counted 90 packets, and s1 80"
	for name, tt := range map[string]struct {
		rows [][]result.Loss
		now  int64
		want string
	}{
		"no row":         {nil, 12, "unknown {0 0 0}"},
		"as much as may": {[][]result.Loss{web(10, 1, 0, 1, 0)}, 12, "accepted {0 0 0}"},
		"more": {[][]result.Loss{web(10, 2, 0, 2, 0)}, 12,
			"raised {0 0 0}; 10 to 0, above 1, inexact 0, {0 0 0}"},
		"more, not exact": {[][]result.Loss{web(10, 2, 0, 2, result.Gap)}, 12,
			"raised {0 0 0}; 10 to 0, above 1, inexact 1, {0 0 0}"},
		"cleared": {[][]result.Loss{web(10, 2, 0, 2, 0), web(11, 0, 0, 0, 0)}, 13,
			"accepted {0 0 0}; 10 to 11, above 1, inexact 0, {0 0 0}"},
		"not by inexact": {[][]result.Loss{web(10, 2, 0, 2, 0), web(11, 0, 0, 0, result.Late)}, 13,
			"raised {0 0 1}; 10 to 0, above 1, inexact 0, {0 0 1}"},
		"not by unknown": {[][]result.Loss{web(10, 2, 0, 2, 0), web(11, 0, -1, -1, 0)}, 13,
			"raised {0 1 0}; 10 to 0, above 1, inexact 0, {0 1 0}"},
		"not by a part": {[][]result.Loss{web(10, 2, 0, 2, 0), web(11, 0, 0, 0, 0)[:2]}, 13,
			"raised {1 0 0}; 10 to 0, above 1, inexact 0, {1 0 0}"},
		"by a part?": {[][]result.Loss{web(10, 9, 0, 9, 0)[1:]}, 13, "unknown {1 0 0}"},
		"a hole": {[][]result.Loss{web(10, 2, 0, 2, 0), web(13, 2, 0, 2, 0)}, 15,
			"raised {0 0 0}; 10 to 0, above 2, inexact 0, {2 0 0}"},
		"of a cluster": {[][]result.Loss{web(10, 2, -1, -1, 0)}, 12,
			"raised {0 0 0}; 10 to 0, above 1, inexact 0, {0 0 0}"},
		"in excess": {[][]result.Loss{web(10, -1, -1, -1, 0)[:2], {excess}}, 12,
			"raised {0 0 0}; 10 to 0, above 1, inexact 0, {0 0 0}"},
		"told again": {[][]result.Loss{web(10, 2, 0, 2, 0), web(10, 0, 0, 0, 0)}, 12, "accepted {0 0 0}"},
		"long ago":   {[][]result.Loss{web(10, 0, 0, 0, 0)}, 200, "unknown {0 0 0}"},
		"raised long ago": {[][]result.Loss{web(10, 2, 0, 2, 0)}, 200,
			"raised {0 0 0}; 10 to 0, above 1, inexact 0, {0 0 0}"},
		"of another graph": {[][]result.Loss{{row("web2", "l1", "l2", 10, 9, 0)}}, 12, "unknown {0 0 0}"},
	} {
		all := rulesOf(t, 0.01).of(tt.now, tt.rows...)
		if got := text(&all[0]); got != tt.want {
			t.Errorf("%s: %s\nwant %s", name, got, tt.want)
		}
		if all[1].State != NotKnown || len(all[1].Periods) != 0 {
			t.Errorf("%s: of voice %s", name, text(&all[1]))
		}
	}
}

// The text of a raised alarm equals that of `tamtam collect`, word for word: see its TestCollectSuspects.
func TestSuspects(t *testing.T) {
	all := rulesOf(t, 0.01).of(9, web(7, 0, 9, 9, 0), []result.Loss{row("voice", "s1", "l2", 7, 1, 0)})
	a := all[0].Alarms[0]
	const want = `alarm: web period 7 lost 9 of 100: s1+s2>l2 lost 9, 0 to 9 at each of s1>l2 s2>l2
suspects: period 7, by the losses of voice web; lost packets for certain at s1>l2; s1>l2 alone explains all`
	if got := a.Last.Alarm.String() + "\n" + a.Suspects.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	all = rulesOf(t, 0.01).of(9, web(7, -1, 9, -1, 0))
	const doubtful = "alarm: web period 7 lost 9 or more (l1: no report, l2: no report): l1>s1+s2 lost 0 or more " +
		"(l1: no report, s1+s2: no report), 0 or more at each of l1>s1 l1>s2; s1+s2>l2 lost 9, 0 to 9 at each of s1>l2 s2>l2"
	if a := all[0].Alarms[0]; a.Last.Alarm.String() != doubtful || a.Suspects != nil {
		t.Errorf("%s, %v\nwant\n%s", a.Last.Alarm, a.Suspects, doubtful)
	}
}

// Periods without a length, as a damaged file may have, are counted as one if there is a gap between them.
func TestPeriodsWithoutLength(t *testing.T) {
	first, last := web(10, 0, 0, 0, 0), web(13, 0, 0, 0, 0)
	for _, rows := range [][]result.Loss{first, last} {
		for i := range rows {
			rows[i].Window.Length = 0
		}
	}
	const want = "accepted {0 0 0}"
	if got := text(&rulesOf(t, 0.01).of(14, first, last)[0]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRulesRefused(t *testing.T) {
	for _, threshold := range []float64{-0.1, 1} {
		if _, err := New(dial.File{}, threshold); err == nil || !strings.Contains(err.Error(), "want 0 to less than 1") {
			t.Error(threshold, err)
		}
	}
}

// Random rows arrive in any order, some repeated, some missing. The alarms equal those of a simple machine that
// processes the last state of each period. The order does not matter.
func TestJudgeRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 50}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 18))
		var first, last [][]result.Loss
		var m machine
		for period := int64(10); period < 10+rnd.Int64N(60); period++ {
			rows, kind := randomPeriod(rnd, period)
			if m.add(period, kind); len(rows) == 0 {
				continue
			}
			if rnd.IntN(4) == 0 { // replaces an earlier version of these rows
				before := slices.Clone(rows)
				for i, l := range before {
					before[i] = row(l.Flow, l.From, l.To, period, rnd.Int64N(9)-1, result.Flags(rnd.IntN(2)))
				}
				first = append(first, before)
			}
			rnd.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			last = append(last, rows)
		}
		for _, list := range [][][]result.Loss{first, last} {
			rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		if got, want := text(&rulesOf(t, 0.01).of(m.newest+2, slices.Concat(first, last)...)[0]), m.text(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// randomPeriod returns the rows of a period, and the expected outcome.
func randomPeriod(rnd *rand.Rand, period int64) ([]result.Loss, string) {
	switch rnd.IntN(9) {
	case 0:
		return nil, "none"
	case 1:
		rows := web(period, 9, 9, 18, 0)
		return slices.Delete(rows, 0, 1+rnd.IntN(2)), "missing"
	case 2:
		return web(period, -1, 0, -1, 0), "unknown"
	case 3:
		return web(period, 0, 0, 0, result.Flags(1<<rnd.IntN(8))), "inexact"
	case 4:
		return web(period, 1+rnd.Int64N(9), 1+rnd.Int64N(9), 2, result.Flags(1<<rnd.IntN(8))), "above, inexact"
	case 5:
		return web(period, -1, 2+rnd.Int64N(9), -1, 0), "above"
	case 6:
		return web(period, 2, 0, 2+rnd.Int64N(9), 0), "above"
	}
	return web(period, rnd.Int64N(2), 0, 1, 0), "accepted"
}

// A machine is a simple alarm state machine. It processes the outcomes of the periods in order.
type machine struct {
	newest    int64 // number of the last period with a row
	none      int64 // number of periods without a row since then
	state     State
	uncertain Uncertain
	alarms    []Alarm
}

func (m *machine) add(period int64, kind string) {
	if kind == "none" {
		m.none++ // the gap is noticed when a later period arrives
		return
	}
	if m.none > 0 && m.newest > 0 {
		m.sawUncertain(Uncertain{Missing: m.none})
	}
	m.none, m.newest = 0, period
	d := Uncertain{}
	switch kind {
	case "accepted":
		if m.state == Raised {
			m.alarms[len(m.alarms)-1].Cleared = period * length
		}
		m.state, m.uncertain = Accepted, Uncertain{}
		return
	case "above", "above, inexact":
		if m.state != Raised {
			m.alarms = append(m.alarms, Alarm{Raised: period * length})
		}
		a := &m.alarms[len(m.alarms)-1]
		if a.Above++; kind != "above" {
			a.Inexact++
		}
		m.state, m.uncertain = Raised, Uncertain{}
		return
	case "missing":
		d.Missing = 1
	case "unknown":
		d.Unknown = 1
	case "inexact":
		d.Inexact = 1
	}
	m.sawUncertain(d)
}

func (m *machine) sawUncertain(d Uncertain) {
	m.uncertain.add(d)
	if m.state == Raised {
		m.alarms[len(m.alarms)-1].Uncertain.add(d)
	} else {
		m.state = NotKnown
	}
}

func (m *machine) text() string {
	return text(&Graph{State: m.state, Uncertain: m.uncertain, Alarms: m.alarms})
}
