package join

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/marks"
	"tamtam/collector/result"
	"tamtam/collector/topology"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/fleet/stream"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

const markedFile = `
graphs:
- name: web
  points:
  - {switch: l1, target: "l1:1", session: s}
  - {switch: s1, target: "s1:1", session: s}
  - {switch: s2, target: "s2:1", session: s}
  - {switch: l2, target: "l2:1", session: s}
  links: [[l1, s1], [l1, s2], [s1, l2], [s2, l2]]
paths:
- name: east
  points:
  - {switch: l1, target: "l1:1", session: s}
  - {switch: s1, target: "s1:1", session: s}
  - {switch: l2, target: "l2:1", session: s}
`

// A marking is a network whose switches report periods, with the results of a single collector.
type marking struct {
	network
	file  dial.File
	truth map[lossKey]result.Loss
	means int // number of results with a mean delay
	// recolour means that a device in front of l2 sets all marks to 0.
	recolour bool
	send     func(marks.Result)
}

func newMarking(t testing.TB, r *rand.Rand, periods int) *marking {
	t.Helper()
	file, err := dial.ReadFile(strings.NewReader(markedFile))
	if err != nil {
		t.Fatal(err)
	}
	return marked(t, r, &marking{file: file, truth: map[lossKey]result.Loss{}}, periods)
}

func marked(t testing.TB, r *rand.Rand, m *marking, periods int) *marking {
	t.Helper()
	n := altmark.Interval(r.IntN(3) - 1)
	settings := map[string]altmark.Session{}
	for name, role := range map[string]altmark.Role{"l1": altmark.Initiator, "s1": altmark.Transit, "s2": altmark.Transit,
		"l2": altmark.Terminator} {
		length := n.Duration()
		settings[name] = altmark.Session{Role: role, Method: altmark.Double, Interval: n, Mark: altmark.DSCP0,
			Mark2:    altmark.DSCP1,
			SlotSync: true, ClockError: length / 64, MaxDelay: length / 8}
	}
	measured(r, settings)
	all := m.report(t, r, settings, periods)
	m.single(t, settings, all)
	return m
}

// report generates the reports of the switches, and returns them in the order of periods.
func (m *marking) report(t testing.TB, r *rand.Rand, settings map[string]altmark.Session,
	periods int) (all []dial.Report) {
	t.Helper()
	of := map[string][]dial.Report{}
	length := settings["l1"].Interval.Duration()
	first := settings["l1"].Interval.Period(altmark.Time{Seconds: 1000})
	early := r.IntN(6) // periods that were reported before the collector listened
	for k := first; k < first+uint64(periods); k++ {
		for name, p := range periodsOf(r, settings["l1"].Interval, k) {
			if m.recolour && name == "l2" {
				p.Packets *= 2 * (1 - k&1)
			}
			if settings[name].MeanDelay {
				p.Arrivals = arrivals(r, name, p, length)
			}
			one := dial.Report{Target: name + ":1", Session: "s", Settings: settings[name], Period: p}
			if k >= first+uint64(early) {
				one.Arrived = p.ReadAt.Std().Add(time.Duration(r.Int64N(int64(length / 4))))
			}
			if k == first || r.IntN(30) > 0 { // for switches that never report see TestPeriodsSilent
				of[name] = append(of[name], one)
			}
			if k > first+uint64(early) && r.IntN(40) == 0 { // the switch counts more frames
				one.Period.Flags |= altmark.LateFrames
				of[name] = append(of[name], one)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		m.names = append(m.names, name)
		m.senders = append(m.senders, m.sender(t, r, name, of[name]))
		all = append(all, of[name]...)
	}
	sorted := map[int64][]dial.Report{}
	for _, one := range all {
		at, _ := one.Start()
		sorted[at] = append(sorted[at], one)
	}
	all = nil
	for _, at := range slices.Sorted(maps.Keys(sorted)) {
		all = append(all, sorted[at]...)
	}
	return all
}

// periodsOf returns the counts of four switches for a period in which packets are lost and pulses are captured.
func periodsOf(r *rand.Rand, n altmark.Interval, k uint64) map[string]altmark.Period {
	sent, through := uint64(100+r.IntN(100)), uint64(r.IntN(60))
	lost := func(p uint64) uint64 { // or one packet is duplicated
		if r.IntN(40) == 0 {
			return p + 1
		}
		return p - uint64(r.IntN(10)/8)
	}
	packets := map[string]uint64{"l1": sent, "s1": through, "s2": lost(sent - through)}
	packets["l2"] = lost(packets["s1"] + packets["s2"])
	pulse, via := n.Start(k).Add(n.Duration()/2), []string{"s1", "s2"}[r.IntN(2)]
	out := map[string]altmark.Period{}
	for name, count := range packets {
		p := altmark.Period{Number: k, Colour: uint8(k & 1), Packets: count, Bytes: 64 * count,
			ReadAt: n.Start(k + 1).Add(n.Duration() / 2)}
		if name == "l1" || name == "l2" || name == via {
			p.Captures, p.Digest, p.Timestamp = 1, uint32(k), pulse.Add(time.Duration(len(name)*1000+r.IntN(1000)))
		}
		if r.IntN(40) == 0 {
			p.Flags |= []altmark.Flags{altmark.OutOfWindow, altmark.LateRead, altmark.Unsynchronised, altmark.First}[r.IntN(4)]
		}
		out[name] = p
	}
	return out
}

// measured makes most networks measure the mean delay, some except for one switch.
func measured(r *rand.Rand, settings map[string]altmark.Session) {
	all, but := r.IntN(4) > 0, []string{"", "", "l1", "s1", "l2"}[r.IntN(5)]
	for name, s := range settings {
		s.MeanDelay = all && name != but
		settings[name] = s
	}
}

// arrivals returns the arrivals of a period: now and then of not all packets, or too late to be possible.
func arrivals(r *rand.Rand, name string, p altmark.Period, length time.Duration) altmark.Arrivals {
	a := altmark.Arrivals{Summed: true, Packets: p.Packets}
	if r.IntN(30) == 0 {
		a.Packets -= min(a.Packets, 1)
	}
	behind := int64(map[string]int{"l1": 0, "s1": 1, "s2": 1, "l2": 2}[name]*2000 + r.IntN(1000))
	if r.IntN(60) == 0 {
		behind += int64(length)
	}
	each := altmark.SinceEpoch(altmark.At(time.Unix(0, int64(length/3)+behind)))
	a.Sum = each.Times(a.Packets).Add(altmark.Sum{Lo: uint64(r.IntN(50))})
	return a
}

// sender sends reports in batches. Its watermark allows for late reports of the last periods.
func (m *marking) sender(t testing.TB, r *rand.Rand, name string, reports []dial.Report) *sender {
	t.Helper()
	w, err := event.NewWriter(result.Periods, name)
	if err != nil {
		t.Fatal(err)
	}
	s := &sender{}
	for i, one := range reports {
		for _, group := range []string{"web", "east"} {
			if group == "east" && name == "s2" {
				continue
			}
			p := event.PeriodOf(group, one)
			if ok, err := w.AddPeriod(&p); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		if i+1 == len(reports) || r.IntN(3) == 0 && reports[i+1].Period.Number != one.Period.Number {
			at, _ := one.Start()
			s.batches = append(s.batches, slices.Clone(w.Finish(at)))
		}
	}
	s.batches = append(s.batches, slices.Clone(w.Finish(event.Ended)))
	return s
}

// single computes the results of one collector that receives everything, by other means than dial.File.Replay.
func (m *marking) single(t testing.TB, settings map[string]altmark.Session, all []dial.Report) {
	t.Helper()
	point := func(name string) marks.Point {
		return marks.Point{Switch: name, Session: "s", Settings: settings[name]}
	}
	mesh, err := marks.NewMesh(marks.Graph{Name: "web",
		Points: []marks.Point{point("l1"), point("s1"), point("s2"), point("l2")},
		Links:  []marks.Link{{From: "l1", To: "s1"}, {From: "l1", To: "s2"}, {From: "s1", To: "l2"}, {From: "s2", To: "l2"}}})
	if err != nil {
		t.Fatal(err)
	}
	east, err := marks.NewJoiner(marks.Path{Name: "east",
		Points: []marks.Point{point("l1"), point("s1"), point("l2")}})
	if err != nil {
		t.Fatal(err)
	}
	cluster := map[marks.Segment]string{{Path: "web", From: "l1", To: "s1+s2"}: "1",
		{Path: "web", From: "s1+s2", To: "l2"}: "2",
		{Path: "east", From: "l1", To: "s1"}:   "1", {Path: "east", From: "s1", To: "l2"}: "2"}
	keep := func(results []marks.Result) {
		for _, x := range results {
			l := lossOf(&x, cluster)
			m.printed(t, &x, l)
			if m.send != nil {
				m.send(x)
			}
			l.Window.Length = int64(settings["l1"].Interval.Duration())
			m.truth[lossKey{l.Window.Start, l.Flow, l.From, l.To, l.Period}] = l
		}
	}
	for _, one := range all {
		name, _, _ := strings.Cut(one.Target, ":")
		keep(mesh.Add(slices.Index([]string{"l1", "s1", "s2", "l2"}, name), one.Period, one.Arrived))
		if i := slices.Index([]string{"l1", "s1", "l2"}, name); i >= 0 {
			keep(east.Add(i, one.Period, one.Arrived))
		}
	}
	keep(mesh.Flush())
	keep(east.Flush())
}

// printed checks the mean delay of a row against the output of `tamtam collect` for the same result.
func (m *marking) printed(t testing.TB, x *marks.Result, l result.Loss) {
	t.Helper()
	var want struct {
		Mean    *int64 `json:"mean_delay_ns"`
		Sum     string `json:"delay_sum_ns"`
		Unknown string `json:"mean_delay_unknown"`
	}
	text, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := l.Mean
	if got.Known != (want.Mean != nil) || got.Known && got.Delay != *want.Mean || got.Sum != want.Sum ||
		got.Unknown != want.Unknown {
		t.Fatalf("mean delay of a row is %+v, the collector prints %s", got, text)
	}
	if got.Known && (!l.Known || l.Lost != 0) {
		t.Fatalf("a mean delay of packets that were lost: %+v", l)
	}
	if got.Known {
		m.means++
	}
}

// losses returns the last row of each period in a store, with later amendments applied, and the number of rows per
// period.
func losses(t *testing.T, store *result.Memory) (rows map[lossKey]result.Loss, times map[lossKey]int) {
	t.Helper()
	rows, times = map[lossKey]result.Loss{}, map[lossKey]int{}
	var amends []result.Amend
	err := store.Each(t.Context(), 0, event.MaxTime, func(b *result.Batch) bool {
		for _, l := range b.Losses {
			key := lossKey{l.Window.Start, l.Flow, l.From, l.To, l.Period}
			rows[key] = l
			times[key]++
		}
		amends = append(amends, b.Amends...)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, l := range rows {
		for _, a := range amends {
			if a.From < key.start+l.Window.Length && a.To >= key.start {
				l.Flags |= a.Flags
			}
		}
		rows[key] = l
	}
	return rows, times
}

// Whatever the order of the switches, the repeated messages and the workers that end: the row of each period equals
// that of a single collector that received everything, without a flag.
func TestPeriodsOnce(t *testing.T) {
	racetest.Stepped(t)
	known, means := 0, 0
	fixed := randtest.Cases{Seed: 1, Count: 24}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 10))
		m := newMarking(t, r, 1+r.IntN(90))
		o := Options{Window: time.Duration(1+r.IntN(3)) * time.Second, Silence: time.Hour, Expect: m.names, Paths: m.file}
		log := stream.NewMemory(0)
		messages, _ := m.deliver(t, r, log, 0)
		got, _ := losses(t, work(t, r, log, o, messages))
		for key, want := range m.truth {
			if l, ok := got[key]; !ok || !reflect.DeepEqual(l, want) {
				t.Errorf("%+v: %+v, want %+v", key, l, want)
			}
			if want.Known {
				known++
			}
		}
		if means += m.means; len(got) != len(m.truth) {
			t.Errorf("%d rows, want %d", len(got), len(m.truth))
		}
	})
	if (known == 0 || means == 0) && run.Whole(fixed) {
		t.Errorf("%d losses and %d mean delays were known, want some of both", known, means)
	}
}

// A device in front of the last switch sets all marks to 0. No row to that switch has a loss, on the path or of the
// graph: even periods have an excess, and odd ones lack the packets in excess there.
func TestPeriodsRecoloured(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 6}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 14))
		file, err := dial.ReadFile(strings.NewReader(markedFile))
		if err != nil {
			t.Fatal(err)
		}
		m := marked(t, r, &marking{file: file, truth: map[lossKey]result.Loss{}, recolour: true}, 12)
		o := Options{Window: time.Second, Silence: time.Hour, Expect: m.names, Paths: m.file}
		log := stream.NewMemory(0)
		messages, _ := m.deliver(t, r, log, 0)
		got, _ := losses(t, work(t, r, log, o, messages))
		for key, l := range got {
			if key.to == "l2" && (l.Known || l.Status == "ok") {
				t.Errorf("%+v: %+v, want that no loss is known", key, l)
			}
		}
		if len(got) == 0 {
			t.Error("there is no row")
		}
	})
}

// When batches are lost, or switches appear that were not expected, a row without a flag is right all the same.
func TestPeriodsFlagged(t *testing.T) {
	racetest.Stepped(t)
	exact := 0
	fixed := randtest.Cases{Seed: 1, Count: 24}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := newMarking(t, r, 1+r.IntN(60))
		o := Options{Window: time.Duration(1+r.IntN(3)) * time.Second, Silence: time.Hour, Paths: m.file}
		log := stream.NewMemory(0)
		messages, _ := m.deliver(t, r, log, 0.1)
		got, _ := losses(t, work(t, r, log, o, messages))
		for key, l := range got {
			want := m.truth[key]
			switch {
			case l.Flags != 0 || l.Status != "ok":
			case reflect.DeepEqual(l, want):
				exact++
			default:
				t.Errorf("%+v: %+v without a flag, want %+v", key, l, want)
			}
		}
	})
	if exact == 0 && run.Whole(fixed) {
		t.Error("no row without flags was seen")
	}
}

// The settings of a switch that has never reported a period are unknown, and the rows contain that: switches send their
// settings only with their reports.
func TestPeriodsSilent(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 3}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 13))
		m := newMarking(t, r, 8)
		m.names, m.senders = m.names[1:], m.senders[1:] // no messages from l1; l2, s1, s2 are left
		o := Options{Window: time.Second, Silence: time.Hour, Expect: m.names, Paths: m.file}
		log := stream.NewMemory(0)
		messages, _ := m.deliver(t, r, log, 0)
		got, _ := losses(t, work(t, r, log, o, messages))
		for key, l := range got {
			if l.Known || l.Status != "flagged" || !strings.Contains(l.Detail, "l1: the settings of session s are not known") {
				t.Errorf("%+v: %+v, want that nothing is known of l1", key, l)
			}
		}
		if len(got) == 0 {
			t.Error("there is no row")
		}
	})
}

// A report that arrives after its period was reported makes a row that replaces the earlier one. A report of a session
// that is not in the paths is an error.
func TestPeriodsLate(t *testing.T) {
	racetest.Stepped(t)
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 10}, periodsLate)
}

func periodsLate(t *testing.T, seed uint64) {
	m := newMarking(t, rand.New(rand.NewPCG(seed, 12)), 12)
	now := time.Unix(0, 0)
	p := New("altmark-0", Options{Window: time.Second, Paths: m.file}, result.Position{}, now)
	seq := uint64(0)
	var rows []result.Loss
	for _, of := range []int{0, 2, 3, 1} { // the last one is a switch that was not expected
		for _, b := range m.senders[of].batches {
			seq++
			if err := p.Consume(seq, b, now); err != nil {
				t.Fatal(err)
			}
		}
		if of == 2 {
			continue
		}
		if b := p.Cut(now, true); b != nil {
			rows = append(rows, b.Losses...)
		}
	}
	last := map[lossKey]result.Loss{}
	for _, l := range rows {
		last[lossKey{l.Window.Start, l.Flow, l.From, l.To, l.Period}] = l
	}
	late := 0
	for key, l := range last {
		if l.Flags == result.Late {
			late++
		}
		if l.Flags = 0; !reflect.DeepEqual(l, m.truth[key]) {
			t.Errorf("%+v: %+v, want %+v", key, l, m.truth[key])
		}
	}
	if late == 0 {
		t.Error("no row is late")
	}
	w, err := event.NewWriter(result.Periods, "x")
	if err != nil {
		t.Fatal(err)
	}
	x := event.PeriodOf("web", dial.Report{Target: "x:1", Session: "s", Settings: altmark.Session{Role: altmark.Transit,
		Method: altmark.Step, Mark: altmark.DSCP0}, Period: altmark.Period{ReadAt: altmark.Time{Seconds: 1}}})
	if ok, err := w.AddPeriod(&x); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := p.Consume(seq+1, w.Finish(event.Ended), now); err == nil ||
		!strings.Contains(err.Error(), `target "x:1" is not joined in group "web"`) {
		t.Errorf("%v: want an error that names target and group", err)
	}
}

func (k lossKey) String() string {
	return fmt.Sprintf("%s %s>%s period %d at %d", k.flow, k.from, k.to, k.period, k.start)
}

// BenchmarkPeriods joins the reports of four switches for 90 periods, over a graph and along a path, and cuts a batch
// after each period.
func BenchmarkPeriods(b *testing.B) {
	m := newMarking(b, rand.New(rand.NewPCG(1, 14)), 90)
	var times [][][]byte // messages by their index within their sender
	for _, s := range m.senders {
		for i, message := range s.batches {
			if i == len(times) {
				times = append(times, nil)
			}
			times[i] = append(times[i], message)
		}
	}
	now := time.Unix(0, 0)
	for b.Loop() {
		p, seq := New("altmark-0", Options{Window: time.Second, Paths: m.file}, result.Position{}, now), uint64(0)
		rows := 0
		for _, messages := range times {
			for _, message := range messages {
				seq++
				if err := p.Consume(seq, message, now); err != nil {
					b.Fatal(err)
				}
			}
			if cut := p.Cut(now, true); cut != nil {
				rows += len(cut.Losses)
			}
		}
		if rows < len(m.truth) {
			b.Fatalf("%d rows, want %d or more", rows, len(m.truth))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/90, "ns/period")
}

// Rows have the topology's names for the targets of points; a point name that contradicts them is refused.
func TestPeriodsNamed(t *testing.T) {
	file, err := dial.ReadFile(strings.NewReader(markedFile))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Paths: file, Topology: &topology.Topology{Nodes: []topology.Node{
		{Name: "leaf1", Kind: topology.Switch, Target: "l1:1"}, {Name: "leaf2", Kind: topology.Switch, Target: "l2:1"}}}}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	p := New("altmark-0", o, result.Position{}, time.Unix(1000, 0))
	all := p.wide[result.Periods].(*periods)
	if points := all.groups[all.names[0]].file.Paths[0].Points; points[0].Switch != "leaf1" ||
		points[1].Switch != "s1" || points[2].Switch != "leaf2" {
		t.Errorf("points are %+v", points)
	}
	o.Topology.Nodes[1].Name = "s1"
	if err := o.Check(); err == nil || !strings.Contains(err.Error(), `graph web`) {
		t.Errorf("two points that are one switch: %v", err)
	}
}
