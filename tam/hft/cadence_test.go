package hft

import (
	"fmt"
	"strings"
	"testing"
)

// Each time that is not where the interval puts it is reported as what it is.
func TestCadence(t *testing.T) {
	for _, c := range []struct {
		name     string
		interval int64
		records  string // template@time
		events   string
		want     string
	}{
		{"exact", 0, "256@0 256@10 256@20", "", "3 times every 10ns (most frequent), 2 of 2 gaps exact"},
		{"one time", 0, "256@0", "", "1 times, interval unknown"},
		{"gap", 0, "256@0 256@10 256@40 256@50", "gap:2@40",
			"4 times every 10ns (most frequent), 2 of 3 gaps exact, 2 times missing"},
		{"first gap is long", 0, "256@0 256@20 256@30 256@40 256@50", "irregular@30",
			"5 times every 10ns (most frequent), 3 of 4 gaps exact, 1 times missing"},
		{"given", 10, "256@0 256@20 256@30", "gap:1@20", "3 times every 10ns (given), 1 of 2 gaps exact, 1 times missing"},
		{"irregular", 10, "256@0 256@11 256@20", "irregular@11 irregular@20",
			"3 times every 10ns (given), 0 of 2 gaps exact, 2 irregular gaps"},
		{"duplicate", 10, "256@0 256@10 256@10", "duplicate@10",
			"2 times every 10ns (given), 1 of 1 gaps exact, 1 duplicates"},
		{"late", 10, "256@0 256@20 256@10 256@30", "gap:1@20 late@10",
			"3 times every 10ns (given), 1 of 2 gaps exact, 1 times missing, 1 late"},
		{"two templates at each time", 10, "256@0 257@0 256@10 257@10", "", "2 times every 10ns (given), 1 of 1 gaps exact"},
		{"one of two is missing", 10, "256@0 257@0 256@10 256@20 257@20", "partial:1@20",
			"3 times every 10ns (given), 2 of 2 gaps exact, 1 incomplete"},
		{"switch", 10, "256@0 256@10 300@20 300@30", "switched<256@20",
			"4 times every 10ns (given), 3 of 3 gaps exact, 1 changes of templates"},
		{"switch with a loss", 10, "256@0 256@10 300@30", "switched<256@30 gap:1@30",
			"3 times every 10ns (given), 1 of 2 gaps exact, 1 times missing, 1 changes of templates"},
		{"switch of two templates", 10, "256@0 257@0 300@10 301@10 300@20 301@20", "switched<256@10",
			"3 times every 10ns (given), 2 of 2 gaps exact, 1 changes of templates"},
		{"a late record of the replaced template", 10, "256@0 256@20 300@30 256@10", "gap:1@20 switched<256@30 late@10",
			"3 times every 10ns (given), 1 of 2 gaps exact, 1 times missing, 1 late, 1 changes of templates"},
		{"two streams in one", 10, "256@0 300@5 256@10 300@15", "switched<256@5 irregular@5 mixed@10",
			"4 times, several streams share domain and object type: their cadence is unknown, 1 changes of templates"},
	} {
		s := stream{given: c.interval}
		var events []string
		for _, word := range strings.Fields(c.records) {
			var template uint16
			var at int64
			if _, err := fmt.Sscanf(word, "%d@%d", &template, &at); err != nil {
				t.Fatal(err)
			}
			s.add(template, at, func(e Event) {
				text := e.Kind.String()
				if e.Missing > 0 {
					text += fmt.Sprint(":", e.Missing)
				}
				if e.Before > 0 {
					text += fmt.Sprint("<", e.Before)
				}
				events = append(events, fmt.Sprint(text, "@", e.At))
				if e.Text() == "" || e.Template != template {
					t.Errorf("%s: %+v", c.name, e)
				}
			})
		}
		report := s.report(streamKey{})
		if got := strings.Join(events, " "); got != c.events || report.Text() != c.want {
			t.Errorf("%s: events %q, want %q\n%s\n%s", c.name, got, c.events, report.Text(), c.want)
		}
	}
}

// Templates before the last change are not kept: a stream can change for ever.
func TestLeft(t *testing.T) {
	s := stream{}
	var left []uint16
	for id := range uint16(5) {
		left = append(left, s.add(256+id, int64(id)*10, func(Event) {})...)
	}
	if fmt.Sprint(left) != "[256 257 258]" {
		t.Errorf("%v are not used any more, want [256 257 258]", left)
	}
}

// What differs beyond the gaps that are kept is irregular.
func TestManyGaps(t *testing.T) {
	s, at := stream{given: 1}, int64(0)
	for i := range int64(200) {
		at += 1 + i
		s.add(256, at, func(Event) {})
	}
	c := s.report(streamKey{})
	if c.Exact != 0 || c.Gaps != maxGaps || c.Irregular != 199-maxGaps || len(s.gaps) != maxGaps {
		t.Errorf("%+v, %d gaps are kept", c, len(s.gaps))
	}
}
