package amorch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/orch/feature"
	"tamtam/tam/altmark"
)

// at returns the clock reading at a time d after the beginning of a period of one second.
func at(period uint64, d time.Duration) altmark.ChipClock {
	return altmark.ChipClock{At: altmark.Time{Seconds: period, Nanoseconds: uint32(d)}, Synchronised: true}
}

// read returns the counters of a flow with c0 packets of colour 0 and c1 of colour 1.
func read(c0, c1 uint64) altmark.ChipFlow {
	var r altmark.ChipFlow
	r.Of[0] = altmark.ChipCounts{Packets: c0, Bytes: 64 * c0}
	r.Of[1] = altmark.ChipCounts{Packets: c1, Bytes: 64 * c1}
	return r
}

// The meter reports a period after each reading. The session's interval is 1 s. Its packets arrive up to 100 ms late
// and up to 20 ms early.
func TestMeter(t *testing.T) {
	const mid, early, late = 500 * time.Millisecond, 50 * time.Millisecond, 980 * time.Millisecond
	s := altmark.Session{Role: altmark.Transit, Method: altmark.Step, Mark: altmark.DSCP0, SlotSync: true,
		ClockError: 20 * time.Millisecond, MaxDelay: 80 * time.Millisecond}
	type step struct {
		t    altmark.ChipClock
		r    altmark.ChipFlow
		want string // expected period as "number: packets flags"; "" if there is none
	}
	stepped := func(t altmark.ChipClock) altmark.ChipClock { t.Steps = 1; return t }
	other := func(t altmark.ChipClock) altmark.ChipClock { t.Started = 7; return t }
	unsync := func(t altmark.ChipClock) altmark.ChipClock { t.Synchronised = false; return t }
	anew := func(r altmark.ChipFlow) altmark.ChipFlow { r.Generation = 3; return r }
	with := func(r altmark.ChipFlow, colour int, f func(*altmark.ChipCounts)) altmark.ChipFlow {
		f(&r.Of[colour])
		return r
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"the first period is not whole, the second is", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"}, {at(12, mid), read(10, 8), "11: 8 "},
			{at(13, mid), read(20, 8), "12: 11 "},
		}},
		{"read twice in a period: told once", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"}, {at(11, mid+1), read(9, 4), ""},
			{at(12, mid), read(10, 8), "11: 8 "},
		}},
		{"not in the guard", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"},
			{at(12, early), read(9, 8), ""}, {at(12, late), read(10, 8), ""}, {at(13, mid), read(20, 8), "12: 11 "},
			{at(14, mid), read(20, 9), "13: 9 late-read"}, {at(15, mid), read(21, 9), "14: 1 "},
		}},
		{"a reading is missing: two periods of a colour in one difference", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"}, {at(12, mid), read(10, 8), "11: 8 "},
			{at(15, mid), read(20, 30), "14: 11 late-read"}, {at(16, mid), read(20, 40), "15: 32 late-read"},
			{at(17, mid), read(25, 40), "16: 5 "},
		}},
		{"the clock was set", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"},
			{stepped(at(12, mid)), read(10, 8), "11: 8 clock-step"},
			{stepped(at(13, mid)), read(20, 8), "12: 10 clock-step"}, {stepped(at(14, mid)), read(20, 18), "13: 10 clock-step"},
			{stepped(at(15, mid)), read(22, 18), "14: 2 "},
		}},
		{"the clock was set back: no number is told twice", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"}, {stepped(at(10, mid)), read(9, 8), ""},
			{stepped(at(11, mid)), read(19, 8), ""}, {stepped(at(12, mid)), read(19, 9), "11: 1 clock-step"},
			{stepped(at(13, mid)), read(29, 9), "12: 10 "},
		}},
		{"another chip, whose counters are higher", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"}, {other(at(12, mid)), read(50, 60), ""},
			{other(at(13, mid)), read(51, 60), "12: 1 counter-reset"}, {other(at(14, mid)), read(51, 61), "13: 1 counter-reset"},
			{other(at(15, mid)), read(53, 61), "14: 2 "},
		}},
		{"counters began anew", []step{
			{at(10, mid), read(5, 0), ""}, {at(11, mid), read(9, 3), "10: 4 first"}, {at(12, mid), anew(read(9, 30)), ""},
			{at(13, mid), anew(read(10, 30)), "12: 1 counter-reset"},
		}},
		{"a counter is lower", []step{
			{at(10, mid), read(5, 9), ""}, {at(11, mid), read(9, 10), "10: 4 first"}, {at(12, mid), read(9, 1), ""},
			{at(13, mid), read(10, 1), "12: 1 counter-reset"},
		}},
		{"out of window, many pulses, not synchronised", []step{
			{at(10, mid), read(0, 0), ""}, {at(11, mid), read(4, 3), "10: 4 first"},
			{at(12, mid), with(read(4, 8), 1, func(c *altmark.ChipCounts) { c.Outside = 2 }), "11: 8 out-of-window"},
			{at(13, mid), with(with(read(6, 8), 1, func(c *altmark.ChipCounts) { c.Outside = 2 }), 0,
				func(c *altmark.ChipCounts) { c.Captures, c.Unsynchronised = 2, true }), "12: 2 unsynchronised,many-pulses"},
			{unsync(at(14, mid)), with(with(read(6, 9), 1, func(c *altmark.ChipCounts) { c.Outside = 2 }), 0,
				func(c *altmark.ChipCounts) { c.Captures = 2 }), "13: 1 unsynchronised"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m meter
			for i, st := range tt.steps {
				p, ok := m.add(s, st.t, st.r)
				got := ""
				if ok {
					got = fmt.Sprintf("%d: %d %s", p.Number, p.Packets, p.Flags)
				}
				if got != st.want {
					t.Errorf("reading %d at %v: %q, want %q", i, st.t.At, got, st.want)
				}
				if ok && (p.Bytes != 64*p.Packets || p.Colour != uint8(p.Number&1) || p.ReadAt != st.t.At) {
					t.Errorf("reading %d: %+v", i, p)
				}
			}
		})
	}
}

// Arrival times are relative to the beginning of their own period, regardless of earlier sums of the chip. A clock that
// was not synchronised at one of the arrivals flags the period.
func TestMeterOfArrivals(t *testing.T) {
	const mid = 500 * time.Millisecond
	s := altmark.Session{Role: altmark.Transit, Method: altmark.Step, Mark: altmark.DSCP0, SlotSync: true, MeanDelay: true,
		ClockError: 20 * time.Millisecond, MaxDelay: 80 * time.Millisecond}
	var m meter
	var chip altmark.ChipFlow
	chip.Of[0].Arrivals, chip.Of[0].Packets = altmark.ChipArrivals{Packets: 77,
		Sum: altmark.Sum{Hi: 1<<64 - 1, Lo: 1<<64 - 1}}, 77
	come := func(colour int, unsynchronised bool, times ...time.Duration) {
		for _, d := range times {
			chip.Of[colour].Packets++
			chip.Of[colour].Arrivals.Add(altmark.At(time.Unix(0, 0).Add(d)), unsynchronised)
		}
	}
	var got []string
	for k := uint64(10); k < 17; k++ {
		if p, ok := m.add(s, at(k, mid), chip); ok {
			got = append(got, fmt.Sprintf("%d: %d of %d at %v %s", p.Number, p.Arrivals.Packets, p.Packets, p.Arrivals.Sum,
				p.Flags))
		}
		switch k { // one packet of period k+1 arrives early, and one arrives late
		case 11:
			come(0, false, 12*time.Second-10, 12*time.Second+3, 13*time.Second+1)
		case 12:
			come(1, true, 13*time.Second+5)
		case 14:
			come(1, false, 15*time.Second+7)
			chip.Of[1].Arrivals.Packets-- // the chip counts one packet whose arrival it does not sum up
		}
	}
	want := []string{"10: 0 of 0 at 0 first", "11: 0 of 0 at 0 ", "12: 3 of 3 at 999999994 ",
		"13: 1 of 1 at 5 unsynchronised", "14: 0 of 0 at 0 ",
		"15: 0 of 1 at 15000000007 "}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	s.MeanDelay = false
	if p := m.period(s, at(20, mid), 12, base{period: 10}, chip); p.Arrivals != (altmark.Arrivals{}) {
		t.Errorf("nobody asks, and there is %+v", p.Arrivals)
	}
}

// A pulse of muxed marking without slots is counted with the other colour. The meter corrects this, whenever in the
// period the pulse arrived.
func TestBySteps(t *testing.T) {
	r := read(10, 21)
	r.Of[0].Captures, r.Of[0].PulseBytes = 1, 64
	r.Of[1].Bytes = 20*64 + 64
	if got := bySteps(r); got.Of[0].Packets != 11 || got.Of[0].Bytes != 11*64 || got.Of[1].Packets != 20 ||
		got.Of[1].Bytes != 20*64 {
		t.Errorf("%+v", got)
	}
}

func window(flows int) string {
	var gen, words []string
	for i := range flows {
		gen = append(gen, fmt.Sprint(i+1))
		words = append(words, "1,64,1,1700000000,5,0,2,64,0,0,9,3,192,0,0,0,1,0,0,2,128,0")
	}
	return fmt.Sprintf(
		`{"attributes":[{"flows":{"value":[3]}},{"time":{"value":[1700000001,500000000,1,2,1600000000000000000]}},`+
			`{"generations":{"value":[%s]}},{"counters":{"value":[%s]}}]}`,
		strings.Join(gen, ","), strings.Join(words, ","))
}

// parseText parses an ENTRY in the same way as readFlows.
func parseText(text []byte, flows int) (altmark.ChipClock, []altmark.ChipFlow, error) {
	values, err := feature.ParseEntry(text)
	if err != nil {
		return altmark.ChipClock{}, nil, err
	}
	return parseFlows(values, flows)
}

func TestParseWindow(t *testing.T) {
	now, r, err := parseText([]byte(window(2)), 2)
	if err != nil || now != (altmark.ChipClock{At: altmark.Time{Seconds: 1700000001, Nanoseconds: 500000000},
		Synchronised: true, Steps: 2, Started: 1600000000000000000}) {
		t.Fatalf("%+v, %v", now, err)
	}
	want := altmark.ChipFlow{Generation: 2, Of: [2]altmark.ChipCounts{
		{Packets: 1, Bytes: 64, Captures: 1, Captured: altmark.Time{Seconds: 1700000000, Nanoseconds: 5}, Outside: 2,
			PulseBytes: 64, Digest: 9},
		{Packets: 3, Bytes: 192, Unsynchronised: true, Foreign: 2, ForeignBytes: 128},
	}}
	if len(r) != 2 || r[1] != want {
		t.Errorf("%+v, want %+v", r, want)
	}
	for _, tt := range []struct{ text, want string }{
		{"[", "no entry"},
		{window(1), "22 numbers as counters, want 44"},
		{strings.Replace(window(2), "500000000", "5000000000", 1), "nanoseconds below"},
		{"{}", "0 numbers"},
		{strings.Replace(window(2), `{"generations"`, `{"arrivals":{"value":[1,2,3,4]}},{"generations"`, 1),
			"4 numbers as arrivals, want 16"},
		{strings.Replace(window(2), `{"generations"`, `{"kernel":{"value":[1,2,1]}},{"generations"`, 1),
			"3 numbers as kernel, want 6"},
		{strings.Replace(window(2), `{"generations"`, `{"kernel":{"value":[1,2,1,1,9223372036854775807,0]}},{"generations"`,
			1), "at most 2^62"},
	} {
		if _, _, err := parseText([]byte(tt.text), 2); err == nil ||
			tt.want != "22 numbers as counters, want 44" && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}

func FuzzParseWindow(f *testing.F) {
	f.Add([]byte(window(1)), uint8(1))
	f.Add([]byte(window(3)), uint8(3))
	f.Add([]byte(`{"attributes":[{"time":{"value":[1]}}]}`), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, flows uint8) {
		_, r, err := parseText(text, int(flows))
		if err == nil && len(r) != int(flows) {
			t.Errorf("%d readings of %d flows", len(r), flows)
		}
	})
}
