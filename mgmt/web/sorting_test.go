package web

import (
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
	"tamtam/tam/words"
)

var (
	heading  = regexp.MustCompile(`<th scope="col"([^>]*)>(.*?)</th>`)
	sortLink = regexp.MustCompile(`<a href="([^"]*[?&;]sort=[^"]*)">`)
)

// Every table sorts by each of its columns, by a link that keeps the order of the view's other tables. Pictures have no
// order, and neither have the hops of a path, which are in the order of the path.
func TestTablesSort(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 3}, func(t *testing.T, seed uint64) {
		w := &world{r: rand.New(rand.NewPCG(seed, 5)), now: testNow}
		p := w.page(t, 40)
		p.cfg.Own = seed%3 == 2
		for _, at := range []string{"/?since=all", "/flows?since=all", "/packets?since=all", "/drops?since=all",
			"/marking?since=all", "/periods?since=all", "/alarms?since=all", "/sketches?since=all", "/switches",
			"/switch?name=leaf1", "/switch?name=leaf2",
			"/switch?name=spine1", "/sources?since=all", "/time?since=all", "/totals?since=all"} {
			r, text := get(t, p, at)
			if r.StatusCode != http.StatusOK {
				if strings.HasPrefix(at, "/switch?") {
					continue // the name of a switch is random
				}
				t.Fatalf("%s: %s", at, r.Status)
			}
			for _, h := range heading.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(h[1], "wide") && !strings.Contains(h[2], "<a ") {
					t.Errorf("%s: column %q has no link that sorts", at, h[2])
				}
			}
			seen := map[string]string{} // a link of each table
			for _, link := range sortLink.FindAllStringSubmatch(text, -1) {
				href := html.UnescapeString(link[1])
				u, err := url.Parse(href)
				if err != nil {
					t.Fatal(err)
				}
				field := u.Query().Get("sort")
				seen[tableOf(field)] = field
				if table := tableOf(field); table != "" && len(seen) > 8 {
					continue
				}
				if r, text := get(t, p, href); r.StatusCode != http.StatusOK || !strings.Contains(text, "aria-sort=") {
					t.Errorf("%s: %s, sorted: %v", href, r.Status, strings.Contains(text, "aria-sort="))
				}
			}
			var both []string
			for _, field := range seen {
				both = append(both, field)
			}
			if len(both) < 2 {
				continue
			}
			sep := "?"
			if strings.Contains(at, "?") {
				sep = "&"
			}
			r, text = get(t, p, at+sep+"sort="+url.QueryEscape(strings.Join(both, ",")))
			if n := strings.Count(text, "aria-sort="); r.StatusCode != http.StatusOK || n < len(both) {
				t.Errorf("%s: %s, %d tables are sorted, want %d", at, r.Status, n, len(both))
			}
		}
	})
}

// Rows are in the order of the column, unknown values last. An unknown column is an error.
func TestSorted(t *testing.T) {
	m := result.NewMemory(0)
	b := &result.Batch{Partition: "p", First: 1, Position: result.Position{Last: 1, Sources: []result.Source{
		{Name: "a", Events: 5}, {Name: "b", Events: 70, Latest: testNow.UnixNano()}, {Name: "c", Events: 9, Latest: 5}}}}
	if _, err := m.Put(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p := put(t, &result.Batch{}, func(c *Config) { c.Store = m })
	for order, want := range map[string]string{"": "abc", "events": "acb", "-events": "bca", "-source": "cba",
		"newest": "cba", "-newest": "bca"} {
		_, text := get(t, p, "/sources?since=all&sort="+order)
		got := ""
		for _, row := range regexp.MustCompile(`<th scope="row">(.)</th>`).FindAllStringSubmatch(text, -1) {
			got += row[1]
		}
		if got != want {
			t.Errorf("sort=%s: %s, want %s", order, got, want)
		}
	}
	for _, at := range []string{"/sources?sort=port", "/sources?sort=port:name", "/switches?sort=-x",
		"/drops?sort=port:name", "/?sort=,x"} {
		if r, _ := get(t, p, at); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s, want an error", at, r.Status)
		}
	}
	if x, y := ordered(-2), ordered(-1); x >= y || ordered(0) <= y || ordered(0.5) >= ordered(1e300) {
		t.Error("numbers are not in order")
	}
}

// Confidence has the same words in all views: exact, within its bounds for an estimate, or the reasons.
func TestWordsOfConfidence(t *testing.T) {
	w := recent()
	p := put(t, &result.Batch{
		Losses: []result.Loss{{Flow: "f", From: "a", To: "b", Period: 1, Window: w, Status: "flagged", Detail: "late"}},
		Sketches: []result.Sketch{
			{Time: w.Start, Switch: "a", Task: "t", Key: "entropy", Estimate: 5, Low: 1, High: 9, Bounded: true},
			{Time: w.Start, Switch: "a", Task: "t", Key: "cardinality", Estimate: 5},
			{Time: w.Start, Switch: "a", Task: "t", Key: "packets", Estimate: 5, Bounded: true, Flags: "saturated"}},
	}, nil)
	const bound = `data-of="Confidence"><span class="exact">within its bounds</span>`
	const none = "<li>estimate without a bound</li>"
	for at, wants := range map[string][]string{
		"/sketches": {bound, none, "<li>saturated</li>", `<a href="/sketches?sort=confidence">Confidence</a>`, "!Flags",
			"!>exact<"},
		"/totals":                               {bound, none, "<li>saturated</li>", "!no flags", "!>exact<"},
		"/marking":                              {`data-of="Last">not exact</td>`, "!flagged"},
		"/periods":                              {`data-of="Status">not exact</td>`, "!flagged"},
		`/periods?where=status+%3D+"not+exact"`: {`data-of="Status">not exact</td>`},
		"/sources":                              {"!nothing missing"},
	} {
		reports(t, p, at, wants...)
	}
}

// A finished run has no present: its times are those of the run.
func TestFinishedRun(t *testing.T) {
	end := testNow.Add(6 * time.Millisecond)
	f := &fabric{switches: []Switch{{Name: "leaf1", Read: end, Objects: []Object{{Name: "PORT|a",
		Status: Status(words.Active)}}}}}
	m := result.NewMemory(0)
	b := &result.Batch{Partition: "p", First: 1, Position: result.Position{Last: 1, Sources: []result.Source{
		{Name: "a", Kind: "drop", Latest: testNow.UnixNano() + 2e6}}}}
	if _, err := m.Put(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p := put(t, &result.Batch{}, func(c *Config) {
		c.Store, c.Switches, c.Zero, c.Now = m, f, testNow, func() time.Time { return end.Add(time.Hour) }
	})
	for at, want := range map[string]string{"/switches": `data-of="Read">at 6.000 ms<`,
		"/switch?name=leaf1": "read at 6.000 ms</caption>", "/sources": `data-of="Newest">at 2.000 ms<`} {
		reports(t, p, at, want, "The run is finished", "! ago")
	}
	if _, text := get(t, p, "/switches"); strings.Contains(text, fmt.Sprint(testNow.Year())) {
		t.Error("the page of a finished run has times of day")
	}
}
