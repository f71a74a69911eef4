package mgmt

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// What of an object is not in force follows from two rows: the one that the managers make of the
// configuration, computed here by the same parsers, and the one in APPL_DB. Both are in the same
// canonical words, with the same defaults, so a leaf differs only if something else is in force.
// The schema tells which leaves to compare: all of state that repeat one of config and are in that
// row.

// A Configured is the configuration of an entry, for a Row.Wanted.
type Configured struct {
	e  *entry
	is map[string]string
}

// InForce is the row of APPL_DB as it is; nil: there is none.
func (c Configured) InForce() map[string]string { return c.is }

// Name is the entry's own key.
func (c Configured) Name() string { return c.e.keys[len(c.e.keys)-1] }

// Row returns the entry's row of a table of CONFIG_DB; nil: there is none.
func (c Configured) Row(table string) map[string]string {
	for i, r := range c.e.group.rows {
		if r.DB == swss.ConfigDB && r.Table == table {
			return c.e.recs[i]
		}
	}
	return nil
}

// Port returns the port that a rule names by an alias; false: it is none.
func (c Configured) Port(alias string) (name string, ok bool) {
	name, ok = c.e.ports[alias]
	return name, ok
}

// Keys are the keys of the entry.
func (c Configured) Keys() []string { return c.e.keys }

// behind says what of an entry's configuration is not in force, by the row of APPL_DB
// that the leaf's first place is.
func (e *entry) behind(n *node) []string {
	switch {
	case e.left:
		return one(e.leftBehind())
	case !e.exists():
		return nil // it exists for what is below it
	}
	at := n.binds[0].row
	is := e.recs[at]
	want, err := e.group.rows[at].Wanted(Configured{e, is})
	switch {
	case err != nil:
		return one("it is not valid as it is configured: " + schema.Reason(err))
	case len(want) == 0 && len(is) == 0:
		return nil
	case want == nil:
		return one("it is not configured any more, all of it is in force still")
	case is == nil:
		return one("nothing of it is in force yet")
	}
	out := e.notActive(n.binds[1:])
	if maps.Equal(want, is) {
		return out // and no leaf differs
	}
	for _, leaf := range e.group.leaves {
		i := slices.IndexFunc(leaf.binds, func(b bind) bool { return b.row == at })
		if !leaf.mirrored || i < 0 {
			continue
		}
		text := func(fields map[string]string) string {
			v := leaf.allowed(leaf.binds[i].codec.Get(Record{Keys: e.keys, Fields: fields}))
			if leaf.leafList {
				v = slices.Compact(slices.Sorted(slices.Values(v)))
			}
			return strings.Join(v, ",")
		}
		if w, has := text(want), text(is); w != has {
			out = append(out, notInForce(leaf.name, w, has))
		}
	}
	return out
}

// notActive says which of the rows that implement the configuration are not in effect.
func (e *entry) notActive(rows []bind) []string {
	var out []string
	for _, b := range rows {
		row := Record{Fields: e.recs[b.row]}
		if status := row.Field(schema.FieldStatus); e.group.rows[b.row].DB == swss.StateDB && status != "" &&
			!strings.EqualFold(status, schema.StatusActive) {
			text := "its ACL rule is " + strings.ToLower(status)
			if reason := row.Field(schema.FieldReason); reason != "" {
				text += ": " + reason
			}
			out = append(out, text)
		}
	}
	return out
}

// notInForce returns the text that a leaf is not in force as configured.
func notInForce(leaf, wanted, is string) string {
	if leaf == "flowgroup" {
		leaf = "flow group"
	}
	switch {
	case wanted == "":
		return leaf + " " + is + " is in force still"
	case is == "":
		return leaf + " " + wanted + " is not in force yet"
	}
	return leaf + " " + wanted + " is not in force yet, " + is + " is"
}

// resolvePorts finds the ports that rules name by aliases. Ports are read only if there are such
// rules.
func (r reader) resolvePorts(ctx context.Context, g *group, entries []*entry) error {
	config := slices.IndexFunc(g.rows, func(r *row) bool { return r.DB == swss.ConfigDB && r.Table == schema.CfgACLRule })
	appl := slices.IndexFunc(g.rows, func(r *row) bool { return r.Wanted != nil })
	if config < 0 || appl < 0 {
		return nil
	}
	var ports map[string]string
	for _, e := range entries {
		names, is := Record{Fields: e.recs[config]}.Field("IN_PORTS"), Record{Fields: e.recs[appl]}.Field("IN_PORTS")
		if names == "" || is == "" || names == is {
			continue
		}
		if ports == nil {
			var err error
			if ports, err = r.portNames(ctx); err != nil {
				return err
			}
		}
		e.ports = ports
	}
	return nil
}

// portNames returns the ports by alias. A port's own name comes before any alias; of ports with the
// same alias the first has it.
func (r reader) portNames(ctx context.Context) (map[string]string, error) {
	db := r.redis.DB(swss.ConfigDB)
	rows, err := swss.NewTable(db, schema.CfgPort).Dump(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	lags, err := swss.NewTable(db, schema.CfgPortChannel).Keys(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	ports := map[string]string{}
	for name, fields := range rows {
		alias := fields["alias"]
		if was, ok := ports[alias]; alias != "" && (!ok || schema.CompareNames(name, was) < 0) {
			ports[alias] = name
		}
	}
	for _, name := range slices.AppendSeq(lags, maps.Keys(rows)) {
		delete(ports, name)
	}
	return ports, nil
}
