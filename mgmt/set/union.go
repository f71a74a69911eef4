package set

import (
	"context"
	"fmt"
	"slices"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// union_replace (gnmi-union_replace.md) replaces the nodes of all its paths by all its values together. With a single
// writable origin it differs from replace as follows. No path reverts the value of another one, whatever their order.
// Two paths with different values for one leaf are refused.

const unionReplace = gpb.UpdateResult_UNION_REPLACE

// CheckUnion refuses a union_replace that is combined with other operations.
func CheckUnion(req *gpb.SetRequest) error {
	if len(req.GetUnionReplace()) > 0 && len(req.GetDelete())+len(req.GetReplace())+len(req.GetUpdate()) > 0 {
		return status.Error(codes.InvalidArgument, "union_replace goes with no delete, replace or update in one request")
	}
	return nil
}

// A wording is the value that a path of a union_replace has for a leaf.
type wording struct {
	step  int
	value []string
}

// agree removes values that contradict an earlier step, after recording a fault. seen holds the earlier values.
func (p *setParser) agree(as []assignment, seen map[string]wording) []assignment {
	return slices.DeleteFunc(as, func(a assignment) bool {
		if a.leaf == nil {
			return false
		}
		id := tree.EntryID(a.group, a.keys) + "\x00" + a.leaf.Path
		was, known := seen[id]
		if !known {
			seen[id] = wording{len(p.steps), a.value}
			return false
		}
		if slices.Equal(was.value, a.value) {
			return false
		}
		p.fail(fmt.Errorf("%s: %s, and union_replace of %s has another value", a.path(), valueWords(a.value),
			tree.PathText(p.steps[was.step].Path)))
		p.faults.made.add(a.leaf, a.keys, true)
		return true
	})
}

func valueWords(v []string) string {
	if len(v) == 1 {
		return tree.Quoted(v[0])
	}
	return fmt.Sprintf("%d values", len(v))
}

// clearUnion removes the nodes that the paths of a union_replace name, before any of its values is set.
func (t *Tx) clearUnion(ctx context.Context, steps []Step) error {
	for i, st := range steps {
		if st.Op != unionReplace || len(st.target) == 0 {
			continue
		}
		t.step = i
		for _, x := range st.target {
			if err := t.remove(ctx, x, true); err != nil {
				return err
			}
		}
		if err := t.removeNamed(ctx, st); err != nil {
			return err
		}
	}
	return nil
}
