package objects

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/altmark"
)

// markFlows are what the ACL entries of flows of alternate marking match besides what they say themselves.
type markFlows struct {
	of      map[uint32]*markFlow // by index
	entries map[uint32][]sai.OID // that name an index
}

func newMarkFlows() markFlows {
	return markFlows{of: map[uint32]*markFlow{}, entries: map[uint32][]sai.OID{}}
}

// A markFlow is what the store keeps of an object that says what an index wants of its packets.
type markFlow struct {
	acls *acls
	made bool
	has  bool // its index: else another object has taken it, or it is new
	altmark.ChipFlowOf
}

// apply has the entries of an index match more. One that is changed takes the index from the one that has it, as
// profiles take lanes.
func (f *markFlow) apply(text []byte) error {
	next, err := f.parse(text)
	if err != nil {
		return err
	}
	other := f.acls.marked.of[next.Index]
	if other != nil && !f.made {
		return fmt.Errorf("index is %d, want one that no other object has", next.Index)
	}
	before, had := f.Index, f.has
	f.release()
	if other != nil {
		other.has = false
	}
	f.made, f.has, f.ChipFlowOf = true, true, next
	f.acls.marked.of[next.Index] = f
	if had && before != next.Index {
		f.acls.matchAnew(before)
	}
	f.acls.matchAnew(next.Index)
	return nil
}

func (f *markFlow) leave() {
	if f.has {
		f.release()
		f.acls.matchAnew(f.Index)
	}
}

func (f *markFlow) release() {
	if f.has {
		delete(f.acls.marked.of, f.Index)
	}
	f.has = false
}

func (f *markFlow) read() sai.Value { return nil }

// parse reads an object's ENTRY; an error says all that is wrong with it.
func (f *markFlow) parse(text []byte) (altmark.ChipFlowOf, error) {
	v := struct {
		Index     *uint32 `json:"index"`
		FlowMonID *uint32 `json:"flow-mon-id"`
	}{}
	given, err := readExtension(text, altmark.AttrFlow, &v)
	if err != nil {
		return altmark.ChipFlowOf{}, err
	}
	if given == nil {
		return altmark.ChipFlowOf{}, errors.New("flow is missing, want an index and what its packets have")
	}
	if err := errors.Join(checkFlowNumber("index", v.Index, f.acls.prof.AltMark.Flows-1),
		checkFlowNumber("flow-mon-id", v.FlowMonID, altmark.MaxFlowMonID)); err != nil {
		return altmark.ChipFlowOf{}, err
	}
	return altmark.ChipFlowOf{Index: *v.Index, FlowMonID: *v.FlowMonID}, nil
}

func checkFlowNumber(name string, v *uint32, most uint32) error {
	switch {
	case v == nil:
		return fmt.Errorf("%s is missing, want 0 to %d", name, most)
	case *v > most:
		return fmt.Errorf("%s is %d, want 0 to %d", name, *v, most)
	}
	return nil
}

// markIndex is the index of the flow that a row's entry is of, false if it is of none.
func (as *acls) markIndex(r *config.ACLEntry) (uint32, bool) {
	for _, a := range r.Actions {
		if a.Kind == config.ActSetMeta && a.Number>>28 == 0xa && as.prof.AltMark.Flows > 0 {
			return uint32(a.Number & (1<<23 - 1)), true
		}
	}
	return 0, false
}

// matchFlow adds to an entry's row what its index wants, and returns what the entry says by that.
func (as *acls) matchFlow(r *config.ACLEntry) (says string) {
	index, ok := as.markIndex(r)
	if !ok || as.marked.of[index] == nil {
		return ""
	}
	id := uint64(as.marked.of[index].FlowMonID)
	r.Matches = append(r.Matches, config.ACLMatch{
		Field: config.FieldFlowMonID, Value: [2]uint64{1: id}, Mask: [2]uint64{1: altmark.MaxFlowMonID},
	})
	return "flow-mon-id=" + strconv.FormatUint(id, 10)
}

// followFlow notes which index an entry names, instead of the one that it named before.
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

// matchAnew puts the rows of the entries of an index again. They have been put before, so nothing is wrong with them.
func (as *acls) matchAnew(index uint32) {
	for _, oid := range as.marked.entries[index] {
		o := as.objects[oid]
		if r, err := as.entryRow(o, o.self.(*aclEntry).table); err == nil {
			as.put(r)
		}
	}
}
