package feature

import (
	"context"
	"fmt"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
)

// SwitchTAM manages the TAM objects that apply to the whole switch: one attribute that several features share.
type SwitchTAM struct {
	SAI    sai.API
	Switch sai.OID
	bound  sai.OIDs
}

// Add binds a TAM object to the switch.
func (x *SwitchTAM) Add(ctx context.Context, tam sai.OID) error {
	if slices.Contains(x.bound, tam) {
		return nil
	}
	return x.set(ctx, "bind", append(slices.Clone(x.bound), tam))
}

// Remove unbinds a TAM object. It does nothing if the object is not bound.
func (x *SwitchTAM) Remove(ctx context.Context, tam sai.OID) error {
	if !slices.Contains(x.bound, tam) {
		return nil
	}
	return x.set(ctx, "unbind", slices.DeleteFunc(slices.Clone(x.bound), func(o sai.OID) bool { return o == tam }))
}

func (x *SwitchTAM) set(ctx context.Context, what string, bound sai.OIDs) error {
	slices.Sort(bound)
	a := sai.Attr{ID: sai.SwitchAttrTAMObjectID, Value: bound}
	if err := x.SAI.Set(ctx, sai.Obj(sai.ObjectTypeSwitch, x.Switch), a); err != nil && orch.Classify(err) != orch.Benign {
		return fmt.Errorf("%s the TAM object: %w", what, err)
	}
	x.bound = bound
	return nil
}
