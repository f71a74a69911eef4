package cli

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
)

// pipe is one filter after a show command.
type pipe struct {
	word string // json, yaml, include, exclude, begin, count, no-more
	re   *regexp.Regexp
}

// pipeTable is the grammar of what may follow "|". Its commands have no action;
// parsePipes reads the words.
func pipeTable() []*command {
	in := []mode{modePipe}
	re := arg("re", &argKind{label: "<expression>", parse: parseExpression},
		"Regular expression (Go's RE2 syntax); may hold blanks")
	return []*command{
		{modes: in, form: seq(kw("json", "As one JSON document (RFC 7951); first in the pipe"))},
		{modes: in, form: seq(kw("yaml", "As one YAML document; first in the pipe"))},
		{modes: in, form: seq(kw("no-more", "All at once, not a screen at a time"))},
		{modes: in, form: seq(kw("include", "Only lines that match"), re)},
		{modes: in, form: seq(kw("exclude", "Only lines that do not match"), re)},
		{modes: in, form: seq(kw("begin", "From the first line that matches"), re)},
		{modes: in, form: seq(kw("count", "The number of lines that are not blank"))},
	}
}

func parseExpression(text string) (string, error) {
	if text == "" {
		return "", errors.New("the expression is empty")
	}
	_, err := regexp.Compile(text)
	return text, err
}

// parsePipes reads the stages behind a show command.
func (s *Shell) parsePipes(line string, parts [][]token) ([]pipe, error) {
	var out []pipe
	for i, tokens := range parts {
		if n := len(tokens); n > 2 && !tokens[1].quoted {
			// An expression may hold blanks without being quoted.
			whole := token{text: line[tokens[1].col:tokens[n-1].end], col: tokens[1].col, end: tokens[n-1].end}
			tokens = []token{tokens[0], whole}
		}
		if len(tokens) == 0 {
			return nil, &SyntaxError{Line: line, Col: len(line), Reason: "a filter is missing after the pipe"}
		}
		p, err := s.grammar.parseIn(modePipe, line, tokens)
		if err != nil {
			return nil, err
		}
		f := pipe{word: p.fixed[0].word}
		if (f.word == "json" || f.word == "yaml") && i > 0 {
			return nil, &SyntaxError{Line: line, Col: tokens[0].col, Reason: f.word + " comes first in the pipe"}
		}
		if text, ok := p.args["re"]; ok {
			f.re = regexp.MustCompile(text) // parseExpression compiled it
		}
		out = append(out, f)
	}
	return out, nil
}

// filter passes text through the pipe.
func (p pipe) filter(text []byte) []byte {
	if p.word == "no-more" || p.word == "json" || p.word == "yaml" {
		return text
	}
	var out bytes.Buffer
	n, begun := 0, false
	for l := range bytes.Lines(text) {
		bare := bytes.TrimRight(l, "\n")
		switch p.word {
		case "count":
			if len(bytes.TrimSpace(bare)) > 0 {
				n++
			}
		case "include":
			if p.re.Match(bare) {
				out.Write(l)
			}
		case "exclude":
			if !p.re.Match(bare) {
				out.Write(l)
			}
		case "begin":
			if begun = begun || p.re.Match(bare); begun {
				out.Write(l)
			}
		}
	}
	if p.word == "count" {
		fmt.Fprintf(&out, "Count: %d\n", n)
	}
	return out.Bytes()
}
