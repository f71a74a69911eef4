package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/web/webtest"
)

// Drops whose report came with a window of 22 s, as records of a run of 80 ms do, are where their times are. A report
// of an interval is a band in each slot that it overlaps. A range that it only overlaps counts it as possible.
func TestIntervals(t *testing.T) {
	const ms = int64(time.Millisecond)
	begin := testNow.Add(-time.Second).UnixNano()
	row := func(from, to int64, packets int64, w result.Window) result.Drop {
		return result.Drop{Window: w, Switch: "a", Queue: -1, Reason: "acl", Packets: packets, First: begin + from*ms,
			Last: begin + to*ms - 1, Source: "record"}
	}
	long := result.Window{Start: begin - begin%(22e3*ms), Length: 22e3 * ms}
	short := func(i int64) result.Window { return result.Window{Start: begin + 10*i*ms, Length: 10 * ms} }
	p := put(t, &result.Batch{
		Hops: []result.Hop{{Window: short(0), Flow: "f", Path: "x", Switch: 1, Packets: 3},
			{Window: short(7), Flow: "f", Path: "x", Switch: 1, Packets: 3}},
		Drops: []result.Drop{row(12, 14, 5, long), row(33, 56, 7, long), row(41, 42, 1, long)},
	}, nil)
	type slots struct {
		List []struct {
			Time  int64
			Drops any
			May   bool `json:"may-lie"`
		}
	}
	read := func(pairs ...string) (list []string) {
		_, text := get(t, p, filtered("/time.json", append(pairs, "where", "drops > 0 or not drops > 0 or may-lie")...))
		var x slots
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, s := range x.List {
			list = append(list, fmt.Sprint((s.Time-begin)/ms, " ", s.Drops, " ", s.May))
		}
		return list
	}
	want := []string{"0 0 false", "10 5 false", "30 map[high:7 low:0] true", "40 map[high:8 low:1] true",
		"50 map[high:7 low:0] true",
		"70 0 false"}
	if got := read(); !slices.Equal(got, want) {
		t.Errorf("slots, drops, may lie: %q, want %q", got, want)
	}
	around := func(from, to int64) []string {
		return []string{"after", fmt.Sprint(begin + from*ms), "before", fmt.Sprint(begin + to*ms)}
	}
	if got := read(around(60, 70)...); len(got) != 0 {
		t.Errorf("a range without drops has %q", got)
	}
	for _, tt := range []struct {
		from, to int64
		want     string
	}{{50, 70, `data-of="Packets">0 to 7</td>`}, {30, 60, `data-of="Packets">8</td>`}, {0, 30, `data-of="Packets">5</td>`},
		{56, 80, "No drops"}, {33, 56, `data-of="Packets">8</td>`}, {55, 56, "7 packets may lie in this time or beside it"}} {
		if _, text := get(t, p, filtered("/drops", around(tt.from, tt.to)...)); !strings.Contains(text, tt.want) {
			t.Errorf("drops from %d to %d ms: no %q", tt.from, tt.to, tt.want)
		}
	}
	_, text := get(t, p, "/time")
	if n := len(regexp.MustCompile("up to [78] more may lie here").FindAllString(text, -1)); n != 46 {
		t.Errorf("%d slots of 512 µs have a band of drops that may lie there, want 46", n)
	}
}

// A range is compared with an earlier one, slot by slot. Differences of bounds are bounds.
func TestComparison(t *testing.T) {
	const second = int64(1e9)
	begin := testNow.Add(-time.Hour).UnixNano()
	begin -= begin % (100 * second)
	b := &result.Batch{}
	for i := range int64(20) {
		w := result.Window{Start: begin + i*second, Length: second}
		b.Hops = append(b.Hops, result.Hop{Window: w, Flow: "f", Path: "x", Switch: 1, Packets: 10 * (i + 1)})
	}
	b.Hops[5].Flags = result.Gap
	b.Hops = slices.Delete(b.Hops, 13, 14) // a gap
	p := put(t, b, nil)
	ends := []string{"after", fmt.Sprint(begin + 10*second), "before", fmt.Sprint(begin + 20*second)}
	for _, compare := range []string{"before", "10s", "9500ms"} {
		_, text := get(t, p, filtered("/time.csv", append(ends, "compare", compare)...))
		list, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(list) != 11 {
			t.Fatalf("compare=%s: %v: %s", compare, err, text)
		}
		column := func(name string) int { return slices.Index(list[0], name) }
		for i, row := range list[1:] {
			now, was := 10*(i+11), 10*(i+1)
			low, high := fmt.Sprint(now-was), fmt.Sprint(now-was)
			if i == 5 || i == 3 { // at least 60 before; a gap now
				low, high = "", ""
			}
			if row[column("packets.before.low")] != fmt.Sprint(was) || row[column("packets.difference.low")] != low ||
				row[column("packets.difference.high")] != high {
				t.Errorf("compare=%s, slot %d: %q", compare, i, row)
			}
		}
	}
	_, text := get(t, p, filtered("/time", append(ends, "compare", "before")...))
	for _, want := range []string{"10.00 s earlier.", `class="b-was"><title>before: 10</title>`,
		`class="b-was-band"><title>before: at least 60`, "<small>before: 10, difference: 100</small>",
		`<a href="/time?after=` + ends[1]} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, why := range webtest.Check(text).Wrong {
		t.Error(why)
	}
	for at, want := range map[string]string{"compare=-5s": "want before, or how much earlier",
		"compare=90000d": "would end before 1970"} {
		if r, text := get(t, p, "/time?since=all&"+at); r.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %s", at, r.Status)
		}
	}
}

// A simulation has nothing before its begin: only ranges that begin later can be compared, and only with ranges that
// the run has.
func TestComparisonInASimulation(t *testing.T) {
	const ms = int64(time.Millisecond)
	begin := testNow.Add(-100 * time.Millisecond).UnixNano()
	b := &result.Batch{}
	for i := range int64(10) {
		w := result.Window{Start: begin + 10*i*ms, Length: 10 * ms}
		b.Hops = append(b.Hops, result.Hop{Window: w, Flow: "f", Path: "x", Switch: 1, Packets: 10})
	}
	p := put(t, b, func(c *Config) { c.Zero = time.Unix(0, begin) })
	later := []string{"after", fmt.Sprint(begin + 50*ms), "before", fmt.Sprint(begin + 100*ms)}
	for at, want := range map[string][]string{
		"/time":                     {"and to compare it with an earlier one"},
		filtered("/time", later...): {">the range before</a>", "compare=before"},
		"/time?compare=before":      {"There is nothing to compare with: the earlier range is before the run began"},
		filtered("/time", append(later, "compare", "before")...): {"is 0 ns to 50.00 ms, 50.00 ms earlier"},
	} {
		_, text := get(t, p, at)
		for _, w := range append(want, "The run is finished") {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q", at, w)
			}
		}
		if strings.Contains(text, "1 h earlier") || strings.Contains(text, "ago") {
			t.Errorf("%s has a range before the run, or an age of its rows", at)
		}
	}
}
