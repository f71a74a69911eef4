package tree

import (
	"maps"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// The difference between an object's configuration and its state in force is found by comparing two rows. One is the
// row that the managers will make of the configuration, computed here by the same parsers. The other is the row in
// APPL_DB. Both have the same canonical form and defaults, so a leaf differs only if its value in force differs. The
// schema determines the leaves to compare: all leaves of state that repeat a leaf of config and are in the row of
// APPL_DB.

// A Configured is the configuration of an entry, for a Row.Wanted.
type Configured struct {
	e  *Entry
	is map[string]string
}

// InForce returns the present row of APPL_DB, or nil if there is none.
func (c Configured) InForce() map[string]string { return c.is }

// Name returns the entry's own key.
func (c Configured) Name() string { return c.e.Keys[len(c.e.Keys)-1] }

// Row returns the entry's row of a table of CONFIG_DB, or nil if there is none.
func (c Configured) Row(table string) map[string]string {
	for i, r := range c.e.List.Rows {
		if r.DB == swss.ConfigDB && r.Table == table {
			return c.e.Rows[i]
		}
	}
	return nil
}

// Port returns the port that a rule names by an alias. ok is false if the alias is unknown.
func (c Configured) Port(alias string) (name string, ok bool) {
	name, ok = c.e.Ports[alias]
	return name, ok
}

// Keys returns the keys of the entry.
func (c Configured) Keys() []string { return c.e.Keys }

// behind returns the parts of an entry's configuration that are not in force. It compares with the row of APPL_DB to
// which the leaf is bound first.
func (e *Entry) behind(n *Node) []string {
	switch {
	case e.Left:
		return One(e.leftBehind())
	case !e.Exists():
		return nil // the entry exists only because of the entries below it
	}
	at := n.Binds[0].Row
	is := e.Rows[at]
	want, err := e.List.Rows[at].Wanted(Configured{e, is})
	switch {
	case err != nil:
		return One("it is not valid as it is configured: " + schema.Reason(err))
	case len(want) == 0 && len(is) == 0:
		return nil
	case want == nil:
		return One("it is not configured any more, all of it is in force still")
	case is == nil:
		return One("nothing of it is in force yet")
	}
	out := e.notActive(n.Binds[1:])
	if maps.Equal(want, is) {
		return out // no leaf differs either
	}
	for _, leaf := range e.List.Leaves {
		i := slices.IndexFunc(leaf.Binds, func(b Bind) bool { return b.Row == at })
		if !leaf.Mirrored || i < 0 {
			continue
		}
		text := func(fields map[string]string) string {
			v := leaf.allowed(leaf.Binds[i].Codec.Get(Record{Keys: e.Keys, Fields: fields}))
			if leaf.LeafList {
				v = slices.Compact(slices.Sorted(slices.Values(v)))
			}
			return strings.Join(v, ",")
		}
		if w, has := text(want), text(is); w != has {
			out = append(out, notInForce(leaf.Name, w, has))
		}
	}
	return out
}

// notActive returns a text for each row that implements the configuration and is not active.
func (e *Entry) notActive(rows []Bind) []string {
	var out []string
	for _, b := range rows {
		row := Record{Fields: e.Rows[b.Row]}
		if status := row.Field(schema.FieldStatus); e.List.Rows[b.Row].DB == swss.StateDB && status != "" &&
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

// Leaves reports whether the traces of an entry that is not configured show that it may be in force. If the ACL rule of
// a flow group is configured, the rule is not a trace: it is in force by itself.
func (e *Entry) Leaves() bool {
	ruled, traced := false, false
	for i, r := range e.List.Rows {
		if r.DB == swss.ConfigDB && e.Rows[i] != nil {
			ruled, e.Rows[i] = true, nil
		}
	}
	for i, r := range e.List.Rows {
		if !e.List.Traces[i] || e.Rows[i] == nil {
			continue
		}
		row := Record{Fields: e.Rows[i]}
		switch {
		case r.Behind != "":
			traced = traced || !ruled
		case row.Field(schema.FieldBy) == schema.ByOrchAgent ||
			strings.EqualFold(row.Field(schema.FieldStatus), schema.StatusActive):
			traced = true
		}
	}
	return traced
}

// leftBehind returns a text about a deleted entry that is still in force.
func (e *Entry) leftBehind() string {
	status, reason := "", ""
	for i, r := range e.List.Rows {
		if r.DB == swss.StateDB && e.Rows[i] != nil && status == "" {
			row := Record{Fields: e.Rows[i]}
			status, reason = strings.ToLower(schema.StatusIn(r.Table, e.Rows[i])), row.Field(schema.FieldReason)
		}
	}
	switch {
	case status == schema.StatusActive:
		return "it is deleted, and in force still"
	case status == "":
		return "it is deleted, and may be in force still"
	case reason == "":
		return "it is deleted, and may be in force still: it is " + status
	}
	return "it is deleted, and may be in force still: it is " + status + ": " + reason
}

// Standing returns a status word for an entry, by its leaves status and not-in-force (nil if it has no such leaf). It
// is active, or the entry's status. It is also pending if there is no status, or if the status belongs to an earlier
// configuration.
func (e *Entry) Standing(status, behind *Node) string {
	word := strings.ToLower(First(e.Value(status)))
	switch {
	case e.Left:
		return schema.StatusPending
	case word != "" && word != schema.StatusActive:
		return word
	case word == "" || behind != nil && First(e.Value(behind)) != "":
		return schema.StatusPending
	}
	return schema.StatusActive
}
