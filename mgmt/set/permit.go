package set

import (
	"slices"

	"tamtam/mgmt/access"
	"tamtam/mgmt/configfile"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Set's permissions are decided by its paths alone, before any data is read, so that a refusal reveals nothing. The
// caller must be allowed to write everything that a delete, replace or value names. For a list, that includes all
// entries that the path may match. Only the creation of entries, and effects in other lists such as breakout, depend on
// the present rows.

// denied holds the paths that a Set would change without permission, as texts.
type denied []string

func (d *denied) add(v *rights.View, n *tree.Node, keys []string) {
	text := tree.PathText(tree.PathTo(n, keys)) + ": role " + string(v.Role) + " may not write it"
	if !slices.Contains(*d, text) {
		*d = append(*d, text)
	}
}

// err returns the error of the Set, or nil if nothing is denied.
func (d denied) err() error {
	if len(d) == 0 {
		return nil
	}
	f := Faults{}
	for i, text := range d {
		f.add(i, status.Error(codes.PermissionDenied, text))
	}
	return f.err()
}

// MayDo refuses steps that a role may not execute, as far as their paths and values determine that.
func MayDo(v *rights.View, steps []Step) error {
	var d denied
	for _, st := range steps {
		d.step(v, st)
	}
	return d.err()
}

// step records the denied parts of a step.
func (d *denied) step(v *rights.View, st Step) {
	for _, t := range st.target {
		if st.Op == gpb.UpdateResult_UPDATE && v.Some(t.Node, t.Keys, access.Write) ||
			st.Op != gpb.UpdateResult_UPDATE && v.Wholly(t.Node, t.Keys) {
			continue
		}
		d.add(v, t.Node, t.Keys)
	}
	for _, a := range st.values {
		if a.leaf != nil && !v.Wholly(a.leaf, a.keys) {
			d.add(v, a.leaf, a.keys)
		}
	}
}

// must records a denial unless the caller may write the entry as a whole. It is called for entries that are created,
// deleted or written as a whole.
func (t *Tx) must(e *txEntry) {
	if t.View != nil && !t.View.Wholly(e.List.Node, e.Keys) {
		t.denied.add(t.View, e.List.Node, e.Keys)
	}
}

// sees reports whether the caller may see a leaf of an entry.
func (t *Tx) sees(e *tree.Entry, n *tree.Node) bool { return t.View == nil || t.View.Reads(n, e.Keys) }

// MayReplace refuses to replace one configuration with another unless the caller may write the raw rows in which they
// differ. These are the rows that the replacement changes.
func MayReplace(v *rights.View, diffs []configfile.Difference) error {
	if v == nil {
		return nil
	}
	var d denied
	row := v.RowsAsTheyAre()
	for _, diff := range diffs {
		keys := []string{diff.Table, diff.Key}
		switch {
		case v.MayWriteRow(diff.Table, diff.Key):
		case v.Some(row, keys, access.Read):
			d.add(v, row, keys)
		default:
			d.add(v, row.Parent, nil)
		}
	}
	return d.err()
}

// checkRows records raw rows that a Set would change without permission.
func (t *Tx) checkRows() {
	for _, e := range t.order {
		table, key, ok := e.List.AsIs(e.Keys)
		if ok && t.View != nil && e.touched && e.changed(0) && !t.View.MayWriteRow(table, key) {
			t.denied.add(t.View, e.List.Node, e.Keys)
		}
	}
}
