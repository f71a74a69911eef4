package cli

import (
	"context"
	"strings"
)

// notInForceRoot is the list of what is configured and not in force.
const notInForceRoot = rowsModule + ":not-in-force"

// wholeTable is the key of a table that the switch does not have.
const wholeTable = "(all)"

// notInForce returns the entries of the list with their names: TABLE|key, or the table alone.
func (s *Shell) notInForce(ctx context.Context) (list []tree, names []string, err error) {
	all, err := s.client.all(ctx, gpath(notInForceRoot))
	if err != nil {
		return nil, nil, err
	}
	name := func(o tree) string {
		if key := o.text("key"); key != wholeTable {
			return printable(o.text("table") + "|" + key)
		}
		return printable(o.text("table"))
	}
	list = sortedTrees(all.items("object"), name)
	for _, o := range list {
		names = append(names, name(o))
	}
	return list, names, nil
}

// showNotInForce shows the objects with a status and why they have it, or the line none.
func showNotInForce(status, none string) func(context.Context, *call) (*view, error) {
	return func(ctx context.Context, c *call) (*view, error) {
		all, names, err := c.sh.notInForce(ctx)
		if err != nil {
			return nil, err
		}
		var rows [][]string
		var data []any
		for i, o := range all {
			s := o.at("state")
			if s.word("status") != status {
				continue
			}
			rows = append(rows, []string{when(s.text("since")), names[i], printable(s.text("reason"))})
			data = append(data, o.v)
		}
		var below []string
		if len(rows) == 0 {
			below = []string{none}
		}
		return tableView(map[string]any{"object": data}, []column{
			{"Since", 23, 2}, {"Object", 20, 2}, {"Reason", 6, 0},
		}, rows, below), nil
	}
}

// showUnapplied shows what no daemon applies although it is accepted.
func showUnapplied(ctx context.Context, c *call) (*view, error) {
	all, names, err := c.sh.notInForce(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var data []any
	for i, o := range all {
		texts := o.texts("state", "unapplied")
		for _, text := range texts {
			kind, reason, _ := strings.Cut(text, ": ")
			rows = append(rows, []string{names[i], strings.ReplaceAll(kind, "-", " "), printable(reason)})
		}
		if len(texts) > 0 {
			data = append(data, o.v)
		}
	}
	var below []string
	if len(rows) == 0 {
		below = []string{"All of the configuration is applied, or has failed or waits: see show failed, show pending"}
	}
	return tableView(map[string]any{"object": data}, []column{
		{"Object", 20, 2}, {"Kind", 15, 2}, {"Reason", 6, 0},
	}, rows, below), nil
}
