package amorch

import (
	"context"
	"errors"

	"tamtam/orch/feature"
	"tamtam/tam/altmark"
)

// A want is the object of a session that is gone, and the index that it keeps from others until it is gone too: they
// would match what it says.
type want struct {
	object feature.Object
	index  uint32
}

// putWant has the chip want a FlowMonID of a session's packets, if the session has one.
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

// dropWants removes the objects of sessions that are gone, and frees their indices.
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
