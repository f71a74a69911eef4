package acl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/sai"
)

// A rangeKey is a range of L4 ports; entries share the range objects.
type rangeKey struct {
	typ      sai.Enum
	min, max uint16
}

func (k rangeKey) compare(l rangeKey) int {
	return cmp.Or(cmp.Compare(k.typ, l.typ), cmp.Compare(k.min, l.min), cmp.Compare(k.max, l.max))
}

// A shared is an object in the ASIC with the number of entries that use it.
type shared struct {
	oid  sai.OID
	refs int
}

// acquire returns the range objects of an entry, creating those that are missing. If it fails, it acquires none.
func (b *objects) acquire(ctx context.Context, keys []rangeKey) (sai.OIDs, error) {
	var oids sai.OIDs
	for i, k := range keys {
		r := b.ranges[k]
		if r == nil {
			oid, err := b.api.Create(ctx, sai.ObjectTypeACLRange, []sai.Attr{
				{ID: sai.ACLRangeAttrType, Value: k.typ},
				{ID: sai.ACLRangeAttrLimit, Value: sai.Range{Min: uint64(k.min), Max: uint64(k.max)}},
			})
			if err != nil {
				b.mostRanges = len(b.ranges)
				b.release(ctx, keys[:i])
				return nil, fmt.Errorf("create the ACL range %d-%d: %w", k.min, k.max, err)
			}
			r = &shared{oid: oid}
			b.ranges[k] = r
			if b.mostRanges > 0 {
				b.mostRanges = max(b.mostRanges, len(b.ranges))
			}
		}
		r.refs++
		oids = append(oids, r.oid)
	}
	return oids, nil
}

// release releases range objects, and removes those that are no longer in use.
func (b *objects) release(ctx context.Context, keys []rangeKey) {
	unused := false
	for _, k := range keys {
		b.ranges[k].refs--
		unused = unused || b.ranges[k].refs == 0
	}
	if unused {
		b.sweepRanges(ctx)
	}
}

// sweepRanges removes the range objects that are not in use. A range object that cannot be removed stays until a rule
// needs it again, or until the next sweep.
func (b *objects) sweepRanges(ctx context.Context) {
	for _, k := range slices.SortedFunc(maps.Keys(b.ranges), rangeKey.compare) {
		r := b.ranges[k]
		if r.refs > 0 {
			continue
		}
		if err := b.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLRange, r.oid)); err != nil {
			b.log.Error("an ACL range stays in the ASIC", "min", k.min, "max", k.max, "err", err)
			continue
		}
		delete(b.ranges, k)
	}
}
