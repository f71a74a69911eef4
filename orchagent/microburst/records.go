package microburst

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/burst"
)

// records copies the records of the ASIC to COUNTERS_DB.
type records struct {
	daemon   *orch.Daemon
	counters *swss.Table
	bursts   *swss.Table
	known    bool // whether of holds the rows of counters in the database
	of       map[string]*queue
	started  int64 // start of the chip that was read last
	position uint64
}

// A queue holds the counters of a queue's bursts. Numbers of bursts continue over restarts of the chip.
type queue struct {
	counts map[string]uint64 // as in the row
	since  string
	open   uint64 // number of the burst in the row of an open one; zero if there is none
	dirty  bool
}

func newRecords(r *swss.Redis, d *orch.Daemon) *records {
	db := r.DB(swss.CountersDB)
	return &records{
		daemon: d, counters: swss.NewTable(db, schema.CountersMicroburst), bursts: swss.NewTable(db, schema.CountersBurst),
		of: map[string]*queue{},
	}
}

// forget drops what is known of the database, which may be empty now.
func (r *records) forget() { r.known, r.of, r.position, r.started = false, map[string]*queue{}, 0, 0 }

// load reads the counters in the database.
func (r *records) load(ctx context.Context) error {
	if r.known {
		return nil
	}
	rows, err := r.counters.Dump(ctx)
	if err != nil {
		return err
	}
	for key, row := range rows {
		q := r.queue(key)
		q.dirty = false
		for name := range q.counts {
			n, err := strconv.ParseUint(row[name], 10, 64)
			if err != nil {
				n = 0
			}
			q.counts[name] = n
		}
		q.since = row[schema.FieldSinceAll]
	}
	r.known = true
	return nil
}

func (r *records) queue(key string) *queue {
	q := r.of[key]
	if q == nil {
		q = &queue{counts: map[string]uint64{}, since: r.daemon.TimeOfDay().UTC().Format(time.RFC3339Nano)}
		for _, f := range schema.CountersIn(schema.CountersMicroburst) {
			if f.Name != schema.FieldSinceAll {
				q.counts[f.Name] = 0
			}
		}
		q.dirty = true
		r.of[key] = q
	}
	return q
}

// copy reads all new records, and writes them. The queues with thresholds, by key, have counters even without bursts.
func (r *records) copy(ctx context.Context, ask func(context.Context, uint64) (burst.Reading, error),
	queues iter.Seq[string]) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	for key := range queues {
		r.queue(key)
	}
	for {
		got, err := ask(ctx, r.position)
		if err != nil {
			return err
		}
		if got.Started != r.started {
			again := r.position > 0
			r.started, r.position = got.Started, 0
			if again { // its first records are others than those just read
				continue
			}
		}
		if err := r.write(ctx, &got); err != nil {
			r.known, r.of = false, map[string]*queue{} // the rows may or may not have been written
			return err
		}
		r.position = max(r.position, got.First+uint64(len(got.List)))
		if len(got.List) == 0 || r.position >= got.Ended {
			return nil
		}
	}
}

// write writes the records of a reading, then the counters. If it fails between them, the next reading writes the same
// records again.
func (r *records) write(ctx context.Context, got *burst.Reading) error {
	rows, old := map[string]swss.FieldValues{}, []string{}
	for i := range got.List {
		x := &got.List[i]
		key := keyOf(x)
		q, position := r.queue(key), got.First+uint64(i)
		if !q.takes(x, got.Started, position) {
			continue
		}
		n := q.counts[schema.CountBursts]
		rows[numbered(key, n)] = fieldsOf(x)
		if q.open = 0; n > schema.BurstRecords {
			old = append(old, numbered(key, n-schema.BurstRecords))
		}
	}
	open := map[string]uint64{}
	for i := range got.Open {
		x := &got.Open[i]
		key := keyOf(x)
		q := r.queue(key)
		n := q.counts[schema.CountBursts] + q.gap(x, got.Started) + 1
		open[key] = n
		rows[numbered(key, n)] = fieldsOf(x)
	}
	for key, q := range r.of {
		if q.open != 0 && open[key] != q.open { // its row would say open for ever
			if _, replaced := rows[numbered(key, q.open)]; !replaced {
				old = append(old, numbered(key, q.open))
			}
		}
		q.open = open[key]
	}
	if err := r.bursts.DelMany(ctx, old); err != nil {
		return err
	}
	if err := r.bursts.SetMany(ctx, rows); err != nil {
		return err
	}
	return r.writeCounters(ctx)
}

func (r *records) writeCounters(ctx context.Context) error {
	rows := map[string]swss.FieldValues{}
	for _, key := range slices.Sorted(maps.Keys(r.of)) {
		q := r.of[key]
		if !q.dirty {
			continue
		}
		row := swss.FieldValues{schema.FieldSinceAll: q.since}
		for name, n := range q.counts {
			row[name] = strconv.FormatUint(n, 10)
		}
		rows[key], q.dirty = row, false
	}
	return r.counters.SetMany(ctx, rows)
}

// gap returns the number of bursts between the last record of a queue and another one.
func (q *queue) gap(x *burst.Record, started int64) uint64 {
	last := q.counts[schema.CountBurstIndex]
	if q.counts[schema.CountBurstStarted] != uint64(started) || x.Index <= last { // another chip, or another port
		last = 0
	}
	return max(x.Index, 1) - 1 - last
}

// takes counts a record, if it was not counted before.
func (q *queue) takes(x *burst.Record, started int64, position uint64) bool {
	c := q.counts
	if c[schema.CountBurstStarted] == uint64(started) && position < c[schema.CountBurstPosition] {
		return false
	}
	lost := q.gap(x, started)
	c[schema.CountBurstsLost] += lost
	c[schema.CountBursts] += lost + 1
	c[schema.CountBurstNanos] += x.Duration
	c[schema.CountBurstPeak] = max(c[schema.CountBurstPeak], x.Peak)
	c[schema.CountBurstDrops] += x.Dropped
	c[schema.CountBurstStarted], c[schema.CountBurstPosition] = uint64(started), position+1
	c[schema.CountBurstIndex] = x.Index
	q.dirty = true
	return true
}

// keyOf returns the key of a queue's counters.
func keyOf(x *burst.Record) string { return fmt.Sprintf("Ethernet%d:%d", x.Port, x.Queue) }

func numbered(key string, n uint64) string { return fmt.Sprintf("%s:%d", key, n) }

// fieldsOf returns the row of a record.
func fieldsOf(x *burst.Record) swss.FieldValues {
	at := func(ns int64) string { return burst.At(ns).Format(time.RFC3339Nano) }
	flows, err := json.Marshal(x.Flows)
	if err != nil {
		flows = []byte("[]") // a record has no value that JSON cannot have
	}
	row := swss.FieldValues{
		schema.BurstState: string(x.State), schema.BurstBegin: at(x.Begin), schema.BurstEnd: at(x.End),
		schema.BurstPeakAt: at(x.PeakAt), schema.BurstUnsynced: strconv.FormatBool(x.Unsynced),
		schema.BurstFlows: string(flows),
	}
	for name, n := range map[string]uint64{
		schema.BurstDuration: x.Duration, schema.BurstCycles: x.Cycles, schema.BurstPeak: x.Peak,
		schema.BurstThreshold: x.High, schema.BurstLow: x.Low, schema.BurstPackets: x.Packets, schema.BurstBytes: x.Bytes,
		schema.BurstStanding: x.Standing, schema.BurstDropped: x.Dropped, schema.BurstDroppedBytes: x.DroppedBytes,
		schema.BurstRest: x.Rest,
	} {
		row[name] = strconv.FormatUint(n, 10)
	}
	return row
}
