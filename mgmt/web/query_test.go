package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
	"tamtam/mgmt/web/rows"
	"tamtam/mgmt/web/webtest"
)

// filtered returns the address of a view with parameters NAME, VALUE, ...
func filtered(path string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + v.Encode()
}

// rowsToFilter has three flows: web is dropped by an ACL, dns is fast, and the delays of ssh are unknown.
func rowsToFilter(t *testing.T) *Page {
	w := recent()
	const web, dns, ssh = "TCP 10.1.0.1:4000 > 10.2.0.1:80", "UDP 192.168.0.1:5 > 10.2.0.2:53", "TCP [::1]:7 > [::2]:22"
	at := w.Start
	return put(t, &result.Batch{
		Hops: []result.Hop{
			{Window: w, Flow: web, Path: "x", Switch: 1, Packets: 100, Resident: times(100, 60_000)},
			{Window: w, Flow: web, Path: "x", Index: 1, Switch: 2, Packets: 100, Resident: times(100, 1000),
				Link: times(100, 500)},
			{Window: w, Flow: dns, Path: "y", Switch: 1, Packets: 10, Resident: times(10, 700)},
			{Window: w, Flow: ssh, Path: "y", Switch: 1, Packets: 5, Unknown: 5, Flags: result.Gap},
		},
		Drops: []result.Drop{
			{Window: w, Switch: "leaf1", Queue: result.NoQueue, Reason: "acl", Rule: "T|R", Flow: web, Packets: 7, First: at,
				Last:   at,
				Source: "ipfix"},
			{Window: w, Switch: "leaf1", Queue: -1, Reason: "acl", Flow: web, Packets: 6, First: at, Last: at, Source: "sflow"},
			{Window: w, Switch: "leaf2", Port: "Ethernet0", Queue: 3, Reason: "ttl", Packets: 1, First: at, Last: at,
				Source: "ipfix"},
			{Window: w, Switch: "leaf1", Queue: result.NoQueue, Reason: "ttl", Flow: dns, Packets: 2, First: at, Last: at,
				Source: "ipfix"},
		},
		Losses: []result.Loss{
			{Flow: "g", From: "a", To: "b", Period: 1, Window: w, Status: "ok", Known: true, Sent: 9, Received: 7, Lost: 2,
				Delay: times(3, 800)},
			{Flow: "g", From: "a", To: "b", Period: 2, Window: w, Status: "missing"},
			{Flow: "h", From: "a", To: "c", Period: 1, Window: w, Status: "ok", Known: true, Sent: 9, Received: 9},
		},
		Journeys: []result.Journey{
			{Time: at, Key: "1", Flow: web, End: "dropped: acl", Hops: []result.JourneyHop{{Parent: -1, Switch: "leaf1",
				Arrival: at, Queue: -1, Depth: -1, Dropped: "acl", Tables: "acl, route"}}},
			{Time: at, Key: "2", Flow: dns, End: "forwarded", Hops: []result.JourneyHop{{Parent: -1, Switch: "leaf1",
				Arrival: at, Departure: at + 900, Queue: 1, Depth: 1500}}},
			{Time: at, Key: "3", Flow: dns, End: "", Ambiguous: true, Hops: []result.JourneyHop{{Parent: -1, Switch: "leaf1",
				Arrival: at, Queue: -1, Depth: -1}}},
		},
	}, nil)
}

// The declarations of all rows are complete.
func TestTables(t *testing.T) {
	for _, err := range []error{rows.FlowTable.Check(), rows.DropTable.Check(), rows.SlotTable.Check(),
		rows.PeriodTable.Check(), rows.PacketTable.Check()} {
		if err != nil {
			t.Error(err)
		}
	}
}

// A filter selects rows in every view that has one. The page reports of how many rows the outcome is unknown.
func TestFilters(t *testing.T) {
	p := rowsToFilter(t)
	for _, tt := range []struct {
		path, where      string
		matched, unknown int
	}{
		{"/flows", "", 3, 0},
		{"/flows", "src-ip in 10.0.0.0/8 and delay.p99 > 50us and drop.reason = acl", 1, 0},
		{"/flows", "delay.p99 > 50us", 1, 1}, {"/flows", "not delay.p99 > 50us", 1, 1}, {"/flows", "delay is unknown", 1, 0},
		{"/flows", "dst-port = 53 or protocol = tcp", 3, 0}, {"/flows", "switch = \"switch 2\"", 1, 0},
		{"/flows", "drop.reason is none", 0, 0}, {"/flows", "drop.reason is unknown", 3, 0},
		{"/flows", "drops in 7..13", 0, 3}, {"/flows", "drops > 7", 0, 3},
		{"/flows", "drops >= 7", 1, 2}, {"/flows", "drops = 0", 0, 1}, {"/flows", "drops is unknown", 1, 0},
		{"/flows", "stay >= 60us", 1, 1}, {"/flows", "stay < 1us", 1, 1},
		{"/flows", "packets < 50", 1, 1}, {"/flows", "packets >= 5", 3, 0}, {"/flows", "flag = gap", 1, 0},
		{"/flows", "not exact", 1, 0}, {"/flows", `src-ip = ::1`, 1, 0}, {"/flows", "path ~ →", 1, 0},
		{"/drops", "drop.reason = ttl and switch = leaf1", 1, 0}, {"/drops", "src-ip in 10.0.0.0/8", 2, 1},
		{"/drops", "port is none", 3, 0}, {"/drops", "queue < 9", 1, 1}, {"/drops", "queue is none", 2, 0},
		{"/drops", "queue is unknown", 1, 0}, {"/flows", "protocol = 17", 1, 0}, {"/flows", "protocol in (6, UDP)", 3, 0},
		{"/drops", "drop.rule is unknown", 1, 0},
		{"/drops", "drop.rule != X", 3, 1},
		{"/periods", "lost > 0", 1, 1}, {"/periods", "lost = 0", 1, 1}, {"/periods", "delay.max <= 800ns", 1, 2},
		{"/periods", "status != ok or to = c", 2, 0},
		{"/packets", "drop.reason = acl", 1, 1}, {"/packets", "delay < 1us", 1, 2}, {"/packets", "tables ~ route", 1, 2},
		{"/packets", "ambiguous", 1, 0}, {"/packets", "queue.depth > 1KB", 1, 2}, {"/packets", "end is unknown", 1, 0},
	} {
		r, text := get(t, p, filtered(tt.path+".json", "where", tt.where))
		var a struct {
			about
			List []map[string]any
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s %q: %s: %v: %.200s", tt.path, tt.where, r.Status, err, text)
			continue
		}
		if len(a.List) != tt.matched || a.Unknown != tt.unknown {
			t.Errorf("%s %q: %d rows and %d unknown, want %d and %d", tt.path, tt.where, len(a.List), a.Unknown, tt.matched,
				tt.unknown)
		}
		if tt.where == "" {
			continue
		}
		r, text = get(t, p, filtered(tt.path, "where", tt.where))
		want := fmt.Sprintf("%d of %d %s meet the filter.", tt.matched, a.Read, tt.path[1:])
		if tt.unknown > 0 {
			want += fmt.Sprintf(` <span class="warn">Of %d more it is unknown`, tt.unknown)
		}
		if r.StatusCode != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s %q: %s, and does not contain %q", tt.path, tt.where, r.Status, want)
		}
		for _, why := range webtest.Check(text).Wrong {
			t.Errorf("%s %q: %s", tt.path, tt.where, why)
		}
	}
}

// A wrong filter, order or grouping is reported with its position, and the page keeps the text so that it can be
// mended.
func TestWrongFilters(t *testing.T) {
	p := rowsToFilter(t)
	for _, tt := range []struct{ at, want string }{
		{filtered("/flows", "where", "delai > 5us"),
			"filter, character 1, &#34;delai&#34;: flows have no such field: perhaps delay?"},
		{filtered("/drops", "where", "queue > x"), "filter, character 9"},
		{filtered("/drops", "where", "protocol = upd"), "perhaps udp? want a value of protocol: ah, esp"},
		{filtered("/time", "compare", "soon"), "want before, or how much earlier"},
		{filtered("/periods", "sort", "-zz"), "order, character 1"},
		{filtered("/packets", "by", "switch,zz"), "groups, character 8"},
		{filtered("/flows", "top", "0"), "want how many rows or groups"},
		{filtered("/flows.csv", "where", "delai"), "filter, character 1"},
		{filtered("/flows", "by", "switch", "page", "9"), "there are 1 pages"},
		{"/switches.csv", "there is no such page"}, {"/flows.xml", "there is no such page"},
		{filtered("/switches", "where", "x"), "has no parameter"},
	} {
		r, text := get(t, p, tt.at)
		if r.StatusCode < 400 || r.StatusCode >= 500 || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %s, and does not contain %q", tt.at, r.Status, tt.want)
		}
		if strings.Contains(tt.at, "delai+") && !strings.Contains(text, `value="delai &gt; 5us"`) {
			t.Errorf("%s: the page does not keep the filter", tt.at)
		}
		for _, why := range webtest.Check(text).Wrong {
			t.Errorf("%s: %s", tt.at, why)
		}
	}
}

// Rows are exported as they are selected and sorted. An unknown value is empty, and not 0.
func TestExport(t *testing.T) {
	p := rowsToFilter(t)
	r, text := get(t, p, filtered("/flows.csv", "sort", "-delay.p99", "top", "3"))
	list, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(list) != 4 {
		t.Fatalf("%s: %v: %s", r.Status, err, text)
	}
	column := func(row int, name string) string { return list[row][slices.Index(list[0], name)] }
	for _, tt := range []struct {
		row        int
		name, want string
	}{
		{1, "dst-port", "80"}, {1, "delay.low", "61500"}, {1, "delay.p99.high", "61500"}, {1, "drop.reason", "acl;?"},
		{1, "drops.low", "7"}, {1, "drops.high", ""}, {1, "switch", "switch 1;switch 2"},
		{2, "dst-port", "53"}, {2, "delay.p99.low", "700"}, {2, "exact", "yes"},
		{3, "src-ip", "::1"}, {3, "delay.p99.low", ""}, {3, "packets.low", "5"}, {3, "packets.high", ""},
		{3, "drop.reason", ""}, {3, "drops.low", ""}, {3, "flag", "gap"},
	} {
		if is := column(tt.row, tt.name); is != tt.want {
			t.Errorf("row %d: %s is %q, want %q", tt.row, tt.name, is, tt.want)
		}
	}
	for name, want := range map[string]string{"Content-Type": "text/csv; charset=utf-8", "Tamtam-Unknown": "0",
		"Content-Disposition": `attachment; filename="flows.csv"`} {
		if is := r.Header.Get(name); is != want {
			t.Errorf("%s: %q, want %q", name, is, want)
		}
	}
	_, text = get(t, p, filtered("/drops.json", "by", "drop.reason", "sort", "drop.reason,source"))
	for _, want := range []string{`"fields":[{"name":"drop.reason","kind":"text"},{"name":"source","kind":"text"}`,
		`{"drop.reason":"acl","packets":7,"packets.unknown-rows":0,"rows":1,"source":"ipfix"},`,
		`{"drop.reason":"acl","packets":6,"packets.unknown-rows":0,"rows":1,"source":"sflow"}`,
		`{"drop.reason":"ttl","packets":3,"packets.unknown-rows":0,"rows":2,"source":"ipfix"}]`} {
		if !strings.Contains(text, want) {
			t.Errorf("does not contain %s: %s", want, text)
		}
	}
	// What is left out is at the end of the file, or in a column.
	for at, wants := range map[string][]string{
		filtered("/flows.csv", "where", "delay > 50us", "by", "protocol"): {"# left out: 1 rows: it is unknown whether"},
		filtered("/flows.csv", "where", "delay > 1us", "top", "1"):        {"# left out: 1 rows: it is unknown"},
		filtered("/flows.csv", "top", "1"):                                {"# left out: 2 rows or groups behind"},
		filtered("/flows.csv", "by", "protocol", "top", "1"):              {"# left out: 1 rows or groups behind"},
		filtered("/periods.csv", "by", "flow"): {"lost.low,lost.high,lost.unknown-rows,",
			",2,2,,1,"},
		filtered("/periods.json", "by", "flow"): {`"lost.unknown-rows":1`, `"no-group":0`},
	} {
		_, text := get(t, p, at)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not contain %q: %s", at, want, text)
			}
		}
	}
	_, text = get(t, p, filtered("/flows.json", "where", "flag = gap"))
	for _, want := range []string{`"delay.p99":null`, `"packets":{"high":null,"low":5}`, `"exact":false`,
		`"inexact":["gap: messages of a source were lost`} {
		if !strings.Contains(text, want) {
			t.Errorf("does not contain %s: %s", want, text)
		}
	}
}

// Groups of drops keep sources apart, are sorted, link to their rows, and divide their bars by reason.
func TestGroupPages(t *testing.T) {
	p := rowsToFilter(t)
	_, text := get(t, p, filtered("/drops", "by", "switch"))
	for _, want := range []string{`<th scope="row"><a href="/drops?where=switch&#43;%3D&#43;leaf1">leaf1</a></th>`,
		`<span class="key k0">acl</span>`, `<span class="key k1">ttl</span>`, `<title>ttl: 2</title>`,
		`<a href="/drops?where=source&#43;%3D&#43;sflow">sflow</a>`, "Groups"} {
		if !strings.Contains(text, want) {
			t.Errorf("does not contain %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, ">13<") {
		t.Error("the packets of two sources are added")
	}
	for at, wants := range map[string][]string{
		filtered("/flows", "by", "switch"): {"3 flows are in 2 groups: a row is", "the groups overlap", "at least 115",
			"unknown"},
		filtered("/flows", "by", "switch", "where", `switch = "switch 2"`): {"1 of 3 flows meet the filter"},
		filtered("/periods", "by", "status,flow"):                          {"1 unknown"},
		filtered("/packets", "by", "drop.reason"):                          {">none<", ">unknown<", ">acl<"},
		filtered("/packets", "by", "delay", "top", "1"):                    {"1 more behind the top ones"},
	} {
		_, text := get(t, p, at)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not contain %q:\n%s", at, want, text)
			}
		}
		for _, why := range webtest.Check(text).Wrong {
			t.Errorf("%s: %s", at, why)
		}
	}
}

// Rows over time are in slots. A slot that lacks messages is marked, and one whose loss is unknown has no value.
func TestOverTime(t *testing.T) {
	const second = int64(1e9)
	begin := testNow.UnixNano() - 100*second
	at := func(i int64) result.Window { return result.Window{Start: begin + i*second, Length: second} }
	b := &result.Batch{Amends: []result.Amend{{From: begin + 30*second, To: begin + 31*second, Flags: result.Gap}}}
	for i := range int64(60) {
		b.Hops = append(b.Hops, result.Hop{Window: at(i), Flow: "f", Path: "x", Switch: 1, Packets: 10,
			Resident: times(10, 1000*(i+1))})
		b.Drops = append(b.Drops, result.Drop{Window: at(i), Switch: "a", Queue: -1, Reason: []string{"acl", "ttl"}[i%2],
			Packets: i, First: begin, Last: begin, Source: "ipfix"})
		l := result.Loss{Flow: "g", From: "a", To: "b", Period: uint64(i), Window: at(i), Status: "ok",
			Known: i%3 > 0, Lost: i % 3}
		b.Losses = append(b.Losses, l, l) // repeated
	}
	p := put(t, b, nil)
	_, text := get(t, p, "/time")
	for _, want := range []string{"Drops by reason, reported by ipfix", `<span class="key k0">ttl</span>`, "Lost packets",
		`class="b-flag"><title>not exact: gap`, "unknown in this time"} {
		if !strings.Contains(text, want) {
			t.Errorf("/time does not contain %q", want)
		}
	}
	for _, why := range webtest.Check(text).Wrong {
		t.Error(why)
	}
	var sum struct {
		List []struct {
			Packets, Lost, Drops any
			Unknown              float64 `json:"periods.unknown"`
			Delay                any     `json:"delay.p99"`
		}
	}
	read := func(at string) {
		t.Helper()
		_, text := get(t, p, at)
		sum.List = nil
		if err := json.Unmarshal([]byte(text), &sum); err != nil {
			t.Fatalf("%v: %.300s", err, text)
		}
	}
	total := 0.0
	read("/time.json")
	for _, x := range sum.List {
		total += x.Unknown
		if x.Lost == 0.0 {
			t.Errorf("a loss that is unknown in part is 0: %+v", x)
		}
	}
	if total != 20 || len(sum.List) < 50 {
		t.Errorf("%v periods with unknown loss in %d slots, want 20", total, len(sum.List))
	}
	read(filtered("/time.json", "after", fmt.Sprint(begin+10*second), "before", fmt.Sprint(begin+20*second)))
	if len(sum.List) < 8 || len(sum.List) > 13 {
		t.Errorf("%d slots in ten seconds", len(sum.List))
	}
	read(filtered("/time.json", "where", "delay.p99 > 40us"))
	if len(sum.List) < 15 || len(sum.List) > 21 {
		t.Errorf("%d slots with a delay above 40 µs, want some 20", len(sum.List))
	}
	for at, want := range map[string]string{"/time?after=5": "want two times",
		"/time?after=9&before=8": "the earlier one first"} {
		if r, text := get(t, p, at); r.StatusCode != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %s", at, r.Status)
		}
	}
}

// Without a choice, the page shows the time that has rows. A simulation's results are finished.
func TestDefaultRange(t *testing.T) {
	old := result.Window{Start: testNow.UnixNano() - 7200e9, Length: 1}
	b := func() *result.Batch {
		return &result.Batch{Hops: []result.Hop{{Window: old, Flow: "f", Path: "x", Switch: 1, Packets: 1}}}
	}
	p := put(t, b(), nil)
	for at, want := range map[string]string{"/flows": "Newest data", "/flows?since=10m": "there are rows of other times"} {
		if _, text := get(t, p, at); !strings.Contains(text, want) || strings.Contains(text, "finished") {
			t.Errorf("%s does not contain %q", at, want)
		}
	}
	p = put(t, b(), func(c *Config) { c.Zero = testNow.Add(-8000e9) })
	if _, text := get(t, p, "/flows"); !strings.Contains(text, "The run is finished") {
		t.Error("a finished run is not called finished")
	}
}

// The page's script gets what may follow in a filter, with the values of the present rows.
func TestCompletion(t *testing.T) {
	p := rowsToFilter(t)
	for where, want := range map[string]string{
		"drop.rea":    `{"from":0,"candidates":[{"text":"drop.reason","help":"why packets`,
		"switch = le": `{"from":9,"candidates":[{"text":"leaf1"},{"text":"leaf2"}]`, "zz = ": `{"from":5,"candidates":[]}`} {
		if _, text := get(t, p, filtered("/drops.complete", "where", where)); !strings.HasPrefix(text, want) {
			t.Errorf("%q: %s, want %s", where, text, want)
		}
	}
}

// The bounds of a path's delay contain the true values, however the times of its parts belong together.
func TestRandomSpreads(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 1 + r.IntN([]int{3, 50, 2500}[r.IntN(3)])
		sums := make([]int64, n)
		var parts []*result.Distribution
		for range 1 + r.IntN(4) {
			d := &result.Distribution{}
			scale := 1 << r.IntN(20)
			for i := range sums {
				v := int64(r.IntN(scale))
				if r.IntN(100) == 0 {
					v *= 50
				}
				if r.IntN(200) == 0 {
					v = -v // by clocks that differ
				}
				sums[i] += v
				d.Add(result.Distribution{Count: 1, Sum: v, Min: v, Max: v, First: result.Bucket(v), Buckets: []uint32{1}})
			}
			parts = append(parts, d)
		}
		s := rows.SpreadOf(int64(n), parts)
		slices.Sort(sums)
		for i, share := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
			is := rows.Shares[i+1].Of(&s)
			thousandths := int(share * 1000)
			want := sums[max(0, (n*thousandths+999)/1000-1)]
			if want < is.Low || want > is.High {
				t.Fatalf("%s of %d packets on %d parts is %d, not within %d to %d", rows.Shares[i+1].Name, n, len(parts), want,
					is.Low,
					is.High)
			}
		}
	})
}
