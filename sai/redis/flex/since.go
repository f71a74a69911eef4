package flex

import (
	"context"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"

	"tamtam/sai"
)

// COUNTERS_DB contains since when counters count. The row of a port or the switch has a field for each group of polled
// counters, written together with the counts, so that both are of one chip. The times of debug counters are in a
// separate hash, since their counts are in the same rows as those of ports. An unknown time is empty.
const (
	FieldCountedSince = "COUNTED_SINCE_" // followed by the group
	debugSince        = "COUNTERS_DEBUG_OID_SINCE_MAP"
)

// Births is a backend that records since when objects count. All its methods need the server's lock.
type Births struct {
	sai.API
	now  func() time.Time
	chip time.Time // time at which the switch, with its own objects, was created
	// of holds, by real id, the time since when an object counts that was created later. It is zero if some but not all
	// counters of the object were cleared.
	of   map[sai.OID]time.Time
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

// ClearStats implements [sai.API]. The object's other counters keep counting, so the object no longer has a single
// time.
func (b *Births) ClearStats(ctx context.Context, k sai.Key, ids []sai.StatID) error {
	err := b.API.ClearStats(ctx, k, ids)
	b.cleared(k)
	return err
}

// cleared records that some counters of an object were cleared.
func (b *Births) cleared(k sai.Key) {
	if k.Type == sai.ObjectTypePort || k.Type == sai.ObjectTypeSwitch {
		b.of[k.OID], b.kind[k.OID] = time.Time{}, k.Type
	}
}

// StatsAndClear implements [sai.ReadClearer].
func (b *Births) StatsAndClear(ctx context.Context, k sai.Key, ids []sai.StatID) ([]uint64, error) {
	values, err := sai.StatsAndClear(ctx, b.API, k, ids)
	b.cleared(k)
	return values, err
}

// since returns, as text, the time since which an object counts.
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

// countedSince returns the field that holds since when the counters of a group count.
func (c *Counters) countedSince(group string, k sai.Key) []any {
	if k.Type != sai.ObjectTypePort && k.Type != sai.ObjectTypeSwitch {
		return nil
	}
	return []any{FieldCountedSince + group, c.births.since(k.OID)}
}

// writeDebugSince writes, for each debug counter, the time since which it counts.
func (c *Counters) writeDebugSince(ctx context.Context) error {
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
