package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
	"tamtam/mgmt/web/rows"
	"tamtam/mgmt/web/webtest"
)

var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Every page that links reach is complete, whatever rows exist, and whatever the names of switches and flows are.
func TestPages(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 6}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := &world{r: r, spite: r.IntN(2) == 0, now: testNow}
		rows := []int{0, 3, 40, 150}[r.IntN(4)]
		p := w.page(t, rows)
		seen := crawl(t, p, 12)
		for _, v := range views {
			switch lacks := p.cfg.Lacks[v.path] != ""; {
			case lacks && seen[v.path] > 0:
				t.Errorf("a link leads to %s, which cannot have data", v.path)
			case !lacks && seen[v.path] == 0 && (rows > 3 || v.nav != ""):
				t.Errorf("no link leads to %s", v.path)
			}
		}
	})
}

// A page without data reports that, and nothing else.
func TestNothingKnown(t *testing.T) {
	p, err := New(Config{Title: "nothing", Now: func() time.Time { return testNow }})
	if err != nil {
		t.Fatal(err)
	}
	crawl(t, p, 5)
	for at, want := range map[string]string{
		"/": "No topology", "/flows": "No collector here", "/switches": "is unknown", "/drops": "No drops",
		"/sources": "No source",
	} {
		if _, text := get(t, p, at); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", at, want)
		}
	}
}

// put returns a page of some rows.
func put(t *testing.T, b *result.Batch, change func(*Config)) *Page {
	t.Helper()
	m := result.NewMemory(0)
	b.Partition, b.First, b.Last = "p", 1, 1
	if _, err := m.Put(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Title: "a test", Store: m, Now: func() time.Time { return testNow }}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Unknown values are never shown as 0 or as empty text, and an inexact row gives its reason.
func TestUnknownAndFlags(t *testing.T) {
	at := testNow.Add(-time.Second).UnixNano()
	w := result.Window{Start: at, Length: 1}
	p := put(t, &result.Batch{
		Hops: []result.Hop{
			{Window: w, Flow: "f", Path: "x", Switch: 1, Packets: 5, Resident: result.Distribution{Count: 5, Sum: 5000, Min: 900,
				Max: 1100}},
			{Window: w, Flow: "f", Path: "x", Index: 1, Switch: 2, Packets: 5, Unknown: 5,
				Flags: result.Gap | result.Silent | 1<<12},
		},
		Losses: []result.Loss{
			{Flow: "web", From: "a", To: "b", Period: 1, Window: w, Status: "missing", Detail: "nothing came from b"},
			{Flow: "all", From: "a", To: "b", Period: 1, Window: w, Status: "ok", Known: true, Sent: 3, Received: 3,
				Mean: result.MeanDelay{Known: true, Delay: -1500, Sum: "-4499"}},
			{Flow: "some", From: "a", To: "b", Period: 1, Window: w, Status: "ok", Known: true, Sent: 3, Received: 2, Lost: 1,
				Mean: result.MeanDelay{Unknown: "1 of 3 packets were lost"}},
		},
		Sketches: []result.Sketch{{Time: at, Switch: "a", Task: "t", Key: "k", Estimate: 5, Low: 1, High: 4, Bounded: true,
			Truth: 9, Known: true}},
		Drops: []result.Drop{{Window: w, Switch: "a", Queue: -1, Reason: "ttl", Packets: 3, First: at, Last: at,
			Source: "ipfix", Flags: result.Overflow}},
	}, nil)
	for at, wants := range map[string][]string{
		"/flows": {"at least 1.000 µs", "gap: messages of a source were lost", "silent: closed",
			"flags 0x1000: unknown"},
		"/flow?flow=f&path=x": {"link unknown, in the switch unknown", "5 without times"},
		"/marking":            {"1 unknown", `class="m-unknown"`, "whole path"},
		"/periods?flow=web&from=a&to=b": {"nothing came from b", `data-of="Lost"><span class="nk">unknown`,
			`data-of="Mean of all"><span class="nk">not measured`},
		"/periods?flow=all&from=a&to=b": {`data-of="Mean of all">-1.500 µs</td>`},
		"/periods?flow=some&from=a&to=b": {
			`data-of="Mean of all"><span class="nk">unknown</span> <small>1 of 3 packets were lost`},
		"/sketches":                      {"truth outside the bound", "1 lie outside", "1 to 4"},
		"/drops":                         {"overflow: more than there was room for", "not exact", "before one"},
		"/":                              {"Not all of this time is exact", "no topology is configured", "switch 2"},
		"/drops?reason=ttl&switch=a":     {"reason ttl ×"},
		"/drops?reason=none&source=sflo": {"No drops such as these"},
	} {
		r, text := get(t, p, at)
		for _, want := range wants {
			if r.StatusCode != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s: %s, and does not say %q", at, r.Status, want)
			}
		}
	}
}

// Old data shows its age.
func TestAge(t *testing.T) {
	for _, tt := range []struct {
		age  time.Duration
		want string
	}{{3 * time.Second, ", 3.0 s ago."}, {90 * time.Second, "<strong>old: 1 min ago</strong>"}} {
		at := testNow.Add(-tt.age).UnixNano()
		p := put(t, &result.Batch{Journeys: []result.Journey{{Time: at, Key: "k"}}}, nil)
		if _, text := get(t, p, "/packets"); !strings.Contains(text, tt.want) {
			t.Errorf("%v: not said %q", tt.age, tt.want)
		}
	}
	at := testNow.UnixNano() + 5_500_000
	ended := func(c *Config) {
		c.Zero = testNow
		c.Now = func() time.Time { return testNow.Add(6 * time.Millisecond) }
	}
	p := put(t, &result.Batch{Journeys: []result.Journey{{Time: at, Key: "k"}}}, ended)
	if _, text := get(t, p, "/packets"); !strings.Contains(text, "Newest data: 5.500 ms") {
		t.Error("a simulation's times are not told from its beginning")
	}
	// A window may end later than its events, and later than now.
	w := result.Window{Start: at, Length: 10_000_000_000}
	for want, b := range map[string]*result.Batch{
		"Newest data: 5.600 ms": {Drops: []result.Drop{{Window: w, Reason: "acl", Packets: 1, First: at,
			Last: at + 100_000}}},
		"Newest data: 6.000 ms": {Hops: []result.Hop{{Window: w, Flow: "f", Path: "x", Packets: 1}}},
	} {
		if _, text := get(t, put(t, b, ended), "/drops"); !strings.Contains(text, want) {
			t.Errorf("not said %q: %s", want, text)
		}
	}
}

// Inexact rows are reported above the views that contain them, and above no others.
func TestFlaggedViews(t *testing.T) {
	at := testNow.UnixNano() - 1e9
	w := result.Window{Start: at, Length: 1}
	p := put(t, &result.Batch{
		Hops:     []result.Hop{{Window: w, Flow: "f", Path: "x", Packets: 1, Flags: result.Gap}},
		Drops:    []result.Drop{{Window: w, Reason: "acl", Packets: 1, First: at, Last: at, Flags: result.Overflow}},
		Losses:   []result.Loss{{Window: w, Flow: "f", Status: "ok", Flags: result.Late}},
		Journeys: []result.Journey{{Time: at, Key: "k", Flags: result.Missing}},
		Sketches: []result.Sketch{{Time: at, Switch: "a", Task: "t"}},
	}, nil)
	for at, want := range map[string]string{"/": "gap late", "/flows": "gap", "/packets": "missing", "/drops": "overflow",
		"/marking":  "late",
		"/sketches": "", "/switches": "", "/sources": ""} {
		_, text := get(t, p, at)
		_, notice, found := strings.Cut(text, "Not all of this time is exact")
		notice, _, _ = strings.Cut(notice, "</ul>")
		for _, flag := range []string{"gap", "late", "overflow", "missing"} {
			if is := strings.Contains(notice, "<li>"+flag+":"); is != strings.Contains(want, flag) || found != (want != "") {
				t.Errorf("%s: it says of %s: %v; want %q", at, flag, is, want)
			}
		}
	}
}

// A request for something unknown is answered with a list of valid values.
func TestBadRequests(t *testing.T) {
	p := put(t, &result.Batch{}, nil)
	for _, tt := range []struct {
		at   string
		code int
		want string
	}{
		{"/nowhere", 404, "there is no such page"}, {"/?q=1", 400, "has no parameter &#34;q&#34;: there are since"},
		{"/?since=5m", 400, "want 1m, 10m, 1h, 1d or all"}, {"/flows?page=0", 400, "want a number from 1 on"},
		{"/flows?page=2", 404, "there are 1 pages"}, {"/flows?page=99999999999999999999", 400, "want a number"},
		{"/flows?since=all&since=1m", 400, "is there 2 times"}, {"/flow?flow=x", 404, "no stamps of it"},
		{"/packet?key=a&time=b", 400, "want nanoseconds"}, {"/packet?key=a&time=1", 404, "not among those"},
		{"/switch?name=x", 404, "there is none of this name"}, {"/flows?%zz", 400, "cannot be read"},
		{"/flows?q=" + strings.Repeat("x", 5000), 414, "longer than"}, {"/static/page.css", 404, "no such page"},
		{"/page.css/", 404, "no such page"},
		{"/periods?flow=x", 404, "no periods"},
	} {
		r, text := get(t, p, tt.at)
		if r.StatusCode != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("%.60s: %d, want %d and %q", tt.at, r.StatusCode, tt.code, tt.want)
		}
		for _, why := range webtest.Check(text).Wrong {
			t.Errorf("%.60s: %s", tt.at, why)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader("x")))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

// Every response has the headers that protect the page.
func TestHeaders(t *testing.T) {
	p := put(t, &result.Batch{}, nil)
	for _, at := range []string{"/", "/page.css", "/page.js", "/icon.svg", "/nowhere"} {
		r, _ := get(t, p, at)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer",
		} {
			if !strings.Contains(r.Header.Get(name), want) {
				t.Errorf("%s: %s is %q", at, name, r.Header.Get(name))
			}
		}
		if strings.Contains(r.Header.Get("Content-Security-Policy"), "unsafe") {
			t.Error("the policy allows what is unsafe")
		}
	}
}

// A refused client sees only the reason.
func TestEnter(t *testing.T) {
	left := 0
	p := put(t, &result.Batch{}, func(c *Config) {
		c.Title = "secret name"
		c.Enter = func(r *http.Request) (context.Context, func(), error) {
			if _, password, _ := r.BasicAuth(); password != "right" {
				return nil, nil, &Refusal{http.StatusUnauthorized, "user or password is wrong"}
			}
			return r.Context(), func() { left++ }, nil
		}
	})
	for _, at := range []string{"/", "/events", "/page.js", "/switch?name=x"} {
		r, text := get(t, p, at)
		if r.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Basic realm=") ||
			!strings.Contains(text, "user or password is wrong") || strings.Contains(text, "<nav") ||
			strings.Contains(text, "secret name") {
			t.Errorf("%s without a login: %s\n%s", at, r.Status, text)
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	r.SetBasicAuth("ada", "right")
	p.ServeHTTP(w, r)
	if w.Code != http.StatusOK || left != 1 {
		t.Errorf("with a login: %d, left %d times", w.Code, left)
	}
}

// A source in several partitions is shown once, with all that it sent. The last batch of a partition counts.
func TestSources(t *testing.T) {
	m := result.NewMemory(0)
	for i, b := range []struct {
		partition string
		source    result.Source
	}{
		{"p", result.Source{Name: "leaf1", Kind: "drop", Events: 5, Lost: 1}},
		{"p", result.Source{Name: "leaf1", Kind: "drop", Events: 50, Lost: 2}},
		{"q", result.Source{Name: "leaf1", Kind: "drop", Events: 7, Silent: true, Latest: testNow.UnixNano() - 5e9}},
		{"q", result.Source{Name: "leaf1", Kind: "drop", Events: 70, Silent: true, Latest: testNow.UnixNano() - 4e9}},
	} {
		_, err := m.Put(t.Context(), &result.Batch{Partition: b.partition, First: uint64(i%2 + 1),
			Position: result.Position{Last: uint64(i%2 + 1), Sources: []result.Source{b.source}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	p := put(t, &result.Batch{}, func(c *Config) { c.Store = m })
	_, text := get(t, p, "/sources?since=all")
	for _, want := range []string{">120<", ">2<", "batches were lost", "silent: windows", "4.0 s ago"} {
		if !strings.Contains(text, want) {
			t.Errorf("not said: %q", want)
		}
	}
}

// A failing store results in an error page. The page does not wait for a slow store.
type brokenStore struct{ result.Memory }

func (*brokenStore) Each(context.Context, int64, int64, func(*result.Batch) bool) error {
	return errors.New("disk on fire")
}

// A damagedStore has a file that cannot be read, and other data.
type damagedStore struct{ result.Store }

func (d damagedStore) Each(ctx context.Context, from, to int64, yield func(*result.Batch) bool) error {
	if err := d.Store.Each(ctx, from, to, yield); err != nil {
		return err
	}
	return &result.Unread{Files: 1, First: errors.New("hops/x.parquet is a poem")}
}

// Readable data is shown, and every page reports why data is missing.
func TestTroubles(t *testing.T) {
	b := &result.Batch{Partition: "drops-0", First: 1, Position: result.Position{Last: 1, Low: 2}}
	b.Drops = []result.Drop{{Window: result.Window{Start: testNow.UnixNano() - 1e9, Length: 1e9}, Switch: "leaf1",
		Reason: "NO_ROUTE"}}
	p := put(t, b, func(c *Config) {
		c.Store = damagedStore{c.Store.(result.Store)}
		c.Troubles = func() []string { return []string{"the disk has no room"} }
	})
	for _, at := range []string{"/drops", "/sources"} {
		_, text := get(t, p, at)
		for _, want := range []string{"rows are missing: a file of the store cannot be read: hops/x.parquet is a poem",
			"the disk has no room"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", at, want)
			}
		}
	}
	if _, text := get(t, p, "/drops"); !strings.Contains(text, "NO_ROUTE") {
		t.Error("the row that can be read is not shown")
	}
}

func TestBrokenStore(t *testing.T) {
	p := put(t, &result.Batch{}, func(c *Config) { c.Store = &brokenStore{} })
	if r, text := get(t, p, "/"); r.StatusCode != 500 || !strings.Contains(text, "disk on fire") {
		t.Errorf("%s", r.Status)
	}
}

// Beyond the bounds rows are counted, and the page reports that they are missing.
func TestBounds(t *testing.T) {
	at := testNow.UnixNano()
	b := &result.Batch{}
	for i := range rows.MostDrops + 7 {
		b.Drops = append(b.Drops, result.Drop{Window: result.Window{Start: at}, Switch: "s", Reason: strconv.Itoa(i),
			Source: "ipfix"})
	}
	for i := range 2*rows.MostJourneys + 100 {
		b.Journeys = append(b.Journeys, result.Journey{Time: at + int64(i), Key: strconv.Itoa(i)})
	}
	for i := range 2*rows.MostPeriods + 3 {
		b.Losses = append(b.Losses, result.Loss{Flow: "f", From: "a", To: "b", Period: uint64(i),
			Window: result.Window{Start: at}})
	}
	s, err := rows.Read(t.Context(), put(t, b, nil).cfg.Store, 0, math.MaxInt64, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Drops) != rows.MostDrops || s.Left["drops"] != 7 {
		t.Errorf("%d drops, %d left out", len(s.Drops), s.Left["drops"])
	}
	if n := len(s.Journeys); n != rows.MostJourneys || s.Journeys[n-1].Key != strconv.Itoa(2*rows.MostJourneys+99) ||
		s.Left["packets"] != rows.MostJourneys+100 {
		t.Errorf("%d packets, the last %s, %d left out", n, s.Journeys[n-1].Key, s.Left["packets"])
	}
	for _, x := range s.Series {
		if len(x.Periods) != rows.MostPeriods || x.Left != rows.MostPeriods+3 || x.Periods[0].Period != rows.MostPeriods+3 {
			t.Errorf("%d periods from %d on, %d left out", len(x.Periods), x.Periods[0].Period, x.Left)
		}
	}
	var f frame
	f.of(s, testNow)
	if text := strings.Join(f.Left, "; "); !strings.Contains(text, "7 rows of drops left out for room") {
		t.Error(text)
	}
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{durText(0), "0 ns"}, {durText(999), "999 ns"}, {durText(1234), "1.234 µs"}, {durText(12_345), "12.35 µs"},
		{durText(-1_500_000), "-1.500 ms"},
		{durText(90e9), "90.00 s"}, {count(-1234567), "-1,234,567"}, {count(999), "999"},
		{numberText(math.NaN()), "unknown"},
		{numberText(math.Inf(1)), "+∞"}, {numberText(1234.6), "1,235"}, {numberText(0.12345), "0.1235"},
		{rateText(0), "unknown"},
		{rateText(100_000), "100 Gb/s"}, {rateText(2500), "2500 Mb/s"}, {percentText(0.0001), "< 0.1 %"},
		{percentText(0), "0.0 %"},
		{ageText(-time.Second), "0 s"}, {ageText(50 * time.Hour), "2 days"},
		{count(math.MinInt64), "-9,223,372,036,854,775,808"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
	if natural("Ethernet16", "Ethernet4") <= 0 || natural("a", "a") != 0 || natural("leaf2", "leaf10") >= 0 ||
		natural("01", "1") == 0 {
		t.Error("names are not in the order of their numbers")
	}
}

// Listeners are notified of a change, and their number is bounded. Without listeners the store is not read.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := result.NewMemory(0)
		p, err := New(Config{Title: "live", Store: m, Zero: testNow, Listeners: 2, Now: func() time.Time { return testNow }})
		if err != nil {
			t.Fatal(err)
		}
		a, ok := p.live.join()
		synctest.Wait() // the first has been notified by now
		b, more := p.live.join()
		if _, third := p.live.join(); !ok || !more || third {
			t.Fatal("want places for two")
		}
		synctest.Wait()
		first := <-a
		if other := <-b; other != first {
			t.Error("the two hear different things")
		}
		<-time.After(5 * livePeriod) // of the bubble's time
		if len(a) != 0 {
			t.Error("told of a change, and there was none")
		}
		for i := range 5 { // a listener that does not receive delays no other, and gets the last change
			if _, err := m.Put(t.Context(), &result.Batch{Partition: "p", First: uint64(i + 1),
				Position: result.Position{Last: uint64(i + 1)},
				Journeys: []result.Journey{{Time: int64(i + 1)}}}); err != nil {
				t.Fatal(err)
			}
			<-time.After(livePeriod + time.Millisecond)
		}
		synctest.Wait()
		if got := <-a; got == first || len(a) != 0 {
			t.Error("no change was told, or more than the last")
		}
		p.live.leave(a)
		p.live.leave(b)
		synctest.Wait()
		if p.live.stop != nil {
			t.Error("it still reads, and nobody listens")
		}
	})
}

// A client is notified by server-sent events over a connection, and an excess client is refused.
func TestEvents(t *testing.T) {
	p := put(t, &result.Batch{Journeys: []result.Journey{{Time: 1}}}, func(c *Config) { c.Listeners, c.Zero = 1, testNow })
	s := httptest.NewServer(p)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ask := func() *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	one := ask()
	defer one.Body.Close()
	if got := one.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("type %s", got)
	}
	lines := bufio.NewScanner(one.Body)
	for want := "event: changed"; lines.Scan() && lines.Text() != want; {
	}
	if lines.Text() != "event: changed" {
		t.Errorf("the stream ends with %q, %v", lines.Text(), lines.Err())
	}
	two := ask()
	defer two.Body.Close()
	if two.StatusCode != http.StatusServiceUnavailable || two.Header.Get("Retry-After") == "" {
		t.Errorf("a second listener: %s", two.Status)
	}
}

// Text and drawings have enough contrast with their background, in both palettes: WCAG 2.2, 1.4.3 and 1.4.11.
func TestContrast(t *testing.T) {
	text, err := os.ReadFile("static/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, ok := strings.Cut(string(text), "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark palette")
	}
	dark, _, _ := strings.Cut(rest, "\n}\n")
	define := regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
	for name, palette := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range define.FindAllStringSubmatch(palette, -1) {
			colours[m[1]] = m[2]
		}
		for _, tt := range []struct {
			least float64
			over  string
			names string
		}{
			{4.5, "paper", "ink soft accent good bad warn"}, {4.5, "panel", "ink soft accent good bad warn"},
			{4.5, "tint-warn", "ink soft accent warn bad"}, {4.5, "tint-bad", "ink bad"},
			{3, "paper", "edge link resident truth good bad warn"}, {3, "panel", "link resident truth edge bad"},
			{2, "panel", "bound"}, // behind the estimate, whose text contains the same
		} {
			for _, c := range strings.Fields(tt.names) {
				if got := contrast(t, colours[c], colours[tt.over]); got < tt.least {
					t.Errorf("%s palette: %s over %s has a contrast of %.2f, want %.1f", name, c, tt.over, got, tt.least)
				}
			}
		}
	}
	for _, m := range regexp.MustCompile(`#[0-9a-f]{3,8}`).FindAllStringIndex(string(text), -1) {
		if line := string(text)[strings.LastIndexByte(string(text)[:m[0]], '\n')+1 : m[1]]; !strings.Contains(line, "--") &&
			!strings.HasPrefix(line, "#pause") {
			t.Errorf("a colour beside the palettes: %s", line)
		}
	}
	if strings.Contains(string(text), "url(") || strings.Contains(string(text), "@import") {
		t.Error("the style sheet fetches something")
	}
}

// contrast returns WCAG 2.2's contrast of two colours.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	var rgb [3]uint8
	if _, err := fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(rgb[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// Any request gets a complete page, and never an internal error.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"/?since=all", "/flows?q=%3Cscript%3E&page=1", "/flow?flow=&path=0", "/packet?key=k1&time=-1&at=x",
		"/drops?reason=%00&rule=a",
		"/periods?flow=web&cluster=1&from=leaf1&to=spine1", "/switch?name=leaf1&status=failed", "/%2e%2e/static",
		"/sketches?task=heavy&page=9999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, at string) {
		r, err := http.NewRequest(http.MethodGet, "http://here/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.URL, err = r.URL.Parse(at); err != nil || r.URL.Path == EventsPath {
			return
		}
		p := put(t, &result.Batch{Journeys: []result.Journey{{Time: testNow.UnixNano(), Key: "k1"}}}, nil)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%q: %d", at, w.Code)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			for _, why := range webtest.Check(w.Body.String()).Wrong {
				t.Errorf("%q: %s", at, why)
			}
		}
	})
}

// Later amendments of closed windows appear at all rows of their times, and only in the views of those rows.
func TestAmends(t *testing.T) {
	store := result.NewMemory(0)
	window := func(start int64) result.Window { return result.Window{Start: start, Length: 10} }
	put := func(b *result.Batch) {
		t.Helper()
		if _, err := store.Put(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	put(&result.Batch{Partition: "tailstamp-0", First: 1, Position: result.Position{Last: 1}, Hops: []result.Hop{
		{Window: window(10), Flow: "before", Packets: 1}, {Window: window(20), Flow: "within", Packets: 1},
		{Window: window(30), Flow: "after", Packets: 1}}})
	put(&result.Batch{Partition: "drop-0", First: 1, Position: result.Position{Last: 1}, Drops: []result.Drop{
		{Window: window(20), Switch: "leaf1", Reason: "acl", Packets: 1, First: 25, Last: 25}}})
	put(&result.Batch{Partition: "tailstamp-0", First: 2, Position: result.Position{Last: 2},
		Amends: []result.Amend{{From: 20, To: 29, Flags: result.Gap}}})
	loss := func(start, lost int64) result.Loss {
		return result.Loss{Window: window(start), Flow: "web", Period: uint64(start / 10), Known: true, Lost: lost}
	}
	put(&result.Batch{Partition: "altmark-0", First: 1, Position: result.Position{Last: 1},
		Losses: []result.Loss{loss(10, 1), loss(20, 2), loss(30, 3)},
		Amends: []result.Amend{{From: 29, To: 30, Flags: result.Gap}}})
	put(&result.Batch{Partition: "altmark-0", First: 2, Position: result.Position{Last: 2},
		Losses: []result.Loss{loss(10, 7)}})
	s, err := rows.Read(t.Context(), store, 0, 100, testNow)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range s.Series { // a repeated period occurs once, as last reported
		if len(x.Periods) != 3 || x.Periods[0].Lost != 7 || x.Periods[0].Flags != 0 || x.Periods[1].Flags != result.Gap ||
			x.Periods[2].Flags != result.Gap {
			t.Errorf("periods %+v: want three, of which 7, 2 and 3 packets were lost, and a gap in the last two", x.Periods)
		}
	}
	for key, w := range s.Ways {
		want := result.Flags(0)
		if key.Flow == "within" {
			want = result.Gap
		}
		if w.Flags != want || w.Hops[0].Flags != want {
			t.Errorf("flow %s is flagged %v, its hop %v; want %v", key.Flow, w.Flags, w.Hops[0].Flags, want)
		}
	}
	for _, d := range s.Drops {
		if d.Flags != 0 {
			t.Errorf("a drop is flagged %v for what stamps lack", d.Flags)
		}
	}
}

// If all rows of a time may be missing, the views that would contain them report that.
func TestAmendsWithoutRows(t *testing.T) {
	at := testNow.UnixNano() - 1e9
	store := result.NewMemory(0)
	b := &result.Batch{Partition: "drop-0", First: 1, Position: result.Position{Last: 1},
		Amends: []result.Amend{{From: at, To: at + 1, Flags: result.Gap}}}
	if _, err := store.Put(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p := put(t, &result.Batch{}, func(c *Config) { c.Store = store })
	for view, want := range map[string]bool{"/drops": true, "/flows": false, "/marking": false, "/packets": false} {
		_, text := get(t, p, view)
		if is := strings.Contains(text, "<li>gap:"); is != want {
			t.Errorf("%s says that something may be missing: %v, want %v", view, is, want)
		}
		_, text = get(t, p, view+"?since=100ms")
		if strings.Contains(text, "<li>gap:") {
			t.Errorf("%s says of the last 100 ms what is of earlier times", view)
		}
	}
}

// If the shown time range has no rows, the page reports that other times have some.
func TestOtherTimes(t *testing.T) {
	store := result.NewMemory(0)
	for _, want := range []bool{false, true} {
		s, err := rows.Read(t.Context(), store, 100, 200, testNow)
		if err != nil || s.Others != want || s.Latest != 0 {
			t.Errorf("rows of other times: %v, %v; want %v", s.Others, err, want)
		}
		b := &result.Batch{Partition: "tailstamp-0", First: 1, Position: result.Position{Last: 1},
			Hops: []result.Hop{{Window: result.Window{Start: 10, Length: 10}, Packets: 1}}}
		if _, err := store.Put(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
}
