package amorch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
)

// Names of the extensions of SAI that alternate marking uses; docs/extensions.md.
const (
	Profile = "tamtam.altmark.profile"
	Window  = "tamtam.altmark.flows"
)

// probe asks the ASIC how it can do alternate marking: by profiles of its own, or
// by ACL entries that orchagent switches.
func (o *Orch) probe(ctx context.Context, sw sai.OID) error {
	lanes, err := orch.ExtensionRoom(ctx, o.api, Profile)
	if err != nil {
		return err
	}
	flows, err := orch.ExtensionRoom(ctx, o.api, Window)
	if err != nil {
		return err
	}
	if lanes > 0 && flows > 0 {
		o.engine = schema.AltMarkByChip
		o.lanes = make([]*profile, min(lanes, 8))
		o.indices = indices{most: uint32(min(flows, 1<<23))}
		return nil
	}
	actions, err := stageActions(ctx, o.api, sw)
	switch {
	case unanswered(err):
		o.unsupported = "the switch has no profiles of alternate marking, and does not say what its ACLs can do"
	case err != nil:
		return fmt.Errorf("ask for the actions of ingress ACLs: %w", err)
	case !slices.Contains(actions, sai.ACLActionTypeSetDSCP) || !slices.Contains(actions, sai.ACLActionTypeCounter):
		o.unsupported = "the switch has no profiles of alternate marking, and its ingress ACLs do not have both actions SET_DSCP and COUNTER"
	default:
		o.engine = schema.AltMarkByOrchestrator
	}
	return nil
}

// unanswered says whether the ASIC did not know an answer to a question.
func unanswered(err error) bool {
	return errors.Is(err, sai.StatusNotSupported) || errors.Is(err, sai.StatusNotImplemented) ||
		errors.Is(err, sai.StatusAttrNotImplemented0) || errors.Is(err, sai.StatusAttrNotSupported0)
}

func stageActions(ctx context.Context, api sai.API, sw sai.OID) ([]sai.Enum, error) {
	k := sai.Obj(sai.ObjectTypeSwitch, sw)
	got, err := api.Get(ctx, k, []sai.Attr{sai.Want(sai.SwitchAttrACLStageIngress, 128)})
	if errors.Is(err, sai.StatusBufferOverflow) && len(got) == 1 {
		if n, ok := sai.ListLen(got[0].Value); ok {
			got, err = api.Get(ctx, k, []sai.Attr{sai.Want(sai.SwitchAttrACLStageIngress, n)})
		}
	}
	if err != nil {
		return nil, err
	}
	c, _ := got[0].Value.(sai.ACLCapability)
	return c.Actions, nil
}
