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
	// Rec receives the lines of swss.rec and sairedis.rec: every task and every SAI call.
	Rec io.Writer
	// Backend, if set, wraps the chip for syncd: fault injection in tests, time measurement in benchmarks.
	Backend func(sai.API) sai.API
	// AllowFaults makes the daemon accept deliberate faults; see package fault.
	AllowFaults bool
	// StaticLAGs means that no daemon speaks LACP on this switch, so PortChannels are static.
	StaticLAGs bool
	// SFlowAgent reports the state of sflowd; nil means that its row in STATE_DB is used.
	SFlowAgent func(context.Context) (sflowmgr.Agent, error)
	// Async means that syncd answers no changes; see [sairedis.ServerOptions].
	Async bool
	// Now is syncd's clock; nil means the wall clock.
	Now func() time.Time
	// Renew reports whether a daemon may start again to heal drift; nil means that it always may.
	Renew func() bool

	faults    *fault.Controller // nil in a simulation
	health    *health           // nil means that health is not reported
	asicState *asicState        // reports that the ASIC's state is unknown; nil means that this is not reported
	syncd     *signs            // nil means that syncd is not watched
	claim     *swss.Claim       // nil means that no other process uses the databases
}

// of returns the options for one run of a daemon.
func (c Common) of(h *health, claim *swss.Claim) Common {
	c.health, c.claim = h, claim
	return c
}

// Layered returns the chip as syncd sees it, through the layers that inject faults.
func (c Common) Layered(chip sai.API) sai.API {
	if c.Backend != nil {
		chip = c.Backend(chip)
	}
	return c.faults.SAI(chip)
}

// Options returns the options of a daemon of managers or orchs.
func (c Common) Options() orch.Options {
	opts := orch.Options{Logger: c.Log, Recorder: c.Rec, Disturb: c.faults.Disturb()}
	if c.health != nil {
		opts.Report, opts.Claim = c.health.report, c.claim
	}
	if c.asicState != nil {
		opts.ASICUnknown = func() bool { return c.asicState.why() != "" }
	}
	return opts
}

// switchMAC returns the switch's own address: that of DEVICE_METADATA, or the fallback.
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

// fallbackMAC returns the first locally administered address.
func fallbackMAC() sai.MAC { return sai.MAC{2, 0, 0, 0, 0, 1} }

// ended replaces the error of a cancelled context by nil.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Named returns the options of one daemon, whose log contains its name.
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
