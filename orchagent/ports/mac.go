package ports

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// setMAC sets the switch's address to that of DEVICE_METADATA, or to the fallback if it has none.
func (o *Orch) setMAC(ctx context.Context, t orch.Task) error {
	if t.Key != "localhost" {
		return nil
	}
	mac := o.fallback
	if m, ok := schema.ParseMAC(t.Fields["mac"]); ok {
		mac = sai.MAC(m)
	}
	if mac == o.mac {
		return nil
	}
	if err := o.asic.set(ctx, sai.ObjectTypeSwitch, o.asic.chip.switchID, sai.SwitchAttrSrcMACAddress, mac); err != nil {
		return fmt.Errorf("set the switch's MAC: %w", err)
	}
	o.mac = mac
	o.layout.Publish(ctx, struct{}{})
	return nil
}
