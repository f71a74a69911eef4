package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// view is what a show command found: as data, and as text to be laid out.
type view struct {
	data map[string]any // RFC 7951, for "| json"
	text func(p *printout)
}

// print writes the view through the pipes.
func (v *view) print(w io.Writer, pipes []pipe) error {
	var out bytes.Buffer
	if len(pipes) > 0 && pipes[0].word == "json" {
		pipes = pipes[1:]
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		data := v.data
		if data == nil {
			data = map[string]any{}
		}
		if err := enc.Encode(data); err != nil {
			return err
		}
	} else {
		p := &printout{}
		v.text(p)
		out.WriteString(p.String())
	}
	text := out.Bytes()
	for _, f := range pipes {
		text = f.filter(text)
	}
	_, err := w.Write(text)
	return err
}

// A printout is the text of a show command.
type printout struct{ strings.Builder }

func (p *printout) line(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	p.WriteString(strings.TrimRight(line, " "))
	p.WriteByte('\n')
}

// field is one "Label : value" line, the colon after width columns.
func (p *printout) field(width int, label, value string) {
	p.line("%-*s: %s", width, label, value)
}

// optional are fields, label and value in turn, but not those without value.
func (p *printout) optional(width int, fields ...string) {
	for ; len(fields) > 0; fields = fields[2:] {
		if fields[1] != "" {
			p.field(width, fields[0], fields[1])
		}
	}
}

// column is a heading, the least width of its dashes, and the blanks behind it.
type column struct {
	head  string
	width int
	gap   int
}

// table prints rows under dashed headings. Columns grow with their widest cell.
func (p *printout) table(columns []column, rows [][]string) {
	width := make([]int, len(columns))
	for i, c := range columns {
		width[i] = max(c.width, len(c.head))
		for _, r := range rows {
			width[i] = max(width[i], len([]rune(r[i])))
		}
	}
	put := func(cell func(i int) string) {
		var b strings.Builder
		for i, c := range columns {
			fmt.Fprintf(&b, "%-*s%*s", width[i], cell(i), c.gap, "")
		}
		p.line("%s", b.String())
	}
	put(func(i int) string { return columns[i].head })
	put(func(i int) string { return strings.Repeat("-", width[i]) })
	for _, r := range rows {
		put(func(i int) string { return r[i] })
	}
}
