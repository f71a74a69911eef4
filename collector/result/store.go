package result

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Store keeps batches. All methods are safe for concurrent use.
type Store interface {
	// Put stores a batch, and returns once it is durable. The first message of a batch identifies it within its
	// partition. A batch whose first message is, or was, in a stored batch is dropped, and kept is false. After an
	// ErrAway the same batch may be put again. Then kept is also true if the first try stored it.
	Put(ctx context.Context, b *Batch) (kept bool, err error)
	// Last returns the position of a partition's last batch, or zero if it has none.
	Last(ctx context.Context, partition string) (Position, error)
	// Each calls yield with the batches that may have rows in this time range, the oldest of each partition first,
	// until yield returns false. The caller must not change them. The error is an *Unread if everything but unreadable
	// files was returned.
	Each(ctx context.Context, from, to int64, yield func(*Batch) bool) error
}

// ErrAway is wrapped in the error of a call that a store cannot do at present, for example because its disk is full.
// The same call may succeed later.
var ErrAway = errors.New("cannot be used for now")

// Unread is the error of Each if some stored files cannot be read. All other batches were returned.
type Unread struct {
	Files int
	First error
}

// Add counts a file that cannot be read.
func (u *Unread) Add(err error) {
	u.Files++
	if u.First == nil {
		u.First = err
	}
}

// Err returns u, or nil if u is empty.
func (u *Unread) Err() error {
	if u.Files == 0 {
		return nil
	}
	return u
}

// Error implements error.
func (u *Unread) Error() string {
	if u.Files == 1 {
		return fmt.Sprintf("a file of the store cannot be read: %v", u.First)
	}
	return fmt.Sprintf("%d files of the store cannot be read, the first: %v", u.Files, u.First)
}

// Unwrap returns the first error.
func (u *Unread) Unwrap() error { return u.First }

// Check returns an error unless a batch begins after message last, without a gap, or repeats only earlier messages.
func (b *Batch) Check(last uint64) error {
	if b.Partition == "" || b.First == 0 || b.Last < b.First {
		return fmt.Errorf("batch %q, messages %d to %d: want a partition, and messages from 1 on in order",
			b.Partition, b.First, b.Last)
	}
	if b.First > last+1 {
		return fmt.Errorf("batch of partition %s: begins with message %d, and %d was the last before: some are missing",
			b.Partition, b.First, last)
	}
	if b.First <= last && b.Last > last {
		return fmt.Errorf("batch of partition %s: messages %d to %d, and others have those up to %d: want %d first",
			b.Partition, b.First, b.Last, last, last+1)
	}
	return nil
}

// Rows returns the number of rows of a batch.
func (b *Batch) Rows() int {
	return len(b.Hops) + len(b.Drops) + len(b.Losses) + len(b.Journeys) + len(b.Sketches) + len(b.Sources) +
		len(b.Amends)
}

// Span returns the time range of a batch's rows. It returns false if no row has a time.
func (b *Batch) Span() (from, to int64, ok bool) {
	add := func(first, last int64) {
		if !ok || first < from {
			from = first
		}
		if !ok || last > to {
			to = last
		}
		ok = true
	}
	for i := range b.Hops {
		add(b.Hops[i].Window.Start, b.Hops[i].Window.Start+b.Hops[i].Window.Length)
	}
	for i := range b.Drops {
		d := &b.Drops[i]
		add(d.Window.Start, d.Window.Start+d.Window.Length)
		if d.First > 0 && d.First <= d.Last && d.Flags&Unsynchronised == 0 { // reports may come in a later window
			add(d.First, d.Last)
		}
	}
	for i := range b.Losses {
		add(b.Losses[i].Window.Start, b.Losses[i].Window.Start+b.Losses[i].Window.Length)
	}
	for i := range b.Journeys {
		add(b.Journeys[i].Time, b.Journeys[i].Time)
	}
	for i := range b.Amends {
		add(b.Amends[i].From, b.Amends[i].To)
	}
	for i := range b.Sketches {
		add(b.Sketches[i].Time, b.Sketches[i].Time)
	}
	return from, to, ok
}

// DefaultRows is the default maximum number of rows in a Memory.
const DefaultRows = 200_000

// Memory is a Store inside a process, of bounded size: it drops the oldest batches.
type Memory struct {
	mu      sync.Mutex
	most    int
	rows    int
	batches []*Batch // batches in order of arrival
	last    map[string]Position
	forgot  int64
}

// NewMemory returns an empty store for this number of rows. Zero means DefaultRows.
func NewMemory(rows int) *Memory {
	return &Memory{most: cmp.Or(rows, DefaultRows), last: map[string]Position{}}
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, b *Batch) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.last[b.Partition].Last
	if err := b.Check(last); err != nil {
		return false, err
	}
	if b.First <= last {
		return false, nil
	}
	m.last[b.Partition] = b.Position
	m.batches = append(m.batches, b)
	m.rows += b.Rows()
	for m.rows > m.most && len(m.batches) > 1 {
		m.rows -= m.batches[0].Rows()
		m.forgot += int64(m.batches[0].Rows())
		m.batches[0] = nil
		m.batches = m.batches[1:]
	}
	return true, nil
}

// Last implements Store.
func (m *Memory) Last(_ context.Context, partition string) (Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[partition], nil
}

// Each implements Store.
func (m *Memory) Each(ctx context.Context, from, to int64, yield func(*Batch) bool) error {
	m.mu.Lock()
	batches := append([]*Batch(nil), m.batches...)
	m.mu.Unlock()
	for _, b := range batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		first, last, ok := b.Span()
		if ok && (last < from || first > to) {
			continue
		}
		if !yield(b) {
			return nil
		}
	}
	return nil
}

// Forgotten returns the number of rows that were dropped because of the limit.
func (m *Memory) Forgotten() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgot
}
