package qos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// makeObjects creates the missing objects, and changes those that differ.
func (o *Orch) makeObjects(ctx context.Context, p *plan) {
	for _, table := range tables {
		for _, key := range o.ledger.Keys(table.Name) {
			k := orch.Row(table.Name, key)
			s, ok := p.objects[k]
			if !ok {
				continue
			}
			attrs := s.attrs
			if s.pool != "" {
				pool := o.target(p, orch.Row(schema.AppBufferPool, s.pool))
				if pool == nil { // or the pool exists but is about to be removed
					o.ledger.Why[k] = orch.Wait("buffer pool", s.pool, "no buffer pool %s", s.pool)
					delete(p.objects, k)
					continue
				}
				attrs = append([]sai.Attr{{ID: sai.BufferProfileAttrPoolID, Value: pool.key.OID}}, attrs...)
			}
			if err := o.makeObject(ctx, k, s.typ, attrs); err != nil {
				o.ledger.Fail(k, "program "+key, err)
			}
		}
	}
}

// makeObject brings one object to its target state. If it cannot be changed, it is recreated, and the old one is
// removed when it is no longer in use. The same happens if the ASIC refuses an intermediate combination of attributes.
// For example, two thresholds change one after the other.
func (o *Orch) makeObject(ctx context.Context, k orch.RowKey, t sai.ObjectType, attrs []sai.Attr) error {
	have := o.objects[k]
	if have != nil {
		sets, ok := diff(have.attrs, attrs)
		if ok && o.change(ctx, have, sets) == nil {
			return nil
		}
	}
	oid, err := o.api.Create(ctx, t, attrs)
	if err != nil {
		return o.refusedObject(ctx, t, attrs, err)
	}
	if have != nil {
		o.discard(have.key)
	}
	o.objects[k] = &object{sai.Obj(t, oid), attrs}
	return nil
}

// diff returns the attributes to set to turn have into want. ok is false if that is impossible.
func diff(have, want []sai.Attr) (sets []sai.Attr, ok bool) {
	if !slices.EqualFunc(have, want, func(a, b sai.Attr) bool { return a.ID == b.ID }) {
		return nil, false
	}
	for i, a := range want {
		if reflect.DeepEqual(have[i].Value, a.Value) {
			continue
		}
		if !sai.Meta(a.ID).Has(sai.CreateAndSet) {
			return nil, false
		}
		sets = append(sets, a)
	}
	return sets, true
}

// change sets attributes of an object. If a call fails, nothing changes.
func (o *Orch) change(ctx context.Context, have *object, sets []sai.Attr) error {
	var undo orch.Undo
	attrs := slices.Clone(have.attrs)
	for _, a := range sets {
		if err := o.api.Set(ctx, have.key, a); err != nil {
			return orch.Undone(ctx, &undo, fmt.Errorf("set %s: %w", a.ID, err))
		}
		i := slices.IndexFunc(attrs, func(b sai.Attr) bool { return b.ID == a.ID })
		was := attrs[i]
		undo.Push(a.ID.String(), func(ctx context.Context) error { return o.api.Set(ctx, have.key, was) })
		attrs[i] = a
	}
	have.attrs = attrs
	return nil
}

// value returns what an attribute is to be set to. If an object of it does not exist yet or any more, value returns nil
// and the row of that object.
func (o *Orch) value(p *plan, b bind) (v sai.Value, missing orch.RowKey) {
	if b.value != nil {
		return b.value, missing
	}
	if b.all == nil {
		if to := o.target(p, b.to); to != nil {
			return to.key.OID, missing
		}
		return nil, b.to
	}
	list := sai.OIDs{}
	for _, k := range b.all {
		to := o.target(p, k)
		if to == nil {
			return nil, k
		}
		list = append(list, to.key.OID)
	}
	return list, missing
}

// unbound returns the value of an attribute that no row sets.
func unbound(bound sai.Value) sai.Value {
	switch bound.(type) {
	case sai.OID:
		return sai.NullOID
	case sai.OIDs:
		return sai.OIDs{}
	}
	return sai.Uint(0)
}

// bind sets the attributes of ports, queues and priority groups that differ. It first resets those without a target.
func (o *Orch) bind(ctx context.Context, p *plan) {
	for _, s := range sortedAttrs(o.bound) {
		b, wanted := p.binds[s]
		if v, _ := o.value(p, b); wanted && v != nil {
			continue
		}
		err := o.api.Set(ctx, s.key, sai.Attr{ID: s.attr, Value: unbound(o.bound[s])})
		if status, _ := sai.StatusOf(err); err != nil && status != sai.StatusItemNotFound {
			o.log.Error("an attribute could not be cleared", "object", s.key.OID.String(), "attr", s.attr.String(), "err", err)
			o.ledger.Again()
			continue
		}
		delete(o.bound, s)
	}
	for _, s := range sortedAttrs(p.binds) {
		b := p.binds[s]
		to, missing := o.value(p, b)
		switch {
		case o.ledger.Refused(b.by):
		case to == nil:
			o.ledger.Why[b.by] = orch.Wait(missing.Table, missing.Key, "%s %s is not in the ASIC", missing.Table, missing.Key)
		case !reflect.DeepEqual(o.bound[s], to):
			if err := o.api.Set(ctx, s.key, sai.Attr{ID: s.attr, Value: to}); err != nil {
				o.ledger.Fail(b.by, fmt.Sprintf("set %s of %s", s.attr, s.key.OID), err)
				continue
			}
			o.bound[s] = to
		}
	}
}

// target returns the object of a row for references, or nil if it does not exist or is no longer wanted.
func (o *Orch) target(p *plan, k orch.RowKey) *object {
	if _, ok := p.objects[k]; !ok || o.ledger.Refused(k) {
		return nil
	}
	return o.objects[k]
}

// discard queues an object for removal. Profiles precede the pools that they refer to.
func (o *Orch) discard(k sai.Key) {
	if k.Type == sai.ObjectTypeBufferPool {
		o.garbage = append(o.garbage, k)
		return
	}
	o.garbage = append([]sai.Key{k}, o.garbage...)
}

// collect removes the objects that are not wanted, and reports whether any was removed. One that is still in use is
// tried again in the next pass.
func (o *Orch) collect(ctx context.Context, p *plan) (removed bool) {
	for k, obj := range o.objects {
		if _, ok := p.objects[k]; !ok || o.ledger.Refused(k) && orch.Classify(o.ledger.Failed[k]) == orch.Permanent {
			o.discard(obj.key)
			delete(o.objects, k)
		}
	}
	slices.SortStableFunc(o.garbage, func(a, b sai.Key) int {
		pool := func(k sai.Key) int {
			if k.Type == sai.ObjectTypeBufferPool {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(pool(a), pool(b)), cmp.Compare(a.Type, b.Type), cmp.Compare(a.OID, b.OID))
	})
	if err := o.counts.stopPolling(ctx); err != nil { // syncd must not read an object that does not exist
		o.log.Error("counters of buffer pools are still polled", "err", err)
		o.ledger.Again()
		return false
	}
	list := o.garbage
	o.garbage = nil
	for _, k := range list {
		if err := o.api.Remove(ctx, k); err != nil && orch.Classify(err) != orch.Benign {
			o.log.Error("an object stays in the ASIC", "object", k.OID.String(), "err", err)
			o.garbage = append(o.garbage, k)
			o.ledger.Again()
			continue
		}
		removed = true
	}
	return removed
}

func sortedAttrs[V any](m map[attrKey]V) []attrKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b attrKey) int {
		return cmp.Or(cmp.Compare(a.key.Type, b.key.Type), cmp.Compare(a.key.OID, b.key.OID), cmp.Compare(a.attr, b.attr))
	})
}
