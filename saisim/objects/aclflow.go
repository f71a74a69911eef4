package objects

import (
	"slices"
	"strconv"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/altmark"
)

// markIndex returns the flow index of a row's entry. It returns false if the entry is not for a flow.
func (as *acls) markIndex(r *config.ACLEntry) (uint32, bool) {
	for _, a := range r.Actions {
		if a.Kind == config.ActSetMeta && a.Number>>28 == 0xa && as.prof.AltMark.Flows > 0 {
			return uint32(a.Number & (1<<23 - 1)), true
		}
	}
	return 0, false
}

// matchFlow adds the match for the entry's flow index to its row, and returns the text of that match.
func (as *acls) matchFlow(r *config.ACLEntry) (says string) {
	index, ok := as.markIndex(r)
	wants, some := as.marked.of[index]
	if !ok || !some || wants.Encap != nil { // packets arrive without the option
		return ""
	}
	id := uint64(wants.FlowMonID)
	r.Matches = append(r.Matches, config.ACLMatch{
		Field: config.FieldFlowMonID, Value: [2]uint64{1: id}, Mask: [2]uint64{1: altmark.MaxFlowMonID},
	})
	return "flow-mon-id=" + strconv.FormatUint(id, 10)
}

// followFlow records the index that an entry names, and forgets the previous one.
func (as *acls) followFlow(e *aclEntry, oid sai.OID, r *config.ACLEntry) {
	as.unfollowFlow(e, oid)
	if e.index, e.marks = as.markIndex(r); e.marks {
		as.marked.entries[e.index] = append(as.marked.entries[e.index], oid)
	}
}

func (as *acls) unfollowFlow(e *aclEntry, oid sai.OID) {
	if !e.marks {
		return
	}
	rest := slices.DeleteFunc(as.marked.entries[e.index], func(x sai.OID) bool { return x == oid })
	if as.marked.entries[e.index] = rest; len(rest) == 0 {
		delete(as.marked.entries, e.index)
	}
	e.marks = false
}

// SetFlow sets the option that packets of a flow's index have.
func (as *acls) SetFlow(f altmark.ChipFlowOf) { as.marked.of[f.Index] = f }

// ForgetFlow removes the option that packets of an index have.
func (as *acls) ForgetFlow(index uint32) { delete(as.marked.of, index) }
