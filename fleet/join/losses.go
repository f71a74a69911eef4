package join

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Losses holds, per partition, the messages that the log lost since this process was started.
type Losses struct {
	mu sync.Mutex
	of map[string]*loss
}

type loss struct {
	messages    float64
	first, last uint64
	since       time.Time
	from        time.Time
	damaged     bool
	deleted     bool // true if another client deleted the topic: more messages may be lost
}

// Add adds messages that a worker could not join.
func (l *Losses) Add(x Lost) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*loss{}
	}
	at := l.of[x.Partition]
	if at == nil {
		at = &loss{first: x.First, since: x.At, from: x.From}
		l.of[x.Partition] = at
	}
	at.messages += float64(x.Last - x.First + 1)
	at.last, at.damaged, at.deleted = x.Last, at.damaged || x.Damaged, at.deleted || x.Deleted
}

// Count returns the number of lost messages of a partition.
func (l *Losses) Count(partition string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.of[partition]; at != nil {
		return at.messages
	}
	return 0
}

// Troubles returns a text for each partition that lost messages.
func (l *Losses) Troubles() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.of)) {
		at, why := l.of[name], "they were dropped before they were joined"
		switch {
		case at.deleted:
			why = "another client deleted them on the server of the log, and maybe more"
		case at.damaged:
			why = "the log is damaged"
		}
		text := fmt.Sprintf("%.0f messages of partition %s, between %d and %d, are lost since %s: %s", at.messages, name,
			at.first, at.last, at.since.UTC().Format(time.RFC3339), why)
		if at.from.UnixNano() > 0 {
			text += ", and rows from " + at.from.UTC().Format(time.RFC3339) + " on may lack their content (gap)"
		}
		list = append(list, text)
	}
	return list
}
