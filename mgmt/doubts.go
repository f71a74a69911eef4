package mgmt

import (
	"encoding/json"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// doubts are what cannot be known while a Set has errors: the result for entries that failed steps
// name. An error that such an entry may explain is not reported, since it may disappear with the
// error of the step.
type doubts struct {
	// at has, by entry, the nodes below which everything is in doubt; true: the lists below, too.
	at map[string]map[*node]bool
	// names are the keys in what could not be understood, such as a path that leads nowhere. An
	// entry whose keys are all among them may have been meant.
	names map[string]bool
}

// doubt says that nothing is known about a node and what is below it; deep: about the lists there,
// too.
func (d *doubts) doubt(n *node, keys []string, deep bool) {
	g := n.group
	keys = keys[:len(g.keys)]
	if i := slices.Index(keys, wildcard); i >= 0 { // all of a list
		for g.parent != nil && len(g.parent.keys) > i {
			g = g.parent
		}
		n, g, deep = g.node, g.parent, true
	}
	id := entryID(g, keys[:len(g.keys)])
	if d.at == nil {
		d.at = map[string]map[*node]bool{}
	}
	if d.at[id] == nil {
		d.at[id] = map[*node]bool{}
	}
	d.at[id][n] = d.at[id][n] || deep
}

// doubtName says that an entry with this key may have been meant.
func (d *doubts) doubtName(key string) {
	if d.names == nil {
		d.names = map[string]bool{}
	}
	d.names[key] = true
}

// doubtValue says that the entries which a value names may have been meant.
func (d *doubts) doubtValue(tv *gpb.TypedValue) error {
	var raw []byte
	switch v := tv.GetValue().(type) {
	case *gpb.TypedValue_JsonVal:
		raw = v.JsonVal
	case *gpb.TypedValue_JsonIetfVal:
		raw = v.JsonIetfVal
	default:
		return nil // of a leaf, which names no entry
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return err
	}
	d.doubtJSON(v)
	return nil
}

func (d *doubts) doubtJSON(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			d.doubtJSON(e)
		}
	case []any:
		for _, e := range v {
			d.doubtJSON(e)
		}
	case string:
		d.doubtName(v)
	case json.Number:
		d.doubtName(v.String())
	}
}

// entryInDoubt reports whether the entry, or a part of it, is in doubt.
func (d *doubts) entryInDoubt(g *group, keys []string) bool {
	return len(d.at) > 0 && len(d.at[entryID(g, keys)]) > 0 || d.listInDoubt(g, keys)
}

// inDoubt reports whether the value of a leaf is.
func (d *doubts) inDoubt(leaf *node, keys []string) bool {
	if len(d.at) > 0 {
		for n := range d.at[entryID(leaf.group, keys)] {
			if leaf.within(n) {
				return true
			}
		}
	}
	return d.listInDoubt(leaf.group, keys)
}

// listInDoubt reports whether something around the entry is in doubt, or its name.
func (d *doubts) listInDoubt(g *group, keys []string) bool {
	if len(d.at) == 0 && len(d.names) == 0 {
		return false
	}
	for p := g; p.parent != nil; p = p.parent {
		own := keys[len(p.parent.keys):len(p.keys)]
		if !slices.ContainsFunc(own, func(k string) bool { return !d.names[k] }) {
			return true
		}
		for n, deep := range d.at[entryID(p.parent, keys[:len(p.parent.keys)])] {
			if deep && g.node.within(n) {
				return true
			}
		}
	}
	return false
}
