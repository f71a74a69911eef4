package forward

import (
	"testing"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Rows that no daemon reads have no status, so none is reported as missing.
func TestReportedLeavesOutUnreadKeys(t *testing.T) {
	r := swsstest.Start(t)
	config := swss.NewTable(r.DB(swss.ConfigDB), "FLEX_COUNTER_TABLE")
	for _, key := range []string{"PORT", "TUNNEL", "PORTT"} {
		if err := config.Set(t.Context(), key, swss.FieldValues{"FLEX_COUNTER_STATUS": "enable"}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := newReported(r).list(t.Context())
	if err != nil || len(list) != 1 || list[0] != "FLEX_COUNTER_TABLE|PORT" {
		t.Errorf("%q, %v", list, err)
	}
}
