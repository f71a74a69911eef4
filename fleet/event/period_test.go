package event

import (
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/dial"
	"tamtam/tam/altmark"
)

func aPeriod() Period {
	by := altmark.Session{Role: altmark.Initiator, Method: altmark.Double, Mark: altmark.DSCP0, Mark2: altmark.DSCP1}
	return PeriodOf("web", dial.Report{Target: "leaf1:8080", Session: "s", Settings: by, Arrived: time.Unix(1002, 1),
		Period: altmark.Period{Number: 1000, Packets: 7, ReadAt: altmark.Time{Seconds: 1001, Nanoseconds: 5e8}}})
}

// Reports without a group, target or session, or with impossible times, are refused, with the reason.
func TestPeriodRefused(t *testing.T) {
	for want, change := range map[string]func(*Period){
		"group \"\"":                            func(p *Period) { p.Group = "" },
		"target \"\"":                           func(p *Period) { p.Target = "" },
		"session \"\"":                          func(p *Period) { p.Session = "" },
		"arrived at -1: want 0 to":              func(p *Period) { p.Arrived = -1 },
		"2^9 s: want one from 1970":             func(p *Period) { p.By.Interval = 9 },
		"period 18446744073709551615 of 2^0 s":  func(p *Period) { p.Period.Number = 1<<64 - 1 },
		"was read at 1001.500000000: want less": func(p *Period) { p.Period.Number = 10_000 },
		"begins at 20000.000000000, and was read at 0.": func(p *Period) {
			p.Period.Number, p.Period.ReadAt = 20000,
				altmark.Time{}
		},
		"has 281474976710657 packets: want 281474976710656": func(p *Period) { p.Period.Packets = 1<<48 + 1 },
		"role":   func(p *Period) { p.By.Role = 0 },
		"method": func(p *Period) { p.By.Method = 77 },
		"mark":   func(p *Period) { p.By.Mark = 77 },
	} {
		w, err := NewWriter(result.Periods, "leaf1")
		if err != nil {
			t.Fatal(err)
		}
		p := aPeriod()
		change(&p)
		if _, err := w.AddPeriod(&p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
}

// Whatever is read as a report is written back as the same.
func FuzzReadPeriod(f *testing.F) {
	f.Add([]byte(`{"group":"web","target":"a:1","session":"s","by":{"Role":1,"Method":1,"Interval":0,"Mark":1},` +
		`"period":{"Number":1000,"Packets":7,"ReadAt":{"Seconds":1001}},"arrived":1002000000000}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPeriod(Blob{Time: 1000e9, Data: data})
		if err != nil {
			return
		}
		w, _ := NewWriter(result.Periods, "leaf1")
		if ok, err := w.AddPeriod(&p); err != nil || !ok {
			return // the event is too long for a batch
		}
		var r Reader
		if err := r.Open(w.Finish(1)); err != nil {
			t.Fatal(err)
		}
		blobs, err := r.Blobs()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ReadPeriod(blobs[0]); err != nil || again != p {
			t.Errorf("%+v, %v: want %+v", again, err, p)
		}
	})
}
