package amorch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// Names of the extensions of SAI that alternate marking uses; docs/extensions.md.
const (
	Profile = "tamtam.altmark.profile"
	Window  = "tamtam.altmark.flows"
)

// probe asks the ASIC how it can do alternate marking: by profiles of its own, or
// by ACL entries that orchagent switches.
func (o *Orch) probe(ctx context.Context, sw sai.OID) error {
	lanes, err := o.available(ctx, Profile)
	if err != nil {
		return err
	}
	flows, err := o.available(ctx, Window)
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

// available is how many objects of an extension the ASIC has room for; 0: it does
// not have the extension.
func (o *Orch) available(ctx context.Context, name string) (uint64, error) {
	n, err := o.api.Availability(ctx, sai.ObjectTypeGenericProgrammable, []sai.Attr{
		{ID: sai.GenericProgrammableAttrObjectName, Value: sai.Bytes(name)},
	})
	switch {
	case errors.Is(err, swss.ErrUnavailable):
		return 0, err
	case err != nil:
		return 0, nil
	}
	return n, nil
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

// publish tells the managers what the switch can do.
func (o *Orch) publish(ctx context.Context, r *swss.Redis) error {
	row := swss.FieldValues{
		schema.CapabilityField(feature):       fmt.Sprint(o.unsupported == ""),
		schema.CapabilityReasonField(feature): o.unsupported,
	}
	return swss.NewTable(r.DB(swss.ApplDB), schema.AppSwitch).Set(ctx, "switch", row)
}
