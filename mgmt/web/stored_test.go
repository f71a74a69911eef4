package web

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/tam/query"
)

// A fakeScanner has two groups of 3 and 4 rows, a row whose outcome is unknown, and lacks a file. All rows end at a
// time.
type fakeScanner struct {
	asked *result.Ask
	end   time.Time
}

func (f fakeScanner) Kinds() []string { return []string{"hops", "drops"} }

func (f fakeScanner) Words(kind string) (fields, numbers []string) {
	return []string{"switch-id", "hop"}, []string{"packets", "delay.p99"}
}

func (f fakeScanner) Complete(kind, where string) query.Completion {
	return query.Completion{Candidates: []query.Candidate{{Text: kind + " " + where}}}
}

func (f fakeScanner) Scan(_ context.Context, ask *result.Ask) (*result.Answer, error) {
	*f.asked = *ask
	if ask.Where == "wrong" {
		return nil, &query.Error{Of: "filter", Column: 1, Word: "wrong", Want: "want another"}
	}
	if f.end.UnixNano() < ask.From {
		return &result.Answer{Table: (&query.Grouping[query.Group]{}).Table(), Newest: f.end.UnixNano()}, nil
	}
	number := &query.Field[query.Group]{Name: "switch-id", Kind: query.Count}
	total := &query.Field[query.Group]{Name: "delay.p99", Kind: query.Duration}
	g := query.Grouping[query.Group]{By: []*query.Field[query.Group]{number}, Totals: []*query.Field[query.Group]{total}}
	a := &result.Answer{Table: g.Table(), Keys: 1, Rows: 9, Selected: 7, Unknown: 1, Newest: f.end.UnixNano(),
		Flags: result.Gap, Lacks: []string{"x.parquet cannot be read"}, Files: 5, FilesRead: 2}
	for i := range int64(2) {
		a.Groups = append(a.Groups, &query.Group{Rows: 3 + i,
			Keys:   []query.Cell{{Kind: query.Count, Numbers: []query.Range{query.Exactly(10 + i)}, Whole: true}},
			Totals: []query.Sums{{Range: query.Range{Low: 1000, High: 1500}, Known: true, Unknown: i}}})
	}
	return a, nil
}

// The view of stored rows passes the question on, and shows the groups with all that makes them inexact.
func TestStoredRows(t *testing.T) {
	var asked result.Ask
	p := put(t, &result.Batch{}, func(c *Config) { c.Scanner = fakeScanner{&asked, testNow} })
	at := "/stored?kind=drops&where=hop+%3D+1&by=switch-id&show=delay.p99&after=5&before=9&sort=switch-id"
	r, text := get(t, p, at)
	text = html.UnescapeString(text)
	want := result.Ask{Kind: "drops", From: 5, To: 9, Where: "hop = 1", By: "switch-id", Show: "delay.p99"}
	if r.StatusCode != http.StatusOK || asked != want {
		t.Errorf("%d, asked %+v: want %+v", r.StatusCode, asked, want)
	}
	for _, want := range []string{"7 of 9 drops meet the filter", "Of 1 more it is unknown", "x.parquet cannot be read",
		"gap: messages", "Of 5 files, 2 were read", "1.000 µs to 1.500 µs", "1 rows unknown", ">10<", ">11<",
		"where=hop+%3D+1+and+switch-id+in+10..10"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not have %q:\n%s", at, want, text)
		}
	}
	if i, k := strings.Index(text, ">10<"), strings.Index(text, ">11<"); i > k {
		t.Errorf("%s: want switch 10 before 11", at)
	}
	r, text = get(t, p, strings.Replace(at, "/stored", "/stored.json", 1))
	var out struct {
		Read    int
		Unknown int
		Inexact []string
		List    []map[string]any
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || r.StatusCode != http.StatusOK || out.Read != 9 ||
		out.Unknown != 1 ||
		len(out.List) != 2 || out.List[1]["switch-id"] != 11.0 || !slices.Contains(out.Inexact, "x.parquet cannot be read") {
		t.Errorf("%d, %v, %+v", r.StatusCode, err, out)
	}
	for at, want := range map[string]string{
		"/stored?where=wrong": "filter, character 1, &#34;wrong&#34;: want another",
		"/stored?kind=poems":  "kind=&#34;poems&#34;: want hops or drops",
		"/stored?top=0":       "top=&#34;0&#34;: want how many",
	} {
		if r, text := get(t, p, at); r.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d, want %q in\n%s", at, r.StatusCode, want, text)
		}
	}
	if _, text := get(t, p, "/stored.complete?where=sw"); !strings.Contains(text, "hops sw") {
		t.Errorf("completion %q", text)
	}
	without := put(t, &result.Batch{}, nil)
	if r, _ := get(t, without, "/stored"); r.StatusCode != http.StatusNotFound {
		t.Errorf("%d without files, want 404", r.StatusCode)
	}
}

// If no time is chosen, the view of stored rows shows the last day, or the last one that has rows.
func TestStoredRowsOfTheLastDayThatHasAny(t *testing.T) {
	const day = 24 * time.Hour
	var asked result.Ask
	for _, tt := range []struct {
		end       time.Time
		at, shown string
		from      time.Time
		rows      bool
	}{
		{testNow, "/stored", `<option value="1d" selected>last day<`, testNow.Add(-day), true},
		{testNow.Add(-9 * day), "/stored", `<option value="" selected>last day that has rows<`, testNow.Add(-10 * day), true},
		{testNow.Add(-9 * day), "/stored?since=1d", `<option value="1d" selected>last day<`, testNow.Add(-day), false},
	} {
		p := put(t, &result.Batch{}, func(c *Config) { c.Scanner = fakeScanner{&asked, tt.end} })
		r, text := get(t, p, tt.at)
		if r.StatusCode != http.StatusOK || asked.From != tt.from.UnixNano() || !strings.Contains(text, tt.shown) ||
			strings.Contains(text, ">10<") != tt.rows {
			t.Errorf("%s, rows until %v: %d, from %v, want %v, and %s in\n%s", tt.at, tt.end, r.StatusCode,
				time.Unix(0, asked.From).UTC(), tt.from, tt.shown, text)
		}
	}
}
