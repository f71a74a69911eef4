package web

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/mgmt/web/webtest"
)

// readings are the counters of the ports of a test.
type readings []result.PortReadings

func (r readings) Counters(_ context.Context, from, to int64) ([]result.PortReadings, error) {
	return r, nil
}

// Readings at regular times give exact loads. A reset, and a time without readings, are gaps. The load is compared with
// that of an earlier range.
func TestLoads(t *testing.T) {
	const second = int64(1e9)
	begin := testNow.UnixNano() - 400*second
	p := result.PortReadings{Switch: "leaf1", Port: "Ethernet4", Mbps: 10}
	for i := range int64(301) {
		x := result.Reading{Time: begin + i*second, Run: int(i / 200), Queued: i % 7,
			Out: result.Traffics{Known: true, Packets: uint64(10 * i), Bytes: uint64(1000 * i)},
			In:  result.Traffics{Known: i < 50}}
		if i > 100 && i < 120 {
			continue
		}
		p.Readings = append(p.Readings, x)
	}
	page := put(t, &result.Batch{}, func(c *Config) { c.Counters = readings{p} })
	read := func(pairs ...string) (a struct {
		about
		List []map[string]any
	}) {
		_, text := get(t, page, filtered("/load.json", pairs...))
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%v: %.300s", err, text)
		}
		return a
	}
	a := read("where", "direction = sent and bytes is known")
	var times []int64
	for _, x := range a.List {
		times = append(times, (int64(x["time"].(float64))-begin)/second)
		if x["bytes"] != 1000.0 || x["packets"] != 10.0 || x["load"] != 960.0 || x["length"] != 2e9 {
			t.Fatalf("%v: want 1000 bytes and 10 packets a second, a load of 960 millionths", x)
		}
	}
	gaps := 0
	for i := 1; i < len(times); i++ {
		if times[i] != times[i-1]+2 {
			gaps++
		}
	}
	if gaps != 2 || len(times) < 120 {
		t.Errorf("%d slots and %d gaps, want a gap without readings, and one of a reset", len(times), gaps)
	}
	if a := read("where", "direction = received and bytes = 0"); len(a.List) != 24 {
		t.Errorf("%d slots without received bytes, want 24", len(a.List))
	}
	if a := read("by", "port,direction"); len(a.List) != 2 {
		t.Errorf("%d groups, want 2: %v", len(a.List), a.List)
	}
	ends := []string{"after", fmt.Sprint(begin + 40*second), "before", fmt.Sprint(begin + 60*second), "compare", "20s"}
	for _, x := range read(append(ends, "where", "direction = sent")...).List {
		if x["bytes.before"] != 1000.0 || x["bytes.difference"] != 0.0 {
			t.Errorf("%v: want 1000 bytes before, too", x)
		}
	}
	_, text := get(t, page, filtered("/load", ends...))
	for _, want := range []string{"Bytes a second, sent by leaf1:Ethernet4", "Bytes in the queues of leaf1:Ethernet4",
		`class="b-was"><title>before: 1,000`, "at least 6"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, why := range webtest.Check(text).Wrong {
		t.Error(why)
	}
	if _, text := get(t, put(t, &result.Batch{}, nil), "/load"); !strings.Contains(text, "no counters of ports are read") {
		t.Error("a page without counters does not report that")
	}
}

// Totals of sketches have their bounds as bands. An epoch that was not read is a gap, and flows are no totals.
func TestTotals(t *testing.T) {
	const second = int64(1e9)
	begin := testNow.UnixNano() - 100*second
	b := &result.Batch{}
	for i := range int64(10) {
		b.Sketches = append(b.Sketches,
			result.Sketch{Start: begin + (i-1)*second, Time: begin + i*second, Switch: "leaf1", Task: "t", Key: "cardinality",
				Estimate: 10.5 + float64(i), Low: 9.5 + float64(i), High: 12.25 + float64(i), Bounded: true, Truth: 10,
				Known: true},
			result.Sketch{Time: begin + i*second, Switch: "leaf1", Task: "t", Key: "10.0.0.1", Estimate: 3},
			result.Sketch{Time: begin + i*second, Switch: "leaf2", Task: "t", Key: "entropy", Estimate: 3})
	}
	b.Sketches = slices.DeleteFunc(b.Sketches, func(k result.Sketch) bool { return k.Time == begin+4*second })
	b.Sketches = append(b.Sketches, b.Sketches[0]) // repeated
	page := put(t, b, nil)
	_, text := get(t, page, filtered("/totals.json", "where", "quantity = cardinality", "sort", "time"))
	var a struct{ List []map[string]any }
	if err := json.Unmarshal([]byte(text), &a); err != nil || len(a.List) != 9 {
		t.Fatalf("%v, %d rows: %s", err, len(a.List), text)
	}
	if x := a.List[0]; fmt.Sprint(x["value"], x["estimate"], x["length"]) != "map[high:13 low:9]10.51e+09" {
		t.Errorf("%v", x)
	}
	_, text = get(t, page, filtered("/totals", "after", fmt.Sprint(begin+5*second), "before", fmt.Sprint(begin+10*second),
		"compare", "5s", "where", "quantity = cardinality"))
	for _, want := range []string{"t of leaf1: cardinality; the top is 21.25",
		`class="b-band"><title>estimate 15.5, between 14.5 and 17.25`, `class="b-truth"><title>truth 10`,
		`class="b-was-band"><title>before: 10.5`, "<small>before: 9 to 13, difference: 1 to 9</small>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(text, `class="b-was"`); n != 4 {
		t.Errorf("%d epochs before, want 4: one was not read", n)
	}
	for _, why := range webtest.Check(text).Wrong {
		t.Error(why)
	}
	b.Sketches = []result.Sketch{{Time: begin, Switch: "leaf1", Task: "t", Key: "entropy", Bounded: true}}
	if _, text = get(t, put(t, b, nil), "/totals"); !strings.Contains(text, "There is one epoch in this time") {
		t.Error("one epoch is drawn as a course")
	}
	b.Sketches = append(b.Sketches, b.Sketches[0])
	b.Sketches[1].Time += second
	_, text = get(t, put(t, b, nil), "/totals")
	if !strings.Contains(text, "t of leaf1: entropy; the top is 0") {
		t.Error("an estimate of 0 has no chart")
	}
	for _, why := range webtest.Check(text).Wrong {
		t.Errorf("an estimate of 0: %s", why)
	}
}
