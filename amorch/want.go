package amorch

import (
	"context"
	"errors"

	"tamtam/orch/feature"
	"tamtam/tam/altmark"
)

// A want is the object of a removed session, with its index. The index is free only after the object was removed,
// because the object applies to the index.
type want struct {
	object feature.Object
	index  uint32
}

// putWant adds a match of the session's FlowMonID to the chip, if the session has one.
func (o *Orch) putWant(ctx context.Context, b *binding, s altmark.Session) error {
	want, some := s.ChipFlow(b.index)
	if !some {
		return nil
	}
	if !o.matches {
		return errNoFlowMonID
	}
	b.want = feature.Object{Name: altmark.ObjectFlow, Attr: altmark.AttrFlow, What: "FlowMonID of a session"}
	return b.want.Put(ctx, o.SAI, want)
}

var errNoFlowMonID = errors.New("flow-mon-id is given, but the switch does not match FlowMonIDs")

// dropWants removes the objects of removed sessions, and frees their indices.
func (o *Orch) dropWants(ctx context.Context) {
	var stay []want
	for _, w := range o.leaving {
		if err := w.object.Remove(ctx, o.SAI); err != nil {
			o.Log.Error("a FlowMonID of alternate marking stays in the ASIC", "index", w.index, "err", err)
			stay = append(stay, w)
			continue
		}
		o.indices.give(w.index)
	}
	o.leaving = stay
}
