package cli

import (
	"context"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
	"tamtam/internal/printable"
)

// notInForceRoot is the list of configured objects that are not in force.
const notInForceRoot = rowsModule + ":not-in-force"

// wholeTable is the key of a table that the switch does not have.
const wholeTable = "(all)"

// readNotInForce returns the entries of the list with their names: TABLE|key, or only the table.
func readNotInForce(ctx context.Context, s *kit.Session) (list []tree.Node, names []string, err error) {
	all, err := s.Client.All(ctx, tree.Path(notInForceRoot))
	if err != nil {
		return nil, nil, err
	}
	name := func(o tree.Node) string {
		if key := o.Text("key"); key != wholeTable {
			return printable.Line(o.Text("table") + "|" + key)
		}
		return printable.Line(o.Text("table"))
	}
	list = tree.SortNodes(all.Items("object"), name)
	for _, o := range list {
		names = append(names, name(o))
	}
	return list, names, nil
}

// showNotInForce shows the objects with a given status, and the reason of each. If there are none, it shows the text
// none.
func showNotInForce(status, none string) func(context.Context, *kit.Call) (*kit.View, error) {
	return func(ctx context.Context, c *kit.Call) (*kit.View, error) {
		all, names, err := readNotInForce(ctx, c.Session)
		if err != nil {
			return nil, err
		}
		var rows [][]string
		var data []any
		for i, o := range all {
			s := o.At("state")
			if s.Word("status") != status {
				continue
			}
			rows = append(rows, []string{when(s.Text("since")), names[i], printable.Line(s.Text("reason"))})
			data = append(data, o.Value)
		}
		var below []string
		if len(rows) == 0 {
			below = []string{none}
		}
		return kit.TableView(map[string]any{"object": data}, []kit.Column{
			kit.Col("Since", 23, 2), kit.Col("Object", 20, 2), kit.Col("Reason", 6, 0),
		}, rows, below), nil
	}
}

// showUnapplied shows accepted rows that no daemon applies.
func showUnapplied(ctx context.Context, c *kit.Call) (*kit.View, error) {
	all, names, err := readNotInForce(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var data []any
	for i, o := range all {
		texts := o.Texts("state", "unapplied")
		for _, text := range texts {
			kind, reason, _ := strings.Cut(text, ": ")
			rows = append(rows, []string{names[i], strings.ReplaceAll(kind, "-", " "), printable.Line(reason)})
		}
		if len(texts) > 0 {
			data = append(data, o.Value)
		}
	}
	var below []string
	if len(rows) == 0 {
		below = []string{"All of the configuration is applied, or has failed or waits: see show failed, show pending"}
	}
	return kit.TableView(map[string]any{"object": data}, []kit.Column{
		kit.Col("Object", 20, 2), kit.Col("Kind", 15, 2), kit.Col("Reason", 6, 0),
	}, rows, below), nil
}
