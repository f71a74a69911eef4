package kit

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
)

// Pipe is one filter after a show command.
type Pipe struct {
	Word string // json, yaml, include, exclude, begin, count, no-more
	re   *regexp.Regexp
}

// PipeTable returns the grammar after "|". Its commands have no action, since ParsePipes reads the words.
func PipeTable() []*Command {
	in := []Mode{ModePipe}
	re := Arg("re", &Kind{Label: "<expression>", Parse: parseExpression, Text: true},
		"Regular expression (Go's RE2 syntax); may hold blanks")
	return []*Command{
		{Modes: in, Form: Seq(Keyword("json", "As one JSON document (RFC 7951); first in the pipe"))},
		{Modes: in, Form: Seq(Keyword("yaml", "As one YAML document; first in the pipe"))},
		{Modes: in, Form: Seq(Keyword("no-more", "All at once, not a screen at a time"))},
		{Modes: in, Form: Seq(Keyword("include", "Only lines that match"), re)},
		{Modes: in, Form: Seq(Keyword("exclude", "Only lines that do not match"), re)},
		{Modes: in, Form: Seq(Keyword("begin", "From the first line that matches"), re)},
		{Modes: in, Form: Seq(Keyword("count", "The number of lines that are not blank"))},
	}
}

func parseExpression(text string) (string, error) {
	if text == "" {
		return "", errors.New("the expression is empty")
	}
	_, err := regexp.Compile(text)
	return text, err
}

// ParsePipes parses the stages after a show command.
func ParsePipes(s *Session, line string, parts [][]Token) ([]Pipe, error) {
	var out []Pipe
	for i, tokens := range parts {
		if n := len(tokens); n > 2 && !tokens[1].Quoted {
			// An expression may contain blanks without quotes.
			whole := Token{Text: line[tokens[1].Col:tokens[n-1].End], Col: tokens[1].Col, End: tokens[n-1].End}
			tokens = []Token{tokens[0], whole}
		}
		if len(tokens) == 0 {
			return nil, &SyntaxError{Line: line, Col: len(line), Reason: "a filter is missing after the pipe"}
		}
		p, err := s.Grammar.parseIn(ModePipe, line, tokens)
		if err != nil {
			return nil, err
		}
		f := Pipe{Word: p.Fixed[0].Word}
		if (f.Word == "json" || f.Word == "yaml") && i > 0 {
			return nil, &SyntaxError{Line: line, Col: tokens[0].Col, Reason: f.Word + " comes first in the pipe"}
		}
		if text, ok := p.Args["re"]; ok {
			f.re = regexp.MustCompile(text) // parseExpression has checked the expression
		}
		out = append(out, f)
	}
	return out, nil
}

// filter returns the text that results when the pipe is applied.
func (p Pipe) filter(text []byte) []byte {
	if p.Word == "no-more" || p.Word == "json" || p.Word == "yaml" {
		return text
	}
	var out bytes.Buffer
	n, begun := 0, false
	for l := range bytes.Lines(text) {
		bare := bytes.TrimRight(l, "\n")
		switch p.Word {
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
	if p.Word == "count" {
		fmt.Fprintf(&out, "Count: %d\n", n)
	}
	return out.Bytes()
}
