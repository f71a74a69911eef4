package kit

import (
	"strings"
	"unicode"
)

// Token is one word of a line.
type Token struct {
	Text   string // the word without quotes and escapes
	Col    int    // start, in bytes
	End    int    // end, in bytes
	Quoted bool
	Open   bool // whether the closing quote is missing

	rest string // the line from the token on
}

// asks reports whether the token ends with a question mark that may ask for help.
func (t Token) asks() bool { return !t.Quoted && strings.HasSuffix(t.Text, "?") }

// Split cuts a line into tokens. A token may be in double quotes, where \" and \\ stand for " and \. It never fails: an
// unclosed quote gives an open token.
func Split(line string) []Token {
	var out []Token
	rs := []rune(line)
	cols := make([]int, 0, len(rs)+1)
	for i := range line {
		cols = append(cols, i)
	}
	cols = append(cols, len(line))
	for i := 0; i < len(rs); {
		if unicode.IsSpace(rs[i]) {
			i++
			continue
		}
		t := Token{Col: cols[i]}
		var b strings.Builder
		inQuote := false
		for ; i < len(rs) && (inQuote || !unicode.IsSpace(rs[i])); i++ {
			switch r := rs[i]; {
			case r == '"':
				inQuote, t.Quoted = !inQuote, true
			case r == '\\' && inQuote && i+1 < len(rs) && (rs[i+1] == '"' || rs[i+1] == '\\'):
				i++
				b.WriteRune(rs[i])
			default:
				b.WriteRune(r)
			}
		}
		t.Text, t.End, t.Open, t.rest = b.String(), cols[i], inQuote, line[t.Col:]
		out = append(out, t)
	}
	return out
}

// Stages cuts tokens at each "|" that is a word of its own or begins a word. A "|" inside a word belongs to that word.
// bars holds the tokens at which the second and later parts begin.
func Stages(tokens []Token) (parts [][]Token, bars []Token) {
	parts = [][]Token{nil}
	for _, t := range tokens {
		last := len(parts) - 1
		if t.Quoted || !strings.HasPrefix(t.Text, "|") {
			parts[last] = append(parts[last], t)
			continue
		}
		bars = append(bars, t)
		parts = append(parts, nil)
		if rest := t.Text[1:]; rest != "" {
			parts[last+1] = []Token{{Text: rest, Col: t.Col + 1, End: t.End}}
		}
	}
	return parts, bars
}

// Quote returns a value in a form that Split reads as one token.
func Quote(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '"' || r == '\\' || r == '?' || r == '|'
	}) && s[0] != '!' && s[0] != '#'
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
