package tam

import (
	"context"
	"maps"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// A sessionTable shows the status of a feature and a line for each session, or the details of the session that is
// named.
type sessionTable struct {
	ref     string // name of the feature in the tree
	object  Object
	columns []sessionColumn                // columns after the name
	whole   func(*kit.Printout, tree.Node) // writes the state of one session besides its leaves
}

// A sessionColumn is a column of a table of sessions.
type sessionColumn struct {
	kit.Column
	text func(session tree.Node) string
}

// configured returns a function for the text of a leaf or leaf-list of config. The text is a dash if there is no value.
func configured(leaf string) func(tree.Node) string {
	return func(e tree.Node) string {
		if texts := e.Texts("config", leaf); len(texts) > 0 {
			return strings.Join(texts, ",")
		}
		return kit.OrDash(kit.Configured(e, leaf))
	}
}

// countedAs returns a function for the text of the given counter.
func countedAs(leaf string) func(tree.Node) string {
	return func(e tree.Node) string { return kit.Counted(e.At("state", "counters"), leaf) }
}

// statusOf returns the text of a session's status.
func statusOf(e tree.Node) string { return kit.OrDash(kit.Title(e.Text("state", "status"))) }

// writeStatus writes the status of a session, and its reason.
func writeStatus(p *kit.Printout, state tree.Node) {
	p.Optional(flowWidth, "Status", kit.Title(state.Text("status")), "Reason", state.Text("reason"),
		"Since", state.Text("since"))
}

// show shows the feature and its sessions, or the details of one session.
func (t sessionTable) show(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := t.object.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Has("name") {
		return kit.Framed(data, func(p *kit.Printout) {
			p.Field(flowWidth, t.object.Title, entries[0].Name())
			p.Leaves(flowWidth, entries[0], t.object.Leaves...)
			t.whole(p, entries[0])
		}), nil
	}
	feature, reported, err := readFeature(ctx, c.Session, t.ref)
	if err != nil {
		return nil, err
	}
	maps.Copy(data, reported)
	return kit.Framed(data, func(p *kit.Printout) {
		writeFeatureStatus(p, flowWidth, feature)
		p.Line("")
		columns, rows := []kit.Column{}, make([][]string, len(entries))
		for _, col := range t.columns {
			columns = append(columns, col.Column)
			for i, e := range entries {
				rows[i] = append(rows[i], col.text(e))
			}
		}
		p.Table(columns, rows)
		p.After(kit.WhyNots(entries))
	}), nil
}
