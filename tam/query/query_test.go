package query

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// A flow is a row of the tests.
type flow struct {
	src      netip.Addr
	switches []string
	whole    bool // all switches are known
	delay    Range
	timed    bool
	packets  int64
	counted  bool
	reason   string
	exact    bool
	at       int64
	source   string
}

func flows() *Table[flow] {
	return &Table[flow]{Rows: "flows", Fields: []Field[flow]{
		{Name: "src-ip", Help: "source", Kind: Address,
			Address: One(func(r *flow) (netip.Addr, bool) { return r.src, r.src.IsValid() })},
		{Name: "switch", Help: "on the path", Kind: Text, Whole: func(r *flow) bool { return r.whole },
			Text: func(r *flow, i int) (string, bool) {
				if i < len(r.switches) {
					return r.switches[i], true
				}
				return "", false
			}},
		{Name: "delay.p99", Help: "99 % of packets", Kind: Duration, Total: Between, Bounded: true,
			Number: One(func(r *flow) (Range, bool) { return r.delay, r.timed })},
		{Name: "packets", Kind: Count, Total: Sum,
			Number: One(func(r *flow) (Range, bool) { return Exactly(r.packets), r.counted })},
		{Name: "drop.reason", Kind: Text, Words: []string{"acl", "no-route", "ttl"}, Closed: true,
			Text: One(func(r *flow) (string, bool) { return r.reason, r.reason != "" })},
		Protocol(func(r *flow) (uint8, bool) { return 6, r.src.IsValid() }),
		{Name: "exact", Kind: Boolean, Text: One(func(r *flow) (string, bool) { return YesNo(r.exact), true })},
		{Name: "time", Kind: Time, Number: One(func(r *flow) (Range, bool) { return Exactly(r.at), r.at != 0 })},
		{Name: "source", Kind: Text, Key: true, Text: One(func(r *flow) (string, bool) { return r.source, r.source != "" })},
	}}
}

var web = flow{src: netip.MustParseAddr("10.1.2.3"), switches: []string{"leaf1", "spine1"}, whole: true,
	delay: Range{48_000, 56_000}, timed: true, packets: 1200, counted: true, reason: "acl", exact: true,
	at: 1_772_366_400_000_000_000}

// Filters have the outcome that the language's description gives them.
func TestFilter(t *testing.T) {
	nothing := flow{}
	table := flows()
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		filter    string
		web, none Verdict
	}{
		{"", Yes, Yes},
		{"src-ip in 10.0.0.0/8 and delay.p99 > 47us and drop.reason = acl", Yes, Unknown},
		{"src-ip = 10.1.2.3", Yes, Unknown}, {"src-ip != 10.1.2.3", No, Unknown},
		{"src-ip in (::/0, 10.1.2.3)", Yes, Unknown},
		{"src-ip in ::ffff:10.0.0.0/104", Yes, Unknown}, {"src-ip in ::ffff:10.1.2.3/128", Yes, Unknown},
		{"src-ip in ::ffff:11.0.0.0/104", No, Unknown}, {"src-ip in ::ffff:0.0.0.0/96", Yes, Unknown},
		{"src-ip = ::ffff:10.1.2.3", Yes, Unknown},
		{"protocol = tcp", Yes, Unknown}, {"protocol = 6", Yes, Unknown}, {"protocol != 006", No, Unknown},
		{"protocol in (17, TCP)", Yes, Unknown}, {"protocol = 253", No, Unknown}, {"protocol ~ ^t", Yes, Unknown},
		{"src-ip not in 192.168.0.0/16", Yes, Unknown},
		{"delay.p99 > 50us", Unknown, Unknown}, {"not delay.p99 > 50us", Unknown, Unknown},
		{"delay.p99 > 56us", No, Unknown}, {"delay.p99 >= 56us", Unknown, Unknown}, {"delay.p99 <= 0.056ms", Yes, Unknown},
		{"delay.p99 = 50us", Unknown, Unknown}, {"delay.p99 != 1s", Yes, Unknown}, {"delay.p99 = 0", No, Unknown},
		{"delay.p99 in 48us..56us", Yes, Unknown}, {"delay.p99 in (1us..50us, 50001ns..1s)", Yes, Unknown},
		{"delay.p99 is known", Yes, No}, {"delay.p99 is unknown", No, Yes}, {"delay.p99 is not known", No, Yes},
		{"packets = 1.2k", Yes, Unknown}, {"packets in (1, 2)", No, Unknown}, {"packets > 0 or delay.p99 > 0", Yes, Unknown},
		{"packets > 0 and exact", Yes, No}, {"exact", Yes, No}, {"not exact", No, Yes}, {"exact = no", No, Yes},
		{"(exact) and exact != no", Yes, No}, {"exact is known", Yes, Yes},
		{"switch = leaf1", Yes, Unknown}, {"switch != leaf1", No, Unknown}, {"switch = leaf2", No, Unknown},
		{"switch ~ ^spine", Yes, Unknown}, {"switch !~ ^spine", No, Unknown}, {"switch in (leaf2, 'spine1')", Yes, Unknown},
		{"switch is none", No, No},
		{"drop.reason = acl or drop.reason = ttl and drop.reason = no-route", Yes, Unknown},
		{"(drop.reason = acl or drop.reason = ttl) and drop.reason = no-route", No, Unknown},
		{"time >= 2026-03-01T12:00:00Z", Yes, Unknown}, {"time > 2026-03-01T13:00:00.5+01:00", No, Unknown},
		{"NOT drop.reason IN (acl)", No, Unknown},
	} {
		f, err := table.Filter(tt.filter)
		if err != nil {
			t.Errorf("%q: %v", tt.filter, err)
			continue
		}
		if is, none := f.Match(&web), f.Match(&nothing); is != tt.web || none != tt.none {
			t.Errorf("%q: %v, and %v if nothing is known; want %v and %v", tt.filter, is, none, tt.web, tt.none)
		}
	}
	noSwitch := flow{whole: true}
	for text, want := range map[string]Verdict{"switch = leaf1": No, "switch != leaf1": Yes, "switch is none": Yes,
		"switch is known": No, "switch is unknown": No} {
		f, err := table.Filter(text)
		if err != nil {
			t.Fatal(err)
		}
		if is := f.Match(&noSwitch); is != want {
			t.Errorf("%q, if there is no switch: %v, want %v", text, is, want)
		}
	}
	f, _ := table.Filter("packets > 5")
	kept, unknown, _ := f.Select(t.Context(), []flow{web, nothing, {packets: 3, counted: true}, {}})
	if len(kept) != 1 || unknown != 2 {
		t.Errorf("%d rows selected and %d unknown, want 1 and 2", len(kept), unknown)
	}
}

// In the results of a simulation, times are durations since the start.
func TestTimeSinceStart(t *testing.T) {
	table := flows()
	table.Start = 1_000_000
	f, err := table.Filter("time > 5us and time < 2026-03-01T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	if f.Match(&flow{at: 1_005_001}) != Yes || f.Match(&flow{at: 1_005_000}) != No {
		t.Error("the time is not counted from the start")
	}
}

// An error names the position, the word, and what would be right there.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		filter string
		column int
		word   string
		want   string
	}{
		{"delay.p9 > 50us", 1, "delay.p9", "perhaps delay.p99? want one of the fields src-ip, switch, delay.p99"},
		{"SWITCH = leaf1", 1, "SWITCH", "no such field"},
		{"exact and zzz = 1", 11, "zzz", "flows have no such field: want one of the fields src-ip"},
		{"exact exact", 7, "exact", "want an operator of exact: one of = != is"},
		{"(exact) exact", 9, "exact", "want and, or, or the end"},
		{"src-ip > 10.0.0.1", 8, ">", "want an operator of src-ip: one of = != in not in is"},
		{"src-ip = 10.0.0.0/8", 10, "10.0.0.0/8", "for a prefix, in instead of ="},
		{"src-ip in leaf1", 11, "leaf1", "want a prefix or address, such as 10.0.0.0/8"},
		{"src-ip = fe80::1%eth0", 10, "fe80::1%eth0", "want an IP address"},
		{"delay.p99 > 50", 13, "50", "want a time with its unit, such as 50us"},
		{"delay.p99 > 0.5ns", 13, "0.5ns", "finer than the smallest unit"},
		{"delay.p99 > 99999999999s", 13, "99999999999s", "too large"},
		{"packets > 5us", 11, "5us", "want a whole number"},
		{"packets in 9..1", 12, "9..1", "want the smaller value first"},
		{"packets in (1, 2", 17, "", "want , and a further value, or )"},
		{"drop.reason = acI", 15, "acI", "perhaps acl? want a value of drop.reason: acl, no-route, ttl"},
		{"exact = maybe", 9, "maybe", "want yes or no"},
		{"switch ~ \"(\"", 10, `"("`, "want a regular expression (RE2)"},
		{"switch ~ \".{0,100}.{0,100}\"", 10, `".{0,100}.{0,100}"`, "want a regular expression of at most 100 steps"},
		{"switch ~ \"((a{9}){9}){9}\"", 10, `"((a{9}){9}){9}"`, "want a regular expression of at most 100 steps"},
		{"switch = and", 10, "and", "a word of the language: want it in quotes"},
		{"switch = \"leaf", 10, `"leaf`, `the closing " is missing`},
		{"switch not leaf1", 12, "leaf1", "want in after not"},
		{"switch is leaf1", 11, "leaf1", "want known, unknown or none"},
		{"time > yesterday", 8, "yesterday", "want a time such as 2026-03-01T12:00:00Z"},
		{"(exact", 7, "", "or the ) of the ( at character 1"},
		{"exact and", 10, "", "want one of the fields"},
		{"exact)", 6, ")", "want and, or, or the end"},
		{"µ = 1", 1, "µ", "no such field"}, {"switch = leaf1 ; exact", 16, ";", "want and, or, or the end"},
		{"switch = \xff", 10, "\xff", "want a field, a value in quotes"},
		{strings.Repeat("not ", 60) + "exact", 161, "not", "more than 40"},
		{strings.Repeat("exact and ", 101) + "exact", 1001, "exact", "more than 100"},
		{strings.Repeat(" ", 3000), 1, "", "want at most 2000"},
	} {
		_, err := flows().Filter(tt.filter)
		var at *Error
		if !errors.As(err, &at) || at.Column != tt.column || at.Word != tt.word || !strings.Contains(at.Want, tt.want) {
			t.Errorf("%.40q: %+v, want character %d, %q: %q", tt.filter, err, tt.column, tt.word, tt.want)
		}
	}
	for text, want := range map[string]string{
		"-packets, zz":                     `order, character 11, "zz": flows have no such field: want fields`,
		"packet":                           "perhaps packets?",
		"packets,":                         "order, character 9, at the end",
		strings.Repeat("exact,", 9) + "zz": "at most 8",
	} {
		if _, err := flows().Order(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("order %q: %v, want %q", text, err, want)
		}
	}
	if _, err := flows().Grouping("switch, switch"); err == nil || !strings.Contains(err.Error(), "want each once") {
		t.Error(err)
	}
}

// A completion lists what may follow, each only where the language permits it.
func TestComplete(t *testing.T) {
	values := func(field string) []string {
		return map[string][]string{"switch": {"leaf1", "leaf 2", "and"}}[field]
	}
	for _, tt := range []struct {
		text, want string // want: from, the candidates, and the hint
	}{
		{"", "0 not ( src-ip switch delay.p99 packets drop.reason protocol exact time source"},
		{"d", "0 delay.p99 drop.reason"}, {"not de", "4 delay.p99"},
		{"exact and d", "10 delay.p99 drop.reason"},
		{"exact", "0 exact"}, {"exact ", "6 = != is and or"}, {"(exact ", "7 = != is and or )"},
		{"src-ip ", "7 = != in not in is"}, {"src-ip n", "7 not in"}, {"src-ip !", "7 !="}, {"src-ip not ", "11 in"},
		{"src-ip =", "8 an IP address such as 10.0.0.1"},
		{"drop.reason = ", "14 acl no-route ttl a value of drop.reason: acl, no-route, ttl"},
		{"drop.reason = n", "14 no-route a value of drop.reason: acl, no-route, ttl"},
		{"drop.reason in ", "15 ( acl no-route ttl a value of drop.reason: acl, no-route, ttl"},
		{"drop.reason in (acl,", "20 acl no-route ttl a value of drop.reason: acl, no-route, ttl"},
		{"drop.reason in (acl ", "20 , )"},
		{"switch = l", `9 leaf1 a text, in quotes if it contains blanks or signs`},
		{`switch = "l`, `9 "leaf 2" a text, in quotes if it contains blanks or signs`},
		{"switch = leaf1 ", "15 and or"}, {"switch = leaf1 o", "15 or"}, {"switch is ", "10 known unknown none"},
		{"delay.p99 > 5", "12 a time with its unit, such as 50us, 1.5ms or 2s"},
		{"zzz = 1 and ", "12"}, {"exact = yes yes a", "16"},
	} {
		c := flows().Complete(tt.text, values)
		var words []string
		for _, x := range c.Candidates {
			words = append(words, x.Text)
		}
		is := strings.Join(append([]string{itoa(c.From)}, append(words, strings.Fields(c.Hint)...)...), " ")
		if is != tt.want {
			t.Errorf("%q: %s\nwant %s", tt.text, is, tt.want)
		}
		for _, x := range c.Candidates { // each candidate is a step to a filter
			if next := flows().Complete(tt.text[:c.From]+x.Text+" ", values); x.Text != ")" && len(next.Candidates) == 0 &&
				next.Hint == "" {
				t.Errorf("%q, then %q: nothing may follow", tt.text, x.Text)
			}
		}
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// Quote and And make texts that are read as they are meant.
func TestQuoteAnd(t *testing.T) {
	for _, s := range []string{"", "and", "a b", `"`, `\`, "leaf1", "'", "TCP 10.0.0.1:5 > [::1]:80", "<s>", "a\x00b"} {
		f, err := flows().Filter("switch = " + Quote(s))
		if err != nil {
			t.Errorf("%q: %v", s, err)
		} else if f.Match(&flow{switches: []string{s}, whole: true}) != Yes {
			t.Errorf("%q is not equal to itself", s)
		}
	}
	if got := And("a = 1 or b = 2", And("", "exact")); got != "(a = 1 or b = 2) and exact" {
		t.Error(got)
	}
}

// Unknown values come last in both directions, behind known absent ones.
func TestOrder(t *testing.T) {
	rows := []flow{{}, {switches: []string{"leaf10"}}, {whole: true}, {switches: []string{"leaf9"}}}
	for text, want := range map[string]string{"switch": "leaf9 leaf10 none unknown",
		"-switch": "leaf10 leaf9 none unknown"} {
		order, err := flows().Order(text)
		if err != nil {
			t.Fatal(err)
		}
		list := slices.Clone(rows)
		slices.SortStableFunc(list, func(a, b flow) int { return order(&a, &b) })
		var is []string
		for _, r := range list {
			switch {
			case len(r.switches) > 0:
				is = append(is, r.switches[0])
			case r.whole:
				is = append(is, "none")
			default:
				is = append(is, "unknown")
			}
		}
		if got := strings.Join(is, " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	rows = []flow{{delay: Range{5, 9}, timed: true, packets: 1, counted: true}, {delay: Range{5, 9}, timed: true},
		{delay: Range{4, 20}, timed: true}, {src: netip.MustParseAddr("::1")}, {src: netip.MustParseAddr("1.2.3.4")}}
	for text, want := range map[string][]int{"-delay.p99,packets": {2, 0, 1, 3, 4}, "delay.p99,-packets": {2, 0, 1, 3, 4},
		"src-ip": {4, 3, 0, 1, 2}, "": nil} {
		order, err := flows().Order(text)
		if err != nil {
			t.Fatal(err)
		}
		if order == nil {
			continue
		}
		at := []int{0, 1, 2, 3, 4}
		slices.SortStableFunc(at, func(a, b int) int { return order(&rows[a], &rows[b]) })
		if !slices.Equal(at, want) {
			t.Errorf("%s: %v, want %v", text, at, want)
		}
	}
}

// Groups combine numbers, and a sum of unknown numbers has no upper bound.
func TestGroups(t *testing.T) {
	const open = math.MaxInt64
	g, err := flows().Grouping("switch")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []flow{
		{switches: []string{"a"}, whole: true, packets: 3, counted: true, delay: Range{10, 20}, timed: true, source: "x"},
		{switches: []string{"a"}, whole: true, packets: 4, counted: true, delay: Range{15, 40}, timed: true, source: "x"},
		{switches: []string{"a"}, whole: true, packets: 5, counted: true, delay: Range{1, 2}, timed: true, source: "y"},
		{switches: []string{"b", "c", "b"}, whole: true, packets: 7, counted: true, delay: Range{1, 2}, timed: true,
			source: "x"},
		{switches: []string{"b"}, source: "x"}, // it may have passed others
		{packets: 1, counted: true}, {whole: true}, {whole: true},
	} {
		g.Add(&r)
	}
	type line struct {
		sw, source     string
		rows           int64
		delay, packets Range
	}
	want := []line{
		{"b", "x", 2, Range{}, Range{7, open}}, {"?", "?", 1, Range{}, Range{1, 1}},
		{"c", "x", 1, Range{1, 2}, Range{7, 7}}, {"a", "x", 2, Range{10, 40}, Range{7, 7}},
		{"a", "y", 1, Range{1, 2}, Range{5, 5}}, {"none", "?", 2, Range{}, Range{}},
		{"?", "x", 1, Range{}, Range{}},
	}
	list, err := g.Sorted("")
	if err != nil {
		t.Fatal(err)
	}
	text := func(c Cell) string {
		switch {
		case c.Known():
			return c.Texts[0]
		case c.Whole:
			return "none"
		}
		return "?"
	}
	is := map[line]bool{}
	for _, x := range list {
		l := line{text(x.Keys[0]), text(x.Keys[1]), x.Rows, x.Totals[0].Range, x.Totals[1].Range}
		for i, r := range []*Range{&l.delay, &l.packets} {
			if !x.Totals[i].Known {
				*r = Range{}
			}
		}
		is[l] = true
	}
	for _, w := range want {
		if !is[w] {
			t.Errorf("no group is %+v", w)
		}
	}
	if len(list) != len(want) || !g.Overlap || g.Left != 0 {
		t.Errorf("%d groups, overlap %v, %d rows left out; want %d groups that overlap: %+v", len(list), g.Overlap, g.Left,
			len(want), is)
	}
	for order, first := range map[string]string{"switch": "a", "-rows,switch": "a", "-delay.p99": "a", "-switch": "c"} {
		list, err := g.Sorted(order)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(list[0].Keys[0]); got != first {
			t.Errorf("%s: %s comes first, want %s", order, got, first)
		}
	}
	if _, err := g.Sorted("src-ip"); err == nil {
		t.Error("groups are in the order of a field that they do not have")
	}
}

// The sum of numbers that exceed 64 bits together is not exact.
func TestSumBeyondRange(t *testing.T) {
	var s Sums
	for i := range 2 {
		s.add(Sum, Exactly(1<<62), true, i == 0)
	}
	if !s.Known || !s.Open() || s.Low < 1<<62 {
		t.Errorf("%+v: want no upper bound", s)
	}
}

// The evaluation of a row allocates nothing.
func TestNoAllocations(t *testing.T) {
	f, err := flows().Filter(`src-ip in (192.168.0.0/16, 10.0.0.0/8) and delay.p99 in 1us..1s
		and not (switch ~ "leaf[2-9]" or switch in (x, y)) and (drop.reason != ttl or exact) and switch is known
		and time > 2026-01-01T00:00:00Z and packets > 1`)
	if err != nil {
		t.Fatal(err)
	}
	if f.Match(&web) != Yes {
		t.Fatal("the filter does not select the row")
	}
	if n := testing.AllocsPerRun(1000, func() { f.Match(&web) }); n != 0 {
		t.Errorf("%v allocations for a row", n)
	}
}

func BenchmarkMatch(b *testing.B) {
	f, err := flows().Filter("src-ip in 10.0.0.0/8 and delay.p99 > 47us and drop.reason = acl")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Match(&web)
	}
}
