package fetch

import (
	"context"
	"maps"

	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// censored hides texts of an entry. What was remembered of a row does not count where one is hidden.
func (r Reader) censored(ctx context.Context, e *tree.Entry) {
	for i, row := range e.List.Rows {
		if row.DB != swss.StateDB || e.Rows[i] == nil {
			continue
		}
		if shown := r.texts.Fields(ctx, r.view, r.Redis, e.Rows[i]); !maps.Equal(shown, e.Rows[i]) {
			e.Rows[i], e.Versions[i] = shown, 0
		}
	}
}
