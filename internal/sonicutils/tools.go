package main

import (
	_ "embed" // the table
	"fmt"
	"regexp"
	"strings"
)

//go:embed tools.txt
var toolsText string

// Kinds of lines of the table.
const (
	kindShow   = "show"   // the output matches a regular expression
	kindRow    = "row"    // afterwards a field of a row matches a regular expression
	kindFigure = "figure" // the output is compared with figures of tamtam's shell
	kindSetup  = "setup"  // a command that is no tool
	kindAbsent = "absent" // the tool cannot work, for a reason
)

// A tool is a line of the table.
type tool struct {
	kind, command string
	want          *regexp.Regexp // of kindShow and kindRow
	row           []string       // of kindRow: database, key and field
	text          string         // the rest of the line: a name of a comparison, or a reason
}

// parseTools parses the table. A line is KIND: COMMAND => REST.
func parseTools(text string) (tools []tool, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		kind, rest, _ := strings.Cut(line, ": ")
		command, want, found := strings.Cut(rest, " => ")
		t := tool{kind: kind, command: strings.TrimSpace(command), text: strings.TrimSpace(want)}
		switch {
		case kind == kindSetup && !found:
		case !found || t.text == "":
			err = fmt.Errorf("want KIND: COMMAND => REST")
		case kind == kindShow:
			t.want, err = regexp.Compile("(?s)" + t.text)
		case kind == kindRow:
			if t.row = strings.SplitN(t.text, " ", 4); len(t.row) != 4 {
				err = fmt.Errorf("want DATABASE KEY FIELD VALUE")
				break
			}
			t.want, err = regexp.Compile("^(" + t.row[3] + ")$")
		case kind == kindFigure && comparisons[t.text] == nil:
			err = fmt.Errorf("there is no comparison %s", t.text)
		case kind != kindFigure && kind != kindAbsent:
			err = fmt.Errorf("there is no kind %s", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("tools.txt, line %d: %w", n, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}
