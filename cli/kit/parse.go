package kit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tamtam/internal/printable"
)

// SyntaxError describes an error in a line and its position.
type SyntaxError struct {
	Line   string
	Col    int // index of the byte of Line that the error mark points at
	Reason string

	ambiguous bool
	suggests  bool // whether the reason names a word that may be meant
}

// Error returns the reason, the line, and a mark under the position.
func (e *SyntaxError) Error() string {
	e = e.near()
	return fmt.Sprintf("%s\n  %s\n  %s^", ErrorText(e.Reason), e.Line, e.Indent())
}

// shownLine is the maximum number of characters of a long line that an error shows around the mark.
const shownLine = 160

// near returns the error with its line shortened to shownLine, in a form that a terminal can show.
func (e *SyntaxError) near() *SyntaxError {
	before, behind := []rune(e.before()), []rune(shown(e.Line[e.col():]))
	from, to, long := "", "", len(before)+len(behind) > shownLine
	if n := len(before) - shownLine/2; long && n > 0 {
		from, before = "...", before[n:]
	}
	if long && len(behind) > shownLine/2 {
		to, behind = "...", behind[:shownLine/2]
	}
	head := from + string(before)
	return &SyntaxError{Line: head + string(behind) + to, Col: len(head), Reason: e.Reason}
}

// ambiguousError lists the keywords that an abbreviation may stand for.
type ambiguousError []string

func (e ambiguousError) Error() string {
	return "ambiguous command, could be: " + strings.Join(e, ", ")
}

// unknownWordError is the error for a word that nothing expects.
type unknownWordError struct {
	reason string
	near   string // the word that may be meant, or ""
}

func (e unknownWordError) Error() string { return e.reason }

// unexpected returns the error for a word that no element at the positions accepts. refused holds the errors of
// parameters.
func unexpected(at []Position, nexts []next, t Token, refused []error) error {
	var words []string
	for _, n := range nexts {
		if n.ArgKind == nil && !slices.Contains(words, n.Word) {
			words = append(words, n.Word)
		}
	}
	near := Nearest(t.Text, words)
	did := fmt.Sprintf("did you mean %q?", near)
	switch {
	case len(refused) > 0 && near != "":
		return unknownWordError{refused[0].Error() + "; " + did, near}
	case len(refused) > 0:
		return refused[0]
	case near != "":
		return unknownWordError{`invalid input detected at "^" marker: ` + did, near}
	case len(nexts) == 0:
		return errors.New("the command ends before this word")
	}
	want := describe(nexts)
	switch {
	case strings.HasSuffix(want, "..."):
		want = "type ? there for the words that may follow"
	case slices.ContainsFunc(at, Position.Complete):
		want = "want " + want + ", or nothing"
	default:
		want = "want " + want
	}
	return unknownWordError{`invalid input detected at "^" marker: ` + want, ""}
}

// col returns the position within the line.
func (e *SyntaxError) col() int { return min(max(e.Col, 0), len(e.Line)) }

// before returns the line up to the marked position, as it is shown.
func (e *SyntaxError) before() string { return shown(e.Line[:e.col()]) }

// Indent returns blanks up to the marked position.
func (e *SyntaxError) Indent() string { return strings.Repeat(" ", printable.Width(e.before())) }

// shown returns a part of a line in a form that a terminal can show. A tab becomes a blank.
func shown(line string) string { return printable.Line(strings.ReplaceAll(line, "\t", " ")) }

// Position is the progress of reading words in one form.
type Position struct {
	*path
	at     int    // index in fixed
	option int    // option being read, or -1
	within int    // index in the elements of that option
	used   uint64 // bit set of the options whose first element was read
	Args   map[string]string
}

// next is a possible next element, and the position after it.
type next struct {
	Element
	then Position
}

// nexts returns the possible next elements at p.
func (p Position) nexts() []next {
	switch {
	case p.at < len(p.Fixed):
		then := p
		if !p.Fixed[p.at].Many {
			then.at++
		}
		return []next{{p.Fixed[p.at], then}}
	case p.option >= 0:
		o := p.Options[p.option]
		then := p
		if then.within++; then.within == len(o) {
			then.option, then.within = -1, 0
		}
		out := []next{{o[p.within], then}}
		if o[p.within].Spare {
			p.option, p.within = -1, 0
			out = append(out, p.nexts()...)
		}
		return out
	}
	var out []next
	for i, o := range p.Options {
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

// Complete reports whether a command may end at p.
func (p Position) Complete() bool {
	whole := p.option < 0 || p.Options[p.option][p.within].Spare
	return p.at >= len(p.Fixed)-IntOf(p.at < len(p.Fixed) && p.Fixed[p.at].Many) && whole
}

// bind returns the position after n, with the value that was read.
func (n next) bind(name, value string) Position {
	args := maps.Clone(n.then.Args)
	if args == nil {
		args = map[string]string{}
	}
	if old, again := args[name]; again && n.Many {
		value = old + ManySeparator + value
	}
	args[name] = value
	n.then.Args = args
	return n.then
}

// start returns the positions before the first word.
func (g Grammar) start(m Mode) []Position {
	out := make([]Position, len(g.Forms[m]))
	for i := range g.Forms[m] {
		out[i] = Position{path: &g.Forms[m][i], option: -1}
	}
	return out
}

// Expected returns the possible next elements at any of the positions, without duplicates.
func Expected(at []Position) []next {
	var out []next
	for _, p := range at {
		out = append(out, p.nexts()...)
	}
	return out
}

// Words returns the keywords that may follow other keywords in a mode.
func (g Grammar) Words(m Mode, before ...string) (words []string) {
	at := g.start(m)
	for _, w := range before {
		at, _, _ = matchWords(Expected(at), Token{Text: w})
	}
	for _, n := range Expected(at) {
		if n.ArgKind == nil && !slices.Contains(words, n.Word) {
			words = append(words, n.Word)
		}
	}
	return words
}

// errHelp is the error for an unquoted word with a question mark at its end where no free text may follow.
var errHelp = errors.New(
	`"?" asks for help, which is only for a terminal: remove it, or quote the word if it belongs to it`)

// step reads one token at all positions. A complete keyword has precedence over an abbreviation. Both have precedence
// over a parameter, and this over another spelling of a keyword.
func step(at []Position, t Token) ([]Position, error) {
	nexts := Expected(at)
	exact, prefix, full := matchWords(nexts, t)
	if len(exact) > 0 {
		return exact, nil
	}
	if len(full) == 1 {
		return prefix, nil
	}
	var byValue []Position
	var refused []error
	for _, n := range nexts {
		if n.ArgKind == nil {
			continue
		}
		value, err := n.ArgKind.Read(t.Text)
		if t.asks() && !n.ArgKind.Text {
			err = errHelp
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		byValue = append(byValue, n.bind(n.Name, value))
	}
	switch {
	case len(full) > 1 && len(byValue) == 0:
		return nil, ambiguousError(full)
	case len(byValue) > 0:
		return byValue, nil
	case t.asks():
		return nil, errHelp
	}
	if spelled := otherSpelling(nexts, t); len(spelled) > 0 {
		return spelled, nil
	}
	return nil, unexpected(at, nexts, t, refused)
}

// otherSpelling returns the matches of keywords that differ from t in dashes, as flow-group does from flowgroup.
func otherSpelling(nexts []next, t Token) (matches []Position) {
	plain := plainWord(t.Text)
	for _, n := range nexts {
		if n.ArgKind == nil && !t.Quoted && plainWord(n.Word) == plain {
			matches = append(matches, n.bind(n.Word, ""))
		}
	}
	return matches
}

// matchWords returns the matches of keywords that equal t, the matches of keywords that t abbreviates, and the names of
// the abbreviated keywords.
func matchWords(nexts []next, t Token) (exact, prefix []Position, full []string) {
	if t.Quoted {
		return nil, nil, nil
	}
	for _, n := range nexts {
		switch {
		case n.ArgKind != nil:
		case strings.EqualFold(n.Word, t.Text):
			exact = append(exact, n.bind(n.Word, ""))
		case HasPrefixFold(n.Word, t.Text) && !n.whole:
			prefix = append(prefix, n.bind(n.Word, ""))
			if !slices.Contains(full, n.Word) {
				full = append(full, n.Word)
			}
		}
	}
	return exact, prefix, full
}

// HasPrefixFold reports whether a word begins with a prefix, ignoring case.
func HasPrefixFold(word, prefix string) bool {
	return len(prefix) <= len(word) && strings.EqualFold(word[:len(prefix)], prefix)
}

// Read returns the canonical text of a parameter.
func (k *Kind) Read(text string) (string, error) {
	if len(k.Choices) == 0 {
		return k.Parse(text)
	}
	var found []string
	for _, c := range k.Choices {
		if strings.EqualFold(c.Word, text) {
			return c.Word, nil
		}
		if text != "" && HasPrefixFold(c.Word, text) {
			found = append(found, c.Word)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%q could be: %s", text, strings.Join(found, ", "))
	}
	names := make([]string, len(k.Choices))
	for i, c := range k.Choices {
		names[i] = c.Word
	}
	if k.Parse == nil {
		return "", fmt.Errorf("%q is not one of: %s", text, strings.Join(names, ", "))
	}
	value, err := k.Parse(text)
	if err != nil {
		err = fmt.Errorf("%w, or one of: %s", err, strings.Join(names, ", "))
	}
	return value, err
}

// Walk reads tokens from the start of mode m. On error, at contains the positions before the refused token, and i is
// the index of that token.
func (g Grammar) Walk(m Mode, tokens []Token) (at []Position, i int, err error) {
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

// JoinText joins the words of a parameter that takes the rest of the line to one token, which is as it was typed. It
// changes nothing if the rest is one word, which may be quoted.
func (g Grammar) JoinText(m Mode, tokens []Token) []Token {
	for in, more := m, true; more; in, more = g.Parent(in) {
		at := g.start(in)
		for i, t := range tokens {
			texts := slices.ContainsFunc(Expected(at), func(n next) bool { return n.ArgKind != nil && n.ArgKind.Text })
			if texts && i < len(tokens)-1 {
				text := strings.TrimSpace(t.rest)
				return append(slices.Clone(tokens[:i]), Token{Text: text, Col: t.Col, End: t.Col + len(text), Quoted: true})
			}
			var err error
			if at, err = step(at, t); err != nil || texts {
				break
			}
		}
	}
	return tokens
}

// Parse returns the command for the tokens in mode m. If m does not have the command, it tries the parents of m. in is
// the mode that has the command.
func (g Grammar) Parse(m Mode, line string, tokens []Token) (found Position, in Mode, err error) {
	var deepest *SyntaxError
	for in, more := m, true; more; in, more = g.Parent(in) {
		p, err := g.parseIn(in, line, tokens)
		if err == nil {
			return p, in, nil
		}
		if deepest == nil || err.Col > deepest.Col || err.Col == deepest.Col && err.suggests && !deepest.suggests {
			deepest = err
		}
		if err.ambiguous {
			break
		}
	}
	if len(tokens) > 0 && deepest.Col == tokens[0].Col && !deepest.ambiguous {
		if reason := g.elsewhere(m, tokens); reason != "" {
			deepest.Reason = reason
		}
	}
	return Position{}, m, deepest
}

// elsewhere returns where a line would be a command that m and its parents do not have, or "" if no mode has it.
func (g Grammar) elsewhere(m Mode, tokens []Token) string {
	if tokens[0].Text == "do" {
		return `"do" is for configuration modes: leave it out here`
	}
	var best Submode
	most := 0
	for _, other := range g.modes {
		if _, n, err := g.Walk(other.Mode, tokens); n > most && (err == nil || n > IntOf(tokens[0].Text == "no")) {
			best, most = other, n
		}
	}
	if most == 0 {
		return ""
	}
	var way []string
	for p := best; ; {
		if g.within(m, p.Mode) {
			break
		}
		way = append([]string{p.Enter}, way...)
		above, more := g.Below(p.Parent)
		if !more {
			break
		}
		p = above
	}
	return fmt.Sprintf("this command belongs to %s#: type %s first", best.Prompt, strings.Join(way, ", then "))
}

// within reports whether m is a mode, or below it.
func (g Grammar) within(m, mode Mode) bool {
	for in, more := m, true; more; in, more = g.Parent(in) {
		if in == mode {
			return true
		}
	}
	return false
}

func (g Grammar) parseIn(m Mode, line string, tokens []Token) (Position, *SyntaxError) {
	at, i, err := g.Walk(m, tokens)
	if err != nil {
		var ambiguous ambiguousError
		var unknown unknownWordError
		return Position{}, &SyntaxError{
			Line: line, Col: tokens[i].Col, Reason: err.Error(), ambiguous: errors.As(err, &ambiguous),
			suggests: errors.As(err, &unknown) && unknown.near != "",
		}
	}
	for _, p := range at {
		if p.Complete() {
			return p, nil
		}
	}
	end := 0
	if len(tokens) > 0 {
		end = tokens[len(tokens)-1].End + 1
	}
	padded := line
	for len(padded) < end {
		padded += " "
	}
	reason := "incomplete command, expected " + describe(Expected(at))
	return Position{}, &SyntaxError{Line: padded, Col: end, Reason: reason}
}

// describe returns the possible next elements as one phrase.
func describe(nexts []next) string {
	var names []string
	for _, n := range nexts {
		name := n.Word
		if n.ArgKind != nil {
			name = n.ArgKind.Label
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

// ErrorText returns a failure in the wording of SONiC's shell.
func ErrorText(reason string) string {
	reason = printable.Lines(reason)
	r, n := utf8.DecodeRuneInString(reason)
	return "%Error: " + string(unicode.ToUpper(r)) + reason[n:]
}
