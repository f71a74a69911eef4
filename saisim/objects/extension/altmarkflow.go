package extension

import (
	"errors"
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/altmark"
)

// A markFlow is the state that the store keeps for an object with the option and outer header of an index.
type markFlow struct {
	of   *Chip
	acls ACLs
	by   map[uint32]*markFlow // object that holds each index
	made bool
	has  bool // true if it holds its index; false if it is new, or if another object now holds the index
	altmark.ChipFlowOf
}

// Apply makes the entries of an index match more. A changed object displaces the object that holds the index, as
// profiles do with lanes.
func (f *markFlow) Apply(text []byte) error {
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
	if f.acls.SetFlow(next); next.Encap != nil || next.Decap != nil {
		f.of.Put(outerRow(next))
	} else if other != nil && (other.Encap != nil || other.Decap != nil) {
		f.of.Drop(config.AltMarkOuter{Index: next.Index})
	}
	if had && before != next.Index {
		f.acls.Rematch(before)
	}
	f.acls.Rematch(next.Index)
	return nil
}

func (f *markFlow) Leave() {
	if f.has {
		f.release()
		f.acls.Rematch(f.Index)
	}
}

func (f *markFlow) release() {
	if f.has {
		delete(f.by, f.Index)
		f.acls.ForgetFlow(f.Index)
		if f.Encap != nil || f.Decap != nil {
			f.of.Drop(config.AltMarkOuter{Index: f.Index})
		}
	}
	f.has = false
}

func (f *markFlow) Read() sai.Value { return nil }

// parse parses an object's ENTRY. The error contains everything that is wrong with it.
func (f *markFlow) parse(text []byte) (altmark.ChipFlowOf, error) {
	v := struct {
		Index     *uint32 `json:"index"`
		FlowMonID *uint32 `json:"flow-mon-id"`

		Encap *altmark.ChipEncap `json:"encap"`
		Decap *altmark.ChipEncap `json:"decap"`
	}{}
	given, err := readExtension(text, altmark.AttrFlow, &v)
	if err != nil {
		return altmark.ChipFlowOf{}, err
	}
	if given == nil {
		return altmark.ChipFlowOf{}, errors.New("flow is missing, want an index and what its packets have")
	}
	if err := errors.Join(checkFlowNumber("index", v.Index, f.of.Profile.AltMark.Flows-1),
		checkFlowNumber("flow-mon-id", v.FlowMonID, altmark.MaxFlowMonID), checkHeaders(v.Encap, v.Decap)); err != nil {
		return altmark.ChipFlowOf{}, err
	}
	return altmark.ChipFlowOf{Index: *v.Index, FlowMonID: *v.FlowMonID, Encap: v.Encap, Decap: v.Decap}, nil
}

// checkHeaders returns an error if the outer header to add or to remove is invalid.
func checkHeaders(encap, decap *altmark.ChipEncap) error {
	switch {
	case encap != nil && decap != nil:
		return errors.New("encap and decap are given, want one of them")
	case encap != nil && (encap.HopLimit < 1 || encap.HopLimit > altmark.MaxEncapHopLimit):
		return fmt.Errorf("hop-limit of encap is %d, want 1 to %d", encap.HopLimit, altmark.MaxEncapHopLimit)
	case decap != nil && (decap.HopLimit != 0 || decap.HopByHop):
		return errors.New("decap has hop-limit or hop-by-hop, want src and dst only")
	}
	for name, e := range map[string]*altmark.ChipEncap{"encap": encap, "decap": decap} {
		if e == nil {
			continue
		}
		if _, err := altmark.ParseEncapAddress(e.Src); err != nil {
			return fmt.Errorf("src of %s is %w", name, err)
		}
		if _, err := altmark.ParseEncapAddress(e.Dst); err != nil {
			return fmt.Errorf("dst of %s is %w", name, err)
		}
	}
	return nil
}

// outerRow returns the row for the outer header of an index that has one.
func outerRow(f altmark.ChipFlowOf) config.AltMarkOuter {
	r := config.AltMarkOuter{Index: f.Index, FlowMonID: f.FlowMonID, Ends: f.Decap != nil}
	e := f.Encap
	if r.Ends {
		e = f.Decap
	}
	r.Src, _ = altmark.ParseEncapAddress(e.Src) // the addresses have been checked
	r.Dst, _ = altmark.ParseEncapAddress(e.Dst)
	r.HopByHop, r.HopLimit = e.HopByHop, uint8(e.HopLimit)
	return r
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
