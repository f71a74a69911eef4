package daemons

import (
	"context"

	debugmgr "tamtam/cfgmgr/debugcounter"
	hftmgr "tamtam/cfgmgr/hft"
	burstmgr "tamtam/cfgmgr/microburst"
	portmgr "tamtam/cfgmgr/ports"
	qosmgr "tamtam/cfgmgr/qos"
	routemgr "tamtam/cfgmgr/routes"
	sflowmgr "tamtam/cfgmgr/sflow"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tammgr"
)

// NewManagers returns the daemon tammgrd: CONFIG_DB to APPL_DB.
func NewManagers(r *swss.Redis, c Common) *orch.Daemon {
	d := orch.NewDaemon("tammgrd", r, c.Options())
	portmgr.New(d, r).LACP = !c.StaticLAGs
	routemgr.New(d, r)
	qosmgr.New(d, r)
	sflow := sflowmgr.New(d, r)
	if sflow.Agent = c.SFlowAgent; c.SFlowAgent == nil {
		sflow.Agent = agentOf(r)
	}
	debugmgr.New(d, r)
	hftmgr.New(d, r)
	burstmgr.New(d, r)
	tammgr.New(d, r).FallbackMAC = schema.MAC(fallbackMAC())
	forward.CompareReported(d, r)
	forward.ReportUnapplied(d, r)
	return d
}

// RunManagers runs the daemon tammgrd until ctx ends.
func RunManagers(ctx context.Context, r *swss.Redis, c Common) error {
	c = c.Named("tammgrd")
	h := newHealth("tammgrd")
	c.faults = newFaultController(h, r, c)
	h.lacks = func(ctx context.Context) string {
		if empty, err := r.DB(swss.ConfigDB).Empty(ctx); err != nil || !empty {
			return ""
		}
		return "CONFIG_DB is empty: no configuration has been loaded, or it was lost"
	}
	return runRepeatedly(ctx, r, h, logOf(c), func(ctx context.Context, h *health, claim *swss.Claim) error {
		d := NewManagers(r, c.of(h, claim))
		h.attach(d.Alive, d.Hears, d.Watch())
		return d.Run(ctx)
	}, swss.ApplDB, swss.StateDB)
}
