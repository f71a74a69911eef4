package objects

import (
	"errors"
	"fmt"

	"tamtam/sai"
	"tamtam/tam/altmark"
)

// A markFlow is what the store keeps of an object that says what an index wants of its packets.
type markFlow struct {
	acls *acls
	by   map[uint32]*markFlow // who says what an index wants
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
	other := f.by[next.Index]
	if other != nil && !f.made {
		return fmt.Errorf("index is %d, want one that no other object has", next.Index)
	}
	before, had := f.Index, f.has
	f.release()
	if other != nil {
		other.has = false
	}
	f.made, f.has, f.ChipFlowOf = true, true, next
	f.by[next.Index] = f
	f.acls.marked.of[next.Index] = next
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
		delete(f.by, f.Index)
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
