package forward

import (
	"context"
	"maps"
	"slices"

	"tamtam/swss"
)

// Differences makes the rows of a table that is its caller's alone, and has rows of always the same fields, those
// that are wanted: told are those that are there.
func Differences(ctx context.Context, t *swss.Table, told, want map[string]swss.FieldValues) error {
	set, gone := map[string]swss.FieldValues{}, []string{}
	for name, row := range want {
		if !maps.Equal(told[name], row) {
			set[name] = row
		}
	}
	for name := range told {
		if want[name] == nil {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if err := t.SetMany(ctx, set); err != nil {
		return err
	}
	return t.DelMany(ctx, gone)
}
