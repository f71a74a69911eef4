package forward

import (
	"context"
	"slices"
	"testing"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Rows whose key no daemon reads must have a status, too.
func TestReportedListsRefusedKeys(t *testing.T) {
	r := swsstest.Start(t)
	config := swss.NewTable(r.DB(swss.ConfigDB), "FLEX_COUNTER_TABLE")
	want := []string{"FLEX_COUNTER_TABLE|PORT", "FLEX_COUNTER_TABLE|PORTT", "FLEX_COUNTER_TABLE|TUNNEL"}
	for _, key := range []string{"PORT", "TUNNEL", "PORTT"} {
		if err := config.Set(t.Context(), key, swss.FieldValues{"FLEX_COUNTER_STATUS": "enable"}); err != nil {
			t.Fatal(err)
		}
	}
	keys := func(ctx context.Context, db *swss.DB) ([]string, error) { return db.AllKeys(ctx) }
	list, err := newReported(r).list(t.Context(), keys)
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%q, %v, want %q", list, err, want)
	}
}
