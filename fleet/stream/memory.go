package stream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// DefaultMemory is the default capacity of a Memory in bytes.
const DefaultMemory = 64 << 20

// remembered is the number of message ids that a topic remembers.
const remembered = 1 << 16

// Memory is a Log inside a process, of bounded size. A worker keeps its messages without a time limit, since the
// workers of one process end together.
type Memory struct {
	mu     sync.Mutex
	most   int64 // bytes of all topics together
	used   int64
	topics map[string]*memoryTopic
	change chan struct{} // closed and replaced at each change
}

type memoryTopic struct {
	entries []memoryEntry
	next    uint64 // sequence of the next message
	shared  bool   // true once Claim was called
	read    bool   // true once Read was called
	ids     map[string]uint64
	order   []string // ids in a ring; the oldest is at index at once the ring is full
	at      int
}

type memoryEntry struct {
	Entry
	held bool
	done bool
}

// entryCost is the overhead of a message in bytes, besides its data.
const entryCost = 64

// NewMemory returns an empty log that holds at most this many bytes; 0 means DefaultMemory.
func NewMemory(most int64) *Memory {
	return &Memory{most: cmp.Or(most, DefaultMemory), topics: map[string]*memoryTopic{}, change: make(chan struct{})}
}

func (m *Memory) topic(name string) (*memoryTopic, error) {
	t := m.topics[name]
	if t == nil {
		if err := CheckTopic(name); err != nil {
			return nil, err
		}
		t = &memoryTopic{next: 1, ids: map[string]uint64{}}
		m.topics[name] = t
	}
	return t, nil
}

// changed wakes all waiting calls. The caller holds the lock.
func (m *Memory) changed() {
	close(m.change)
	m.change = make(chan struct{})
}

// wait releases the lock until something changes or ctx ends.
func (m *Memory) wait(ctx context.Context) error {
	change := m.change
	m.mu.Unlock()
	defer m.mu.Lock()
	select {
	case <-change:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Append implements Log.
func (m *Memory) Append(ctx context.Context, topic, id string, data []byte) (uint64, error) {
	if err := CheckData(topic, data); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.topic(topic)
	if err != nil {
		return 0, err
	}
	cost := int64(len(data)) + entryCost
	for {
		if seq, known := t.ids[id]; known && id != "" {
			return seq, nil
		}
		if m.used+cost <= m.most {
			break
		}
		if cost > m.most {
			return 0, fmt.Errorf("topic %s: a message of %d bytes, and the log keeps %d", topic, len(data), m.most)
		}
		if err := m.wait(ctx); err != nil {
			return 0, fmt.Errorf("topic %s: no room in the log of %d bytes: %w", topic, m.most, err)
		}
	}
	seq := t.next
	t.next++
	t.entries = append(t.entries, memoryEntry{Entry: Entry{Seq: seq, Data: slices.Clone(data)}})
	t.remember(id, seq)
	m.used += cost
	m.changed()
	return seq, nil
}

func (t *memoryTopic) remember(id string, seq uint64) {
	if id == "" {
		return
	}
	t.ids[id] = seq
	if len(t.order) < remembered {
		t.order = append(t.order, id)
		return
	}
	delete(t.ids, t.order[t.at])
	t.order[t.at] = id
	t.at = (t.at + 1) % remembered
}

// first returns the sequence of the first message that is kept, or of the next one if none is kept.
func (t *memoryTopic) first() uint64 {
	if len(t.entries) > 0 {
		return t.entries[0].Seq
	}
	return t.next
}

// Read implements Log.
func (m *Memory) Read(ctx context.Context, topic string, from uint64, most int) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.topic(topic)
	if err != nil {
		return nil, err
	}
	if t.shared {
		return nil, fmt.Errorf("topic %s is shared out: it cannot be read", topic)
	}
	t.read = true
	for {
		first := t.first()
		if from < first {
			return nil, &Gone{Topic: topic, Seq: from, First: first}
		}
		if from < t.next {
			found := t.entries[from-first:]
			found = found[:min(len(found), max(most, 1))]
			out := make([]Entry, len(found))
			for i := range found {
				out[i] = found[i].Entry
			}
			return out, nil
		}
		if err := m.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// Acknowledge implements Log.
func (m *Memory) Acknowledge(_ context.Context, topic string, upTo uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.topic(topic)
	if err != nil {
		return err
	}
	if t.shared {
		return fmt.Errorf("topic %s is shared out: its messages are done one by one", topic)
	}
	if upTo >= t.next {
		return fmt.Errorf("topic %s: message %d cannot be acknowledged, the last is %d", topic, upTo, t.next-1)
	}
	for i := range t.entries {
		t.entries[i].done = t.entries[i].done || t.entries[i].Seq <= upTo
	}
	m.drop(t)
	return nil
}

// drop removes the messages at the beginning that are done.
func (m *Memory) drop(t *memoryTopic) {
	n := 0
	for n < len(t.entries) && t.entries[n].done {
		m.used -= int64(len(t.entries[n].Data)) + entryCost
		n++
	}
	if n > 0 {
		t.entries = slices.Delete(t.entries, 0, n)
		m.changed()
	}
}

// Claim implements Log.
func (m *Memory) Claim(ctx context.Context, topic string) (Work, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.topic(topic)
	if err != nil {
		return nil, err
	}
	if t.read {
		return nil, fmt.Errorf("topic %s is read in order: it cannot be shared out", topic)
	}
	t.shared = true
	for {
		for i := range t.entries {
			e := &t.entries[i]
			if !e.held && !e.done {
				e.held = true
				return &memoryWork{log: m, topic: t, entry: e.Entry}, nil
			}
		}
		if err := m.wait(ctx); err != nil {
			return nil, err
		}
	}
}

type memoryWork struct {
	log   *Memory
	topic *memoryTopic
	entry Entry
	ended bool // true if the work is done or was returned
}

func (w *memoryWork) Entry() Entry { return w.entry }

func (w *memoryWork) Hold(context.Context) error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.ended {
		return ErrLost
	}
	return nil
}

func (w *memoryWork) Done(context.Context) error   { return w.end(true) }
func (w *memoryWork) Return(context.Context) error { return w.end(false) }

func (w *memoryWork) end(done bool) error {
	m := w.log
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.ended {
		return ErrLost
	}
	w.ended = true
	e := &w.topic.entries[w.entry.Seq-w.topic.first()]
	e.held, e.done = false, done
	if done {
		m.drop(w.topic)
	}
	m.changed()
	return nil
}
