package acl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// memberPriority is the priority of all members of a group. Its value does not matter because the groups are parallel.
const memberPriority = 100

// A target is a port or LAG, or the switch, that a table should be bound to.
type target struct {
	name string
	key  sai.Key
}

// A bound is a table's binding to a port, a LAG or the switch.
type bound struct {
	group  *group
	member sai.OID
}

// A group is the table group of a port, a LAG or the switch at a stage. It exists while at least one table is bound
// there.
type group struct {
	oid     sai.OID
	target  target
	stage   string
	members int
}

type groupKey struct{ name, stage string }

// targets returns, sorted by name, the existing ports and LAGs that a table of a stage should be bound to. These are
// the ports and LAGs in its row, or all of them if a TAM table lists none. At the pre-ingress stage the only target is
// the switch.
func (x *terms) targets(t *table, stage string) []target {
	if stage == schema.StagePreIngress {
		return []target{{"the switch", sai.Obj(sai.ObjectTypeSwitch, x.sw)}}
	}
	names := t.row.Ports
	if t.tam() && len(names) == 0 {
		names = x.ports.Names()
	}
	var list []target
	for _, n := range names {
		if oid, lag, ok := x.ports.Port(n); ok && lag == "" {
			list = append(list, target{n, sai.Obj(sai.ObjectTypePort, oid)})
		} else if oid, _, ok := x.ports.LAG(n); ok {
			list = append(list, target{n, sai.Obj(sai.ObjectTypeLAG, oid)})
		}
	}
	return list
}

// absent returns, sorted, the ports in the table's row that do not exist.
func (x *terms) absent(t *table) []string {
	var list []string
	for _, n := range t.row.Ports {
		_, _, port := x.ports.Port(n)
		_, _, lag := x.ports.LAG(n)
		if !port && !lag {
			list = append(list, n)
		}
	}
	return list
}

// bindAttr returns the attribute of a port, a LAG or the switch that holds its group.
func bindAttr(t sai.ObjectType, stage string) sai.AttrID {
	switch {
	case t == sai.ObjectTypeSwitch:
		return sai.SwitchAttrPreIngressACL
	case t == sai.ObjectTypePort && stage == schema.StageIngress:
		return sai.PortAttrIngressACL
	case t == sai.ObjectTypePort:
		return sai.PortAttrEgressACL
	case stage == schema.StageIngress:
		return sai.LAGAttrIngressACL
	}
	return sai.LAGAttrEgressACL
}

// bind binds a table to a target. If a step fails, the steps before it are undone.
func (b *objects) bind(ctx context.Context, in *instance, tg target) error {
	var undo orch.Undo
	gk := groupKey{tg.name, in.def.stage}
	g := b.groups[gk]
	if g == nil {
		var err error
		if g, err = b.createGroup(ctx, &undo, gk, tg); err != nil {
			return rolledBack(ctx, &undo, err)
		}
	}
	member, err := b.api.Create(ctx, sai.ObjectTypeACLTableGroupMember, []sai.Attr{
		{ID: sai.ACLTableGroupMemberAttrACLTableGroupID, Value: g.oid},
		{ID: sai.ACLTableGroupMemberAttrACLTableID, Value: in.oid},
		{ID: sai.ACLTableGroupMemberAttrPriority, Value: sai.Uint(memberPriority)},
	})
	if err != nil {
		return rolledBack(ctx, &undo,
			fmt.Errorf("make ACL table %s a member of the group of %s: %w", in.table.name, tg.name, err))
	}
	g.members++
	in.bound[tg.name] = &bound{group: g, member: member}
	return nil
}

func (b *objects) createGroup(ctx context.Context, undo *orch.Undo, gk groupKey, tg target) (*group, error) {
	point := bindPoints[schema.BindPort]
	switch tg.key.Type {
	case sai.ObjectTypeLAG:
		point = bindPoints[schema.BindPortChannel]
	case sai.ObjectTypeSwitch:
		point = bindPoints[schema.BindSwitch]
	}
	oid, err := b.api.Create(ctx, sai.ObjectTypeACLTableGroup, []sai.Attr{
		{ID: sai.ACLTableGroupAttrACLStage, Value: stages[gk.stage]},
		{ID: sai.ACLTableGroupAttrACLBindPointTypeList, Value: sai.Enums{point}},
		{ID: sai.ACLTableGroupAttrType, Value: sai.ACLTableGroupTypeParallel},
	})
	if err != nil {
		return nil, fmt.Errorf("create the ACL group of %s: %w", tg.name, err)
	}
	g := &group{oid: oid, target: tg, stage: gk.stage}
	undo.Push("ACL group of "+tg.name, func(ctx context.Context) error {
		delete(b.groups, gk)
		b.crm.groupRemoved(g)
		return b.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTableGroup, oid))
	})
	b.groups[gk] = g
	b.crm.groupAdded(g)
	id := bindAttr(tg.key.Type, gk.stage)
	if err := b.api.Set(ctx, tg.key, sai.Attr{ID: id, Value: oid}); err != nil {
		return nil, fmt.Errorf("bind the ACL group to %s: %w", tg.name, err)
	}
	undo.Push("binding of the ACL group to "+tg.name, func(ctx context.Context) error {
		return b.api.Set(ctx, tg.key, sai.Attr{ID: id, Value: sai.NullOID})
	})
	return g, nil
}

// unbind unbinds a table from a target, and removes the group if this was its last table. If unbind fails, it can be
// called again.
func (b *objects) unbind(ctx context.Context, in *instance, name string) error {
	was := in.bound[name]
	g := was.group
	if was.member != sai.NullOID {
		if err := b.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTableGroupMember, was.member)); err != nil {
			return fmt.Errorf("take ACL table %s out of the group of %s: %w", in.table.name, name, err)
		}
		was.member = sai.NullOID
		g.members--
	}
	if g.members == 0 {
		none := sai.Attr{ID: bindAttr(g.target.key.Type, g.stage), Value: sai.NullOID}
		if err := b.api.Set(ctx, g.target.key, none); err != nil {
			return fmt.Errorf("unbind the ACL group from %s: %w", name, err)
		}
		if err := b.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTableGroup, g.oid)); err != nil {
			return fmt.Errorf("remove the ACL group of %s: %w", name, err)
		}
		delete(b.groups, groupKey{name, g.stage})
		b.crm.groupRemoved(g)
	}
	delete(in.bound, name)
	return nil
}

// rebind updates the bindings of a table that stays in the ASIC. A port that cannot be bound does not delay the other
// ports.
func (o *Orch) rebind(ctx context.Context, in *instance) {
	want := map[string]target{}
	for _, tg := range o.terms.targets(in.table, in.def.stage) {
		want[tg.name] = tg
	}
	was := in.refused
	in.refused = nil
	refuse := func(name string, err error) {
		if in.refused == nil {
			in.refused = map[string]error{}
		}
		if in.refused[name] = err; was[name] == nil {
			o.asic.log.Error("ACL binding", "table", in.table.name, "port", name, "err", err)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(in.bound), schema.CompareNames) {
		if tg, ok := want[name]; ok && tg == in.bound[name].group.target && in.bound[name].member != sai.NullOID {
			delete(want, name)
			continue
		}
		if err := o.asic.unbind(ctx, in, name); err != nil {
			refuse(name, err)
			delete(want, name)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(want), schema.CompareNames) {
		if err := o.asic.bind(ctx, in, want[name]); err != nil {
			refuse(name, err)
		}
	}
}
