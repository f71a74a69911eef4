package amorch

import (
	"context"
	"fmt"
	"slices"

	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// probe asks the ASIC how it supports alternate marking. With profiles, the chip switches the colour. With ACL entries,
// orchagent does.
func (o *Orch) probe(ctx context.Context, api sai.API, sw sai.OID) error {
	lanes, err := feature.Room(ctx, api, altmark.ObjectProfile)
	if err != nil {
		return err
	}
	flows, err := feature.Room(ctx, api, altmark.ObjectFlows)
	if err != nil {
		return err
	}
	ids, err := feature.Room(ctx, api, altmark.ObjectFlow)
	if err != nil {
		return err
	}
	if o.matches = ids > 0; lanes > 0 && flows > 0 {
		o.engine = schema.AltMarkByChip
		o.lanes = make([]*profile, min(lanes, 8))
		o.indices = indices{most: uint32(min(flows, 1<<23))}
		return nil
	}
	actions, err := feature.IngressActions(ctx, api, sw)
	switch {
	case feature.Unanswered(err):
		o.Unsupported = "the switch has no profiles of alternate marking, and does not report its ACL capabilities"
	case err != nil:
		return fmt.Errorf("ask for the actions of ingress ACLs: %w", err)
	case !slices.Contains(actions, sai.ACLActionTypeSetDSCP) || !slices.Contains(actions, sai.ACLActionTypeCounter):
		o.Unsupported = "the switch has no profiles of alternate marking, " +
			"and its ingress ACLs do not have both actions SET_DSCP and COUNTER"
	default:
		o.engine = schema.AltMarkByOrchestrator
	}
	return nil
}
