package amorch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// withSession returns a bench with the session s1 on the flow group web.
func withSession(t testing.TB, s altmark.Session, changes ...func(*bench)) *bench {
	t.Helper()
	b := newBench(t, 8, 1000, changes...)
	b.rule("web", web...)
	b.session("s1", "web", s)
	b.Step()
	b.wantSession("s1", "active")
	return b
}

// The counters of a period are read in the middle of the next period, by the chip's clock. Late packets that arrive at
// the beginning of the next period still count in their own period.
func TestPeriods(t *testing.T) {
	for _, ahead := range []time.Duration{0, 300 * time.Millisecond, -37 * time.Second, 1000 * time.Hour} {
		t.Run(fmt.Sprint("chip ahead by ", ahead), func(t *testing.T) {
			b := withSession(t, initiator(), func(b *bench) { b.ahead = ahead })
			s := initiator()
			if got := b.Row(swss.CountersDB, schema.CountersAltMark, "s1"); got["ENGINE"] != "chip" ||
				got["GUARD"] != "140625000" || got["TIMING"] == "" {
				t.Errorf("before the first period: %v", got)
			}
			first := s.Interval.Period(altmark.At(b.chip.now()))
			for k := first + 1; k < first+21; k++ {
				b.Pass(s.Interval.Start(k).Std().Add(50 * time.Millisecond).Sub(b.chip.now()))
				b.count("s1", int(k&1), 10+k%7)
				b.count("s1", int(k&1^1), 1) // a late packet of the last period
			}
			b.Pass(time.Second)
			row, err := schema.ParseAltMarkCounters("s1", b.Row(swss.CountersDB, schema.CountersAltMark, "s1"))
			if err != nil {
				t.Fatal(err)
			}
			k := first + 19
			want := altmark.Period{Number: k, Colour: uint8(k & 1), Packets: 10 + k%7 + 1, Bytes: 100 * (10 + k%7 + 1),
				ReadAt: s.Interval.Middle(k + 1),
				Match:  "SRC_IP 10.0.0.1/32, L4_DST_PORT 80"}
			if row.Period != want {
				t.Errorf("the last period is\n%+v, want\n%+v", row.Period, want)
			}
			past := b.Row(swss.CountersDB, schema.CountersAltMarkPast, "s1")
			if len(past) != schema.AltMarkHistory {
				t.Errorf("%d periods in the history", len(past))
			}
			for field, value := range past {
				p, err := schema.ParseAltMarkPeriod("s1", field, value)
				if err != nil || p.Number+schema.AltMarkHistory <= k || p.Packets != 10+p.Number%7+1 || p.Flags != 0 ||
					p.ReadAt != s.Interval.Middle(p.Number+1) {
					t.Errorf("%+v, %v", p, err)
				}
			}
		})
	}
}

// When the chip's clock is set, the periods around the change are flagged, and later periods are read in the middle of
// a period of the new clock.
func TestClockStep(t *testing.T) {
	b := withSession(t, initiator())
	b.Pass(3 * time.Second)
	b.ahead, b.chip.steps = 490*time.Millisecond, 1
	b.Pass(4 * time.Second)
	var got []string
	past := b.Row(swss.CountersDB, schema.CountersAltMarkPast, "s1")
	for _, field := range slices.Sorted(maps.Keys(past)) {
		p, err := schema.ParseAltMarkPeriod("s1", field, past[field])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s", strings.TrimLeft(p.ReadAt.String(), "17"), p.Flags)))
	}
	want := []string{"00000001.500000000 first", "00000002.500000000", "00000003.500000000",
		"00000005.500000000 clock-step", "00000006.500000000 clock-step", "00000007.500000000"}
	if !slices.Equal(got, want) {
		t.Errorf("periods read at\n%q, want\n%q", got, want)
	}
}

// A register read has at most 128 flows. All sessions of an interval are read together, but sessions of another
// interval at another time.
func TestManySessions(t *testing.T) {
	b := newBench(t, 8, 2000, func(b *bench) { b.Options.ACLEntries = 4000 })
	for i := range 1100 {
		name := fmt.Sprint("f", i)
		b.rule(name, "L4_DST_PORT", fmt.Sprint(i+1))
		s := initiator()
		if i%11 == 0 {
			s.Interval = 2
		}
		b.session(name, name, s)
	}
	b.Step()
	b.Pass(2 * time.Second)
	b.count("f1", 1, 3)
	b.chip.Reads = 0
	b.Pass(time.Second)
	if b.chip.most != altmark.MaxChipFlows || b.chip.Reads != 8 { // for 1,000 flows
		t.Errorf("%d reads of up to %d flows", b.chip.Reads, b.chip.most)
	}
	b.wantLast("f1", "1700000002: 0")
	b.wantLast("f11", "chip")
	b.wantLast("f1098", "1700000002: 0")
	b.Pass(3 * time.Second)
	b.wantLast("f11", "425000000: 0 first")
	if live := b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable); len(live) != 2 { // the live objects are the profiles
		t.Errorf("windows stay: %v", live)
	}
}

// If arrivals are summed up, a register read has fewer flows. The sum of each period reaches COUNTERS_DB.
func TestArrivalsRead(t *testing.T) {
	s := initiator()
	s.MeanDelay = true
	b := newBench(t, 8, 2000)
	for i := range altmark.MaxChipArrivals + 1 {
		name := fmt.Sprint("f", i)
		b.rule(name, "L4_DST_PORT", fmt.Sprint(i+1))
		b.session(name, name, s)
	}
	b.Step()
	b.Pass(time.Second)
	const k = 1700000002
	for i := range 3 {
		b.count("f7", k&1, 1)
		b.chip.flow(b.am.Sessions["f7"].InASIC.index)[k&1].Arrivals.Add(altmark.Time{Seconds: k, Nanoseconds: uint32(5 + i)},
			false)
	}
	b.Pass(2 * time.Second)
	if b.chip.most != altmark.MaxChipArrivals {
		t.Errorf("windows of up to %d flows, want %d", b.chip.most, altmark.MaxChipArrivals)
	}
	for session, want := range map[string]altmark.Arrivals{
		"f7": {Summed: true, Packets: 3, Sum: altmark.Sum{Lo: 18}}, "f8": {Summed: true},
	} {
		p, err := schema.ParseAltMarkPeriod(session, fmt.Sprint(k), b.Row(swss.CountersDB, schema.CountersAltMarkPast,
			session)[fmt.Sprint(k)])
		if err != nil || p.Arrivals != want || p.Flags != 0 {
			t.Errorf("%s: %+v, %v, want %+v", session, p, err, want)
		}
	}
}

// Pulses that travel for longer than a period are reported too.
func TestPulses(t *testing.T) {
	s := initiator()
	s.Role, s.Method, s.MaxDelay = altmark.Transit, altmark.Pulse, 900*time.Millisecond
	b := withSession(t, s)
	b.Pass(1 * time.Second)
	f := &b.chip.flow(0)[1]
	f.Captures, f.Captured = 1, altmark.At(b.Now)
	b.Pass(time.Second)
	b.wantLast("s1", "1700000001: 0")
	if row := b.Row(swss.CountersDB, schema.CountersAltMark, "s1"); row["CAPTURES"] != "1" ||
		row["TIMESTAMP"] != "1700000001.500000000" {
		t.Errorf("%v", row)
	}
	b.Pass(time.Second)
	if row := b.Row(swss.CountersDB, schema.CountersAltMark, "s1"); row["CAPTURES"] != "0" || row["TIMESTAMP"] != "" {
		t.Errorf("%v", row)
	}
}

// The result of a register read is valid even if its object cannot be removed. The removal is tried again, and the next
// reading uses the object.
func TestWindowStays(t *testing.T) {
	b := withSession(t, initiator())
	b.Pass(999 * time.Millisecond)
	b.Rec.FailAt(2, sai.StatusFailure) // the removal of the object fails
	b.Now = start.Add(time.Second)
	b.Step()
	b.wantLast("s1", "1700000000: 0 first")
	if n := len(b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable)); n != 2 {
		t.Errorf("%d extension objects, want the profile and the window", n)
	}
	b.Pass(1100 * time.Millisecond)
	b.wantLast("s1", "1700000001: 0")
	if n := len(b.Rec.LiveOf(sai.ObjectTypeGenericProgrammable)); n != 1 {
		t.Errorf("%d extension objects, want the profile", n)
	}
}
