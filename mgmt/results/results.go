// Package results stores the results of an alternate-marking collector as rows that package mgmt serves.
//
// What belongs here: results as rows. How they are computed belongs elsewhere.
package results

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tamtam/collector/marks"
	"tamtam/internal/grace"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Rows stores the last result of each segment in COUNTERS_DB. A nil *Rows stores nothing.
type Rows struct {
	redis *swss.Redis
	last  map[string]uint64 // last stored period, by row
}

// New returns a store of results in Redis.
func New(r *swss.Redis) *Rows { return &Rows{redis: r, last: map[string]uint64{}} }

// Write replaces whole rows in one transaction, without unknown values. A revised result does not replace one for a
// later period.
func (w *Rows) Write(ctx context.Context, results []marks.Result) error {
	if w == nil {
		return nil
	}
	latest := map[string]schema.AltMarkResult{}
	for _, r := range results {
		row := resultRow(r)
		if !r.Revised || w.last[row.Key()] <= r.Period {
			latest[row.Key()], w.last[row.Key()] = row, r.Period
		}
	}
	db := w.redis.DB(swss.CountersDB)
	pipe := db.Client().TxPipeline()
	for key, row := range latest {
		name := schema.CountersAltMarkPath + db.Separator() + key
		pipe.Del(ctx, name)
		pipe.HSet(ctx, name, row.Fields())
	}
	whole, done := grace.After(ctx, time.Second) // the last results arrive after ctx has ended
	defer done()
	if _, err := pipe.Exec(whole); err != nil {
		return fmt.Errorf("results to %s of COUNTERS_DB: %w", schema.CountersAltMarkPath, err)
	}
	return nil
}

// Close closes Redis.
func (w *Rows) Close() {
	if w != nil {
		_ = w.redis.Close()
	}
}

// maxRowReasons bounds the number of reasons in a row. A wide graph may have several reasons for each of its switches.
const maxRowReasons = 32

func rowReasons(all []string) string {
	if n := len(all) - maxRowReasons; n > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(all[:maxRowReasons], "; "), n)
	}
	return strings.Join(all, "; ")
}

func resultRow(r marks.Result) schema.AltMarkResult {
	row := schema.AltMarkResult{
		Path: r.Path, From: r.From, To: r.To, Period: r.Period, Start: r.Start, Status: r.Status.String(),
		Reasons: rowReasons(r.Reasons), Revised: r.Revised}
	row.Delays = uint64(r.Window.Count)
	if r.Counted {
		row.Sent, row.Received, row.SentBytes, row.ReceivedBytes = &r.Sent, &r.Received, &r.SentBytes, &r.ReceivedBytes
	}
	if r.LossValid {
		row.Lost = &r.Lost
	}
	known := func(d time.Duration, valid bool) *time.Duration {
		if !valid {
			return nil
		}
		return &d
	}
	row.Delay, row.RawDelay = known(r.Delay, r.DelayValid), known(r.RawDelay, r.RawDelayValid)
	row.Jitter = known(r.Jitter, r.JitterValid)
	row.BlockDelay, row.BlockUnknown = known(r.Mean.Delay, r.Mean.Valid), r.Mean.Unknown
	if r.Mean.Valid && r.Mean.RawValid {
		row.DelaySum = &r.Mean.Sum
	}
	some := r.Window.Count > 0
	row.MinDelay, row.MeanDelay = known(r.Window.Min, some), known(r.Window.Mean, some)
	row.MaxDelay = known(r.Window.Max, some)
	return row
}
