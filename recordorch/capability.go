package recordorch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tamtam/record"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// probe asks the ASIC whether it can record, and how its mirror sessions are
// tunnelled.
func (o *Orch) probe(ctx context.Context) error {
	for _, name := range []string{record.ObjectPlan, record.ObjectGraph, record.ObjectCounters} {
		n, err := o.available(ctx, name)
		if err != nil {
			return err
		}
		if n == 0 {
			o.unsupported = "the switch cannot record tables: its SAI has no extension " + name
			return nil
		}
	}
	// What an ASIC does not say, creating a session will.
	types, err := o.api.EnumCapability(ctx, sai.MirrorSessionAttrType)
	if errors.Is(err, swss.ErrUnavailable) {
		return err
	}
	o.noUDP = err == nil && !slices.Contains(types, sai.MirrorSessionTypeSflow)
	o.erspan = sai.ErspanEncapsulationTypeMirrorL3GRETunnel
	if has, err := o.api.EnumCapability(ctx, sai.MirrorSessionAttrErspanEncapsulationType); err == nil && slices.Contains(has, sai.ErspanEncapsulationTypeIi) {
		o.erspan = sai.ErspanEncapsulationTypeIi
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

// publish tells the managers what the switch can do.
func (o *Orch) publish(ctx context.Context, r *swss.Redis) error {
	row := swss.FieldValues{
		schema.CapabilityField(feature):       fmt.Sprint(o.unsupported == ""),
		schema.CapabilityReasonField(feature): o.unsupported,
	}
	return swss.NewTable(r.DB(swss.ApplDB), schema.AppSwitch).Set(ctx, "switch", row)
}
