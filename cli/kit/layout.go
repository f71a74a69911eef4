package kit

import (
	"fmt"
	"strings"

	"tamtam/cli/tree"
	"tamtam/tam/words"
)

// Maybe returns an optional name.
func Maybe(kind *Kind, help string) []Element { return Opt(Arg("name", kind, help)) }

// Only returns an optional name, which restricts a show command to a single object.
func Only(kind *Kind) []Element { return Maybe(kind, "Only this one") }

// One returns a view's data for a container. The name includes its module.
func One(name string, t tree.Node) map[string]any {
	if !t.Exists() {
		return map[string]any{}
	}
	return map[string]any{name: t.Value}
}

// Entry returns a view's data for one entry of a list.
func Entry(list string, t tree.Node) map[string]any { return map[string]any{list: []any{t.Value}} }

// Framed returns a view whose text is between blank lines.
func Framed(data map[string]any, text func(p *Printout)) *View {
	return &View{data, func(p *Printout) {
		p.Line("")
		text(p)
		p.Line("")
	}}
}

// TableView returns a view with a table and lines below it.
func TableView(data map[string]any, columns []Column, rows [][]string, below []string) *View {
	return Framed(data, func(p *Printout) {
		p.Table(columns, rows)
		p.After(below)
	})
}

// Configured returns a leaf of the entry as configured or, if it is not configured, from the entry's state.
func Configured(t tree.Node, leaf string) string {
	if v := t.Text("config", leaf); v != "" {
		return v
	}
	return t.Text("state", leaf)
}

// Title returns a status word as the show commands spell it: ACTIVE and active as Active, INSUFFICIENT_RESOURCES as
// Insufficient Resources.
func Title(word string) string {
	parts := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return r == '_' || r == ' ' || r == '-' })
	for i, p := range parts {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, " ")
}

// Inactive reports whether an object with this state is not in effect.
func Inactive(state tree.Node) bool {
	status := state.Word("status")
	return status != "" && !strings.EqualFold(status, words.Active)
}

// NotActive lists the statuses of objects that are not in effect, as the switch counts them.
var NotActive = []string{words.Pending, words.Failed, words.Unknown}

// WhyNot writes status and reason of an object that is not in effect.
func (p *Printout) WhyNot(width int, state tree.Node) {
	if !Inactive(state) {
		return
	}
	p.Field(width, "Status", Title(state.Word("status")))
	p.Optional(width, "Reason", state.Text("reason"))
}

// WhyNots returns lines for the entries that are not in effect.
func WhyNots(entries []tree.Node) []string {
	var lines []string
	for _, e := range entries {
		lines = append(lines, WhyNotLine(e.Name(), e.At("state"))...)
	}
	return lines
}

// WhyNotLine returns a line for an object that is not in effect, or nil.
func WhyNotLine(name string, state tree.Node) []string {
	if !Inactive(state) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s: %s", name, Title(state.Word("status")), state.Text("reason"))}
}

// After writes lines below a table.
func (p *Printout) After(lines []string) {
	if len(lines) > 0 {
		p.Line("")
	}
	for _, l := range lines {
		p.Wrapped(l, 2)
	}
}

// OrDash returns the value, or a dash if it is empty.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Counted returns a counter for display. A counter that has not been written yet, or is not a number, is shown as a
// dash instead of 0.
func Counted(t tree.Node, leaf ...string) string {
	if _, ok := t.Count(leaf...); !ok {
		return OrDash("")
	}
	return t.Text(leaf...)
}

// InterfacesData returns a view's data for the interfaces that a command shows.
func InterfacesData(entries []tree.Node) map[string]any {
	list := []any{}
	for _, e := range entries {
		list = append(list, e.Value)
	}
	return map[string]any{InterfacesRoot: map[string]any{"interface": list}}
}
