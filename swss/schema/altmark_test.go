package schema

import (
	"strings"
	"testing"

	"tamtam/tam/altmark"
)

// A period in the history keeps its contents and its own number.
func TestAltMarkHistory(t *testing.T) {
	p := altmark.Period{Number: 425000001, Colour: 1, Packets: 10, Bytes: 640, Captures: 1,
		Timestamp: altmark.Time{Seconds: 1700000004, Nanoseconds: 7}, Digest: 1<<32 - 1,
		OutOfWindow: 2, ReadAt: altmark.Time{Seconds: 1700000009}, Flags: altmark.OutOfWindow}
	field, value := FormatAltMarkPeriod(p)
	if got, err := ParseAltMarkPeriod("s", field, value); err != nil || got != p {
		t.Errorf("%s %s is %+v, %v", field, value, got, err)
	}
	for _, tt := range [][2]string{{"425000002", value}, {field, "{"}, {field, `{"PERIOD":"425000001","COLOUR":"2"}`},
		{field, `{"PERIOD":"425000001","FLAGS":"strange"}`}} {
		if got, err := ParseAltMarkPeriod("s", tt[0], tt[1]); err == nil {
			t.Errorf("%s %s is %+v", tt[0], tt[1], got)
		}
	}
}

func FuzzAltMarkPeriod(f *testing.F) {
	field, value := FormatAltMarkPeriod(altmark.Period{Number: 5, Colour: 1, Captures: 1,
		Timestamp: altmark.Time{Seconds: 9}})
	f.Add(field, value)
	f.Add("0", "{}")
	f.Add("0", "[")
	f.Fuzz(func(t *testing.T, field, value string) {
		p, err := ParseAltMarkPeriod("s", field, value)
		if err != nil {
			return
		}
		field, value = FormatAltMarkPeriod(p)
		again, err := ParseAltMarkPeriod("s", field, value)
		if err != nil || again != p {
			t.Errorf("%+v is read again as %+v, %v", p, again, err)
		}
	})
}

// One side of a graph's result can contain all switches of the graph, up to the maximum number. A switch can have a +
// in its name. Each name is limited in length.
func TestAltMarkResultSides(t *testing.T) {
	row := func(to string) error {
		r := AltMarkResult{Path: "web", From: "leaf1", To: to, Status: AltMarkComplete}
		_, err := ParseAltMarkResult(r.Key(), r.Fields())
		return err
	}
	most := strings.Repeat("spine-99+", 255) + "spine-99"
	for _, to := range []string{"leaf2", most, "a+b", "+", "a+"} {
		if err := row(to); err != nil {
			t.Errorf("to %.20s: %v", to, err)
		}
	}
	for _, to := range []string{"", most + "+a", strings.Repeat("a", 256) + "+b", most + "+", "a b+c"} {
		if row(to) == nil {
			t.Errorf("to %.20s, %d bytes long, is taken", to, len(to))
		}
	}
}
