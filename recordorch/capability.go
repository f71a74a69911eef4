package recordorch

import (
	"context"
	"errors"
	"slices"

	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/tam/record"
)

// probe asks the ASIC whether it can record, and how it encapsulates mirrored packets.
func (o *Orch) probe(ctx context.Context, api sai.API) error {
	for _, name := range []string{record.ObjectPlan, record.ObjectGraph, record.ObjectCounters} {
		n, err := feature.Room(ctx, api, name)
		if err != nil {
			return err
		}
		if n == 0 {
			o.Unsupported = "the switch cannot record tables: its SAI has no extension " + name
			return nil
		}
	}
	// Selection happens in the parser, because packets that are dropped before the ingress ACL must be recorded too.
	switch can, err := api.AttrCapability(ctx, sai.SwitchAttrPreIngressACL); {
	case errors.Is(err, swss.ErrUnavailable):
		return err
	case err == nil && !can.Set:
		o.Unsupported = "the switch cannot choose packets as they come: its SAI has no " +
			sai.SwitchAttrPreIngressACL.String()
		return nil
	}
	// If the ASIC does not answer this query, the creation of a session reveals the missing capability.
	types, err := api.EnumCapability(ctx, sai.MirrorSessionAttrType)
	if errors.Is(err, swss.ErrUnavailable) {
		return err
	}
	o.noUDP = err == nil && !slices.Contains(types, sai.MirrorSessionTypeSflow)
	o.erspan = sai.ErspanEncapsulationTypeMirrorL3GRETunnel
	has, err := api.EnumCapability(ctx, sai.MirrorSessionAttrErspanEncapsulationType)
	if err == nil && slices.Contains(has, sai.ErspanEncapsulationTypeIi) {
		o.erspan = sai.ErspanEncapsulationTypeIi
	}
	return nil
}
