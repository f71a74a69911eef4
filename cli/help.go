package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tamtam/cli/kit"
)

// liveTimeout bounds the requests that TAB and ? make for values.
const liveTimeout = 2 * time.Second

// candidate is a possible word at a place in a line.
type candidate struct {
	text  string // text that TAB inserts; empty for a parameter without known values
	label string // text that ? shows
	help  string
	value bool // true if this is a value of the parameter listed above it
}

// candidates returns the words that may follow the text before the cursor. partial is the unfinished word under the
// cursor, which every candidate continues.
func (s *Shell) candidates(ctx context.Context, before string) (list []candidate, partial kit.Token) {
	tokens := kit.Split(before)
	partial = kit.Token{Col: len(before), End: len(before)}
	if n := len(tokens); n > 0 && (tokens[n-1].Open || tokens[n-1].End == len(before)) {
		partial, tokens = tokens[n-1], tokens[:n-1]
		if !partial.Quoted && strings.HasPrefix(partial.Text, "|") {
			tokens = append(tokens, kit.Token{Text: "|", Col: partial.Col, End: partial.Col + 1})
			partial.Text, partial.Col = partial.Text[1:], partial.Col+1
		}
	}
	parts, bars := kit.Stages(tokens)
	last := parts[len(parts)-1]
	if len(bars) > 0 {
		return s.candidatesIn(ctx, kit.ModePipe, last, partial), partial
	}
	for in, more := s.session.Mode, true; more; in, more = s.session.Grammar.Parent(in) {
		if list = s.candidatesIn(ctx, in, last, partial); len(list) > 0 {
			return list, partial
		}
	}
	return nil, partial
}

func (s *Shell) candidatesIn(ctx context.Context, m kit.Mode, before []kit.Token, partial kit.Token) []candidate {
	at, _, err := s.session.Grammar.Walk(m, before)
	if err != nil {
		return nil
	}
	var keywords, values []candidate
	for _, n := range kit.Expected(at) {
		if n.ArgKind != nil {
			values = append(values, s.valueCandidates(ctx, n.Element, partial)...)
			continue
		}
		listed := slices.ContainsFunc(keywords, func(c candidate) bool { return c.text == n.Word })
		if !partial.Quoted && kit.HasPrefixFold(n.Word, partial.Text) && !listed {
			keywords = append(keywords, candidate{text: n.Word, label: n.Word, help: n.Help})
		}
	}
	slices.SortStableFunc(keywords, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	list := append(keywords, dedupe(values)...)
	if partial.Text == "" && !partial.Quoted && len(before) > 0 {
		list = append(list, endCandidates(at)...)
	}
	return list
}

// valueCandidates returns a parameter and its known values.
func (s *Shell) valueCandidates(ctx context.Context, e kit.Element, partial kit.Token) []candidate {
	var out []candidate
	for _, c := range e.ArgKind.Choices {
		if kit.HasPrefixFold(c.Word, partial.Text) {
			out = append(out, candidate{text: c.Word, label: c.Word, help: c.Help})
		}
	}
	if e.ArgKind.Parse == nil {
		return out
	}
	out = append(out, candidate{label: e.ArgKind.Label, help: e.Help})
	if e.ArgKind.Next != nil {
		return append(out, s.nextCandidates(ctx, e.ArgKind, partial.Text)...)
	}
	if e.ArgKind.Live == nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	live, err := e.ArgKind.Live(ctx, s.session)
	if err != nil {
		return out // help works even if the server fails
	}
	before, last := "", partial.Text
	if i := strings.LastIndexByte(last, ','); e.ArgKind.List && i >= 0 {
		before, last = last[:i+1], last[i+1:]
	}
	for _, v := range live {
		if strings.HasPrefix(v, last) {
			out = append(out, candidate{text: kit.Quote(before + v), label: v, value: true})
		}
	}
	return out
}

// nextCandidates returns the texts that a language of several words may continue with. Quotes stay open for further
// ones.
func (s *Shell) nextCandidates(ctx context.Context, k *kit.Kind, text string) (out []candidate) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	next, err := k.Next(ctx, s.session, text)
	if err != nil {
		return nil // help works even if the server fails
	}
	for _, n := range next {
		out = append(out, candidate{text: `"` + text[:n.From] + n.Text, label: n.Text, help: n.Help})
	}
	return out
}

// endCandidates returns the end of the line, and a pipe after a show command.
func endCandidates(at []kit.Position) []candidate {
	for _, p := range at {
		if !p.Complete() {
			continue
		}
		out := []candidate{{label: "<cr>"}}
		if p.Cmd.Show != nil {
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

// mostValues is the maximum number of values of a parameter that ? lists.
const mostValues = 40

// Help prints what may follow the beginning of a line, as "?" does at a terminal.
func (s *Shell) Help(ctx context.Context, before string) { s.help(ctx, s.session.Config.Out, before) }

// help writes the words that may follow the text before the cursor.
func (s *Shell) help(ctx context.Context, w io.Writer, before string) {
	list, partial := s.candidates(ctx, before)
	if len(list) == 0 {
		fmt.Fprintf(w, "%%Error: no command continues %q here\n", strings.TrimSpace(before[:partial.Col]+partial.Text))
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

// completion extends the text before the cursor as far as all candidates agree. If it cannot extend the text, choices
// contains the candidates.
func (s *Shell) completion(ctx context.Context, before string) (extended string, choices []string) {
	list, partial := s.candidates(ctx, before)
	var texts []string
	for _, c := range list {
		if c.text != "" && c.text != "|" && !slices.Contains(texts, c.text) {
			texts = append(texts, c.text)
		}
	}
	head := before[:partial.Col]
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
	if len(common) > len(before)-partial.Col {
		return head + common, nil
	}
	return before, texts
}

// commonPrefixFold returns the longest common prefix, ignoring case, in the spelling of a.
func commonPrefixFold(a, b string) string {
	n := 0
	for i, r := range a {
		end := i + len(string(r))
		if !kit.HasPrefixFold(b, a[:end]) {
			break
		}
		n = end
	}
	return a[:n]
}
