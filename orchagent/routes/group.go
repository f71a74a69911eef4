package routes

import (
	"context"
	"fmt"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A group is a group of next hops in the ASIC. Routes with the same next hops
// share it.
type group struct {
	oid     sai.OID
	members []sai.OID
	hops    []hop
	refs    int // number of routes that use the group
}

// content returns a key that identifies groups with the same next hops.
func content(hops []schema.Hop) string {
	var b strings.Builder
	for _, h := range hops {
		fmt.Fprintf(&b, "%s@%s*%d ", h.Addr, h.Interface, h.Weight)
	}
	return b.String()
}

// makeGroup returns the key of the group of the next hops, and creates the group if it does not exist.
func (o *Orch) makeGroup(ctx context.Context, hops []schema.Hop) (string, error) {
	name := content(hops)
	if o.groups[name] != nil {
		return name, nil
	}
	var undo orch.Undo
	g, err := o.createGroup(ctx, &undo, hops)
	if err != nil {
		if undoErr := undo.Rollback(ctx); undoErr != nil {
			err = fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undoErr)
		}
		return "", err
	}
	for _, h := range g.hops {
		o.hops[h].refs++
	}
	o.groups[name] = g
	return name, nil
}

func (o *Orch) createGroup(ctx context.Context, undo *orch.Undo, hops []schema.Hop) (*group, error) {
	oid, err := o.api.Create(ctx, sai.ObjectTypeNextHopGroup, []sai.Attr{
		{ID: sai.NextHopGroupAttrType, Value: sai.NextHopGroupTypeDynamicUnorderedEcmp},
	})
	if err != nil {
		return nil, fmt.Errorf("create the group of next hops: %w", err)
	}
	g := &group{oid: oid}
	undo.Push("group of next hops", func(ctx context.Context) error {
		return o.api.Remove(ctx, sai.Obj(sai.ObjectTypeNextHopGroup, oid))
	})
	members := make([][]sai.Attr, len(hops))
	for i, h := range hops {
		key := hop{h.Interface, h.Addr}
		g.hops = append(g.hops, key)
		members[i] = []sai.Attr{
			{ID: sai.NextHopGroupMemberAttrNextHopGroupID, Value: oid},
			{ID: sai.NextHopGroupMemberAttrNextHopID, Value: o.hops[key].oid},
		}
		if h.Weight != 1 {
			members[i] = append(members[i], sai.Attr{ID: sai.NextHopGroupMemberAttrWeight, Value: sai.Uint(h.Weight)})
		}
	}
	oids, errs := o.api.BulkCreate(ctx, sai.ObjectTypeNextHopGroupMember, members)
	for i, err := range errs {
		if err == nil {
			g.members = append(g.members, oids[i])
			undo.Push("member of the group", func(ctx context.Context) error {
				return o.api.Remove(ctx, sai.Obj(sai.ObjectTypeNextHopGroupMember, oids[i]))
			})
		}
	}
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("add %s to the group: %w", g.hops[i], err)
		}
	}
	return g, nil
}

// removeGroups removes the groups that no route uses, and reports whether any was removed. A group that was removed
// only in part is not used again.
func (o *Orch) removeGroups(ctx context.Context) (freed bool) {
	unused := map[string]*group{}
	for name, g := range o.groups {
		if g.refs == 0 {
			unused[name] = g
		}
	}
	for _, name := range sorted(unused) {
		g := unused[name]
		if err := o.removeGroup(ctx, g); err != nil {
			o.stays("a group of next hops", name, err)
			if len(g.members) < len(g.hops) {
				delete(o.groups, name)
				o.groups["rest of "+g.oid.String()] = g
			}
			continue
		}
		for _, h := range g.hops {
			o.hops[h].refs--
		}
		delete(o.groups, name)
		freed = true
	}
	return freed
}

func (o *Orch) removeGroup(ctx context.Context, g *group) error {
	for len(g.members) > 0 {
		last := len(g.members) - 1
		if err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeNextHopGroupMember, g.members[last])); err != nil {
			return fmt.Errorf("remove a member: %w", err)
		}
		g.members = g.members[:last]
	}
	return o.api.Remove(ctx, sai.Obj(sai.ObjectTypeNextHopGroup, g.oid))
}
