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

// A rangeObject is a range in the ASIC with the number of entries that use it.
type rangeObject struct {
	oid  sai.OID
	refs int
}

// acquire returns the range objects of an entry, creating those that are not
// there. On failure none is acquired.
func (o *Orch) acquire(ctx context.Context, keys []rangeKey) (sai.OIDs, error) {
	var oids sai.OIDs
	for i, k := range keys {
		r := o.ranges[k]
		if r == nil {
			oid, err := o.api.Create(ctx, sai.ObjectTypeACLRange, []sai.Attr{
				{ID: sai.ACLRangeAttrType, Value: k.typ},
				{ID: sai.ACLRangeAttrLimit, Value: sai.Range{Min: uint64(k.min), Max: uint64(k.max)}},
			})
			if err != nil {
				o.release(ctx, keys[:i])
				return nil, fmt.Errorf("create the ACL range %d-%d: %w", k.min, k.max, err)
			}
			r = &rangeObject{oid: oid}
			o.ranges[k] = r
		}
		r.refs++
		oids = append(oids, r.oid)
	}
	return oids, nil
}

// release gives range objects back; those that nobody uses are removed.
func (o *Orch) release(ctx context.Context, keys []rangeKey) {
	unused := false
	for _, k := range keys {
		o.ranges[k].refs--
		unused = unused || o.ranges[k].refs == 0
	}
	if unused {
		o.sweepRanges(ctx)
	}
}

// sweepRanges removes the range objects that nobody uses. One that cannot be
// removed stays until a rule needs it again, or until the next sweep.
func (o *Orch) sweepRanges(ctx context.Context) {
	for _, k := range slices.SortedFunc(maps.Keys(o.ranges), rangeKey.compare) {
		r := o.ranges[k]
		if r.refs > 0 {
			continue
		}
		if err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLRange, r.oid)); err != nil {
			o.log.Error("an ACL range stays in the ASIC", "min", k.min, "max", k.max, "err", err)
			continue
		}
		delete(o.ranges, k)
	}
}
