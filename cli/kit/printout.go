package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// View is the result of a show command, as data and as text.
type View struct {
	data map[string]any // RFC 7951, for "| json"
	text func(p *Printout)
}

// NewView returns a view with its data and its text.
func NewView(data map[string]any, text func(p *Printout)) *View { return &View{data, text} }

// Through returns the view's output after the pipes.
func (v *View) Through(pipes []Pipe) ([]byte, error) {
	text, err := v.document(pipes)
	if err != nil {
		return nil, err
	}
	for _, f := range pipes {
		text = f.filter(text)
	}
	return text, nil
}

// document returns the input of the pipes: text, or data in the format of the first pipe.
func (v *View) document(pipes []Pipe) ([]byte, error) {
	form := ""
	if len(pipes) > 0 {
		form = pipes[0].Word
	}
	data := v.data
	if data == nil {
		data = map[string]any{}
	}
	var out bytes.Buffer
	switch form {
	case "json":
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err := enc.Encode(data)
		return out.Bytes(), err
	case "yaml":
		enc := yaml.NewEncoder(&out)
		enc.SetIndent(2)
		err := errors.Join(enc.Encode(plainNumbers(data)), enc.Close())
		return out.Bytes(), err
	}
	p := &Printout{}
	v.text(p)
	return []byte(p.String()), nil
}

// plainNumbers returns data for YAML in which numbers are not strings.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plainNumbers(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainNumbers(e)
		}
		return out
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
	}
	return v
}

// A Printout is the text of a show command.
type Printout struct{ strings.Builder }

// Line writes a line without trailing blanks.
func (p *Printout) Line(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.WriteString(strings.TrimRight(line, " "))
	p.WriteByte('\n')
}

// Field writes one "Label : value" line, with the colon after width columns.
func (p *Printout) Field(width int, label, value string) {
	p.Line("%-*s: %s", width, label, value)
}

// Optional writes fields with a value. The arguments alternate between label and value.
func (p *Printout) Optional(width int, fields ...string) {
	for ; len(fields) > 0; fields = fields[2:] {
		if fields[1] != "" {
			p.Field(width, fields[0], fields[1])
		}
	}
}

// Column is a heading, the minimum width of its dashes, and the number of blanks after it.
type Column struct {
	Head  string
	Width int
	Gap   int
}

// Table prints rows under dashed headings. Columns are as wide as their widest cell.
func (p *Printout) Table(columns []Column, rows [][]string) {
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = max(c.Width, len(c.Head))
		for _, r := range rows {
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
		}
	}
	var line []byte
	put := func(cell func(i int) string) {
		line = line[:0]
		for i, c := range columns {
			line = append(line, cell(i)...)
			for range width[i] - utf8.RuneCountInString(cell(i)) + c.Gap {
				line = append(line, ' ')
			}
		}
		p.Write(append(bytes.TrimRight(line, " "), '\n'))
	}
	put(func(i int) string { return columns[i].Head })
	put(func(i int) string { return strings.Repeat("-", width[i]) })
	for _, r := range rows {
		put(func(i int) string { return r[i] })
	}
}

// Col returns a column from its heading, its minimum width, and the number of blanks after it.
func Col(head string, width, gap int) Column { return Column{head, width, gap} }
