package qos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// An away is a SAI API whose next creations fail, as if Redis were unavailable.
type away struct {
	sai.API
	times int
}

func (a *away) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	if a.times--; a.times >= 0 {
		return 0, fmt.Errorf("ASIC_DB: %w", swss.ErrUnavailable)
	}
	return a.API.Create(ctx, t, attrs)
}

// If Redis was unavailable for a row, the row is pending. It is tried again each second even if nothing changes.
func TestRedisWasAway(t *testing.T) {
	b := newBench(t)
	b.orch.api = &away{API: b.orch.api, times: 3}
	b.do("TC_TO_QUEUE_MAP_TABLE:A 1=2")
	b.WantStatus(schema.AppTCToQueue, "A", "pending: program A: ASIC_DB: "+swss.ErrUnavailable.Error())
	b.Pass(5 * time.Second)
	b.WantStatus(schema.AppTCToQueue, "A", "active")
}
