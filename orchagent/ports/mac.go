package ports

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// switchMAC is the switch's own address.
type switchMAC struct {
	now, want sai.MAC
	fallback  sai.MAC // the address if DEVICE_METADATA has none
	invalid   error   // why the address in DEVICE_METADATA is not used
	refused   error   // why the ASIC does not have the address that it should have
}

// err returns why the switch does not have its configured address.
func (m *switchMAC) err() error {
	switch {
	case m.invalid != nil && m.refused != nil:
		return fmt.Errorf("%w; %w", m.invalid, m.refused)
	case m.invalid != nil:
		return m.invalid
	}
	return m.refused
}

// setMAC sets the switch's address to that of DEVICE_METADATA, or to the fallback if it has no valid one. The status of
// the switch reports errors.
func (o *Orch) setMAC(ctx context.Context, t orch.Task) error {
	if t.Key != schema.MetadataKey {
		return nil
	}
	m := &o.mac
	m.want, m.invalid = m.fallback, nil
	if text, given := t.Fields["mac"]; given {
		row, err := schema.ParseDeviceMetadata(t.Key, map[string]string{"mac": text})
		switch {
		case err != nil:
			m.invalid = fmt.Errorf("%s|%s: %s; the switch has %s", schema.CfgDeviceMetadata, t.Key, schema.Reason(err),
				schema.MAC(m.want))
		case row.MAC != schema.MAC{}:
			m.want = sai.MAC(row.MAC)
		}
	}
	return o.applyMAC(ctx, time.Time{})
}

// applyMAC sets the switch's address in the ASIC, if it differs.
func (o *Orch) applyMAC(ctx context.Context, _ time.Time) error {
	m, was := &o.mac, fmt.Sprint(o.mac.refused)
	m.refused = nil
	if m.now != m.want {
		err := o.asic.set(ctx, sai.ObjectTypeSwitch, o.asic.chip.switchID, sai.SwitchAttrSrcMACAddress, m.want)
		if err != nil {
			m.refused = fmt.Errorf("set the switch's MAC: %w", err)
			if fmt.Sprint(m.refused) != was {
				o.asic.log.Error("switch", "err", m.refused)
			}
		} else {
			m.now = m.want
			o.layout.Publish(ctx, struct{}{})
		}
	}
	if o.settings.there {
		status, reason := o.daemon.Verdict(schema.StateSwitch, o.settings.err(&o.mac))
		o.daemon.Report(ctx, schema.StateSwitch, schema.SwitchKey, status, reason)
	}
	return nil
}

// macRetry returns the period in which a refused address is set again, or 0 if none is.
func (o *Orch) macRetry() time.Duration {
	if o.mac.refused != nil {
		return retryPeriod
	}
	return 0
}
