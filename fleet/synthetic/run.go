package synthetic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/event"
	"tamtam/fleet/join"
	"tamtam/fleet/stream"
)

// A Result is the result of a run.
type Result struct {
	Frames, Stamps int64
	Messages       int64
	Bytes          int64 // number of bytes of the messages
	Rows           int64
	Flagged        int64 // number of rows with flags
	Elapsed        time.Duration
}

// Run sends a fleet's stamps through a log, joins them into a store, and compares the rows with what was sent. Its
// error contains the differences. A worker joins each partition.
func Run(ctx context.Context, s Shape, log stream.Log, store result.Store, o join.Options) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	o.Expect = Sources(s.Leaves)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for i := range s.Partitions {
		workers.Go(func() {
			w := join.Worker{Log: log, Store: store, Options: o, Idle: 50 * time.Millisecond}
			if err := w.Run(ctx, result.Stamps.Partition(i)); err != nil {
				cancel(err)
			}
		})
	}
	res, err := Send(ctx, s, log, store)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	workers.Wait()
	return res, err
}

// Send sends a fleet's stamps through a log that other processes join. It waits until they have joined all stamps into
// a store, and compares as Run does. These processes must expect the sources of the fleet.
func Send(ctx context.Context, s Shape, log stream.Log, store result.Store) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	begin := time.Now()
	made, res, err := s.send(ctx, log)
	if err == nil {
		err = joined(ctx, s, store)
	}
	res.Elapsed = time.Since(begin)
	if err != nil {
		return res, err
	}
	return res, check(context.WithoutCancel(ctx), s, made, store, &res)
}

// Sources returns the names of a fleet's sources.
func Sources(leaves int) (names []string) {
	for leaf := range leaves {
		names = append(names, source(leaf))
	}
	return names
}

func source(leaf int) string { return fmt.Sprintf("leaf%d", leaf+1) }

// joined waits until all messages are in batches: each partition has reached the end of all its sources.
func joined(ctx context.Context, s Shape, store result.Store) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; i < s.Partitions; {
		at, err := store.Last(ctx, result.Stamps.Partition(i))
		if err != nil && !errors.Is(err, result.ErrAway) { // the workers also wait for the store
			return err
		}
		ended := 0
		for _, from := range at.Sources {
			if from.Watermark == event.Ended {
				ended++
			}
		}
		if ended == s.Leaves && at.Low == at.Last+1 {
			i++
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// A sender appends the batches of one leaf, in order.
type sender struct {
	writers  []*event.Writer // writers by partition
	queue    chan message
	messages int64
	bytes    int64
}

type message struct {
	partition int
	data      []byte
}

// queued is the number of batches of a leaf that may wait for the log.
const queued = 4

func (s *Shape) send(ctx context.Context, log stream.Log) (sent, Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	made := sent{totals: make([]Total, s.Leaves+s.Spines)}
	pool := sync.Pool{New: func() any { return make([]byte, 0, stream.MaxData) }}
	senders := make([]*sender, s.Leaves)
	var running sync.WaitGroup
	for leaf := range senders {
		from := &sender{queue: make(chan message, queued)}
		for range s.Partitions {
			w, err := event.NewWriter(result.Stamps, source(leaf))
			if err != nil {
				return made, Result{}, err
			}
			from.writers = append(from.writers, w)
		}
		senders[leaf] = from
		running.Go(func() {
			for m := range from.queue {
				if _, err := log.Append(ctx, result.Stamps.Partition(m.partition), "", m.data); err != nil {
					cancel(err)
				}
				pool.Put(m.data[:0]) //nolint:staticcheck // a slice is small beside what it leads to
			}
		})
	}
	err := s.frames(ctx, &made, senders, &pool)
	var res Result
	for _, from := range senders {
		close(from.queue)
		res.Messages += from.messages
		res.Bytes += from.bytes
	}
	running.Wait()
	res.Frames, res.Stamps = made.frames, made.frames*stampsOfFrame
	return made, res, errors.Join(err, context.Cause(ctx))
}

// frames generates all frames of the fleet, and passes batches to the senders.
func (s *Shape) frames(ctx context.Context, made *sent, senders []*sender, pool *sync.Pool) error {
	flush := func(from *sender, partition int, watermark int64) error {
		data := append(pool.Get().([]byte), from.writers[partition].Finish(watermark)...)
		from.messages++
		from.bytes += int64(len(data))
		select {
		case from.queue <- message{partition, data}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	all := func(watermark int64) error {
		for _, from := range senders {
			for i := range from.writers {
				if err := flush(from, i, watermark); err != nil {
					return err
				}
			}
		}
		return nil
	}
	frames := s.Stamps / stampsOfFrame
	started := time.Now()
	next := began + int64(s.Every)
	f := event.Frame{Hops: make([]event.Hop, stampsOfFrame)}
	for n := range frames {
		path := s.frame(n, frames, &f, made.totals)
		made.frames++
		if f.Hops[0].Arrival >= next { // no frame leaves before it has arrived
			if err := s.wait(ctx, started, n*stampsOfFrame); err != nil {
				return err
			}
			if err := all(next); err != nil {
				return err
			}
			next += int64(s.Every)
		}
		from := senders[path.to]
		if !from.writers[path.partition].Stamped(&f) {
			if err := flush(from, path.partition, next-int64(s.Every)); err != nil {
				return err
			}
			from.writers[path.partition].Stamped(&f)
		}
	}
	return all(event.Ended)
}

// wait waits until this number of stamps may have been sent.
func (s *Shape) wait(ctx context.Context, started time.Time, stamps int64) error {
	if s.Pace == 0 {
		return nil
	}
	due := time.Duration(float64(stamps) / float64(s.Pace) * float64(time.Second))
	timer := time.NewTimer(time.Until(started.Add(due)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func check(ctx context.Context, s Shape, made sent, store result.Store, res *Result) error {
	got := make([]Total, len(made.totals))
	unknown, flags := int64(0), result.Flags(0)
	err := store.Each(ctx, 0, math.MaxInt64, func(b *result.Batch) bool {
		for i := range b.Hops {
			h := &b.Hops[i]
			res.Rows++
			if h.Flags != 0 {
				res.Flagged++
				flags |= h.Flags
			}
			if h.Switch == 0 || int(h.Switch) > len(got) || h.Resident.Count != h.Packets {
				unknown++
				continue
			}
			got[h.Switch-1].Packets += h.Packets
			got[h.Switch-1].Resident += h.Resident.Sum
		}
		return true
	})
	if err != nil {
		return err
	}
	if unknown > 0 || res.Flagged > 0 {
		return fmt.Errorf("%d of %d rows have flags (%#x in all), and %d have no switch or no latency", res.Flagged, res.Rows,
			uint16(flags), unknown)
	}
	for id, want := range made.totals {
		if got[id] != want {
			return fmt.Errorf("switch %d: the store has %d packets, %d ns; %d packets, %d ns were sent", id+1,
				got[id].Packets, got[id].Resident, want.Packets, want.Resident)
		}
	}
	return nil
}
