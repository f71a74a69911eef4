package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SyntaxError says what is wrong with a line and where.
type SyntaxError struct {
	Line   string
	Col    int // byte in Line that the mark points at
	Reason string

	ambiguous bool
}

// Error is the reason, the line, and a mark under the place.
func (e *SyntaxError) Error() string {
	e = e.near()
	return fmt.Sprintf("%s\n  %s\n  %s^", errorText(e.Reason), e.Line, e.indent())
}

// shownLine is how much of a long line an error shows around the mark, in characters.
const shownLine = 160

// near is the same with a line that is not long.
func (e *SyntaxError) near() *SyntaxError {
	col := min(max(e.Col, 0), len(e.Line))
	before, behind := []rune(e.Line[:col]), []rune(e.Line[col:])
	if len(before)+len(behind) <= shownLine {
		return e
	}
	from, to := "", ""
	if n := len(before) - shownLine/2; n > 0 {
		from, before = "...", before[n:]
	}
	if len(behind) > shownLine/2 {
		to, behind = "...", behind[:shownLine/2]
	}
	head := from + string(before)
	return &SyntaxError{Line: head + string(behind) + to, Col: len(head), Reason: e.Reason}
}

// ambiguousError lists the keywords that a word may stand for.
type ambiguousError []string

func (e ambiguousError) Error() string {
	return "ambiguous command, could be: " + strings.Join(e, ", ")
}

// indent is blank up to the marked place; tabs stay tabs.
func (e *SyntaxError) indent() string {
	col := min(max(e.Col, 0), len(e.Line))
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, e.Line[:col])
}

// position is how far the words read so far have come in one form.
type position struct {
	*path
	at     int    // in fixed
	option int    // being read, or -1
	within int    // in that option
	used   uint64 // options that were begun
	args   map[string]string
}

// next is a thing that may come now, and the position behind it.
type next struct {
	element
	then position
}

// nexts lists what may come at p.
func (p position) nexts() []next {
	switch {
	case p.at < len(p.fixed):
		then := p
		if !p.fixed[p.at].many {
			then.at++
		}
		return []next{{p.fixed[p.at], then}}
	case p.option >= 0:
		o := p.options[p.option]
		then := p
		if then.within++; then.within == len(o) {
			then.option, then.within = -1, 0
		}
		out := []next{{o[p.within], then}}
		if o[p.within].spare {
			p.option, p.within = -1, 0
			out = append(out, p.nexts()...)
		}
		return out
	}
	var out []next
	for i, o := range p.options {
		if p.used&(1<<i) != 0 {
			continue
		}
		then := p
		then.used |= 1 << i
		if len(o) > 1 {
			then.option, then.within = i, 1
		}
		out = append(out, next{o[0], then})
	}
	return out
}

// complete reports whether a command may end at p.
func (p position) complete() bool {
	whole := p.option < 0 || p.options[p.option][p.within].spare
	return p.at >= len(p.fixed)-btoi(p.at < len(p.fixed) && p.fixed[p.at].many) && whole
}

// bind returns the position behind n, with the value that was read.
func (n next) bind(name, value string) position {
	args := maps.Clone(n.then.args)
	if args == nil {
		args = map[string]string{}
	}
	if old, again := args[name]; again && n.many {
		value = old + manySeparator + value
	}
	args[name] = value
	n.then.args = args
	return n.then
}

// start is the set of positions before the first word.
func (g grammar) start(m mode) []position {
	out := make([]position, len(g[m]))
	for i := range g[m] {
		out[i] = position{path: &g[m][i], option: -1}
	}
	return out
}

// expected lists what may come at any of the positions, without repeats.
func expected(at []position) []next {
	var out []next
	for _, p := range at {
		out = append(out, p.nexts()...)
	}
	return out
}

// step reads one token at all positions. A keyword written in full comes before
// an abbreviation, and both come before a parameter.
func step(at []position, t token) ([]position, error) {
	nexts := expected(at)
	exact, prefix, full := matchWords(nexts, t)
	if len(exact) > 0 {
		return exact, nil
	}
	if len(full) == 1 {
		return prefix, nil
	}
	var byValue []position
	var refused []error
	for _, n := range nexts {
		if n.kind == nil {
			continue
		}
		value, err := n.kind.read(t.text)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		byValue = append(byValue, n.bind(n.name, value))
	}
	switch {
	case len(full) > 1 && len(byValue) == 0:
		return nil, ambiguousError(full)
	case len(byValue) > 0:
		return byValue, nil
	case len(refused) > 0:
		return nil, refused[0]
	case len(nexts) == 0:
		return nil, errors.New("the command ends before this word")
	}
	return nil, errors.New(`invalid input detected at "^" marker`)
}

// matchWords finds the keywords that t writes in full, those it abbreviates,
// and the names of the latter.
func matchWords(nexts []next, t token) (exact, prefix []position, full []string) {
	if t.quoted {
		return nil, nil, nil
	}
	for _, n := range nexts {
		switch {
		case n.kind != nil:
		case strings.EqualFold(n.word, t.text):
			exact = append(exact, n.bind(n.word, ""))
		case hasPrefixFold(n.word, t.text) && !n.whole:
			prefix = append(prefix, n.bind(n.word, ""))
			if !slices.Contains(full, n.word) {
				full = append(full, n.word)
			}
		}
	}
	return exact, prefix, full
}

func hasPrefixFold(word, prefix string) bool {
	return len(prefix) <= len(word) && strings.EqualFold(word[:len(prefix)], prefix)
}

// read turns what was typed into the parameter's canonical text.
func (k *argKind) read(text string) (string, error) {
	if len(k.choices) == 0 {
		return k.parse(text)
	}
	var found []string
	for _, c := range k.choices {
		if strings.EqualFold(c.word, text) {
			return c.word, nil
		}
		if text != "" && hasPrefixFold(c.word, text) {
			found = append(found, c.word)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%q could be: %s", text, strings.Join(found, ", "))
	case k.parse != nil:
		return k.parse(text)
	}
	names := make([]string, len(k.choices))
	for i, c := range k.choices {
		names[i] = c.word
	}
	return "", fmt.Errorf("%q is not one of: %s", text, strings.Join(names, ", "))
}

// walk reads tokens from the start of mode m. On error at is the set of
// positions before the token that was refused, and i its index.
func (g grammar) walk(m mode, tokens []token) (at []position, i int, err error) {
	at = g.start(m)
	for i, t := range tokens {
		behind, err := step(at, t)
		if err != nil {
			return at, i, err
		}
		at = behind
	}
	return at, len(tokens), nil
}

// parse finds the command that tokens spell in mode m or, when m does not know
// it, in a parent of m. in is the mode that knows it.
func (g grammar) parse(m mode, line string, tokens []token) (found position, in mode, err error) {
	var deepest *SyntaxError
	for in, more := m, true; more; in, more = in.parent() {
		p, err := g.parseIn(in, line, tokens)
		if err == nil {
			return p, in, nil
		}
		if deepest == nil || err.Col > deepest.Col {
			deepest = err
		}
		if err.ambiguous {
			break
		}
	}
	return position{}, m, deepest
}

func (g grammar) parseIn(m mode, line string, tokens []token) (position, *SyntaxError) {
	at, i, err := g.walk(m, tokens)
	if err != nil {
		var ambiguous ambiguousError
		return position{}, &SyntaxError{
			Line: line, Col: tokens[i].col, Reason: err.Error(), ambiguous: errors.As(err, &ambiguous),
		}
	}
	for _, p := range at {
		if p.complete() {
			return p, nil
		}
	}
	end := 0
	if len(tokens) > 0 {
		end = tokens[len(tokens)-1].end + 1
	}
	padded := line
	for len(padded) < end {
		padded += " "
	}
	reason := "incomplete command, expected " + describe(expected(at))
	return position{}, &SyntaxError{Line: padded, Col: end, Reason: reason}
}

// describe lists what may come, as one phrase.
func describe(nexts []next) string {
	var names []string
	for _, n := range nexts {
		name := n.word
		if n.kind != nil {
			name = n.kind.label
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 8
	if len(names) > most {
		names = append(names[:most:most], "...")
	}
	return strings.Join(names, " | ")
}
