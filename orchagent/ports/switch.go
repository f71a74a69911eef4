package ports

import (
	"context"
	"errors"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// setSwitch applies SWITCH_TABLE to the switch.
func (o *Orch) setSwitch(ctx context.Context, t orch.Task) error {
	if t.Key != schema.SwitchKey {
		return nil
	}
	want, err := schema.ParseSwitch(t.Key, t.Fields)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range []struct {
		what      string
		id        sai.AttrID
		have, now *uint32
	}{
		{"ageing time", sai.SwitchAttrFDBAgingTime, &o.settings.FDBAging, &want.FDBAging},
		{"ECMP hash seed", sai.SwitchAttrEcmpDefaultHashSeed, &o.settings.ECMPSeed, &want.ECMPSeed},
		{"LAG hash seed", sai.SwitchAttrLAGDefaultHashSeed, &o.settings.LAGSeed, &want.LAGSeed},
	} {
		if *s.have == *s.now {
			continue
		}
		if err := o.asic.set(ctx, sai.ObjectTypeSwitch, o.asic.chip.switchID, s.id, sai.Uint(*s.now)); err != nil {
			errs = append(errs, fmt.Errorf("set the %s: %w", s.what, err))
			continue
		}
		*s.have = *s.now
	}
	return errors.Join(errs...)
}
