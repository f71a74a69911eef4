package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Verdict is the outcome of a filter for a row. The order of the values makes and the least and or the greatest.
type Verdict uint8

// The outcomes.
const (
	No Verdict = iota
	Unknown
	Yes
)

// String returns the outcome in small letters.
func (v Verdict) String() string { return [...]string{"no", "unknown", "yes"}[min(v, Yes)] }

// A Filter selects rows.
type Filter[R any] struct {
	text  string
	match match[R] // nil selects all rows
}

// Filter compiles a filter. An empty text selects all rows. The error is an *Error.
func (t *Table[R]) Filter(text string) (*Filter[R], error) {
	p, err := t.parser(text)
	if err != nil {
		return nil, err
	}
	f := &Filter[R]{text: strings.TrimSpace(text)}
	if p.peek().kind == endToken {
		return f, nil
	}
	e, err := p.either()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != endToken {
		return nil, p.wrong(t, "want and, or, or the end of the filter")
	}
	f.match = t.compile(e)
	return f, nil
}

// Match returns the outcome for a row. It allocates nothing.
func (f *Filter[R]) Match(r *R) Verdict {
	if f.match == nil {
		return Yes
	}
	return f.match(r)
}

// String returns the filter's text.
func (f *Filter[R]) String() string { return f.text }

// Select returns the rows that the filter selects, in their order, and the number of rows whose outcome is unknown. It
// returns the error of ctx if ctx ends.
func (f *Filter[R]) Select(ctx context.Context, rows []R) (selected []R, unknown int, err error) {
	const often = 256 // rows between two looks at ctx
	for i := range rows {
		if i%often == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		switch f.Match(&rows[i]) {
		case Yes:
			selected = append(selected, rows[i])
		case Unknown:
			unknown++
		}
	}
	return selected, unknown, nil
}

// A parser parses the tokens of a filter. It has no type parameter, because it would otherwise be compiled for each
// kind of row.
type parser struct {
	rows   string // name of the rows in the plural
	start  int64  // see Table.Start
	fields []declaration
	text   string
	tokens []token
	at     int
	depth  int
	terms  int
	// next and hint describe what may follow the end of an unfinished filter; see Complete.
	next     []Candidate
	hint     string
	valuesOf string // field whose values may follow
}

// A declaration is a field without the functions that read rows, and its index in the table.
type declaration struct {
	at         int
	Name, Help string
	Kind       Kind
	Words      []string
	Closed     bool
	Spelling   *Spelling
}

func (t *Table[R]) parser(text string) (*parser, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{rows: t.Rows, start: t.Start, text: text, tokens: tokens}
	for i := range t.Fields {
		f := &t.Fields[i]
		p.fields = append(p.fields, declaration{i, f.Name, f.Help, f.Kind, f.Words, f.Closed, f.Spelling})
	}
	return p, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) advance() token {
	t := p.tokens[p.at]
	if t.kind != endToken {
		p.at++
	}
	return t
}

func (p *parser) wrong(t token, format string, args ...any) error {
	want := format
	if len(args) > 0 {
		want = fmt.Sprintf(format, args...)
	}
	return errorAt(p.text, t, want)
}

// offer adds candidates for the place at the end of the filter.
func (p *parser) offer(list ...Candidate) {
	if p.peek().kind == endToken {
		p.next = append(p.next, list...)
	}
}

// accept takes the next token if it is this word of the language.
func (p *parser) accept(word, help string) bool {
	p.offer(Candidate{word, help})
	if !p.peek().word(word) {
		return false
	}
	p.advance()
	return true
}

// either parses comparisons joined by or.
func (p *parser) either() (*expression, error) {
	return p.list(or, "or", "either of both", p.both)
}

// both parses comparisons joined by and.
func (p *parser) both() (*expression, error) {
	return p.list(and, "and", "both of them", p.one)
}

// list parses one or more parts with a word between them.
func (p *parser) list(how joint, word, help string, part func() (*expression, error)) (*expression, error) {
	var list []*expression
	for {
		e, err := part()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if p.accept(word, help) {
			continue
		}
		if len(list) == 1 {
			return e, nil
		}
		return &expression{joint: how, parts: list}, nil
	}
}

// one parses a comparison, a negated one, or a filter in parentheses.
func (p *parser) one() (*expression, error) {
	t := p.peek()
	if p.depth++; p.depth > mostDepth {
		return nil, p.wrong(t, "more than %d parentheses and nots inside each other", mostDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.accept("not", "the opposite"):
		e, err := p.one()
		if err != nil {
			return nil, err
		}
		return opposite(e), nil
	case t.is("("):
		p.advance()
		e, err := p.either()
		if err != nil {
			return nil, err
		}
		p.offer(Candidate{")", "the end of what belongs together"})
		if end := p.advance(); !end.is(")") {
			return nil, p.wrong(end, "want and, or, or the ) of the ( at character %d", errorAt(p.text, t, "").Column)
		}
		return e, nil
	}
	p.offer(Candidate{"(", "what belongs together"})
	return p.comparison()
}

// comparison parses a field with an operator and values.
func (p *parser) comparison() (*expression, error) {
	for i := range p.fields {
		f := &p.fields[i]
		p.offer(Candidate{f.Name, f.Help})
	}
	t := p.advance()
	if p.terms++; p.terms > mostTerms {
		return nil, p.wrong(t, "more than %d comparisons", mostTerms)
	}
	f := p.field(t.text)
	if t.kind != wordToken || f == nil {
		return nil, p.wrong(t, "%s", p.wantField(t))
	}
	if f.Kind == Boolean && (!p.operatorFollows() || p.peek().kind == endToken) {
		p.offer(p.operators(f)...)
		return f.anyText(func(s string) bool { return s == "yes" }), nil
	}
	p.offer(p.operators(f)...)
	op := p.advance()
	negated := false
	if op.word("not") {
		p.offer(Candidate{"in", "none of several"})
		if op = p.advance(); !op.word("in") {
			return nil, p.wrong(op, "want in after not")
		}
		negated = true
	}
	e, err := p.operation(f, op)
	if err == nil && (negated || op.is("!=") || op.is("!~")) {
		e = opposite(e)
	}
	return e, err
}

// field returns the field of this name, or nil.
func (p *parser) field(name string) *declaration {
	for i := range p.fields {
		if p.fields[i].Name == name {
			return &p.fields[i]
		}
	}
	return nil
}

// wantField describes the fields, for a word that is none.
func (p *parser) wantField(t token) string {
	var all []string
	for i := range p.fields {
		all = append(all, p.fields[i].Name)
	}
	want := "want one of the fields " + strings.Join(all, ", ")
	if t.kind != wordToken {
		return want
	}
	if near := nearest(t.text, all); near != "" {
		want = "perhaps " + near + "? " + want
	}
	return p.rows + " have no such field: " + want
}

// operatorFollows reports whether the next token begins an operation on a field.
func (p *parser) operatorFollows() bool {
	t := p.peek()
	return t.kind == signToken && !t.is(")") && !t.is("(") && !t.is(",") || t.word("is") || t.word("in") ||
		t.kind == wordToken && !reserved[strings.ToLower(t.text)] || t.kind == quoteToken ||
		t.word("not") && p.tokens[p.at+1].word("in")
}

// operatorsOf returns the operators that a kind of field has.
func operatorsOf(k Kind) []string {
	switch {
	case k == Text:
		return []string{"=", "!=", "~", "!~", "in", "not in", "is"}
	case k == Boolean:
		return []string{"=", "!=", "is"}
	case k == Address:
		return []string{"=", "!=", "in", "not in", "is"}
	}
	return []string{"=", "!=", "<", "<=", ">", ">=", "in", "not in", "is"}
}

var operatorHelp = map[string]string{
	"=": "equal to", "!=": "not equal to", "~": "matches a regular expression", "!~": "matches no regular expression",
	"<": "less than", "<=": "at most", ">": "greater than", ">=": "at least", "in": "in a list, range or prefix",
	"not in": "none of several", "is": "known, unknown or none",
}

func (p *parser) operators(f *declaration) (list []Candidate) {
	for _, o := range operatorsOf(f.Kind) {
		list = append(list, Candidate{o, operatorHelp[o]})
	}
	return list
}

// operation parses the values behind an operator.
func (p *parser) operation(f *declaration, op token) (*expression, error) {
	have := operatorsOf(f.Kind)
	word := strings.ToLower(op.text)
	if op.kind != signToken && op.kind != wordToken || !slices.Contains(have, word) {
		return nil, p.wrong(op, "want an operator of %s: one of %s", f.Name, strings.Join(have, " "))
	}
	switch word {
	case "is":
		return p.state(f)
	case "in":
		return p.in(f)
	case "~", "!~":
		return p.expression(f)
	case "=", "!=":
		return p.equal(f)
	}
	return p.order(f, word)
}

// state parses the word behind is.
func (p *parser) state(f *declaration) (*expression, error) {
	p.offer(Candidate{"known", "all of its values are known"}, Candidate{"unknown", "a value is unknown"},
		Candidate{"none", "it is known that there is no value"})
	t := p.advance()
	negated := t.word("not")
	if negated {
		t = p.advance()
	}
	e := &expression{field: f.at}
	switch {
	case t.word("known"):
		e.joint = known
	case t.word("unknown"):
		e.joint = unknown
	case t.word("none"):
		e.joint = none
	default:
		return nil, p.wrong(t, "want known, unknown or none")
	}
	if negated {
		return opposite(e), nil
	}
	return e, nil
}
