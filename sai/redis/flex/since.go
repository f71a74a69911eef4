package flex

import (
	"context"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
)

// Since when counters count is told in COUNTERS_DB: of what is polled of a port or the switch in a field of its row,
// which is written with the counts, so that both are of one chip; of debug counters, whose counts stand in these rows,
// in a hash. A time that is not known is empty.
const (
	FieldCountedSince = "COUNTED_SINCE_" // and the group
	debugSince        = "COUNTERS_DEBUG_OID_SINCE_MAP"
)

// Births is a backend that notes since when objects count. All of it is done while the server's lock is held.
type Births struct {
	sai.API
	now  func() time.Time
	chip time.Time             // the switch was made, and what came with it
	of   map[sai.OID]time.Time // by real id, of those that were made later; zero: they were cleared, not all at once
	kind map[sai.OID]sai.ObjectType
}

// NewBirths returns a backend that notes when objects are created.
func NewBirths(backend sai.API, now func() time.Time) *Births {
	if now == nil {
		now = time.Now
	}
	return &Births{API: backend, now: now, of: map[sai.OID]time.Time{}, kind: map[sai.OID]sai.ObjectType{}}
}

// Create implements [sai.API].
func (b *Births) Create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	at := b.now()
	rid, err := b.API.Create(ctx, t, attrs)
	if err == nil {
		b.born(t, rid, at)
	}
	return rid, err
}

// BulkCreate implements [sai.API].
func (b *Births) BulkCreate(ctx context.Context, t sai.ObjectType, objs [][]sai.Attr) ([]sai.OID, []error) {
	at := b.now()
	rids, errs := b.API.BulkCreate(ctx, t, objs)
	for i, rid := range rids {
		if errs[i] == nil {
			b.born(t, rid, at)
		}
	}
	return rids, errs
}

func (b *Births) born(t sai.ObjectType, rid sai.OID, at time.Time) {
	switch t {
	case sai.ObjectTypeSwitch:
		b.chip = at
	case sai.ObjectTypePort, sai.ObjectTypeDebugCounter:
		b.of[rid], b.kind[rid] = at, t
	}
}

// Remove implements [sai.API].
func (b *Births) Remove(ctx context.Context, k sai.Key) error {
	err := b.API.Remove(ctx, k)
	if err == nil {
		b.forget(k)
	}
	return err
}

// BulkRemove implements [sai.API].
func (b *Births) BulkRemove(ctx context.Context, keys []sai.Key) []error {
	errs := b.API.BulkRemove(ctx, keys)
	for i, k := range keys {
		if errs[i] == nil {
			b.forget(k)
		}
	}
	return errs
}

func (b *Births) forget(k sai.Key) {
	delete(b.of, k.OID)
	delete(b.kind, k.OID)
}

// ClearStats implements [sai.API]. The others of the object count on: of all together there is no time any more.
func (b *Births) ClearStats(ctx context.Context, k sai.Key, ids []sai.StatID) error {
	err := b.API.ClearStats(ctx, k, ids)
	if k.Type == sai.ObjectTypePort || k.Type == sai.ObjectTypeSwitch {
		b.of[k.OID], b.kind[k.OID] = time.Time{}, k.Type
	}
	return err
}

// since is the text of when an object began to count.
func (b *Births) since(rid sai.OID) string {
	at, ok := b.of[rid]
	if !ok {
		at = b.chip
	}
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// countedSince are the fields that say since when what a group reads of an object counts.
func (c *Counters) countedSince(group string, k sai.Key) []any {
	if k.Type != sai.ObjectTypePort && k.Type != sai.ObjectTypeSwitch {
		return nil
	}
	return []any{FieldCountedSince + group, c.births.since(k.OID)}
}

// tellDebug writes since when debug counters count.
func (c *Counters) tellDebug(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		return nil
	}
	now := map[string]string{}
	for rid, t := range c.births.kind {
		if vid, ok := c.objects.IDs.VID(rid); ok && t == sai.ObjectTypeDebugCounter {
			now[vid.String()] = c.births.since(rid)
		}
	}
	if len(now) == 0 && c.debug != nil && len(c.debug) == 0 {
		return nil
	}
	_, err := c.out.Client().TxPipelined(ctx, func(to redis.Pipeliner) error {
		if c.debug == nil || !maps.Equal(now, c.debug) {
			to.Del(ctx, debugSince)
		}
		if len(now) > 0 {
			to.HSet(ctx, debugSince, now)
		}
		return nil
	})
	if err == nil {
		c.debug = now
	}
	return err
}
