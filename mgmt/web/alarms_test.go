package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
	"tamtam/fleet/dial"
)

func rulesOf(t *testing.T, threshold float64, text string) *alarm.Rules {
	t.Helper()
	f, err := dial.ReadFile(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := alarm.New(f, threshold)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const alarmGraphs = `
graphs:
- name: web
  points: [{switch: l1, target: "l1:1", session: w}, {switch: s1, target: "s1:1", session: w},
    {switch: s2, target: "s2:1", session: w}, {switch: l2, target: "l2:1", session: w}]
  links: [[l1, s1], [l1, s2], [s1, l2], [s2, l2]]
- name: voice
  points: [{switch: s1, target: "s1:1", session: v}, {switch: l2, target: "l2:1", session: v}]
  links: [[s1, l2]]
- name: video
  points: [{switch: s1, target: "s1:1", session: u}, {switch: l2, target: "l2:1", session: u}]
  links: [[s1, l2]]
`

// alarmRows returns the rows of a period of the graph web, which began ago seconds before now; -1 means an unknown
// loss.
func alarmRows(ago int, flags result.Flags, first, second, whole int64) (rows []result.Loss) {
	w := result.Window{Start: testNow.Add(-time.Duration(ago) * time.Second).UnixNano(), Length: int64(time.Second)}
	for i, of := range [][3]string{{"1", "l1", "s1+s2"}, {"2", "s1+s2", "l2"}, {"", "l1", "l2"}} {
		lost := []int64{first, second, whole}[i]
		l := result.Loss{Flow: "web", Cluster: of[0], From: of[1], To: of[2], Period: uint64(1000 - ago),
			Window: w, Status: "ok", Known: lost >= 0, Flags: flags, Sent: 100, Received: 100 - lost, Lost: lost}
		if !l.Known {
			l.Status, l.Detail, l.Sent, l.Received = "missing", of[2]+": no report", 0, 0
		}
		rows = append(rows, l)
	}
	return rows
}

// voice returns a row of a period of the graph voice.
func voice(ago int, lost int64) result.Loss {
	l := alarmRows(ago, 0, 0, 0, lost)[2]
	l.Flow, l.From = "voice", "s1"
	return l
}

// A graph with an alarm is listed first, with the clusters that lost packets, their links, and the confidence.
func TestAlarms(t *testing.T) {
	rules := rulesOf(t, 0.01, alarmGraphs)
	for name, tt := range map[string]struct {
		rows  [][]result.Loss
		wants []string
		not   []string
	}{
		"raised": {[][]result.Loss{alarmRows(9, 0, 0, 0, 0), alarmRows(8, 0, 0, 9, 9), {voice(8, 1)}},
			[]string{"Graphs with an alarm: 1; graphs of which it is unknown: 1.", "more than 1 % of",
				`data-of="Alarm">raised</td>`,
				"11:59:52.000000 UTC", `data-of="Lost, last">9 of 100</td>`, `data-of="Confidence"><span class="exact">exact`,
				`<a href="/periods?cluster=2&amp;flow=web&amp;from=s1%2Bs2&amp;to=l2">s1&#43;s2 → l2</a>`,
				"s1&gt;l2: 0 to 9, s2&gt;l2: 0 to 9",
				"lost packets for certain at s1&gt;l2", `data-of="Alarm">accepted`, "no row of this graph in this time"},
			[]string{"Cleared", "or before"}},
		"inexact": {[][]result.Loss{alarmRows(8, result.Gap, 0, 9, 9)},
			[]string{"1 of 1 periods above by rows that may not be the whole truth",
				"the last of them: gap: messages of a source were lost",
				"or before"}, nil},
		"a cluster alone": {[][]result.Loss{alarmRows(8, 0, -1, 9, -1)},
			[]string{"9 or more", "the loss of the whole is unknown: l2: no report", `data-of="Lost">0 or more</td>`}, nil},
		"neither": {[][]result.Loss{alarmRows(12, 0, 0, 9, 9), alarmRows(8, 0, 0, -1, -1),
			alarmRows(7, 0, 0, 0, 0)[:1], alarmRows(6, result.Late, 0, 0, 0)},
			[]string{`data-of="Alarm">raised</td>`,
				"since it was raised: periods that neither raise nor clear, rows are missing: 4",
				"the newest: periods that neither raise nor clear, the loss is unknown: 1",
				"no more lost than is accepted, by rows that may not be the whole truth: 1"}, []string{"Cleared"}},
		"cleared": {[][]result.Loss{alarmRows(9, 0, 0, 9, 9), alarmRows(8, 0, 0, 8, 8), alarmRows(7, 0, 0, 0, 0)},
			[]string{"No alarm is raised; graphs of which it is unknown: 2.", "Cleared",
				`data-of="Periods above">2</td>`, "8 of 100"}, []string{`>raised</td>`}},
		"nothing": {nil, []string{"No alarm is raised; graphs of which it is unknown: 3."}, []string{"accepted"}},
		"old": {[][]result.Loss{{voice(300, 0)}}, []string{"though some must have come", "unknown: 3."},
			[]string{"accepted</td>"}},
		"ahead": {[][]result.Loss{alarmRows(8, 0, 0, 9, 9), alarmRows(-3600, 0, 0, 0, 0)},
			[]string{`data-of="Alarm">raised</td>`, "rows are of times up to 1 h later than now"}, []string{"Cleared"}},
		"ahead alone": {[][]result.Loss{{voice(-3600, 0)}}, []string{"unknown: 3."}, []string{"accepted</td>"}},
		"of TAI":      {[][]result.Loss{{voice(-37, 0)}}, []string{"accepted</td>", "up to 37.0 s later than now"}, nil},
	} {
		b := &result.Batch{}
		for _, rows := range tt.rows {
			b.Losses = append(b.Losses, rows...)
		}
		p := put(t, b, func(c *Config) { c.Alarms = rules })
		crawl(t, p, 5)
		_, text := get(t, p, "/alarms")
		for _, want := range tt.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it does not say %q", name, want)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: it says %q", name, not)
			}
		}
		if t.Failed() {
			t.Fatal(name, text)
		}
	}
}

// Alarms reports that rows are omitted whose clock is ahead.
func TestAlarmsAhead(t *testing.T) {
	rules := rulesOf(t, 0.01, alarmGraphs)
	for ago, want := range map[int]string{8: "", -37: "", -3600: "rows of times later than now are left out"} {
		p := put(t, &result.Batch{Losses: alarmRows(ago, 0, 0, 0, 0)}, nil)
		_, unread, err := Alarms(t.Context(), p.cfg.Store, rules, 0, testNow)
		if err != nil || !strings.HasPrefix(unread, want) || (unread == "") != (want == "") {
			t.Errorf("rows of %d s ago: %q, %v; want %q", ago, unread, err, want)
		}
	}
}

// Amendments of rows also apply to alarms that follow from these rows.
func TestAlarmsAmended(t *testing.T) {
	b := &result.Batch{Losses: alarmRows(8, 0, 0, 9, 9)}
	at := b.Losses[0].Window.Start
	b.Amends = []result.Amend{{From: at, To: at, Flags: result.Silent}}
	p := put(t, b, func(c *Config) { c.Alarms = rulesOf(t, 0.01, alarmGraphs) })
	if _, text := get(t, p, "/alarms"); !strings.Contains(text, "the last of them: silent: closed") {
		t.Error(text)
	}
}

// Without alarm rules there is no view of alarms, and no link to one.
func TestNoAlarms(t *testing.T) {
	p := put(t, &result.Batch{Losses: alarmRows(8, 0, 0, 9, 9)}, nil)
	if _, text := get(t, p, "/marking"); strings.Contains(text, "/alarms") {
		t.Error("there is a link to alarms")
	}
	r, text := get(t, p, "/alarms")
	if r.StatusCode != http.StatusNotFound || !strings.Contains(text, "give the loss that raises one") {
		t.Error(r.Status, text)
	}
}
