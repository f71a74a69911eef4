package mgmt

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tamtam/swss/schema"
)

// OpenConfig has places of its own for some of what is configured in ours. A Set may name these as well: what it says
// is done to the entries of our list, in the same transaction, so that checks, rows and references are those of ours.
//
// A Get of type CONFIG of what contains both has ours alone, so that a document says everything once, and a Set that
// replaces or deletes what contains both means ours: OpenConfig's place is replaced with it if the value names it.

// A through writes one list of OpenConfig's, or one leaf, in the list where it is configured.
type through struct {
	// put gives a leaf a value; leaf "": the entry is to exist.
	put func(ctx context.Context, t *tx, keys []string, leaf string, v []string) error
	// remove removes the entries that a pattern of keys means; not whole: what they have at or below a node, which a
	// value may follow.
	remove func(ctx context.Context, t *tx, pattern []string, n *node, whole bool) error
}

// throughOf is what writes a node in another place; nil: it is written here.
func (n *node) throughOf() *through {
	if n.through != nil {
		return n.through
	}
	return n.group.through
}

// putThrough does an assignment where it is configured; false: here. An error comes from the database. What contains
// such a list may be one that no Set writes: then its entry is only named.
func (t *tx) putThrough(ctx context.Context, a assignment) (bool, error) {
	n, leaf := a.group.node, ""
	if a.leaf == nil && a.group.readOnly() {
		for i, c := range a.group.derive {
			if v := first(c.Get(Record{Keys: a.keys})); v != a.keys[i] {
				t.faults.add(t.step, at(n, a.keys, fmt.Errorf("is not there: %s, %s", a.group.view, v)))
				t.faults.made.doubt(n, a.keys, true)
			}
		}
		return true, nil
	}
	if a.leaf != nil {
		n = a.leaf
		leaf = strings.TrimPrefix(n.path, a.group.node.path+"/")
	}
	by := n.throughOf()
	if by == nil {
		return false, nil
	}
	err := by.put(ctx, t, a.keys, leaf, a.value)
	if isUnavailable(err) {
		return true, err
	}
	if err != nil {
		t.faults.add(t.step, at(n, a.keys, err))
		t.faults.made.doubt(n, a.keys, true)
	}
	return true, nil
}

// removeThrough removes what a target means, and the lists below it, where that is configured.
func (t *tx) removeThrough(ctx context.Context, x target, replace bool) error {
	whole := x.node == x.node.group.node && (x.wild() || !replace) || x.node.through != nil
	if by := x.node.throughOf(); by != nil {
		err := by.remove(ctx, t, x.keys, x.node, whole)
		if isUnavailable(err) {
			return err
		}
		if err != nil {
			t.faults.add(t.step, at(x.node, x.keys, err))
		}
	}
	for _, k := range x.node.group.kids {
		if !whole && k.through != nil && k.node.within(x.node) {
			if err := t.removeThrough(ctx, target{node: k.node, keys: extend(x.keys, k)}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeLeavesThrough removes the leaves below a target that are written elsewhere.
func (t *tx) removeLeavesThrough(ctx context.Context, x target) error {
	for _, l := range x.node.group.leaves {
		if l.through != nil && l.within(x.node) {
			if err := t.removeThrough(ctx, target{node: l, keys: x.keys}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeNamed removes what the value of a replace names of the lists that are written elsewhere: of them it says all.
func (t *tx) removeNamed(ctx context.Context, st step) error {
	done := map[string]bool{}
	for _, a := range st.values {
		keys := extend(a.keys[:len(a.group.outerKeys())], a.group)
		id := entryID(a.group, keys)
		if a.leaf != nil || a.group.through == nil || done[id] || !st.target[0].node.plain {
			continue
		}
		done[id] = true
		if err := t.removeThrough(ctx, target{node: a.group.node, keys: keys}, false); err != nil {
			return err
		}
	}
	return nil
}

// make makes an entry of one of our lists.
func (t *tx) make(ctx context.Context, path string, keys ...string) error {
	g := t.model.find(path).group
	e, err := t.get(ctx, g, keys)
	if err != nil {
		return err
	}
	err = t.assign(e, assignment{group: g, keys: keys}, true)
	t.did(e, g.node, nil, &t.faults.made)
	return err
}

// erase removes an entry of one of our lists, and what is below it.
func (t *tx) erase(ctx context.Context, e *txEntry) error {
	t.must(e)
	return t.remove(ctx, target{node: e.group.node, keys: e.keys}, false)
}

// ours are the entries of one of our lists that fit a pattern and a condition.
func (t *tx) ours(
	ctx context.Context, path string, fits func(keys []string) bool, pattern ...string,
) ([]*txEntry, error) {
	es, err := t.match(ctx, t.model.find(path).group, pattern)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(es, func(e *txEntry) bool { return !fits(e.keys) }), nil
}

const addressPath = routedPath + "/addresses/address"

// addressThrough writes the addresses of one family, of VLANs or of other interfaces.
func addressThrough(path string, vlan bool, family string) *through {
	fits := ofInterface(vlan, family)
	of := func(ctx context.Context, t *tx, keys []string) ([]*txEntry, error) {
		name, ip := keys[0], keys[len(keys)-1]
		want, err := netip.ParseAddr(ip)
		return t.ours(ctx, addressPath, func(keys []string) bool {
			prefix, bad := netip.ParsePrefix(keys[1])
			return bad == nil && fits([]string{keys[0], prefix.Addr().String()}) && (err != nil || prefix.Addr() == want)
		}, name, wildcard)
	}
	return &through{
		put: func(ctx context.Context, t *tx, keys []string, leaf string, v []string) error {
			if strings.HasPrefix(keys[0], "Vlan") != vlan {
				return fmt.Errorf("addresses of %s are in %s", keys[0], map[bool]string{
					true: "subinterfaces/subinterface[index=0]", false: "routed-vlan",
				}[vlan])
			}
			if leaf == "" {
				t.needs(path, "config/prefix-length", keys, of)
				return nil
			}
			prefix := keys[len(keys)-1] + "/" + v[0]
			there, err := of(ctx, t, keys)
			if err != nil {
				return err
			}
			for _, e := range there {
				if e.keys[1] == prefix {
					return nil
				}
			}
			for _, e := range there { // another length
				if err := t.erase(ctx, e); err != nil {
					return err
				}
			}
			if err := t.make(ctx, routedPath, keys[0]); err != nil {
				return err
			}
			return t.make(ctx, addressPath, keys[0], prefix)
		},
		remove: func(ctx context.Context, t *tx, pattern []string, _ *node, whole bool) error {
			there, err := of(ctx, t, pattern)
			if err != nil {
				return err
			}
			for _, e := range there {
				if err := t.erase(ctx, e); err != nil {
					return err
				}
			}
			if id := entryID(t.model.find(path).group, pattern); whole {
				delete(t.needed, id)
			} else if len(there) > 0 {
				t.needs(path, "config/prefix-length", pattern, of)
			}
			return nil
		},
	}
}

// subinterfaceThrough writes which interfaces route.
func subinterfaceThrough() *through {
	return &through{
		put: func(ctx context.Context, t *tx, keys []string, _ string, _ []string) error {
			switch {
			case keys[1] != "0":
				return fmt.Errorf("index %s: want 0, which is all that is received without a tag", keys[1])
			case strings.HasPrefix(keys[0], "Vlan"):
				return errors.New("a VLAN interface has none: its addresses are in routed-vlan")
			}
			return t.make(ctx, routedPath, keys[0])
		},
		remove: func(ctx context.Context, t *tx, pattern []string, _ *node, whole bool) error {
			if !whole || pattern[1] != "0" && pattern[1] != wildcard {
				return nil
			}
			other := func(keys []string) bool { return !strings.HasPrefix(keys[0], "Vlan") }
			there, err := t.ours(ctx, routedPath, other, pattern[0])
			for i := 0; err == nil && i < len(there); i++ {
				err = t.erase(ctx, there[i])
			}
			return err
		},
	}
}

// memberThrough writes which PortChannel a port is a member of.
func memberThrough() *through {
	const members = interfacesPath + "/aggregation/members/member"
	leave := func(ctx context.Context, t *tx, port, but string) error {
		there, err := t.ours(ctx, members, func(keys []string) bool { return keys[0] != but }, wildcard, port)
		for i := 0; err == nil && i < len(there); i++ {
			err = t.erase(ctx, there[i])
		}
		return err
	}
	return &through{
		put: func(ctx context.Context, t *tx, keys []string, _ string, v []string) error {
			switch {
			case !strings.HasPrefix(keys[0], "Ethernet"):
				return fmt.Errorf("%s is no port", keys[0])
			case !strings.HasPrefix(v[0], "PortChannel"):
				return fmt.Errorf("%s is no PortChannel", v[0])
			}
			if err := leave(ctx, t, keys[0], v[0]); err != nil {
				return err
			}
			return t.make(ctx, members, v[0], keys[0])
		},
		remove: func(ctx context.Context, t *tx, pattern []string, _ *node, _ bool) error {
			return leave(ctx, t, pattern[0], "")
		},
	}
}

const vlanListPath = "/vlans/vlan"

// vlanThrough writes which VLANs there are, and whether they are up.
func vlanThrough() *through {
	return &through{
		put: func(ctx context.Context, t *tx, keys []string, leaf string, v []string) error {
			if keys[0] != "default" {
				return nil // there is no such instance, and that was said
			}
			if name := "Vlan" + keys[1]; leaf == "config/name" && v[0] != name {
				return fmt.Errorf("%s: want %s, which is what it is called", quoted(v[0]), name)
			}
			if err := t.make(ctx, vlanListPath, keys[1]); err != nil || leaf != "config/status" {
				return err
			}
			e, err := t.get(ctx, t.model.find(vlanListPath).group, keys[1:])
			if err != nil {
				return err
			}
			return t.setVLANStatus(e, v)
		},
		remove: func(ctx context.Context, t *tx, pattern []string, n *node, whole bool) error {
			if pattern[0] != "default" && pattern[0] != wildcard {
				return nil
			}
			there, err := t.ours(ctx, vlanListPath, func([]string) bool { return true }, pattern[1])
			for i := 0; err == nil && i < len(there); i++ {
				switch {
				case whole:
					err = t.erase(ctx, there[i])
				case n.name != "name":
					err = t.setVLANStatus(there[i], nil)
				}
			}
			return err
		},
	}
}

// setVLANStatus writes what no leaf of ours has.
func (t *tx) setVLANStatus(e *txEntry, v []string) error {
	t.must(e)
	for i, r := range e.group.rows {
		if r.Table == schema.CfgVLAN && r.written() && e.recs[i] != nil {
			e.touched, e.step = true, t.step
			return vlanStatus().Put(Record{Keys: e.keys, Fields: e.recs[i]}, v)
		}
	}
	return nil
}

// A need is an entry that a Set names and that is nothing without one of its leaves.
type need struct {
	leaf *node
	keys []string
	step int
	of   func(context.Context, *tx, []string) ([]*txEntry, error) // what there is once it has it
}

// needs notes that an entry of a list is to have a leaf when the Set is done.
func (t *tx) needs(
	path, leaf string, keys []string, of func(context.Context, *tx, []string) ([]*txEntry, error),
) {
	if t.needed == nil {
		t.needed = map[string]need{}
	}
	n := t.model.find(path + "/" + leaf)
	t.needed[entryID(n.group, keys)] = need{n, keys, t.step, of}
}

// checkNeeds checks that they have it.
func (t *tx) checkNeeds(ctx context.Context) error {
	for _, id := range sortedKeys(t.needed) {
		n := t.needed[id]
		there, err := n.of(ctx, t, n.keys)
		if err != nil {
			return err
		}
		if len(there) == 0 && !t.faults.made.inDoubt(n.leaf, n.keys) {
			t.faults.add(n.step, at(n.leaf, n.keys, errors.New("is missing")))
		}
	}
	return nil
}
