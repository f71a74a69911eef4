package daemons

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	sflowmgr "tamtam/cfgmgr/sflow"
	"tamtam/device/fault"
	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Common has the options of every daemon. The zero value is usable.
type Common struct {
	Log *slog.Logger
	// Rec takes swss.rec and sairedis.rec lines: every task and every SAI call.
	Rec io.Writer
	// Backend, if set, sits between syncd and the chip: fault injection in tests, time-keeping in
	// benchmarks.
	Backend func(sai.API) sai.API
	// AllowFaults has the daemon take faults on purpose, see package fault.
	AllowFaults bool
	// StaticLAGs says that nobody speaks LACP on this switch: PortChannels are static.
	StaticLAGs bool
	// SFlowAgent reports how sflowd is; nil: as its row in STATE_DB has it.
	SFlowAgent func(context.Context) (sflowmgr.Agent, error)
	// Now is syncd's clock; nil: the wall clock.
	Now func() time.Time
	// Renew reports whether a daemon may begin anew to heal drift; nil: it may.
	Renew func() bool

	faults *fault.Desk // nil: of a simulation
	health *health     // nil: nobody is told
	doubt  *doubt      // of the ASIC; nil: nobody is told
	syncd  *signs      // nil: nobody looks at it
	claim  *swss.Claim // nil: nobody else has the databases
}

// of returns the options of one life of a daemon.
func (c Common) of(h *health, claim *swss.Claim) Common {
	c.health, c.claim = h, claim
	return c
}

// Layered returns a chip as syncd is to see it, behind what is injected.
func (c Common) Layered(chip sai.API) sai.API {
	if c.Backend != nil {
		chip = c.Backend(chip)
	}
	return c.faults.SAI(chip)
}

// Options are those of a daemon of managers or orchs.
func (c Common) Options() orch.Options {
	opts := orch.Options{Logger: c.Log, Recorder: c.Rec, Disturb: c.faults.Disturb()}
	if c.health != nil {
		opts.Tell, opts.Check = c.health.tell, c.claim.Check
	}
	if c.doubt != nil {
		opts.Doubted = func() bool { return c.doubt.why() != "" }
	}
	return opts
}

// switchMAC returns the switch's own address: that of DEVICE_METADATA, or the
// fallback.
func switchMAC(ctx context.Context, r *swss.Redis) (sai.MAC, error) {
	row, _, err := swss.NewTable(r.DB(swss.ConfigDB), schema.CfgDeviceMetadata).Get(ctx, "localhost")
	if err != nil {
		return sai.MAC{}, err
	}
	if mac, err := net.ParseMAC(row["mac"]); err == nil && len(mac) == 6 {
		return sai.MAC(mac), nil
	}
	return fallbackMAC(), nil
}

// fallbackMAC is the first locally administered address.
func fallbackMAC() sai.MAC { return sai.MAC{2, 0, 0, 0, 0, 1} }

// ended drops the error that only says that the caller's context has ended.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Named returns the options of one daemon, whose log says which it is.
func (c Common) Named(daemon string) Common {
	c.Log = logOf(c).With("daemon", daemon)
	return c
}

func logOf(c Common) *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}
