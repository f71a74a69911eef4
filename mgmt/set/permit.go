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

// What a Set may do is decided by its paths alone, before anything is read, so that a refusal tells nothing: all that
// a delete or replace names must be the caller's to write, all that a value names, and of a list all entries that the
// path could mean. Only whether an entry is made, and what follows in other lists (breakout), depends on what there is.

// denied is what a Set would do and the caller may not, a text for each path.
type denied []string

func (d *denied) add(v *rights.View, n *tree.Node, keys []string) {
	text := tree.PathText(tree.PathTo(n, keys)) + ": role " + string(v.Role) + " may not write it"
	if !slices.Contains(*d, text) {
		*d = append(*d, text)
	}
}

// err is the answer; nil: nothing is denied.
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

// MayDo refuses steps that a role may not do, as far as their paths and values tell.
func MayDo(v *rights.View, steps []Step) error {
	var d denied
	for _, st := range steps {
		d.step(v, st)
	}
	return d.err()
}

// step notes what of a step is denied.
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

// must notes that an entry that is made, deleted or written whole is not the caller's to write.
func (t *Tx) must(e *txEntry) {
	if t.View != nil && !t.View.Wholly(e.List.Node, e.Keys) {
		t.denied.add(t.View, e.List.Node, e.Keys)
	}
}

// sees reports whether the caller may see a leaf of an entry.
func (t *Tx) sees(e *tree.Entry, n *tree.Node) bool { return t.View == nil || t.View.Reads(n, e.Keys) }

// MayReplace refuses to put one configuration in the place of another, unless the caller may write the rows in
// which they differ as they are: that is what is done.
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

// checkRows notes rows that a Set would change as they are and the caller may not write.
func (t *Tx) checkRows() {
	for _, e := range t.order {
		table, key, ok := e.List.AsIs(e.Keys)
		if ok && t.View != nil && e.touched && e.changed(0) && !t.View.MayWriteRow(table, key) {
			t.denied.add(t.View, e.List.Node, e.Keys)
		}
	}
}
