package ports

import (
	"context"
	"errors"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// settings are the settings of the switch in the ASIC.
type settings struct {
	schema.Switch
	there bool  // true if there is a row
	wrong error // why the row is not in force
}

// err returns the errors of the switch's status.
func (s *settings) err(mac *switchMAC) error {
	switch err := mac.err(); {
	case err == nil:
		return s.wrong
	case s.wrong == nil:
		return err
	default:
		return fmt.Errorf("%w; %w", s.wrong, err)
	}
}

// setSwitch applies SWITCH_TABLE to the switch.
func (o *Orch) setSwitch(ctx context.Context, t orch.Task) error {
	if t.Key != schema.SwitchKey {
		return nil
	}
	o.settings.there, o.settings.wrong = t.Op == orch.Set, o.applySettings(ctx, t)
	return o.settings.err(&o.mac)
}

// applySettings sets the attributes that differ from a row.
func (o *Orch) applySettings(ctx context.Context, t orch.Task) error {
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
