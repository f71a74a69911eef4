package web

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tamtam/mgmt/web/rows"
)

// fresh is how long rows are reused for further requests for the same time.
const fresh = time.Second

// mostKept bounds the spans of a cache. When there are more, chosen ranges are forgotten.
const mostKept = 16

// A cache has a snapshot for each span. Simultaneous requests share one read.
type cache struct {
	store Store
	now   func() time.Time // wall clock

	mu   sync.Mutex
	kept map[string]*cached
}

type cached struct {
	turn chan struct{} // its holder may read
	snap *rows.Snapshot
	made time.Time
}

// get returns the rows of a span that ends now.
func (c *cache) get(ctx context.Context, s span, now time.Time) (*rows.Snapshot, error) {
	c.mu.Lock()
	if c.kept == nil {
		c.kept = map[string]*cached{}
	}
	k := c.kept[s.Word]
	if k == nil {
		if len(c.kept) >= mostKept {
			maps.DeleteFunc(c.kept, func(word string, _ *cached) bool { return strings.Contains(word, "-") })
		}
		k = &cached{turn: make(chan struct{}, 1)}
		c.kept[s.Word] = k
	}
	c.mu.Unlock()
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if k.snap != nil && c.now().Sub(k.made) < fresh {
		return k.snap, nil
	}
	from, to := s.times(now)
	snap, err := rows.Read(ctx, c.store, from, to, now)
	if err != nil {
		return nil, err
	}
	k.snap, k.made = snap, c.now()
	return snap, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
