package ingest

import (
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/fleet/event"
	"tamtam/fleet/join"
	"tamtam/fleet/stream"
	"tamtam/tam/altmark"
)

const onePath = `
paths:
- name: way
  points:
  - {switch: leaf1, target: "leaf1:1", session: web}
  - {switch: leaf2, target: "leaf2:1", session: web}
`

// A markingNet has two switches that are read into a log, which a partition joins.
type markingNet struct {
	t        *testing.T
	now      time.Time
	log      *stream.Memory
	join     *join.Partition
	readers  []*markingReader
	reported []string
	rows     []result.Loss
	amends   []result.Amend
}

func newMarkingNet(t *testing.T) *markingNet {
	f, err := dial.ReadFile(strings.NewReader(onePath))
	if err != nil {
		t.Fatal(err)
	}
	n := &markingNet{t: t, now: start, log: stream.NewMemory(0)}
	n.join = join.New("altmark-0", join.Options{Window: time.Second, Paths: f}, result.Position{}, start)
	for _, m := range Markings(f) {
		o := options(m.Source(), 1, &n.now)
		o.Live, o.Groups, o.Every = true, m.Groups(), time.Millisecond
		if m.To, err = NewSender(n.log, result.Periods, o); err != nil {
			t.Fatal(err)
		}
		m.Report = func(e dial.Event) {
			if e.Kind == dial.Bad {
				n.reported = append(n.reported, e.Err.Error())
			}
		}
		if err := m.To.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.To.Hold(true)
		n.readers = append(n.readers, &markingReader{Marking: m, settings: map[string]altmark.Session{},
			waiting: map[string][]dial.Report{}, sent: map[string][]dial.Report{}})
	}
	return n
}

func (n *markingNet) apply(i int, events ...dial.Event) {
	n.t.Helper()
	for _, e := range events {
		e.Target, e.Session = n.readers[i].Target, "web"
		if err := n.readers[i].apply(n.t.Context(), e); err != nil {
			n.t.Fatal(err)
		}
	}
}

// step advances the time, and collects the rows that exist by then.
func (n *markingNet) step(d time.Duration) {
	n.t.Helper()
	n.now = n.now.Add(d)
	for _, r := range n.readers {
		if err := r.To.Step(n.t.Context()); err != nil {
			n.t.Fatal(err)
		}
	}
	for n.join.Next() <= n.sent() {
		entries, err := n.log.Read(n.t.Context(), "altmark-0", n.join.Next(), 100)
		if err != nil {
			n.t.Fatal(err)
		}
		for _, e := range entries {
			if err := n.join.Consume(e.Seq, e.Data, n.now); err != nil {
				n.t.Fatal(err)
			}
		}
	}
	if b := n.join.Cut(n.now, true); b != nil {
		n.rows = append(n.rows, b.Losses...)
		n.amends = append(n.amends, b.Amends...)
	}
}

func (n *markingNet) sent() (all uint64) {
	for _, r := range n.readers {
		all += uint64(r.To.Stats().Batches)
	}
	return all
}

func (n *markingNet) settings(role altmark.Role) dial.Event {
	return dial.Event{Kind: dial.Settings, Settings: altmark.Session{Role: role, Method: altmark.Step, Mark: altmark.DSCP0,
		ClockError: time.Millisecond, MaxDelay: 100 * time.Millisecond}}
}

// period returns the event for the period that began k seconds after the start.
func (n *markingNet) period(k int, arrived bool) dial.Event {
	begins := start.Add(time.Duration(k) * time.Second)
	e := dial.Event{Kind: dial.Period, Period: altmark.Period{Number: uint64(begins.Unix()),
		Colour:  uint8(begins.Unix() & 1),
		Packets: uint64(1000 + k), ReadAt: altmark.At(begins.Add(1500 * time.Millisecond))}}
	if arrived {
		e.Arrived = begins.Add(1501 * time.Millisecond)
	}
	return e
}

// Reports of two switches, one of which is unreachable for a while, become one row per period, without a flag. The
// watermark of the unreachable switch does not advance, and repeated reports are not sent again.
func TestMarking(t *testing.T) {
	n := newMarkingNet(t)
	synced, lost := dial.Event{Kind: dial.Synced}, dial.Event{Kind: dial.Lost}
	n.apply(0, n.settings(altmark.Initiator), n.period(-2, false), n.period(-1, false), synced)
	n.apply(1, n.period(-2, false), n.period(-1, false), n.settings(altmark.Terminator), synced) // settings come last
	for k := range 45 {
		n.step(time.Second)
		n.apply(0, n.period(k-1, true))
		switch {
		case k == 10:
			n.apply(1, lost)
		case k == 20:
			for back := 16; back > 0; back-- {
				n.apply(1, n.period(k-1-back, false))
			}
			n.apply(1, n.period(k-1, false), synced)
		case k < 10 || k > 20:
			n.apply(1, n.period(k-1, true))
		}
		if k == 19 && len(n.rows) > 0 && n.rows[len(n.rows)-1].Window.Start > start.Add(9*time.Second).UnixNano() {
			t.Errorf("%+v: a period is told of though a switch is away", n.rows[len(n.rows)-1])
		}
	}
	seen := map[uint64]bool{}
	for _, l := range n.rows {
		k := int64(l.Period) - start.Unix()
		if seen[l.Period] || l.Flags != 0 || l.Status == "ok" && (!l.Known || l.Sent != 1000+k || l.Lost != 0) {
			t.Errorf("period %d: %+v, there already: %v", k, l, seen[l.Period])
		}
		if l.Status != "ok" {
			t.Errorf("period %d is %s: %s", k, l.Status, l.Detail)
		}
		seen[l.Period] = true
	}
	if len(seen) < 30 || len(n.reported) > 0 {
		t.Errorf("%d periods, want 30 or more; told %q", len(seen), n.reported)
	}
}

// DoubtSince flags the reports since a time, by the switch's clock, in existing rows and in later ones. It flags
// neither reports from long before, nor later reports.
func TestMarkingSuspectSince(t *testing.T) {
	for _, ahead := range []time.Duration{0, 40 * time.Second, -40 * time.Second} {
		n := newMarkingNet(t)
		n.now = n.now.Add(-ahead) // clock of the switches
		synced := dial.Event{Kind: dial.Synced}
		n.apply(0, n.settings(altmark.Initiator), synced)
		n.apply(1, n.settings(altmark.Terminator), synced)
		for k := range 85 {
			n.step(time.Second)
			n.apply(0, n.period(k-1, true))
			n.apply(1, n.period(k-1, true))
			if k == 60 {
				for _, r := range n.readers {
					// makes periods from 53 on suspect
					if err := r.To.SuspectSince(t.Context(), n.now.Add(-6*time.Second)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		flagged := map[int64]bool{}
		for _, l := range n.rows {
			k := int64(l.Period) - start.Unix()
			flagged[k] = l.Flags == result.Gap
			for _, a := range n.amends {
				end := l.Window.Start + l.Window.Length - 1
				flagged[k] = flagged[k] || a.From <= end && a.To >= l.Window.Start && a.Flags&result.Gap != 0
			}
		}
		for k, is := range flagged {
			// an amendment covers all periods on which a row depends
			if k >= 53 && k <= 60 && !is || (k < 15 || k > 70) && is {
				t.Errorf("clocks %v ahead: period %d is in doubt: %v; amends %+v", ahead, k, is, n.amends)
			}
		}
		if len(flagged) < 70 {
			t.Errorf("clocks %v ahead: %d rows, want 70 or more", ahead, len(flagged))
		}
	}
}

// Reports by a clock that is far off are not sent but lost, and the offset is reported.
func TestMarkingWrongClock(t *testing.T) {
	n := newMarkingNet(t)
	n.apply(0, n.settings(altmark.Initiator), n.period(0, true), dial.Event{Kind: dial.Synced}, n.period(7200, true),
		n.period(-7200, true))
	if s := n.readers[0].To.Stats(); s.Events != 1 || s.Lost != 2 {
		t.Errorf("%+v: want one event, and two lost", s)
	}
	if len(n.reported) != 2 || !strings.Contains(n.reported[0], "2h0m2s from this host's: want less than 1h0m0s") {
		t.Errorf("told %q", n.reported)
	}
}

// A group is announced only to its partition.
func TestMarkingGroups(t *testing.T) {
	s, err := NewSender(stream.NewMemory(0), result.Periods, Options{Source: "leaf1", Partitions: 16,
		Groups: []string{"way"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Lose(1, start)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats().Batches; got != 2 {
		t.Errorf("%d batches: want two, to one partition", got)
	}
	other := event.PeriodOf("another", dial.Report{Target: "leaf1:1", Session: "web"})
	if err := s.Period(t.Context(), &other); err != nil || s.Stats().Refused != 1 {
		t.Errorf("%v, %+v: want that a report of a group that is not the source's is refused", err, s.Stats())
	}
}
