package set

import (
	"encoding/json"
	"slices"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// unknowns records which results are uncertain while a Set has errors: the results of entries that failed steps name.
// An error that such an entry may explain is not reported, since it may disappear when the step is corrected.
type unknowns struct {
	// at has, by entry, the nodes below which everything is uncertain; true includes the lists below.
	at map[string]map[*tree.Node]bool
	// names holds the keys in paths that could not be resolved, such as an unknown path. An entry whose keys are all in
	// names may have been meant.
	names map[string]bool
}

// add makes a node and all below it uncertain; deep includes the lists there.
func (d *unknowns) add(n *tree.Node, keys []string, deep bool) {
	g := n.List
	keys = keys[:len(g.Keys)]
	if i := slices.Index(keys, tree.Wildcard); i >= 0 { // all entries of a list
		for g.Parent != nil && len(g.Parent.Keys) > i {
			g = g.Parent
		}
		n, g, deep = g.Node, g.Parent, true
	}
	id := tree.EntryID(g, keys[:len(g.Keys)])
	if d.at == nil {
		d.at = map[string]map[*tree.Node]bool{}
	}
	if d.at[id] == nil {
		d.at[id] = map[*tree.Node]bool{}
	}
	d.at[id][n] = d.at[id][n] || deep
}

// addName records that an entry with this key may have been meant.
func (d *unknowns) addName(key string) {
	if d.names == nil {
		d.names = map[string]bool{}
	}
	d.names[key] = true
}

// addValue records that the entries which a value names may have been meant.
func (d *unknowns) addValue(tv *gpb.TypedValue) error {
	var raw []byte
	switch v := tv.GetValue().(type) {
	case *gpb.TypedValue_JsonVal:
		raw = v.JsonVal
	case *gpb.TypedValue_JsonIetfVal:
		raw = v.JsonIetfVal
	default:
		return nil // a scalar, which names no entry
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return err
	}
	d.addJSON(v)
	return nil
}

func (d *unknowns) addJSON(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			d.addJSON(e)
		}
	case []any:
		for _, e := range v {
			d.addJSON(e)
		}
	case string:
		d.addName(v)
	case json.Number:
		d.addName(v.String())
	}
}

// entryUnknown reports whether the entry, or a part of it, is uncertain.
func (d *unknowns) entryUnknown(g *tree.List, keys []string) bool {
	return len(d.at) > 0 && len(d.at[tree.EntryID(g, keys)]) > 0 || d.listUnknown(g, keys)
}

// leafUnknown reports whether the value of a leaf is uncertain.
func (d *unknowns) leafUnknown(leaf *tree.Node, keys []string) bool {
	if len(d.at) > 0 {
		for n := range d.at[tree.EntryID(leaf.List, keys)] {
			if leaf.Within(n) {
				return true
			}
		}
	}
	return d.listUnknown(leaf.List, keys)
}

// listUnknown reports whether something around the entry, or its name, is uncertain.
func (d *unknowns) listUnknown(g *tree.List, keys []string) bool {
	if len(d.at) == 0 && len(d.names) == 0 {
		return false
	}
	for p := g; p.Parent != nil; p = p.Parent {
		own := keys[len(p.Parent.Keys):len(p.Keys)]
		if !slices.ContainsFunc(own, func(k string) bool { return !d.names[k] }) {
			return true
		}
		for n, deep := range d.at[tree.EntryID(p.Parent, keys[:len(p.Parent.Keys)])] {
			if deep && g.Node.Within(n) {
				return true
			}
		}
	}
	return false
}
