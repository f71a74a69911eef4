package daemons

import (
	"context"
	"encoding/json"

	"tamtam/device/packettrace"
	"tamtam/mgmt"
	"tamtam/mgmt/metrics"
)

// dropsOf asks syncd for the packets that the chip has dropped.
func dropsOf(ctx context.Context, s *mgmt.Server) (metrics.Drops, error) {
	// A unique name for each request would stay in STATE_DB for a minute.
	const request = `{"by":"port","last":0,"id":"metrics"}`
	text, err := mgmt.LooksOf(s).Look(ctx, "list-drops", []byte(request))
	if err != nil {
		return metrics.Drops{}, err
	}
	var a struct {
		Answer packettrace.DropsAnswer `json:"answer"`
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return metrics.Drops{}, err
	}
	all := metrics.Drops{Since: a.Answer.Since, Reasons: map[string]map[string]uint64{}}
	for _, row := range a.Answer.Rows {
		port := row.Name
		if row.Name == packettrace.NoPort {
			port = ""
		}
		all.Reasons[port] = row.Reasons
	}
	return all, nil
}
