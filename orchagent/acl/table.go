package acl

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

// A table is an ACL table by name. It has a row, or rules that wait for one.
type table struct {
	name       string
	configured bool // whether there is a row
	row        schema.ACLTable
	parseErr   error // the error in the row itself

	typ     schema.ACLTableType // valid while err is nil
	err     error               // why the table cannot be in the ASIC
	keptOut bool                // whether it is a control plane table: valid, but not for the ASIC

	rules     map[string]*rule
	instances map[string]*instance // by TAM feature; tables without features use the key ""
	failed    map[string]error     // SAI errors of creating instances, with the same keys
	reported  string               // status that was last reported
}

// tam reports whether the table's rules are flow groups.
func (t *table) tam() bool { return t.typ.Name == schema.ACLTypeTAM }

// An instance is a table of the ASIC.
type instance struct {
	table   *table
	feature string
	oid     sai.OID
	def     definition
	bound   map[string]*bound // by port or LAG
	refused map[string]error  // ports and LAGs that could not be bound
	entries int
	most    int  // maximum number of entries that the table has held when full; 0 if unknown
	doomed  bool // whether it must be removed
	fresh   bool // whether it was made in this pass
}

// A definition holds the properties with which a table of the ASIC is created. They cannot change.
type definition struct {
	typ     string
	matches schema.MatchSet
	stage   string
	bind    []string  // bind points, sorted
	actions sai.Enums // action types, sorted; empty if they are not listed
}

func (d definition) equal(e definition) bool {
	return d.typ == e.typ && d.matches == e.matches && d.stage == e.stage &&
		slices.Equal(d.bind, e.bind) && slices.Equal(d.actions, e.actions)
}

// standing returns the state of the table that its rules depend on.
func (t *table) standing() string {
	if t.err != nil {
		return orch.Explain(t.err)
	}
	return fmt.Sprint(t.typ.Name, t.typ.Matches, t.typ.Actions)
}

// judge determines whether the table can be in the ASIC.
func (x *terms) judge(t *table) {
	t.keptOut = false
	t.typ, t.err = x.usable(t)
	if t.err != nil {
		return
	}
	t.keptOut = t.typ.Name == schema.ACLTypeControlPlane
}

func (x *terms) usable(t *table) (schema.ACLTableType, error) {
	none := schema.ACLTableType{}
	if !t.configured {
		return none, orch.Wait("ACL table", t.name, "no ACL table %s", t.name)
	}
	if t.parseErr != nil {
		return none, t.parseErr
	}
	typ, ok := schema.BuiltinACLType(t.row.Type)
	if !ok {
		if typ, ok = x.types[t.row.Type]; !ok {
			return none, orch.Wait("ACL table type", t.row.Type, "no ACL table type %s", t.row.Type)
		}
	}
	if slices.Contains(typ.BindPoints, schema.BindSwitch) {
		return typ, fmt.Errorf("tables of type %s are bound to the whole switch, which tamtam does not do", typ.Name)
	}
	if typ.Name == schema.ACLTypeControlPlane {
		return typ, nil
	}
	for _, name := range t.row.Ports {
		if _, lag, ok := x.ports.Port(name); ok && lag != "" {
			return typ, fmt.Errorf("port %s is a member of %s: bind the table to %s instead", name, lag, lag)
		}
		if _, _, ok := x.ports.LAG(name); ok && !slices.Contains(typ.BindPoints, schema.BindPortChannel) {
			return typ, fmt.Errorf("tables of type %s cannot be bound to a PortChannel such as %s", typ.Name, name)
		}
	}
	return typ, nil
}

// definition returns the properties with which the instance for a feature must be created. For a feature, the actions
// are those of its entries. Otherwise they are the actions that the table type lists, if any.
func (x *terms) definition(t *table, feature string) definition {
	d := definition{typ: t.typ.Name, matches: t.typ.Matches, stage: x.stageOf(t, feature), bind: t.typ.BindPoints}
	if d.stage == schema.StagePreIngress {
		d.bind = []string{schema.BindSwitch}
	}
	switch {
	case feature != "":
		d.actions = slices.Clone(x.features[feature].actions)
		d.matches |= x.features[feature].matches
	case x.listActions(t):
		for _, a := range t.typ.Actions.Fields() {
			if e, ok := actionType(actionIDs[a]); ok && (!a.Samples() || x.capable(a, d.stage) == nil) {
				d.actions = append(d.actions, e)
			}
		}
	}
	slices.Sort(d.actions)
	d.actions = slices.Compact(d.actions)
	return d
}

// stageOf returns the stage of the ACL table that a feature has in the ASIC for t.
func (x *terms) stageOf(t *table, feature string) string {
	if x.early[feature] {
		return schema.StagePreIngress
	}
	return t.row.Stage
}

// listActions reports whether the table is created with a list of its actions. This is so if its type is a row, which
// contains one, or if the ASIC requires it.
func (x *terms) listActions(t *table) bool {
	_, builtin := schema.BuiltinACLType(t.typ.Name)
	return !builtin || x.capability[t.row.Stage].ActionListMandatory
}

// attrs returns the attributes for the creation of the table, in SONiC's order.
func (d definition) attrs() []sai.Attr {
	var points sai.Enums
	for _, b := range d.bind {
		points = append(points, bindPoints[b])
	}
	slices.Sort(points)
	attrs := []sai.Attr{{ID: sai.ACLTableAttrACLBindPointTypeList, Value: points}}
	var fields []sai.Attr
	var ranges sai.Enums
	for _, m := range d.matches.Fields() {
		if r, ok := rangeTypes[m]; ok {
			ranges = append(ranges, r)
		} else {
			fields = append(fields, sai.Attr{ID: fieldIDs[m].table, Value: sai.Bool(true)})
		}
	}
	if len(ranges) > 0 {
		fields = append(fields, sai.Attr{ID: sai.ACLTableAttrFieldACLRangeType, Value: ranges})
	}
	sortAttrs(fields)
	attrs = append(attrs, fields...)
	if len(d.actions) > 0 {
		attrs = append(attrs, sai.Attr{ID: sai.ACLTableAttrACLActionTypeList, Value: d.actions})
	}
	return append(attrs, sai.Attr{ID: sai.ACLTableAttrACLStage, Value: stages[d.stage]})
}

func sortAttrs(attrs []sai.Attr) {
	slices.SortFunc(attrs, func(a, b sai.Attr) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
}

// createInstance creates a table in the ASIC and binds it to the existing ports. If a step fails, the steps before it
// are undone.
func (o *Orch) createInstance(ctx context.Context, t *table, feature string) (*instance, error) {
	var undo orch.Undo
	def := o.terms.definition(t, feature)
	attrs := def.attrs()
	oid, err := o.asic.api.Create(ctx, sai.ObjectTypeACLTable, attrs)
	if err != nil {
		return nil, o.noTable(t.name, def.stage, orch.AtAttr(err, sai.ObjectTypeACLTable, attrs))
	}
	undo.Push("ACL table "+t.name, func(ctx context.Context) error {
		return o.asic.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTable, oid))
	})
	in := &instance{table: t, feature: feature, oid: oid, def: def, bound: map[string]*bound{}, fresh: true}
	for _, tg := range o.terms.targets(t, def.stage) {
		if err := o.asic.bind(ctx, in, tg); err != nil {
			return nil, rolledBack(ctx, &undo, err)
		}
		undo.Push("binding to "+tg.name, func(ctx context.Context) error { return o.asic.unbind(ctx, in, tg.name) })
	}
	t.instances[feature] = in
	o.asic.crm.tableAdded(in)
	o.asic.counters.tableAdded(in)
	return in, nil
}

// removeInstance unbinds a table that has no entries and removes it. If it fails, it can be called again.
func (b *objects) removeInstance(ctx context.Context, in *instance) error {
	for _, name := range slices.SortedFunc(maps.Keys(in.bound), schema.CompareNames) {
		if err := b.unbind(ctx, in, name); err != nil {
			return err
		}
	}
	if err := b.api.Remove(ctx, sai.Obj(sai.ObjectTypeACLTable, in.oid)); err != nil {
		return fmt.Errorf("remove ACL table %s: %w", in.table.name, err)
	}
	delete(in.table.instances, in.feature)
	b.crm.tableRemoved(in)
	b.counters.tableRemoved(in)
	return nil
}

// rolledBack undoes the steps before err, and joins an error of the undoing to err.
func rolledBack(ctx context.Context, undo *orch.Undo, err error) error {
	if undoErr := undo.Rollback(ctx); undoErr != nil {
		return errors.Join(err, undoErr)
	}
	return err
}
