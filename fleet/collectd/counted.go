package collectd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"tamtam/collector/result"
	"tamtam/fleet/parquet"
)

// A countedStore counts the batches and rows that this process puts into a store.
type countedStore struct {
	*parquet.Store

	dir    string
	logger *slog.Logger

	mu         sync.Mutex
	waiting    map[string]bool // partitions whose worker waits, as the store is away
	reason     string          // reason of the last failure
	failures   float64
	batches    [2]float64 // number of batches that were kept, and that were not
	rows       map[string]float64
	flagged    map[string]float64
	packets    float64 // number of packets at hops
	timed      float64 // number of packets whose time in the switch is known
	resident   float64 // sum of the times of packets in the switch, in seconds
	drops      map[dropsOf]float64
	partitions map[string]standing
}

// dropsOf is the key of drops for a reason, by kind of source: several kinds may report the same packets.
type dropsOf struct{ reason, source string }

// standing holds the counts in a partition's last batch.
type standing struct {
	closed                 float64 // time in seconds since 1970
	lost, twice, bad, late float64
	silent, sources        float64
	leftOut                float64
}

func newCountedStore(s *parquet.Store, dir string, logger *slog.Logger) *countedStore {
	return &countedStore{Store: s, dir: dir, logger: logger, waiting: map[string]bool{}, rows: map[string]float64{},
		flagged: map[string]float64{}, drops: map[dropsOf]float64{}, partitions: map[string]standing{}}
}

// Put implements result.Store.
func (s *countedStore) Put(ctx context.Context, b *result.Batch) (bool, error) {
	kept, err := s.Store.Put(ctx, b)
	s.received(ctx, b.Partition, err)
	if err != nil {
		return kept, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !kept {
		s.batches[1]++
		return false, nil
	}
	s.batches[0]++
	s.count(b)
	return true, nil
}

// Last implements result.Store.
func (s *countedStore) Last(ctx context.Context, partition string) (result.Position, error) {
	at, err := s.Store.Last(ctx, partition)
	s.received(ctx, partition, err)
	return at, err
}

// received records the result of a call for a partition's worker, and logs changes. When a worker ends, its partition
// no longer counts as waiting.
func (s *countedStore) received(ctx context.Context, partition string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := len(s.waiting) > 0
	switch {
	case errors.Is(err, result.ErrAway):
		s.failures++
		s.reason = err.Error()
		if !s.waiting[partition] {
			s.waiting[partition] = true
			context.AfterFunc(ctx, func() { s.leave(partition) })
		}
		if !waited {
			s.logger.Error("results wait for the store: nothing more is acknowledged to the log", "reason", err)
		}
	case err == nil:
		delete(s.waiting, partition)
		if waited && len(s.waiting) == 0 {
			s.logger.Info("results wait no longer for the store", "store", s.dir)
		}
	}
}

func (s *countedStore) leave(partition string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, partition)
}

// troubles returns a text on why rows are not in the store yet, if any wait.
func (s *countedStore) troubles() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("rows of %d partitions are not in the store yet: %s", len(s.waiting), s.reason)}
}

// mostReasons bounds the distinct reasons of drops, by source.
const mostReasons = 128

func (s *countedStore) count(b *result.Batch) {
	for i := range b.Hops {
		h := &b.Hops[i]
		s.packets += float64(h.Packets)
		s.timed += float64(h.Resident.Count)
		s.resident += float64(h.Resident.Sum) / 1e9
		s.flags(h.Flags)
	}
	for i := range b.Drops {
		d := &b.Drops[i]
		of := dropsOf{strings.ToValidUTF8(d.Reason, "?"), d.Source}
		if _, known := s.drops[of]; !known && len(s.drops) >= mostReasons {
			of.reason = "other"
		}
		s.drops[of] += float64(d.Packets)
		s.flags(d.Flags)
	}
	for i := range b.Journeys {
		s.flags(b.Journeys[i].Flags)
	}
	for i := range b.Losses {
		s.flags(b.Losses[i].Flags)
	}
	s.rows["hops"] += float64(len(b.Hops))
	s.rows["drops"] += float64(len(b.Drops))
	s.rows["losses"] += float64(len(b.Losses))
	s.rows["journeys"] += float64(len(b.Journeys))
	s.rows["sketches"] += float64(len(b.Sketches))
	at := standing{closed: float64(b.Closed) / 1e9, sources: float64(len(b.Sources))}
	for i := range b.Sources {
		from := &b.Sources[i]
		at.lost += float64(from.Lost)
		at.twice += float64(from.Twice)
		at.bad += float64(from.Bad)
		at.late += float64(from.Late)
		at.leftOut += float64(from.LeftOut)
		if from.Silent {
			at.silent++
		}
	}
	s.partitions[b.Partition] = at
}

func (s *countedStore) flags(f result.Flags) {
	for _, flag := range []struct {
		bit  result.Flags
		name string
	}{
		{result.Gap, "gap"}, {result.Late, "late"}, {result.Silent, "silent"}, {result.Overflow, "overflow"},
		{result.Cut, "cut"}, {result.Unsynchronised, "unsynchronised"}, {result.Missing, "missing"}, {result.Edge, "edge"},
		{result.Twice, "twice"}, {result.Searched, "searched"},
	} {
		if f&flag.bit != 0 {
			s.flagged[flag.name]++
		}
	}
}
