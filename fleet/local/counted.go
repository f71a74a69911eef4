package local

import (
	"context"
	"sync"

	"tamtam/fleet/stream"
)

// A countedLog remembers the last message of each topic.
type countedLog struct {
	*stream.Memory

	mu    sync.Mutex
	lasts map[string]uint64
}

func newCountedLog(bytes int64) *countedLog {
	return &countedLog{Memory: stream.NewMemory(bytes), lasts: map[string]uint64{}}
}

// Append implements stream.Log.
func (l *countedLog) Append(ctx context.Context, topic, id string, data []byte) (uint64, error) {
	seq, err := l.Memory.Append(ctx, topic, id, data)
	if err == nil {
		l.mu.Lock()
		l.lasts[topic] = max(l.lasts[topic], seq)
		l.mu.Unlock()
	}
	return seq, err
}

func (l *countedLog) last(topic string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lasts[topic]
}
