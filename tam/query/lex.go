package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a filter.
const (
	mostText  = 2000 // bytes
	mostTerms = 100  // comparisons
	mostDepth = 40   // parentheses and nots inside each other
)

// An Error describes a text that is no filter, order or grouping.
type Error struct {
	Of     string // what the text is: filter, order or groups
	Column int    // position of the word, in characters from 1
	Word   string // empty at the end of the text
	Want   string // what is wrong with the word, and what would be right
}

// Error implements error.
func (e *Error) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("%s, character %d, at the end: %s", e.Of, e.Column, e.Want)
	}
	return fmt.Sprintf("%s, character %d, %.80q: %s", e.Of, e.Column, e.Word, e.Want)
}

type tokenKind uint8

const (
	endToken   tokenKind = iota
	wordToken            // a word without quotes
	quoteToken           // a text in quotes
	signToken            // an operator, a parenthesis or a comma
)

// A token is a word of a filter. from and to are its bytes in the filter. text is without quotes.
type token struct {
	kind     tokenKind
	text     string
	from, to int
}

func (t token) is(sign string) bool { return t.kind == signToken && t.text == sign }

// word reports whether the token is this word of the language.
func (t token) word(w string) bool { return t.kind == wordToken && strings.EqualFold(t.text, w) }

// signs are the operators and marks, longer ones first.
var signs = []string{"!=", "<=", ">=", "!~", "=", "<", ">", "~", "(", ")", ","}

// reserved are the words of the language, which are values only in quotes.
var reserved = map[string]bool{"and": true, "or": true, "not": true, "in": true, "is": true}

// isWord reports whether a word without quotes may contain the character.
func isWord(c rune) bool {
	return c > ' ' && c != utf8.RuneError && !unicode.IsSpace(c) && !unicode.IsControl(c) &&
		!strings.ContainsRune("=!<>~(),\"'", c)
}

// lex splits a filter into tokens. The last one is an endToken.
func lex(text string) ([]token, error) {
	if len(text) > mostText {
		return nil, errorAt(text, token{from: 0}, fmt.Sprintf("it has %d bytes: want at most %d", len(text), mostText))
	}
	var list []token
	for at := 0; ; {
		rest := strings.TrimLeftFunc(text[at:], unicode.IsSpace)
		at = len(text) - len(rest)
		if rest == "" {
			return append(list, token{kind: endToken, from: at, to: at}), nil
		}
		t, why := next(text, at)
		if why != "" {
			return nil, errorAt(text, t, why)
		}
		list = append(list, t)
		at = t.to
	}
}

// next returns the token at a position, or what is wrong with it.
func next(text string, at int) (t token, why string) {
	rest := text[at:]
	if c := rest[0]; c == '"' || c == '\'' {
		return quoted(text, at)
	}
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			return token{signToken, s, at, at + len(s)}, ""
		}
	}
	n := 0
	for n < len(rest) {
		c, size := utf8.DecodeRuneInString(rest[n:])
		if !isWord(c) {
			break
		}
		n += size
	}
	if n == 0 {
		_, size := utf8.DecodeRuneInString(rest)
		return token{signToken, rest[:size], at, at + size}, "want a field, a value in quotes, an operator or a parenthesis"
	}
	return token{wordToken, rest[:n], at, at + n}, ""
}

// quoted returns the text in quotes at a position. A backslash precedes a quote or a backslash in it.
func quoted(text string, at int) (t token, why string) {
	var b strings.Builder
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[at]:
			return token{quoteToken, b.String(), at, i + 1}, ""
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return token{quoteToken, text[at:], at, len(text)}, "the closing " + text[at:at+1] + " is missing"
}

// errorAt returns an error about a token of a filter.
func errorAt(text string, t token, want string) *Error {
	return &Error{Of: "filter", Column: 1 + utf8.RuneCountInString(text[:t.from]), Word: text[t.from:t.to], Want: want}
}

// Quote returns a value as a filter contains it, with quotes if it needs them.
func Quote(value string) string {
	odd := func(c rune) bool { return !isWord(c) }
	if value != "" && !reserved[strings.ToLower(value)] && !strings.ContainsFunc(value, odd) {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// And returns a filter that is met if both are. An empty one is always met.
func And(a, b string) string {
	switch a, b = strings.TrimSpace(a), strings.TrimSpace(b); {
	case a == "":
		return b
	case b == "":
		return a
	}
	return inParentheses(a) + " and " + inParentheses(b)
}

// inParentheses puts a filter in parentheses if it contains an or.
func inParentheses(text string) string {
	list, err := lex(text)
	if err != nil {
		return "(" + text + ")"
	}
	for _, t := range list {
		if t.word("or") {
			return "(" + text + ")"
		}
	}
	return text
}
