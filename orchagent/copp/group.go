package copp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// makeGroups brings the groups that have rows to their target state.
func (o *Orch) makeGroups(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(p.groups)) {
		g := p.groups[name]
		if err := o.makeGroup(ctx, name, &g); err != nil {
			o.ledger.Fail(row(name), "trap group", err)
		}
	}
}

// makeGroup makes or changes a group with its policer. If a step fails, group and policer stay as they were.
func (o *Orch) makeGroup(ctx context.Context, name string, want *schema.COPPGroup) error {
	have := o.groups[name]
	if have == nil && name == schema.COPPDefault {
		if o.own == sai.NullOID {
			return errors.New("the switch has no default trap group")
		}
		have = &group{object: object{sai.Obj(sai.ObjectTypeHostifTrapGroup, o.own), groupAttrs(0, nil)}}
	}
	var undo orch.Undo
	next := &group{}
	if have != nil {
		*next = *have
	}
	if err := o.stepsOf(ctx, &undo, next, want); err != nil {
		err = orch.Undone(ctx, &undo, err)
		if have != nil { // record the attributes that the undo has left
			have.attrs = next.attrs
			o.groups[name] = have
		}
		return err
	}
	o.groups[name] = next
	if was := policerOf(have); was != policerOf(next) {
		o.counts.set(name, next.policer)
		if was != nil {
			o.garbage = append(o.garbage, was.key)
		}
	}
	return nil
}

// stepsOf brings a group to its target state step by step. undo reverts the steps.
func (o *Orch) stepsOf(ctx context.Context, undo *orch.Undo, g *group, want *schema.COPPGroup) error {
	if err := o.makePolicer(ctx, undo, g, policerAttrs(&want.COPPPolicer)); err != nil {
		return fmt.Errorf("policer: %w", err)
	}
	attrs := groupAttrs(want.Queue, g.policer)
	if g.key.OID != sai.NullOID {
		return o.change(ctx, undo, &g.object, attrs)
	}
	made, err := o.create(ctx, sai.ObjectTypeHostifTrapGroup, attrs)
	if err == nil {
		g.object = *made
	}
	return err
}

func policerOf(g *group) *object {
	if g == nil {
		return nil
	}
	return g.policer
}

// makePolicer gives a new or changed group its policer. This is its current one with other attributes, a new one if SAI
// cannot change the attributes, or none if attrs is nil.
func (o *Orch) makePolicer(ctx context.Context, undo *orch.Undo, g *group, attrs []sai.Attr) error {
	if attrs == nil {
		g.policer = nil
		return nil
	}
	if g.policer != nil && canChange(g.policer.attrs, attrs) {
		return o.change(ctx, undo, g.policer, attrs)
	}
	made, err := o.create(ctx, sai.ObjectTypePolicer, attrs)
	if err != nil {
		return err
	}
	g.policer = made
	undo.Push("create", func(ctx context.Context) error {
		err := o.api.Remove(ctx, made.key)
		if err != nil {
			o.garbage = append(o.garbage, made.key)
		}
		return err
	})
	return nil
}

// canChange reports whether an object can be changed to have the attributes want.
func canChange(have, want []sai.Attr) bool {
	return slices.EqualFunc(have, want, func(a, b sai.Attr) bool {
		return a.ID == b.ID && (a.Value == b.Value || sai.Meta(a.ID).Has(sai.CreateAndSet))
	})
}

func groupAttrs(queue uint8, policer *object) []sai.Attr {
	oid := sai.NullOID
	if policer != nil {
		oid = policer.key.OID
	}
	return []sai.Attr{
		{ID: sai.HostifTrapGroupAttrQueue, Value: sai.Uint(queue)}, {ID: sai.HostifTrapGroupAttrPolicer, Value: oid},
	}
}

// removeGroups removes groups without a row. It runs last, since traps may have moved to other groups.
func (o *Orch) removeGroups(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(o.groups)) {
		g := o.groups[name]
		if _, ok := p.groups[name]; ok {
			continue
		}
		if name == schema.COPPDefault {
			var undo orch.Undo
			if err := o.change(ctx, &undo, &g.object, groupAttrs(0, nil)); err != nil {
				o.log.Error("the default trap group stays as it was", "err", orch.Undone(ctx, &undo, err))
				o.ledger.Again()
				continue
			}
		} else if !o.remove(ctx, g.key, "trap group "+name) {
			continue
		}
		delete(o.groups, name)
		if g.policer != nil {
			o.counts.set(name, nil)
			o.garbage = append(o.garbage, g.policer.key)
		}
	}
}

// collect removes the policers that are no longer in use, and reports whether any was removed. It first flushes the
// counters, since syncd must not read them any more. Failures are tried again in the next pass.
func (o *Orch) collect(ctx context.Context) (removed bool) {
	if len(o.garbage) == 0 {
		return false
	}
	if err := o.counts.flush(ctx); err != nil {
		o.log.Error("policers that go are still polled", "err", err)
		return false
	}
	had := len(o.garbage)
	o.garbage = slices.DeleteFunc(o.garbage, func(k sai.Key) bool { return o.remove(ctx, k, "policer") })
	return len(o.garbage) < had
}
