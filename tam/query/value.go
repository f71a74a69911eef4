package query

import (
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
)

// value takes the next token as a value of a field.
func (p *parser) value(f *declaration) (token, error) {
	p.offerValues(f)
	t := p.advance()
	if t.kind == quoteToken || t.kind == wordToken && !reserved[strings.ToLower(t.text)] {
		return t, nil
	}
	want := "want " + p.wantValue(f)
	if t.kind == wordToken {
		want = fmt.Sprintf("a word of the language: want it in quotes, or %s", p.wantValue(f))
	}
	return t, p.wrong(t, "%s", want)
}

// offerValues adds the known values of a field to the candidates.
func (p *parser) offerValues(f *declaration) {
	words := f.Words
	if f.Kind == Boolean {
		words = []string{"yes", "no"}
	}
	for _, w := range words {
		p.offer(Candidate{Quote(w), ""})
	}
	if p.peek().kind == endToken {
		p.hint, p.valuesOf = p.wantValue(f), f.Name
	}
}

// wantValue describes the values of a field.
func (p *parser) wantValue(f *declaration) string {
	switch f.Kind {
	case Text:
		if f.Closed {
			words := f.Words
			if f.Spelling != nil {
				words = append(slices.Clone(words), f.Spelling.Want)
			}
			return fmt.Sprintf("a value of %s: %s", f.Name, strings.Join(words, ", "))
		}
		return "a text, in quotes if it contains blanks or signs"
	case Boolean:
		return "yes or no"
	case Address:
		return "an IP address such as 10.0.0.1"
	case Duration:
		return "a time with its unit, such as 50us, 1.5ms or 2s"
	case Bytes:
		return "a size such as 64, 1500B, 10KB or 1MiB"
	case Share:
		return "a percentage such as 0.1%"
	case Time:
		if p.start != 0 {
			return "a time since the start, such as 5.5ms, or as 2026-03-01T12:00:00Z"
		}
		return "a time such as 2026-03-01T12:00:00Z"
	}
	return "a whole number such as 1000, 10k or 2M"
}

// equal parses the value behind = or !=.
func (p *parser) equal(f *declaration) (*expression, error) {
	t, err := p.value(f)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Kind.Number():
		x, err := p.number(f, t, t.text)
		if err != nil {
			return nil, err
		}
		return f.anyNumber(func(r Range) Verdict { return within(r, x, x) }), nil
	case f.Kind == Address:
		x, err := netip.ParseAddr(t.text)
		if err != nil || x.Zone() != "" {
			want := "want " + p.wantValue(f)
			if strings.Contains(t.text, "/") {
				want += "; for a prefix, in instead of ="
			}
			return nil, p.wrong(t, "%s", want)
		}
		x = x.Unmap()
		return f.anyAddress(func(a netip.Addr) bool { return a == x }), nil
	}
	x, err := p.textOf(f, t)
	if err != nil {
		return nil, err
	}
	return f.anyText(func(s string) bool { return s == x }), nil
}

// textOf returns the text of a value, or an error if the field cannot have it.
func (p *parser) textOf(f *declaration, t token) (string, error) {
	words, closed := f.Words, f.Closed
	if f.Kind == Boolean {
		words, closed = []string{"yes", "no"}, true
	}
	if f.Spelling != nil {
		if x, ok := f.Spelling.Value(t.text); ok {
			return x, nil
		}
	} else if !closed || slices.Contains(words, t.text) {
		return t.text, nil
	}
	if near := nearest(t.text, words); near != "" {
		return "", p.wrong(t, "perhaps %s? want %s", near, p.wantValue(f))
	}
	return "", p.wrong(t, "want %s", p.wantValue(f))
}

// within returns whether a number is in a range, both ends included.
func within(r Range, low, high int64) Verdict {
	switch {
	case r.Low >= low && r.High <= high:
		return Yes
	case r.High < low || r.Low > high:
		return No
	}
	return Unknown
}

// order parses the number behind an operator that compares sizes.
func (p *parser) order(f *declaration, op string) (*expression, error) {
	t, err := p.value(f)
	if err != nil {
		return nil, err
	}
	x, err := p.number(f, t, t.text)
	if err != nil {
		return nil, err
	}
	// less returns whether a number is below x, or at x if equal is set.
	less := func(r Range, equal bool) Verdict {
		switch {
		case r.High < x || equal && r.High == x:
			return Yes
		case r.Low > x || !equal && r.Low == x:
			return No
		}
		return Unknown
	}
	switch op {
	case "<":
		return f.anyNumber(func(r Range) Verdict { return less(r, false) }), nil
	case "<=":
		return f.anyNumber(func(r Range) Verdict { return less(r, true) }), nil
	case ">":
		return f.anyNumber(func(r Range) Verdict { return Yes - less(r, true) }), nil
	}
	return f.anyNumber(func(r Range) Verdict { return Yes - less(r, false) }), nil
}

// expression parses the regular expression behind ~.
func (p *parser) expression(f *declaration) (*expression, error) {
	t, err := p.value(f)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(t.text, syntax.Perl)
	if err != nil {
		return nil, p.wrong(t, "want a regular expression (RE2): %v", err)
	}
	if sizeOf(parsed) > mostSteps {
		return nil, p.wrong(t, "want a regular expression of at most %d steps, with smaller repetitions", mostSteps)
	}
	re, err := regexp.Compile(t.text)
	if err != nil {
		return nil, p.wrong(t, "want a regular expression (RE2): %v", err)
	}
	return f.anyText(re.MatchString), nil
}

// mostSteps bounds the steps of a regular expression: the time of a match grows with them.
const mostSteps = 100

// sizeOf returns the approximate number of steps of a regular expression, at most mostSteps + 1.
func sizeOf(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += sizeOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, mostSteps+1)
}

// in parses one value, or several in parentheses.
func (p *parser) in(f *declaration) (*expression, error) {
	var tokens []token
	p.offer(Candidate{"(", "several values"})
	if open := p.peek(); !open.is("(") {
		t, err := p.value(f)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	} else {
		p.advance()
		for {
			t, err := p.value(f)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, t)
			p.offer(Candidate{",", "a further value"}, Candidate{")", "the end of the values"})
			end := p.advance()
			if end.is(")") {
				break
			}
			if !end.is(",") {
				return nil, p.wrong(end, "want , and a further value, or )")
			}
		}
	}
	switch {
	case f.Kind.Number():
		return p.inRanges(f, tokens)
	case f.Kind == Address:
		return p.inPrefixes(f, tokens)
	}
	var list []string
	for _, t := range tokens {
		x, err := p.textOf(f, t)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return f.anyText(func(s string) bool { return slices.Contains(list, s) }), nil
}

// inRanges parses numbers, and ranges such as 80..90, both ends included.
func (p *parser) inRanges(f *declaration, tokens []token) (*expression, error) {
	var list []Range
	for _, t := range tokens {
		low, high, two := strings.Cut(t.text, "..")
		if !two {
			high = low
		}
		from, err := p.number(f, t, low)
		if err != nil {
			return nil, err
		}
		to, err := p.number(f, t, high)
		if err != nil {
			return nil, err
		}
		if from > to {
			return nil, p.wrong(t, "the range ends before it begins: want the smaller value first")
		}
		list = append(list, Range{from, to})
	}
	list = union(list)
	return f.anyNumber(func(r Range) Verdict {
		v := No
		for _, x := range list {
			v = max(v, within(r, x.Low, x.High))
		}
		return v
	}), nil
}

// union sorts ranges, and joins those that touch, so that bounds across two of them are within their union.
func union(list []Range) []Range {
	slices.SortFunc(list, func(a, b Range) int {
		if a.Low < b.Low {
			return -1
		}
		return 1
	})
	out := list[:1]
	for _, r := range list[1:] {
		last := &out[len(out)-1]
		if r.Low <= last.High || r.Low-1 == last.High {
			last.High = max(last.High, r.High)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// mappedBits is the number of bits in front of the IPv4 address in an IPv4-mapped IPv6 address.
const mappedBits = 96

// inPrefixes parses addresses and prefixes.
func (p *parser) inPrefixes(f *declaration, tokens []token) (*expression, error) {
	var list []netip.Prefix
	for _, t := range tokens {
		x, err := netip.ParsePrefix(t.text)
		if a, addrErr := netip.ParseAddr(t.text); addrErr == nil && a.Zone() == "" {
			x, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, p.wrong(t, "want a prefix or address, such as 10.0.0.0/8")
		}
		if x.Addr().Is4In6() { // addresses of rows are unmapped too
			if x.Bits() < mappedBits {
				return nil, p.wrong(t, "it is only in part of IPv4 addresses: want at least %d bits of an IPv4-mapped address, "+
					"or an IPv4 prefix such as 10.0.0.0/8", mappedBits)
			}
			x = netip.PrefixFrom(x.Addr().Unmap(), x.Bits()-mappedBits)
		}
		list = append(list, x.Masked())
	}
	return f.anyAddress(func(a netip.Addr) bool {
		for i := range list {
			if list[i].Contains(a) {
				return true
			}
		}
		return false
	}), nil
}

// units holds the units of each kind of number, in its smallest unit.
var units = map[Kind]map[string]int64{
	Count:    {"": 1, "k": 1e3, "M": 1e6, "G": 1e9},
	Duration: {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "d": 86400e9},
	Bytes: {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
		"TiB": 1 << 40},
	Share: {"%": 10_000},
}

// number returns the value of a text, in the unit of its field.
func (p *parser) number(f *declaration, t token, text string) (int64, error) {
	kind, start := f.Kind, int64(0)
	if kind == Time {
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.Year() > 1677 && at.Year() < 2262 {
			return at.UnixNano(), nil
		}
		if kind, start = Duration, p.start; start == 0 {
			return 0, p.wrong(t, "want %s", p.wantValue(f))
		}
	}
	digits := text[:len(text)-len(strings.TrimLeft(text, "-.0123456789"))]
	n, ok := new(big.Rat).SetString(digits)
	unit, known := units[kind][text[len(digits):]]
	if kind == Duration && digits == text && ok && n.Sign() == 0 { // 0 needs no unit
		known = true
	}
	if !ok || !known {
		return 0, p.wrong(t, "want %s", p.wantValue(f))
	}
	n.Mul(n, new(big.Rat).SetInt64(unit))
	if !n.IsInt() {
		return 0, p.wrong(t, "it is finer than the smallest unit of %s, %s: want %s", f.Name, f.Kind, p.wantValue(f))
	}
	sum := new(big.Int).Add(n.Num(), big.NewInt(start))
	if !sum.IsInt64() {
		return 0, p.wrong(t, "it is too large: want %s", p.wantValue(f))
	}
	return sum.Int64(), nil
}

// nearest returns the word with the fewest different letters, at most two, or "" if there is none.
func nearest(word string, of []string) (near string) {
	if len(word) > 64 {
		return ""
	}
	least := min(3, len(word))
	for _, w := range of {
		if d := distance(word, w); d < least {
			near, least = w, d
		}
	}
	return near
}

// distance returns the number of letters to insert, remove or replace to make b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d++
			}
			before = row[j+1]
			row[j+1] = min(d, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
