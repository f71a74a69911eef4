package cli

import (
	"strings"
	"unicode"
)

// token is one word of a line.
type token struct {
	text   string // without quotes and escapes
	col    int    // where it begins, in bytes
	end    int    // where it ends
	quoted bool
	open   bool // the closing quote is missing
}

// split cuts a line into tokens. A token may be written in double quotes,
// where \" and \\ stand for " and \. It never fails: an unclosed quote gives
// an open token.
func split(line string) []token {
	var out []token
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
		t := token{col: cols[i]}
		var b strings.Builder
		inQuote := false
		for ; i < len(rs) && (inQuote || !unicode.IsSpace(rs[i])); i++ {
			switch r := rs[i]; {
			case r == '"':
				inQuote, t.quoted = !inQuote, true
			case r == '\\' && inQuote && i+1 < len(rs) && (rs[i+1] == '"' || rs[i+1] == '\\'):
				i++
				b.WriteRune(rs[i])
			default:
				b.WriteRune(r)
			}
		}
		t.text, t.end, t.open = b.String(), cols[i], inQuote
		out = append(out, t)
	}
	return out
}

// stages cuts tokens at each "|" that stands alone or begins a word; a "|"
// inside a word belongs to that word. starts are the columns of the bars.
func stages(tokens []token) (parts [][]token, bars []token) {
	parts = [][]token{nil}
	for _, t := range tokens {
		last := len(parts) - 1
		if t.quoted || !strings.HasPrefix(t.text, "|") {
			parts[last] = append(parts[last], t)
			continue
		}
		bars = append(bars, t)
		parts = append(parts, nil)
		if rest := t.text[1:]; rest != "" {
			parts[last+1] = []token{{text: rest, col: t.col + 1, end: t.end}}
		}
	}
	return parts, bars
}

// quote writes a value so that split reads it back as one token.
func quote(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '"' || r == '\\' || r == '?' || r == '|'
	}) && s[0] != '!' && s[0] != '#'
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
