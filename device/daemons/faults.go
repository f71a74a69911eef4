package daemons

import (
	"maps"

	"tamtam/device/fault"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

// newFaultController returns the fault controller of a daemon, which accepts faults if allowed. Injected faults are
// reported with the daemon's health.
func newFaultController(h *health, r *swss.Redis, c Common) *fault.Controller {
	h.faults = fault.NewController(h.name, r, c.AllowFaults, logOf(c))
	return h.faults
}

// disturbed returns a function that returns the kernel's clock state plus the clock offset that faults have set.
func disturbed(controller *fault.Controller, kernel func() altmark.KernelClock) func() altmark.KernelClock {
	return func() altmark.KernelClock {
		k := kernel()
		k.Ahead += controller.Ahead()
		return k
	}
}

// faults adds the alarms of deliberate faults.
func (a *Alarms) faults(rows, want map[string]swss.FieldValues) {
	reported, _ := fault.ParseRows(rows) // a row that cannot be read is not from a fault controller
	maps.Copy(want, fault.Alarms(reported))
}
