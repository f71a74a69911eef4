package qos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// watermarkPeriod is the time after which SONiC's periodic watermarks begin again.
const watermarkPeriod = 2 * time.Minute

// clearedQueues returns the types of queues that the second word of a request of SONiC's watermarkstat names.
func clearedQueues(what string) ([]sai.Enum, bool) {
	switch what {
	case "Q_SHARED_UNI":
		return []sai.Enum{sai.QueueTypeUnicast}, true
	case "Q_SHARED_MULTI":
		return []sai.Enum{sai.QueueTypeMulticast}, true
	case "Q_SHARED_ALL":
		return []sai.Enum{sai.QueueTypeAll}, true
	}
	return nil, false
}

// watermarks clears the watermarks of queues in COUNTERS_DB, as SONiC's watermarkorch does. syncd raises them with each
// poll. So the first value after a clearing can be of the interval in which the clearing was.
func (o *Orch) watermarks(d *orch.Daemon, r *swss.Redis) {
	db := r.DB(swss.CountersDB)
	d.Receive(func(l *swss.Listener) swss.Source {
		return swss.NewNotificationConsumer(l, r.DB(swss.ApplDB), schema.ClearWatermarkChannel)
	}, func(ctx context.Context, m swss.KeyOpFieldsValues) error {
		table := map[string]string{"USER": schema.UserWatermarks, "PERSISTENT": schema.PersistentWatermarks}[m.Op]
		types, known := clearedQueues(m.Key)
		if table == "" || !known {
			o.log.Warn("a request to clear watermarks is not known: want USER or PERSISTENT, and Q_SHARED_UNI, "+
				"Q_SHARED_MULTI or Q_SHARED_ALL; the switch has no other watermarks", "request", m.Op, "of", m.Key)
			return nil
		}
		return o.clearWatermarks(ctx, swss.NewTable(db, table), types)
	})
	d.Every(func() time.Duration { return watermarkPeriod }, func(ctx context.Context, _ time.Time) error {
		return o.clearWatermarks(ctx, swss.NewTable(db, schema.PeriodicWatermarks), nil)
	})
}

// clearWatermarks clears the watermarks of the queues of some types; nil means all types.
func (o *Orch) clearWatermarks(ctx context.Context, table *swss.Table, types []sai.Enum) error {
	rows := map[string]swss.FieldValues{}
	for _, q := range o.queues {
		for _, queue := range q.queues {
			if types == nil || slices.Contains(types, queue.kind) {
				rows[queue.oid.String()] = swss.FieldValues{sai.QueueStatSharedWatermarkBytes.String(): "0"}
			}
		}
	}
	if err := table.SetMany(ctx, rows); err != nil {
		return fmt.Errorf("clear watermarks: %w", err)
	}
	return nil
}
