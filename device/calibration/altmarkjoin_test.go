package calibration

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"tamtam/collector/marks"
	"tamtam/device/devicetest"
	"tamtam/saisim"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A clock steps during measurements, forward or back, or roles do not match. The affected periods are flagged or
// missing, and the numbers of all others are right. One frame in five is lost between the switches. A report is
// distrusted if another report with the same number differs, as after a step back.
func TestAltMarkJoined(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	away := markInterval.Duration() * 21 / 2
	all := []uint64{1003, 1005, 1007, 1009, 1011, 1013, 1015}
	for _, tt := range []struct {
		name  string
		role  string                   // role of the second switch
		steps map[uint64]time.Duration // steps of the second switch's clock in the middle of a period, by period
		good  []uint64                 // periods that must be complete
		bad   []uint64                 // periods that must not be complete
	}{
		{"as it should be", "terminator", nil, all, nil},
		{"the clock steps", "terminator", map[uint64]time.Duration{1006: away, 1009: -away}, []uint64{1002, 1023, 1024},
			[]uint64{1006, 1007, 1008, 1009, 1016, 1017}},
		// numbers repeat
		{"the clock steps back", "terminator", map[uint64]time.Duration{1009: -away}, nil,
			[]uint64{1003, 1005, 1009, 1011, 1013}},
		{"a wrong role", "initiator", nil, nil, all},
	} {
		for _, fields := range [][]string{{"method", "step", "mark", "dscp0"},
			{"method", "double", "mark", "dscp0", "mark2", "dscp1"}, {"method", "muxed", "mark", "dscp1"}} {
			t.Run(tt.name+", "+fields[1], func(t *testing.T) {
				first := newMarked(t, profile.Small(), append(slices.Clone(fields), "role", "initiator")...)
				second := newMarked(t, profile.Small(), append(slices.Clone(fields), "role", tt.role)...)
				const last = markPeriod + 28
				a := first.reports(markPeriod+1, last, func(k uint64) {
					for _, part := range markParts {
						devicetest.NoError(t, first.Chip.Receive(0, first.into(k, part), saisim.Frame{Data: markFrame(t, 8<<2)}))
					}
				})
				lost, pulses := first.handOn(second)
				b := second.reports(markPeriod+1, last, func(k uint64) {
					if d := tt.steps[k]; d != 0 {
						second.advance(second.into(k, 0.5))
						devicetest.NoError(t, second.Chip.StepClock(d))
					}
				})
				results := joinMarked(t, first, second, a, b)
				for k, r := range results {
					if r.LossValid && (r.Lost != lost[k] || r.Sent != uint64(len(markParts))) {
						t.Errorf("period %d: %+v, and %d were lost", k, r, lost[k])
					}
				}
				for _, k := range tt.good {
					if fields[1] == "muxed" && (pulses[k] || pulses[k-1]) {
						// a lost packet cannot be distinguished from a late packet in the next period
						continue
					}
					if r := results[k]; r.Status != marks.OK || !r.LossValid {
						t.Errorf("period %d is %s: %q", k, r.Status, r.Reasons)
					}
				}
				for _, k := range tt.bad {
					if r := results[k]; r.LossValid || r.DelayValid || r.Status == marks.OK {
						t.Errorf("period %d is %s: %+v", k, r.Status, r)
					}
				}
			})
		}
	}
}

// A reported is a reported period, with the true time of the report.
type reported struct {
	altmark.Period
	at time.Time
}

// reports runs through periods and returns m's reports of them, in order.
func (m *marked) reports(from, to uint64, in func(k uint64)) (all []reported) {
	m.Helper()
	known := map[uint64]altmark.Period{}
	for k := from; k <= to; k++ {
		in(k)
		m.advance(m.into(k, 0.95))
		news := m.history()
		for _, number := range slices.Sorted(func(yield func(uint64) bool) {
			for n, p := range news {
				if known[n] != p && !yield(n) {
					return
				}
			}
		}) {
			known[number] = news[number]
			all = append(all, reported{news[number], m.Now()})
		}
	}
	return all
}

// handOn passes the frames that left m to the next switch, except for every fifth frame. It counts the lost frames by
// the period of m's true time, and returns in which periods the pulse of muxed marking was lost.
func (m *marked) handOn(next *marked) (lost map[uint64]int64, pulses map[uint64]bool) {
	m.Helper()
	lost, pulses = map[uint64]int64{}, map[uint64]bool{}
	for i, o := range m.outs {
		if i%5 == 4 {
			k := markInterval.Period(altmark.At(m.Chip.TrueTime(o.At)))
			lost[k]++
			pulses[k] = pulses[k] || i%len(markParts) == 3 // the first frame after the middle
			continue
		}
		devicetest.NoError(m.T, next.Chip.Receive(0, o.At+1000, saisim.Frame{Data: bytes.Clone(o.Data)}))
	}
	return lost, pulses
}

// joinMarked joins the reports of two switches and returns the last result of each period.
func joinMarked(t *testing.T, first, second *marked, a, b []reported) map[uint64]marks.Result {
	t.Helper()
	point := func(m *marked, name string) marks.Point {
		s, err := schema.ParseAltMarkSession("m", m.row(swss.ConfigDB, schema.CfgTAMAltMark, "m"))
		if err != nil {
			t.Fatal(err)
		}
		return marks.Point{Switch: name, Session: "m", Settings: s.Session}
	}
	join, err := marks.NewJoiner(marks.Path{Name: "p", Points: []marks.Point{point(first, "first"),
		point(second, "second")}})
	if err != nil {
		t.Fatal(err)
	}
	results := map[uint64]marks.Result{}
	add := func(rs []marks.Result) {
		for _, r := range rs {
			results[r.Period] = r
		}
	}
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			add(join.Add(0, a[i].Period, a[i].at))
		}
		if i < len(b) {
			add(join.Add(1, b[i].Period, b[i].at))
		}
	}
	add(join.Flush())
	return results
}
