package marks

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/tam/altmark"
)

const ms = time.Millisecond

// threePoints returns a path with intervals of a second: A of 1 ms, 2 to 10 ms to the second switch, 5 to 20 ms to the
// third.
func threePoints(method altmark.Method) Path {
	s := func(role altmark.Role, low, high time.Duration) altmark.Session {
		s := altmark.Session{Role: role, Method: method, Mark: altmark.DSCP0, SlotSync: true, ClockError: ms, MinDelay: low,
			MaxDelay: high}
		if method == altmark.Double {
			s.Mark2 = altmark.DSCP1
		}
		return s
	}
	return Path{Name: "p", Points: []Point{
		{"mp1", "s", s(altmark.Initiator, 0, 20*ms)}, {"mp2", "s", s(altmark.Transit, 2*ms, 10*ms)},
		{"mp3", "s", s(altmark.Terminator, 5*ms, 20*ms)}}}
}

func twoPoints(method altmark.Method) Path {
	p := threePoints(method)
	p.Points = []Point{p.Points[0], p.Points[2]}
	return p
}

// report returns a report with a pulse in the middle of its period, plus after.
func report(k, packets uint64, after time.Duration) altmark.Period {
	return altmark.Period{Number: k, Colour: uint8(k & 1), Packets: packets, Bytes: 100 * packets, Captures: 1,
		ReadAt:    altmark.Time{Seconds: k + 1, Nanoseconds: 5e8},
		Timestamp: altmark.Time{Seconds: k, Nanoseconds: uint32(5e8 + after.Nanoseconds())}}
}

// add adds a report at the time it was made, by a clock that agrees with all others.
func add(m *Joiner, point int, p altmark.Period) []Result {
	return m.Add(point, p, p.ReadAt.Std())
}

func newTestJoiner(t *testing.T, p Path) *Joiner {
	t.Helper()
	m, err := NewJoiner(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// line returns the main fields of a result.
func line(r Result) string {
	s := fmt.Sprintf("%d %s>%s %s", r.Period, r.From, r.To, r.Status)
	if r.LossValid {
		s += fmt.Sprintf(" lost %d", r.Lost)
	}
	if r.DelayValid {
		s += fmt.Sprintf(" delay %v", r.Delay)
	}
	if r.JitterValid {
		s += fmt.Sprintf(" jitter %v", r.Jitter)
	}
	if r.Revised {
		s += " revised"
	}
	if len(r.Reasons) > 0 {
		s += ": " + strings.Join(r.Reasons, "; ")
	}
	return s
}

func wantLines(t *testing.T, got []Result, want ...string) {
	t.Helper()
	var lines []string
	for _, r := range got {
		lines = append(lines, line(r))
	}
	if !slices.Equal(lines, want) {
		t.Errorf("results\n\t%s\nwant\n\t%s", strings.Join(lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Loss and delay are computed per segment and end to end, and jitter from the second period on.
func TestAltMarkPath(t *testing.T) {
	m := newTestJoiner(t, threePoints(altmark.Double))
	var got []Result
	for k := uint64(10); k < 14; k++ {
		got = append(got, add(m, 0, report(k, 1000, 0))...)
		got = append(got, add(m, 1, report(k, 990, 3*ms))...)
		got = append(got, add(m, 2, report(k, 989, time.Duration(k)*ms))...)
	}
	wantLines(t, got,
		"10 mp1>mp2 ok lost 10 delay 3ms", "10 mp2>mp3 ok lost 1 delay 7ms", "10 mp1>mp3 ok lost 11 delay 10ms",
		"11 mp1>mp2 ok lost 10 delay 3ms jitter 0s", "11 mp2>mp3 ok lost 1 delay 8ms jitter 1ms",
		"11 mp1>mp3 ok lost 11 delay 11ms jitter 1ms")
	if w := got[5].Window; w != (Delays{2, 10 * ms, 10500 * time.Microsecond, 11 * ms}) {
		t.Errorf("delays of two periods: %+v", w)
	}
	if r := got[5]; r.Sent != 1000 || r.Received != 989 || r.SentBytes != 100000 || r.ReceivedBytes != 98900 ||
		r.Start != (altmark.Time{Seconds: 11}) {
		t.Errorf("%+v", r)
	}
}

// A missing report is neither a loss of zero nor of everything. When it arrives late, the result is returned again, and
// so is the result with the next jitter.
func TestAltMarkMissing(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Double))
	var got []Result
	for k := uint64(10); k < 16; k++ {
		got = append(got, add(m, 0, report(k, 5, 0))...)
		if k != 11 {
			got = append(got, add(m, 1, report(k, 5, 7*ms))...)
		}
	}
	wantLines(t, got, "12 mp1>mp3 ok lost 0 delay 7ms",
		"10 mp1>mp3 flagged delay 7ms: mp3: no report of period 11, which shows late packets",
		"13 mp1>mp3 ok lost 0 delay 7ms jitter 0s")
	wantLines(t, add(m, 0, report(16, 5, 0)), "11 mp1>mp3 missing: mp3: no report")
	got = add(m, 1, report(11, 4, 9*ms))
	wantLines(t, got[:3], "10 mp1>mp3 ok lost 0 delay 7ms revised", "11 mp1>mp3 ok lost 1 delay 9ms jitter 2ms revised",
		"12 mp1>mp3 ok lost 0 delay 7ms jitter -2ms revised")
	if m.Stats().Late != 1 {
		t.Errorf("%+v", m.Stats())
	}
}

// Periods without any report are missing as well, if Advance shows that time passes.
func TestAltMarkSilence(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Step))
	add(m, 0, report(10, 5, 0))
	add(m, 1, report(10, 5, 0))
	got := append(m.Advance(12), m.Advance(16)...)
	wantLines(t, got, "10 mp1>mp3 flagged: mp3: no report of period 11, which shows late packets",
		"11 mp1>mp3 missing: mp1: no report; mp3: no report")
	got = add(m, 1, report(14, 5, 0))
	wantLines(t, append(got, m.Flush()...), "12 mp1>mp3 missing: mp1: no report; mp3: no report",
		"13 mp1>mp3 missing: mp1: no report; mp3: no report",
		"14 mp1>mp3 missing: mp1: no report", "15 mp1>mp3 missing: mp1: no report; mp3: no report")
}

// Each flag voids exactly the fields that it concerns.
func TestAltMarkFlags(t *testing.T) {
	for bit := range 9 {
		flag := altmark.Flags(1 << bit)
		for point := range 2 {
			m := newTestJoiner(t, twoPoints(altmark.Double))
			for k := uint64(10); k < 13; k++ {
				for i := range 2 {
					p := report(k, 9, 6*ms*time.Duration(i))
					if k == 10 && i == point {
						p.Flags = flag
					}
					add(m, i, p)
				}
			}
			r := m.entries[0].emitted[0]
			if r.Status != Flagged || r.LossValid == flag.VoidsLoss() || r.DelayValid == flag.VoidsDelay() ||
				len(r.Reasons) != 1 || !strings.Contains(r.Reasons[0], flag.String()) {
				t.Errorf("%s at %d: %s", flag, point, line(r))
			}
		}
	}
}

// Points whose settings do not match are never compared.
func TestAltMarkSettings(t *testing.T) {
	for _, tt := range []struct {
		change func(p []Point)
		want   string
	}{
		{func(p []Point) { p[0].Settings.Role = altmark.Terminator }, "mp1: role is terminator, want initiator"},
		{func(p []Point) { p[1].Settings.Role = altmark.Initiator }, "mp2: role is initiator, want transit"},
		{func(p []Point) { p[2].Settings.Role = altmark.Transit }, "mp3: role is transit, want terminator"},
		{func(p []Point) { p[1].Settings.Method = altmark.Step }, "mp2: method is step, and double at mp1"},
		{func(p []Point) { p[2].Settings.Interval = 1 }, "mp3: interval is 2s, and 1s at mp1"},
		{func(p []Point) { p[2].Settings.Mark = altmark.DSCP2 },
			"mp3: marks are dscp2 and dscp1, and dscp0 and dscp1 at mp1"},
		{func(p []Point) { p[2].Settings.FlowMonID = altmark.FlowMonID{Given: true, ID: 7} },
			"mp3: flow-mon-id is 7, and none at mp1"},
		{func(p []Point) { p[2].Settings = altmark.Session{} }, "mp3: the settings of session s are not known"},
	} {
		p := threePoints(altmark.Double)
		tt.change(p.Points)
		m := newTestJoiner(t, p)
		var got []Result
		for k := uint64(10); k < 13; k++ {
			for i := range 3 {
				got = append(got, add(m, i, report(k, 9, 4*ms*time.Duration(i)))...)
			}
		}
		if len(got) != 3 {
			t.Fatalf("%s: %d results", tt.want, len(got))
		}
		for _, r := range got {
			if r.Status != Flagged || r.LossValid || r.DelayValid || r.RawDelayValid || r.Reasons[0] != tt.want {
				t.Errorf("want %q: %s", tt.want, line(r))
			}
		}
	}
	for want, p := range map[string]Path{
		"has no name":                                   {Points: threePoints(altmark.Step).Points},
		"1 points, want two or more":                    {Name: "p", Points: threePoints(altmark.Step).Points[:1]},
		"257 points, want two or more, and at most 256": {Name: "p", Points: make([]Point, 257)},
		"switch mp1 is twice on it": {Name: "p",
			Points: append(threePoints(altmark.Step).Points, threePoints(altmark.Step).Points[0])},
		`switch "" and session "s"`: {Name: "p",
			Points: []Point{{"", "s", altmark.Session{}}, {"mp2", "s", altmark.Session{}}}},
		"wait is 9, want 1 to 8 period": {Name: "p", Points: threePoints(altmark.Step).Points, Wait: 9},
	} {
		if _, err := NewJoiner(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A change of settings ends the previous measurement.
func TestAltMarkSettingsChange(t *testing.T) {
	p := twoPoints(altmark.Step)
	known := p.Points[1].Settings
	p.Points[1].Settings = altmark.Session{}
	m := newTestJoiner(t, p)
	add(m, 0, report(10, 5, 0))
	wantLines(t, m.Settings(1, known), "10 mp1>mp3 flagged: mp3: the settings of session s are not known; mp3: no report")
	wantLines(t, m.Settings(1, known))
	var got []Result
	for k := uint64(11); k < 14; k++ {
		add(m, 0, report(k, 6, 0))
		got = append(got, add(m, 1, report(k, 5, 0))...)
	}
	wantLines(t, got, "11 mp1>mp3 ok lost 1")
}

// On opposite paths the clocks' difference, 40 ms here, cancels out.
func TestAltMarkTwoWay(t *testing.T) {
	path := func(name, from, to string) Path {
		p := twoPoints(altmark.Double)
		p.Name, p.Points[0].Switch, p.Points[1].Switch = name, from, to
		return p
	}
	there, back := path("there", "a", "b"), path("back", "b", "a")
	w, err := NewTwoWay(there, back)
	if err != nil {
		t.Fatal(err)
	}
	const off = 40 * ms
	var got []Result
	both := func(m *Joiner, i int, p altmark.Period) {
		if p.Flags |= altmark.Unsynchronised; p.Number == 12 && i == 1 {
			p.Flags |= altmark.ClockStep
		}
		for _, r := range add(m, i, p) {
			if r.DelayValid || r.LossValid {
				t.Errorf("clocks are not synchronised: %s", line(r))
			}
			if sum, ok := w.Add(r); ok {
				got = append(got, sum)
			}
		}
	}
	a, b := newTestJoiner(t, there), newTestJoiner(t, back)
	for k := uint64(10); k < 15; k++ {
		both(a, 0, report(k, 9, 0))
		both(a, 1, report(k, 9, 6*ms+off))
		both(b, 0, report(k, 9, 100*ms+off))
		both(b, 1, report(k, 9, 100*ms+time.Duration(k)*ms))
	}
	var delays []string
	for _, r := range got {
		r.Reasons = nil
		delays = append(delays, line(r))
	}
	if want := []string{"10 a>a flagged delay 16ms", "11 a>a flagged delay 17ms jitter 1ms",
		"12 a>a flagged"}; !slices.Equal(delays, want) {
		t.Errorf("%q, want %q", delays, want)
	}
	for _, p := range []Path{there, path("other", "b", "c"), path("back", "a", "b")} {
		if _, err := NewTwoWay(there, p); err == nil {
			t.Errorf("there and %v are opposite", p)
		}
	}
}

// If two reports of one period differ, neither is used. A repetition of a report changes nothing.
func TestAltMarkConflicts(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Step))
	for _, packets := range []uint64{5, 5, 6} {
		add(m, 0, report(10, packets, 0))
	}
	add(m, 1, report(10, 5, 0))
	add(m, 1, altmark.Period{Number: 10, Colour: 1})
	add(m, 1, altmark.Period{Number: 1 << 60})
	wantLines(t, m.Flush(),
		"10 mp1>mp3 flagged: mp1: two reports that differ; mp3: no report of period 11, which shows late packets")
	if s := m.Stats(); s != (Stats{Reports: 6, Duplicates: 1, Conflicts: 1, Refused: 2}) {
		t.Errorf("%+v", s)
	}
}

// JSON and CSV omit unknown values.
func TestAltMarkFormats(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Step))
	var results []Result
	for k := uint64(10); k < 13; k++ {
		if k != 11 {
			add(m, 0, report(k, 9, 0))
		}
		results = append(results, add(m, 1, report(k, 7, 0))...)
	}
	results = append(results, m.Flush()...)[:2]
	js, err := json.Marshal(results)
	const want = `[{"path":"p","from":"mp1","to":"mp3","period":10,"start":"10.000000000","status":"ok","sent":9,` +
		`"received":7,"sent_bytes":900,"received_bytes":700,"lost":2},` +
		`{"path":"p","from":"mp1","to":"mp3","period":11,"start":"11.000000000","status":"missing","reasons":["mp1: no ` +
		`report"]}]`
	if err != nil || string(js) != want {
		t.Errorf("%s, %v", js, err)
	}
	var b bytes.Buffer
	if err := NewCSV(&b).Write(results...); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][12] != "2" || rows[2][12] != "" || rows[2][5] != "missing" {
		t.Errorf("%q, %v", rows, err)
	}
}

// Periods are dropped while nothing new is known about later periods. No result is returned again for that reason,
// although each report re-evaluates the periods from before the collector's start. A result does not improve because a
// period with adverse reasons was dropped: here, packets out of window two periods before.
func TestAltMarkForgets(t *testing.T) {
	m := newTestJoiner(t, twoPoints(altmark.Double))
	var all []Result
	for k := uint64(1000); k < 1060; k++ {
		for point := range 2 {
			if k > 1015 && point == 1 {
				continue
			}
			p := report(k, 10, time.Duration(point)*10*ms)
			if k%5 == 0 {
				p.Flags |= altmark.OutOfWindow
			}
			arrived := p.ReadAt.Std()
			if k < 1012 {
				arrived = time.Time{}
			}
			all = append(all, m.Add(point, p, arrived)...)
		}
	}
	last := map[uint64]Result{}
	for _, r := range all {
		old, again := last[r.Period]
		old.Revised = r.Revised
		if again && (reflect.DeepEqual(old, r) || r.Period < 1012 && r.Window != old.Window && r.Status == old.Status) {
			t.Errorf("%s is given again as %s", line(old), line(r))
		}
		if last[r.Period] = r; r.Status == OK && (r.Period%5 == 0 || r.Period%5 == 2 || r.Period%5 == 3) {
			t.Errorf("%s, but for packets out of window in a period beside it", line(r))
		}
	}
	if len(last) < 50 || last[1009].Status != OK {
		t.Errorf("%d periods; %s", len(last), line(last[1009]))
	}
}
