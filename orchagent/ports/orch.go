package ports

import (
	"context"
	"errors"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Poller orch.Poller // polls the port counters; nil means that they are not polled
	// MAC is the switch's own address at the start. Later it is the address in DEVICE_METADATA, or Fallback.
	MAC, Fallback sai.MAC
	// Found returns the objects of a type that were created with the switch and still exist. A nil function means that
	// there is no such list.
	Found func(ctx context.Context, t sai.ObjectType) ([]sai.OID, error)
}

// An Orch owns the switch, its ports, LAGs and VLANs. All its methods run on
// the daemon's goroutine.
type Orch struct {
	asic    asic
	ledger  *orch.Ledger
	ready   bool // whether all configured ports are in the ledger
	applied bool // whether the view of the ASIC is complete

	daemon *orch.Daemon
	mac    switchMAC

	plan     *plan // the plan that was last applied, or is being applied
	turned   turns
	stuck    map[string]error // why ports of the ASIC without a row are still there, by laneKey
	settings settings

	changes  orch.Topic[[]string]
	layout   orch.Topic[struct{}]
	downs    orch.Topic[string]
	opers    orch.Topic[struct{}]
	counters counters
	oper     operWriter
}

// New creates the switch, reads its default objects, and registers the handlers of the five tables on the daemon. Ports
// are created when PORT_TABLE:PortConfigDone signals that all of them are known.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	chip, err := createSwitch(ctx, cfg)
	if err != nil {
		return nil, err
	}
	o := &Orch{
		asic: newASIC(cfg.SAI, cfg.Daemon.Logger(), chip), daemon: cfg.Daemon,
		mac:   switchMAC{now: cfg.MAC, want: cfg.MAC, fallback: cfg.Fallback},
		stuck: map[string]error{}, turned: turns{},
	}
	if err := o.counters.open(ctx, cfg, chip); err != nil {
		return nil, err
	}
	if err := o.oper.open(ctx, cfg.Redis, cfg.Daemon.TimeOfDay); err != nil {
		return nil, err
	}
	appl := cfg.Redis.DB(swss.ApplDB)
	o.ledger = orch.NewLedger(cfg.Daemon, appl, o.pass,
		orch.LedgerTable{Name: schema.AppPort, State: schema.StatePort, StateKey: stateKey, Adds: operAdds},
		orch.LedgerTable{Name: schema.AppLAG, State: schema.StateLAG, Adds: operAdds},
		orch.LedgerTable{Name: schema.AppLAGMember, State: schema.StateLAGMember, StateKey: stateKey, Adds: operAdds},
		orch.LedgerTable{Name: schema.AppVLAN, State: schema.StateVLAN, Adds: operAdds},
		orch.LedgerTable{Name: schema.AppVLANMember, State: schema.StateVLANMember, StateKey: stateKey})
	config := cfg.Redis.DB(swss.ConfigDB)
	cfg.Daemon.Watch().Add(o.leftovers())
	cfg.Daemon.AfterHold(o.counters.dropFormer)
	orch.ConsumeFlexGroups(cfg.Daemon, o.counters.flush, &o.counters.group)
	cfg.Daemon.Every(o.retry, func(ctx context.Context, _ time.Time) error { return o.flush(ctx) })
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, config, schema.CfgDeviceMetadata)
	}, schema.CfgDeviceMetadata, orch.Each(o.setMAC), orch.Reporting{None: true})
	cfg.Daemon.Every(o.macRetry, o.applyMAC)
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, appl, schema.AppSwitch)
	}, schema.AppSwitch, orch.Each(o.setSwitch), orch.Reporting{StateTable: schema.StateSwitch})
	return o, nil
}

// Switch returns the switch object.
func (o *Orch) Switch() sai.OID { return o.asic.chip.switchID }

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Until then ports are used as they are,
// because SONiC's syncd stops when a port is created or removed while a view is being made.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Reconcile(ctx)
}

// pass brings the ASIC to the target state of the rows, once all ports are known. It then writes the results to the
// databases.
func (o *Orch) pass(ctx context.Context) error {
	for _, k := range o.ledger.Changed {
		if !marker(k.Key) && (k.Table == schema.AppPort || k.Table == schema.AppLAG) {
			o.oper.touch(k.Key)
			if p := o.asic.ports[k.Key]; p != nil && p.lag != "" {
				o.oper.touch(p.lag) // its speed may change
			}
		}
		if k.Table == schema.AppVLAN {
			o.oper.touch(k.Key)
		}
	}
	if _, done := o.ledger.Rows[orch.Row(schema.AppPort, schema.PortConfigDone)]; done {
		o.ready = true
	}
	if o.ready {
		o.converge(ctx)
	} else {
		for k := range o.ledger.Rows {
			if !marker(k.Key) {
				o.ledger.Why[k] = orch.Wait("port", schema.PortConfigDone, "waiting for the port configuration to be complete")
			}
		}
	}
	return o.flush(ctx)
}

// flush writes and sends the collected changes.
func (o *Orch) flush(ctx context.Context) error {
	return errors.Join(o.counters.flush(ctx), o.oper.flush(ctx, o))
}

// retry returns the period of the timer that repeats a failed flush, or 0 if nothing is due.
func (o *Orch) retry() time.Duration {
	if o.counters.waits() || o.oper.waits(o) {
		return retryPeriod
	}
	return 0
}

// Notify handles a notification of the ASIC.
func (o *Orch) Notify(ctx context.Context, n sai.Notification) error {
	state, ok := n.(sai.PortState)
	if !ok {
		return nil
	}
	name, ok := o.asic.byOID[state.Port]
	if !ok || o.asic.ports[name].oper == state.Oper {
		return nil
	}
	o.asic.ports[name].oper = state.Oper
	o.oper.turn(name)
	o.operChanged(ctx, name)
	if state.Oper != sai.PortOperStatusUp {
		for _, n := range o.asic.downWith(name) {
			o.downs.Publish(ctx, n)
		}
	}
	o.opers.Publish(ctx, struct{}{})
	return o.oper.flush(ctx, o)
}
