package qos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// defaultPeriod is the time after which SONiC's periodic watermarks begin again. A row of WATERMARK_TABLE overrides it.
const defaultPeriod = 2 * time.Minute

// watermarkTables are the tables of watermarks, in the order of their clearing: by a user, by a user for the persistent
// ones, and after each period.
var watermarkTables = []string{schema.UserWatermarks, schema.PersistentWatermarks, schema.PeriodicWatermarks}

// A watermark is what a request of SONiC's watermarkstat clears: a statistic of a kind of objects, or of some of them.
type watermark struct {
	kind int
	stat sai.StatID
	only sai.Enum // for queues: their type
}

// watermarks contains the second words of requests.
var watermarks = map[string]watermark{
	"Q_SHARED_UNI":   {queueKind, sai.QueueStatSharedWatermarkBytes, sai.QueueTypeUnicast},
	"Q_SHARED_MULTI": {queueKind, sai.QueueStatSharedWatermarkBytes, sai.QueueTypeMulticast},
	"Q_SHARED_ALL":   {queueKind, sai.QueueStatSharedWatermarkBytes, sai.QueueTypeAll},
	"PG_SHARED":      {kind: groupKind, stat: sai.IngressPriorityGroupStatSharedWatermarkBytes},
	"PG_HEADROOM":    {kind: groupKind, stat: sai.IngressPriorityGroupStatXoffRoomWatermarkBytes},
	"BUFFER_POOL":    {kind: poolKind, stat: sai.BufferPoolStatWatermarkBytes},
	"HEADROOM_POOL":  {kind: poolKind, stat: sai.BufferPoolStatXoffRoomWatermarkBytes},
}

// serveWatermarks clears watermarks in COUNTERS_DB, as SONiC's watermarkorch does. syncd raises them with each poll. So
// the first value after a clearing can be of the interval in which the clearing was.
func (o *Orch) serveWatermarks(d *orch.Daemon, r *swss.Redis) {
	db := r.DB(swss.CountersDB)
	d.Receive(func(l *swss.Listener) swss.Source {
		return swss.NewNotificationConsumer(l, r.DB(swss.ApplDB), schema.ClearWatermarkChannel)
	}, func(ctx context.Context, m swss.KeyOpFieldsValues) error {
		table := map[string]string{"USER": schema.UserWatermarks, "PERSISTENT": schema.PersistentWatermarks}[m.Op]
		w, known := watermarks[m.Key]
		if table == "" || !known {
			o.log.Warn("a request to clear watermarks is not known: want USER or PERSISTENT, and one of "+
				strings.Join(slices.Sorted(maps.Keys(watermarks)), ", "), "request", m.Op, "of", m.Key)
			return nil
		}
		return o.clearWatermark(ctx, swss.NewTable(db, table), w)
	})
	d.Every(func() time.Duration { return o.period }, func(ctx context.Context, _ time.Time) error {
		var errs []error
		for _, what := range slices.Sorted(maps.Keys(watermarks)) {
			errs = append(errs, o.clearWatermark(ctx, swss.NewTable(db, schema.PeriodicWatermarks), watermarks[what]))
		}
		return errors.Join(errs...)
	})
	d.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, r.DB(swss.ConfigDB), schema.CfgWatermark)
	}, schema.CfgWatermark, orch.Each(func(ctx context.Context, t orch.Task) error {
		o.watermarkPeriod(ctx, d, t)
		return nil
	}), orch.Reporting{StateTable: schema.StateWatermark, None: true})
}

// watermarkPeriod applies a row of WATERMARK_TABLE, and reports whether it is valid. Without a valid row, the period is
// SONiC's.
func (o *Orch) watermarkPeriod(ctx context.Context, d *orch.Daemon, t orch.Task) {
	ours := t.Key == schema.TelemetryInterval
	if ours {
		o.period = defaultPeriod
	}
	if t.Op == orch.Del {
		d.Unreport(ctx, schema.StateWatermark, t.Key)
		return
	}
	row, err := schema.ParseWatermarkPeriod(t.Key, t.Fields)
	if err == nil && ours {
		o.period = row.Interval
	}
	status, reason := d.Verdict(schema.StateWatermark, err)
	d.Report(ctx, schema.StateWatermark, t.Key, status, reason)
}

// clearWatermark clears one watermark of objects in a table. One that is not polled has no value, and gets none.
func (o *Orch) clearWatermark(ctx context.Context, table *swss.Table, w watermark) error {
	kind := &o.counts.kinds[w.kind]
	if !kind.polls(w.stat) {
		return nil
	}
	rows := map[string]swss.FieldValues{}
	clear := func(oid sai.OID) { rows[kind.id(oid)] = swss.FieldValues{w.stat.String(): "0"} }
	switch w.kind {
	case queueKind:
		for _, q := range o.queues {
			for _, queue := range q.queues {
				if queue.kind == w.only {
					clear(queue.oid)
				}
			}
		}
	case groupKind:
		for _, q := range o.queues {
			for _, group := range q.groups {
				clear(group)
			}
		}
	default:
		for _, pool := range o.counts.pools {
			clear(pool)
		}
	}
	if err := table.SetMany(ctx, rows); err != nil {
		return fmt.Errorf("clear watermarks: %w", err)
	}
	return nil
}

// polls reports whether a statistic is polled.
func (c *counters) polls(id sai.StatID) bool {
	return slices.ContainsFunc(c.groups, func(g flexGroup) bool {
		return g.Interval() > 0 && slices.Contains(g.ids, id.String())
	})
}
