package query

import (
	"strings"
)

// A Candidate is a word that may continue a filter.
type Candidate struct {
	Text string `json:"text"`
	Help string `json:"help,omitempty"`
}

// A Completion is how an unfinished filter may continue.
type Completion struct {
	From       int         `json:"from"` // byte from which a candidate replaces the text
	Candidates []Candidate `json:"candidates"`
	Hint       string      `json:"hint,omitempty"` // describes a value that may follow; empty if none may
}

// mostCandidates bounds the candidates of a completion.
const mostCandidates = 100

// Complete returns how an unfinished filter may continue. values returns further values of a field, such as those of
// the present rows; it may be nil. There is no candidate if the filter is wrong before its last word.
func (t *Table[R]) Complete(text string, values func(field string) []string) Completion {
	done, partial := splitLast(text)
	p, err := t.parser(done)
	if err != nil {
		return Completion{From: len(done), Candidates: []Candidate{}}
	}
	return p.complete(partial, values)
}

// complete returns how the parser's text may continue with a word that begins with partial.
func (p *parser) complete(partial string, values func(field string) []string) Completion {
	c := Completion{From: len(p.text), Candidates: []Candidate{}}
	_, err := p.either()
	if p.peek().kind != endToken || err != nil && len(p.next) == 0 && p.hint == "" {
		return c
	}
	c.Hint = p.hint
	list := p.next
	if p.valuesOf != "" && values != nil {
		for _, v := range values(p.valuesOf) {
			list = append(list, Candidate{Text: Quote(v)})
		}
	}
	seen := map[string]bool{}
	for _, x := range list {
		if !seen[x.Text] && strings.HasPrefix(strings.ToLower(x.Text), strings.ToLower(partial)) &&
			len(c.Candidates) < mostCandidates {
			seen[x.Text] = true
			c.Candidates = append(c.Candidates, x)
		}
	}
	return c
}

// splitLast splits a text in front of its last word, which is empty behind a blank or a sign.
func splitLast(text string) (done, partial string) {
	at := 0
	for {
		rest := strings.TrimLeft(text[at:], " \t\n")
		at = len(text) - len(rest)
		if rest == "" {
			return text, ""
		}
		t, why := next(text, at)
		if t.to == len(text) && (why != "" || t.kind != signToken || strings.ContainsAny(t.text, "!<>")) {
			return text[:at], text[at:]
		}
		if why != "" {
			return text, ""
		}
		at = t.to
	}
}
