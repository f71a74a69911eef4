package fetch

import (
	"context"
	"slices"

	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// tracedKeys returns the keys of deleted entries that may still be in force.
func (r Reader) tracedKeys(ctx context.Context, g *tree.List, pattern []string) ([][]string, error) {
	if !r.Left || len(g.Traces) == 0 {
		return nil, nil
	}
	if !slices.Contains(pattern, tree.Wildcard) {
		return [][]string{slices.Clone(pattern)}, nil
	}
	var found [][]string
	for i, row := range g.Rows {
		if !g.Traces[i] {
			continue
		}
		if kept, ok := r.keptKeys(g, matching{row, true}, pattern); ok {
			found = tree.Union(found, kept)
			continue
		}
		keys, err := r.keysOf(ctx, row, row.Template.WithDefaults().Glob(pattern))
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			m, ok := row.Match(k, len(g.Keys))
			if ok && tree.Matches(m, pattern) && row.Template.Expand(m, nil) == k && (row.Fits == nil || row.Fits(m)) {
				found = append(found, m)
			}
		}
	}
	return found, nil
}

// fetchLeft reads the traces of entries that are not configured. For entries that may be in force, it also reads the
// other needed rows.
func (r Reader) fetchLeft(ctx context.Context, g *tree.List, gone []*tree.Entry, rest []bool) error {
	if !r.Left || len(g.Traces) == 0 {
		return nil
	}
	traces, rest := slices.Clone(g.Traces), slices.Clone(rest)
	for i, row := range g.Rows {
		config := row.DB == swss.ConfigDB
		traces[i] = traces[i] || config && !row.Entry
		rest[i] = rest[i] && !traces[i] && !config
	}
	if err := r.FetchRows(ctx, g, gone, traces); err != nil {
		return err
	}
	var left []*tree.Entry
	for _, e := range gone {
		if e.Left = e.Leaves(); e.Left {
			left = append(left, e)
		}
	}
	return r.FetchRows(ctx, g, left, rest)
}
