package daemons

import (
	"context"
	"maps"

	"tamtam/device/fault"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

// newDesk returns the desk of a daemon that takes faults if it is allowed to. What is injected is told with the
// daemon's health.
func newDesk(h *health, r *swss.Redis, c Common) *fault.Desk {
	h.faults = fault.NewDesk(h.name, r, c.AllowFaults, logOf(c))
	return h.faults
}

// disturbed is what a kernel says of its clock, and the chip's set by faults.
func disturbed(desk *fault.Desk, kernel func() altmark.KernelClock) func() altmark.KernelClock {
	return func() altmark.KernelClock {
		k := kernel()
		k.Ahead += desk.Ahead()
		return k
	}
}

// faults adds the alarms of faults on purpose.
func (a *Alarms) faults(ctx context.Context, want map[string]swss.FieldValues) error {
	told, _, err := fault.Told(ctx, a.redis) // what cannot be read is no desk's
	maps.Copy(want, fault.Alarms(told))
	return err
}
