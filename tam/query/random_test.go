package query

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

// A loose is a row of the random tests. Its fields have small domains, so that all values that an unknown one may stand
// for can be tried.
type loose struct {
	texts        []string
	textsWhole   bool
	numbers      []Range
	numbersWhole bool
	addrs        []netip.Addr
	addrsWhole   bool
	flag         string
}

var (
	textDomain = []string{"a", "b", "ab", "Ethernet12", "and", "x y", `"`}
	addrDomain = []string{"10.0.0.1", "10.0.1.1", "11.0.0.1", "::1", "2001:db8::5"}
)

var expressions = []*regexp.Regexp{regexp.MustCompile("^a"), regexp.MustCompile("b$"),
	regexp.MustCompile("Ethernet[0-9]+"), regexp.MustCompile("^.$")}

// Numbers of rows are from 0 to mostNumber. Those of filters are between, so that none is always less or greater.
const mostNumber = 9

func at[T any](list []T, i int) (v T, ok bool) {
	if i < len(list) {
		return list[i], true
	}
	return v, false
}

func looseTable() *Table[loose] {
	return &Table[loose]{Rows: "rows", Fields: []Field[loose]{
		{Name: "t", Kind: Text, Text: func(r *loose, i int) (string, bool) { return at(r.texts, i) },
			Whole: func(r *loose) bool { return r.textsWhole }},
		{Name: "n", Kind: Duration, Number: func(r *loose, i int) (Range, bool) { return at(r.numbers, i) },
			Whole: func(r *loose) bool { return r.numbersWhole }},
		{Name: "a", Kind: Address, Address: func(r *loose, i int) (netip.Addr, bool) { return at(r.addrs, i) },
			Whole: func(r *loose) bool { return r.addrsWhole }},
		{Name: "f", Kind: Boolean, Text: One(func(r *loose) (string, bool) { return r.flag, r.flag != "" })},
	}}
}

func randomRow(r *rand.Rand) (x loose) {
	for range r.IntN(3) {
		x.texts = append(x.texts, textDomain[r.IntN(len(textDomain))])
	}
	for range r.IntN(3) {
		low := r.Int64N(mostNumber + 1)
		x.numbers = append(x.numbers, Range{low, min(mostNumber, low+r.Int64N(4))})
	}
	for range r.IntN(3) {
		x.addrs = append(x.addrs, netip.MustParseAddr(addrDomain[r.IntN(len(addrDomain))]))
	}
	x.textsWhole, x.numbersWhole, x.addrsWhole = r.IntN(3) > 0, r.IntN(3) > 0, r.IntN(3) > 0
	x.flag = []string{"yes", "no", ""}[r.IntN(3)]
	return x
}

// A naive is a filter as a tree, with the evaluation that the language's description defines.
type naive struct {
	op      string // and, or, not, or "" for a comparison
	parts   []*naive
	field   string
	test    func(value any) bool // whether one certain value meets the comparison
	negated bool                 // met if no value meets the test
	state   string               // known, unknown or none
	text    string
}

// verdict evaluates a filter. A comparison is tried with each value that its field may have.
func (n *naive) verdict(r *loose) string {
	switch n.op {
	case "not":
		return map[string]string{"yes": "no", "no": "yes", "unknown": "unknown"}[n.parts[0].verdict(r)]
	case "and", "or":
		var all []string
		for _, p := range n.parts {
			all = append(all, p.verdict(r))
		}
		strong := map[string]string{"and": "no", "or": "yes"}[n.op]
		switch {
		case slices.Contains(all, strong):
			return strong
		case slices.Contains(all, "unknown"):
			return "unknown"
		}
		return map[string]string{"no": "yes", "yes": "no"}[strong]
	}
	worlds := worldsOf(r, n.field)
	whole := !slices.ContainsFunc(worlds, func(w []any) bool { return len(w) > n.values(r) })
	switch n.state {
	case "known":
		return YesNo(whole && n.values(r) > 0)
	case "unknown":
		return YesNo(!whole)
	case "none":
		return YesNo(whole && n.values(r) == 0)
	}
	met, missed := false, false
	for _, w := range worlds {
		if slices.ContainsFunc(w, n.test) != n.negated {
			met = true
		} else {
			missed = true
		}
	}
	switch {
	case met && missed:
		return "unknown"
	case met:
		return "yes"
	}
	return "no"
}

// values returns the number of values that a row has of the field.
func (n *naive) values(r *loose) int {
	switch n.field {
	case "t":
		return len(r.texts)
	case "n":
		return len(r.numbers)
	case "a":
		return len(r.addrs)
	}
	if r.flag == "" {
		return 0
	}
	return 1
}

// worldsOf returns all lists of values that a field of a row may have in truth. One unknown further value is enough.
func worldsOf(r *loose, field string) (worlds [][]any) {
	worlds = [][]any{{}}
	whole, domain := true, []any(nil)
	extend := func(choices ...any) {
		var next [][]any
		for _, w := range worlds {
			for _, c := range choices {
				next = append(next, append(slices.Clone(w), c))
			}
		}
		worlds = next
	}
	switch field {
	case "t":
		whole = r.textsWhole
		for _, x := range r.texts {
			extend(x)
		}
		for _, x := range append(textDomain, "other") {
			domain = append(domain, x)
		}
	case "n":
		whole = r.numbersWhole
		for _, x := range r.numbers {
			var all []any
			for v := x.Low; v <= x.High; v++ {
				all = append(all, v)
			}
			extend(all...)
		}
		for v := range int64(mostNumber + 1) {
			domain = append(domain, v)
		}
	case "a":
		whole = r.addrsWhole
		for _, x := range r.addrs {
			extend(x)
		}
		for _, x := range addrDomain {
			domain = append(domain, netip.MustParseAddr(x))
		}
		domain = append(domain, netip.MustParseAddr("99.9.9.9"))
	case "f":
		whole, domain = r.flag != "", []any{"yes", "no"}
		if whole {
			extend(r.flag)
		}
	}
	if !whole {
		known := worlds
		extend(domain...)
		if field != "f" {
			worlds = append(worlds, known...) // an unknown value need not exist
		}
	}
	return worlds
}

func randomFilter(r *rand.Rand, depth int) *naive {
	if depth > 0 && r.IntN(3) > 0 {
		n := &naive{op: []string{"and", "or", "not"}[r.IntN(3)]}
		parts := 2 + r.IntN(2)
		if n.op == "not" {
			parts = 1
		}
		var texts []string
		for range parts {
			p := randomFilter(r, depth-1)
			n.parts = append(n.parts, p)
			text := p.text
			if p.op == "or" || p.op == "and" && n.op != "or" || r.IntN(4) == 0 {
				text = "(" + text + ")"
			}
			texts = append(texts, text)
		}
		n.text = strings.Join(texts, " "+n.op+" ")
		if n.op == "not" {
			n.text = "not " + texts[0]
		}
		return n
	}
	n := randomComparison(r)
	if n.state == "" && r.IntN(12) == 0 {
		n.state = []string{"known", "unknown", "none"}[r.IntN(3)]
		n.text = n.field + " is " + n.state
	}
	return n
}

func randomComparison(r *rand.Rand) *naive {
	n := &naive{field: []string{"t", "n", "a", "f"}[r.IntN(4)], negated: r.IntN(3) == 0}
	pick := func(yes, no string) string { return map[bool]string{false: yes, true: no}[n.negated] }
	switch n.field {
	case "t":
		n.textual(r, pick)
	case "n":
		n.numeric(r, pick)
	case "a":
		p := netip.MustParsePrefix([]string{"10.0.0.0/8", "10.0.1.0/24", "::/16", "10.0.0.1/32"}[r.IntN(4)])
		n.test = func(v any) bool { return p.Contains(v.(netip.Addr)) }
		n.text = fmt.Sprintf("a %s %s", pick("in", "not in"), p)
		if p.IsSingleIP() {
			n.text = fmt.Sprintf("a%s%s", pick("=", "!="), p.Addr())
		}
	case "f":
		want := []string{"yes", "no"}[r.IntN(2)]
		n.test = func(v any) bool { return v == want }
		n.text = fmt.Sprintf("f %s %s", pick("=", "!="), want)
		if want == "yes" && !n.negated {
			n.text = "f"
		}
	}
	return n
}

func (n *naive) textual(r *rand.Rand, pick func(yes, no string) string) {
	switch r.IntN(3) {
	case 0:
		want := textDomain[r.IntN(len(textDomain))]
		n.test = func(v any) bool { return v == want }
		n.text = fmt.Sprintf("t %s %s", pick("=", "!="), Quote(want))
	case 1:
		var want, quoted []string
		for range 1 + r.IntN(3) {
			w := textDomain[r.IntN(len(textDomain))]
			want, quoted = append(want, w), append(quoted, Quote(w))
		}
		n.test = func(v any) bool { return slices.Contains(want, v.(string)) }
		n.text = fmt.Sprintf("t %s ( %s )", pick("in", "NOT in"), strings.Join(quoted, " ,"))
	default:
		re := expressions[r.IntN(len(expressions))]
		n.test = func(v any) bool { return re.MatchString(v.(string)) }
		n.text = fmt.Sprintf("t %s %s", pick("~", "!~"), Quote(re.String()))
	}
}

func (n *naive) numeric(r *rand.Rand, pick func(yes, no string) string) {
	x := 1 + r.Int64N(mostNumber-1)
	op := []string{"=", "in", "<", "<=", ">", ">="}[r.IntN(6)]
	switch op {
	case "=":
		n.test = func(v any) bool { return v.(int64) == x }
		n.text = fmt.Sprintf("n %s 0.00%dus", pick("=", "!="), x)
		return
	case "in":
		y, z := x+r.Int64N(mostNumber-x), 1+r.Int64N(mostNumber-1)
		n.test = func(v any) bool { return x <= v.(int64) && v.(int64) <= y || v.(int64) == z }
		n.text = fmt.Sprintf("n %s (%dns..%dns, %dns)", pick("in", "not in"), x, y, z)
		return
	}
	n.negated = false // a comparison of sizes has no negated form
	n.test = map[string]func(any) bool{
		"<": func(v any) bool { return v.(int64) < x }, "<=": func(v any) bool { return v.(int64) <= x },
		">": func(v any) bool { return v.(int64) > x }, ">=": func(v any) bool { return v.(int64) >= x },
	}[op]
	n.text = fmt.Sprintf("n%s%dns", op, x)
}

// Every filter has for every row the outcome of a second evaluator, which tries all values that the row may stand for.
func TestRandomFilters(t *testing.T) {
	table := looseTable()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 400}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := randomFilter(r, 1+r.IntN(4))
		f, err := table.Filter(n.text)
		if err != nil {
			t.Fatalf("%s: %v", n.text, err)
		}
		for range 20 {
			row := randomRow(r)
			if is, want := f.Match(&row).String(), n.verdict(&row); is != want {
				t.Fatalf("%s: %s of %+v, want %s", n.text, is, row, want)
			}
		}
	})
}

// Totals of groups contain the true totals, whatever the values within the bounds are.
func TestRandomTotals(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		var sum, most, low, high int64
		var sums, mosts, betweens Sums
		for i := range 1 + r.IntN(6) {
			x := Range{r.Int64N(100), 0}
			x.High = x.Low + r.Int64N(10)
			truth, known := x.Low+r.Int64N(x.High-x.Low+1), r.IntN(5) > 0
			sums.add(Sum, x, known, i == 0)
			mosts.add(Most, x, known, i == 0)
			betweens.add(Between, x, known, i == 0)
			if i == 0 {
				low, high = truth, truth
			}
			sum, most, low, high = sum+truth, max(most, truth), min(low, truth), max(high, truth)
		}
		for _, tt := range []struct {
			s     Sums
			truth int64
		}{{sums, sum}, {mosts, most}, {betweens, low}, {betweens, high}} {
			if tt.s.Known && (tt.truth < tt.s.Low || tt.truth > tt.s.High) {
				t.Errorf("%+v does not contain %d", tt.s, tt.truth)
			}
		}
		if betweens.Known != (betweens.Unknown == 0) || sums.Known && sums.Open() != (sums.Unknown > 0) {
			t.Errorf("with unknown numbers: %+v, %+v", betweens, sums)
		}
	})
}

// No text makes the compiler fail other than by an error with a position in it, and completions never leave the text.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{"", "t = a", "not (n > 5ns or a in (10.0.0.0/8, ::1)) and f", `t ~ "a\"b"`, "n in 1ns..2ms",
		"f is not known", "t in (a,", "n > 1e5ns", "((", "t not", "'", "\xff"} {
		f.Add(s, int64(1))
	}
	table := looseTable()
	f.Fuzz(func(t *testing.T, text string, seed int64) {
		c := table.Complete(text, func(string) []string { return textDomain })
		if c.From < 0 || c.From > len(text) {
			t.Fatalf("completion from %d of %d bytes", c.From, len(text))
		}
		_, _ = table.Order(text)
		_, _ = table.Grouping(text)
		one, err := table.Filter(text)
		if err != nil {
			bad, ok := err.(*Error)
			if !ok || bad.Column < 1 || bad.Column > len(text)+1 || bad.Want == "" || !strings.Contains(text, bad.Word) {
				t.Fatalf("%q: %+v", text, err)
			}
			return
		}
		both, err := table.Filter(And(text, "f or not f"))
		if err != nil {
			if len(text) < mostText/2 && !strings.Contains(err.Error(), "more than") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		r := rand.New(rand.NewPCG(uint64(seed), 0))
		for range 5 {
			row := randomRow(r)
			row.flag = "yes"
			if a, b := one.Match(&row), both.Match(&row); a != b {
				t.Fatalf("%q: %v, and %v with a condition that is met", text, a, b)
			}
		}
	})
}
