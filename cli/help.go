package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// liveTimeout bounds the requests that TAB and ? make for values.
const liveTimeout = 2 * time.Second

// candidate is one thing that may be written at a place in a line.
type candidate struct {
	text  string // what TAB inserts; empty for a parameter without known values
	label string // what ? shows
	help  string
	value bool // a value of the parameter listed above it
}

// candidates lists what may follow the text before the cursor. partial is the
// unfinished word under the cursor, which every candidate continues.
func (s *Shell) candidates(ctx context.Context, before string) (list []candidate, partial token) {
	tokens := split(before)
	partial = token{col: len(before), end: len(before)}
	if n := len(tokens); n > 0 && (tokens[n-1].open || tokens[n-1].end == len(before)) {
		partial, tokens = tokens[n-1], tokens[:n-1]
		if !partial.quoted && strings.HasPrefix(partial.text, "|") {
			tokens = append(tokens, token{text: "|", col: partial.col, end: partial.col + 1})
			partial.text, partial.col = partial.text[1:], partial.col+1
		}
	}
	parts, bars := stages(tokens)
	last := parts[len(parts)-1]
	if len(bars) > 0 {
		return s.candidatesIn(ctx, modePipe, last, partial), partial
	}
	for in, more := s.mode, true; more; in, more = in.parent() {
		if list = s.candidatesIn(ctx, in, last, partial); len(list) > 0 {
			return list, partial
		}
	}
	return nil, partial
}

func (s *Shell) candidatesIn(ctx context.Context, m mode, before []token, partial token) []candidate {
	at, _, err := s.grammar.walk(m, before)
	if err != nil {
		return nil
	}
	var keywords, values []candidate
	for _, n := range expected(at) {
		if n.kind != nil {
			values = append(values, s.valueCandidates(ctx, n.element, partial)...)
			continue
		}
		c := candidate{text: n.word, label: n.word, help: n.help}
		if !partial.quoted && hasPrefixFold(n.word, partial.text) && !slices.Contains(keywords, c) {
			keywords = append(keywords, c)
		}
	}
	slices.SortStableFunc(keywords, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	list := append(keywords, dedupe(values)...)
	if partial.text == "" && !partial.quoted && len(before) > 0 {
		list = append(list, endCandidates(at)...)
	}
	return list
}

// valueCandidates lists a parameter and the values of it that are known.
func (s *Shell) valueCandidates(ctx context.Context, e element, partial token) []candidate {
	var out []candidate
	for _, c := range e.kind.choices {
		if hasPrefixFold(c.word, partial.text) {
			out = append(out, candidate{text: c.word, label: c.word, help: c.help})
		}
	}
	if e.kind.parse == nil {
		return out
	}
	out = append(out, candidate{label: e.kind.label, help: e.help})
	if e.kind.live == nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	live, err := e.kind.live(ctx, s)
	if err != nil {
		return out // help must not fail because the server does
	}
	before, last := "", partial.text
	if i := strings.LastIndexByte(last, ','); e.kind.list && i >= 0 {
		before, last = last[:i+1], last[i+1:]
	}
	for _, v := range live {
		if strings.HasPrefix(v, last) {
			out = append(out, candidate{text: quote(before + v), label: v, value: true})
		}
	}
	return out
}

// endCandidates offers the end of the line, and a pipe after a show command.
func endCandidates(at []position) []candidate {
	for _, p := range at {
		if !p.complete() {
			continue
		}
		out := []candidate{{label: "<cr>"}}
		if p.cmd.show != nil {
			out = append(out, candidate{text: "|", label: "|", help: "Filter the output"})
		}
		return out
	}
	return nil
}

func dedupe(in []candidate) []candidate {
	var out []candidate
	for _, c := range in {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// mostValues is how many values of a parameter ? lists.
const mostValues = 40

// help writes what may follow the text before the cursor.
func (s *Shell) help(ctx context.Context, w io.Writer, before string) {
	list, partial := s.candidates(ctx, before)
	if len(list) == 0 {
		fmt.Fprintf(w, "%%Error: no command continues %q here\n", strings.TrimSpace(before[:partial.col]+partial.text))
		return
	}
	width, values := 0, 0
	for _, c := range list {
		if !c.value {
			width = max(width, len(c.label))
		}
	}
	for _, c := range list {
		switch {
		case !c.value:
			values = 0
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %-*s  %s", width, c.label, c.help), " "))
		case values < mostValues:
			values++
			fmt.Fprintf(w, "      %s\n", c.label)
		case values == mostValues:
			values++
			fmt.Fprintln(w, "      ...")
		}
	}
}

// completion extends the text before the cursor as far as all candidates agree.
// When it can add nothing, choices lists the candidates.
func (s *Shell) completion(ctx context.Context, before string) (extended string, choices []string) {
	list, partial := s.candidates(ctx, before)
	var texts []string
	for _, c := range list {
		if c.text != "" && c.text != "|" && !slices.Contains(texts, c.text) {
			texts = append(texts, c.text)
		}
	}
	head := before[:partial.col]
	switch len(texts) {
	case 0:
		return before, nil
	case 1:
		return head + texts[0] + " ", nil
	}
	common := texts[0]
	for _, t := range texts[1:] {
		common = commonPrefixFold(common, t)
	}
	if len(common) > len(before)-partial.col {
		return head + common, nil
	}
	return before, texts
}

// commonPrefixFold returns the longest common prefix, ignoring case, as a spells it.
func commonPrefixFold(a, b string) string {
	n := 0
	for i, r := range a {
		end := i + len(string(r))
		if !hasPrefixFold(b, a[:end]) {
			break
		}
		n = end
	}
	return a[:n]
}
