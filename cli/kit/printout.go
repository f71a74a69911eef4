package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tamtam/internal/printable"
)

// View is the result of a show command, as data and as text.
type View struct {
	data map[string]any // RFC 7951, for "| json"
	text func(p *Printout)
}

// NewView returns a view with its data and its text.
func NewView(data map[string]any, text func(p *Printout)) *View { return &View{data, text} }

// Through returns the view's output after the pipes. Without a filter, its tables fit a screen of the given width. 0
// means that there is no screen.
func (v *View) Through(pipes []Pipe, width int) ([]byte, error) {
	if slices.ContainsFunc(pipes, func(p Pipe) bool { return p.Word != "no-more" }) {
		width = 0
	}
	text, err := v.document(pipes, width)
	if err != nil {
		return nil, err
	}
	for _, f := range pipes {
		text = f.filter(text)
	}
	return text, nil
}

// document returns the input of the pipes: text, or data in the format of the first pipe.
func (v *View) document(pipes []Pipe, width int) ([]byte, error) {
	form := ""
	if len(pipes) > 0 {
		form = pipes[0].Word
	}
	data := map[string]any{}
	for name, value := range v.data {
		if list, is := value.([]any); is && list == nil {
			value = []any{} // an empty list, not null
		}
		data[name] = value
	}
	var out bytes.Buffer
	switch form {
	case "json":
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err := enc.Encode(data)
		return printable.Document(out.Bytes()), err
	case "yaml":
		enc := yaml.NewEncoder(&out)
		enc.SetIndent(2)
		err := errors.Join(enc.Encode(yamlValue(data)), enc.Close())
		return printable.Document(out.Bytes()), err
	}
	p := &Printout{Width: width}
	v.text(p)
	return []byte(p.String()), nil
}

// yamlValue returns data for YAML in which numbers are not strings, and strings with characters that
// [printable.Document] escapes have double quotes.
func yamlValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = yamlValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = yamlValue(e)
		}
		return out
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
	case string:
		if v != printable.Line(v) {
			return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Tag: "!!str", Value: v}
		}
	}
	return v
}

// A Printout is the text of a show command.
type Printout struct {
	strings.Builder
	Width int // columns of the screen; 0 means that there is none, and that lines may have any length
}

// Line writes a line, or several that the format separates, without trailing blanks at the end.
func (p *Printout) Line(format string, args ...any) {
	line := printable.Lines(fmt.Sprintf(format, args...))
	p.WriteString(strings.TrimRight(line, " "))
	p.WriteByte('\n')
}

// Field writes one "Label : value" line, with the colon after width columns.
func (p *Printout) Field(width int, label, value string) {
	p.Wrapped(fmt.Sprintf("%-*s: %s", width, label, value), width+2)
}

// leastWrapped is the least number of columns in which text is wrapped.
const leastWrapped = 24

// Wrapped writes a line. If the screen is narrower, the line is broken at blanks, and the rest is indented.
func (p *Printout) Wrapped(line string, indent int) {
	for first := true; ; first = false {
		if !first {
			line = strings.Repeat(" ", indent) + line
		}
		head, rest := line, ""
		if p.Width >= indent+leastWrapped {
			head, rest = broken(line, indent, p.Width)
		}
		p.Line("%s", head)
		if line = rest; line == "" {
			return
		}
	}
}

// broken cuts a line at the last blank behind an indentation with which the head fits a width. If there is none, it
// cuts at the first blank behind the width.
func broken(line string, indent, width int) (head, rest string) {
	at, n := -1, 0
	for i, r := range line {
		if r == ' ' && n > indent && (n <= width || at < 0) {
			at = i
		}
		n += printable.Width(string(r))
	}
	if n <= width || at < 0 {
		return line, ""
	}
	return line[:at], strings.TrimLeft(line[at:], " ")
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

// Table prints rows under dashed headings. Columns are as wide as their widest cell. A table that is wider than the
// screen loses blanks and empty columns first; then the text in its last column is wrapped; then it is printed as
// several tables, each with the columns that name a row.
func (p *Printout) Table(columns []Column, rows [][]string) {
	columns, rows = slices.Clone(columns), shownCells(rows)
	for i := range columns {
		columns[i].Width = max(columns[i].Width, len(columns[i].Head), cellWidth(rows, i))
	}
	if p.Width == 0 || tableWidth(columns) <= p.Width {
		p.table(columns, rows)
		return
	}
	columns, rows = withoutEmpty(columns, rows)
	for i := range columns {
		columns[i].Width, columns[i].Gap = max(len(columns[i].Head), cellWidth(rows, i)), min(columns[i].Gap, 2)
	}
	keys := namingColumns(rows)
	for from := keys; from < len(columns) || from == keys; {
		to := from
		for to < len(columns) && (to == from || tableWidth(joined(columns, keys, from, to+1)) <= p.Width) {
			to++
		}
		// A last column of text may be wrapped instead.
		if last := len(columns) - 1; to == last && hasBlanks(rows, last) &&
			tableWidth(joined(columns, keys, from, last))+2+leastWrapped <= p.Width {
			to++
		}
		if from > keys {
			p.Line("")
		}
		part := make([][]string, len(rows))
		for i, r := range rows {
			part[i] = joined(r, keys, from, to)
		}
		p.table(joined(columns, keys, from, to), part)
		if from = to; from == len(columns) {
			return
		}
	}
}

// shownCells returns cells in a form that a terminal can show.
func shownCells(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, r := range rows {
		out[i] = slices.Clone(r)
		for j := range r {
			out[i][j] = printable.Line(r[j])
		}
	}
	return out
}

// withoutEmpty returns a table without the columns in which no row has text.
func withoutEmpty(columns []Column, rows [][]string) (kept []Column, cells [][]string) {
	cells = make([][]string, len(rows))
	for i, c := range columns {
		if len(rows) > 0 && cellWidth(rows, i) == 0 {
			continue
		}
		kept = append(kept, c)
		for j, r := range rows {
			cells[j] = append(cells[j], r[i])
		}
	}
	return kept, cells
}

// joined returns the first elements of a list, and those from one index up to another.
func joined[T any](list []T, keys, from, to int) []T {
	return slices.Concat(list[:keys], list[from:to])
}

// namingColumns returns the least number of columns in which each row has a cell that is not blank.
func namingColumns(rows [][]string) int {
	n := 1
	for _, r := range rows {
		if i := slices.IndexFunc(r, func(cell string) bool { return cell != "" }); i >= n && i < len(r)-1 {
			n = i + 1
		}
	}
	return n
}

// hasBlanks reports whether cells of a column can be wrapped.
func hasBlanks(rows [][]string, column int) bool {
	return slices.ContainsFunc(rows, func(r []string) bool { return strings.Contains(r[column], " ") })
}

// cellWidth returns the number of columns of the screen that the widest cell of a table's column has.
func cellWidth(rows [][]string, column int) (width int) {
	for _, r := range rows {
		width = max(width, printable.Width(r[column]))
	}
	return width
}

func tableWidth(columns []Column) (width int) {
	for i, c := range columns {
		if width += c.Width; i < len(columns)-1 {
			width += c.Gap
		}
	}
	return width
}

// table prints rows under headings, with columns of the given widths. The last column is cut at the screen's edge, and
// its text is wrapped.
func (p *Printout) table(columns []Column, rows [][]string) {
	last := len(columns) - 1
	indent := 0
	for _, c := range columns[:last] {
		indent += c.Width + c.Gap
	}
	if p.Width >= indent+leastWrapped {
		columns[last].Width = min(columns[last].Width, p.Width-indent)
	}
	var line []byte
	put := func(cell func(i int) string) {
		line = line[:0]
		for i, c := range columns {
			line = append(line, printable.Pad(cell(i), c.Width+c.Gap)...)
		}
		line = bytes.TrimRight(line, " ")
		if p.Width > 0 && printable.Width(string(line)) > p.Width {
			p.Wrapped(string(line), indent)
			return
		}
		p.Write(append(line, '\n'))
	}
	put(func(i int) string { return columns[i].Head })
	put(func(i int) string { return strings.Repeat("-", columns[i].Width) })
	for _, r := range rows {
		put(func(i int) string { return r[i] })
	}
}

// Col returns a column from its heading, its minimum width, and the number of blanks after it.
func Col(head string, width, gap int) Column { return Column{head, width, gap} }
