package ports

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// Config is what an [Orch] works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Poller Poller // polls the port counters; nil: nobody does
	// MAC is the switch's own address at the start. Later it is what
	// DEVICE_METADATA says, or Fallback.
	MAC, Fallback sai.MAC
}

// An Orch owns the switch, its ports, LAGs and VLANs. All its methods run on
// the daemon's goroutine.
type Orch struct {
	api    sai.API
	daemon *orch.Daemon
	log    *slog.Logger
	chip   *chip

	rows    store
	ready   bool // all configured ports are in rows
	applied bool // the view of the ASIC is complete

	mac, fallback sai.MAC // the switch's own address

	ports       map[string]*port
	byOID       map[sai.OID]string
	lags        map[string]*lag
	lagMembers  map[member]*lagMember
	vlans       map[string]sai.OID
	vlanMembers map[member]*vlanMember

	outcome map[rowKey]error  // of the last converge: rows that are not in the ASIC, and why
	failed  map[rowKey]error  // what SAI said to a row; stays until the row changes
	said    map[rowKey]string // what was last reported of a row

	plan     *plan // the last that was applied, or is being applied
	settings schema.Switch

	changes  orch.Topic[[]string]
	layout   orch.Topic[struct{}]
	downs    orch.Topic[string]
	opers    orch.Topic[struct{}]
	counters counters
	oper     operWriter
}

// stateTables maps the tables of APPL_DB to those of STATE_DB.
var stateTables = map[string]string{
	schema.AppPort:       schema.StatePort,
	schema.AppLAG:        schema.StateLAG,
	schema.AppLAGMember:  schema.StateLAGMember,
	schema.AppVLAN:       schema.StateVLAN,
	schema.AppVLANMember: schema.StateVLANMember,
}

// New creates the switch, takes stock of what it brings along, and registers
// the handlers of the five tables on the daemon. Ports are created when
// PORT_TABLE:PortConfigDone says that all of them are known.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	chip, err := createSwitch(ctx, cfg.SAI, cfg.MAC)
	if err != nil {
		return nil, err
	}
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), chip: chip, rows: store{},
		ports: map[string]*port{}, byOID: map[sai.OID]string{}, lags: map[string]*lag{},
		lagMembers: map[member]*lagMember{}, vlans: map[string]sai.OID{}, vlanMembers: map[member]*vlanMember{},
		failed: map[rowKey]error{}, said: map[rowKey]string{}, mac: cfg.MAC, fallback: cfg.Fallback,
	}
	if err := o.counters.open(ctx, cfg, chip); err != nil {
		return nil, err
	}
	if err := o.oper.open(ctx, cfg.Redis); err != nil {
		return nil, err
	}
	appl := cfg.Redis.DB(swss.ApplDB)
	for _, table := range []string{
		schema.AppPort, schema.AppLAG, schema.AppLAGMember, schema.AppVLAN, schema.AppVLANMember,
	} {
		source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, table) }
		cfg.Daemon.Consume(source, table, orch.HandlerFunc(o.handle),
			orch.Reporting{StateTable: stateTables[table], None: true})
	}
	config := cfg.Redis.DB(swss.ConfigDB)
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, config, schema.CfgFlexCounter)
	}, schema.CfgFlexCounter, orch.Each(o.flexRow), orch.Reporting{StateTable: schema.StateFlexCounter, None: true})
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewSubscriber(l, config, schema.CfgDeviceMetadata)
	}, schema.CfgDeviceMetadata, orch.Each(o.setMAC), orch.Reporting{None: true})
	cfg.Daemon.Consume(func(l *swss.Listener) swss.Source {
		return swss.NewConsumerState(l, appl, schema.AppSwitch)
	}, schema.AppSwitch, orch.Each(o.setSwitch), orch.Reporting{StateTable: schema.StateSwitch})
	return o, nil
}

// Switch returns the switch object.
func (o *Orch) Switch() sai.OID { return o.chip.switchID }

// ViewApplied says that syncd has brought the ASIC to the view. Until then
// ports are taken as they are: a syncd of SONiC stops when a port is created or
// removed while a view is being made.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.settle(ctx, make([]orch.Task, 1))[0]
}

// handle takes a batch of rows of one table. Outcomes are reported by itself,
// because a row's outcome changes with others'.
func (o *Orch) handle(ctx context.Context, tasks []orch.Task) []error {
	for _, t := range tasks {
		k := rowKey{t.Table, t.Key}
		switch {
		case t.Table == schema.AppPort && t.Key == schema.PortConfigDone:
			o.ready = o.ready || t.Op == orch.Set
			continue
		case t.Table == schema.AppPort && t.Key == portInitDone:
			continue
		case t.Op == orch.Del:
			o.daemon.Unreport(ctx, stateTables[k.table], o.rows.stateKey(k))
			delete(o.rows, k)
			delete(o.said, k)
			if k.table == schema.AppPort || k.table == schema.AppLAG {
				o.oper.touch(k.key)
			}
		default:
			was := o.rows.stateKey(k)
			o.rows[k] = t.Fields
			delete(o.said, k) // the row's state may be another's words
			if was != o.rows.stateKey(k) {
				o.daemon.Unreport(ctx, stateTables[k.table], was)
			}
			if k.table == schema.AppPort || k.table == schema.AppLAG {
				o.oper.touch(k.key)
			}
		}
		delete(o.failed, k)
	}
	return o.settle(ctx, tasks)
}

// settle converges and writes everything that follows to the databases. Redis
// errors are returned for each task, so that the daemon tries again.
func (o *Orch) settle(ctx context.Context, tasks []orch.Task) []error {
	errs := make([]error, len(tasks))
	if o.ready {
		o.converge(ctx)
	} else {
		o.outcome = map[rowKey]error{}
		for k := range o.rows {
			o.outcome[k] = orch.Wait("port", schema.PortConfigDone, "waiting for the port configuration to be complete")
		}
	}
	err := o.flush(ctx)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (o *Orch) flush(ctx context.Context) error {
	if err := o.counters.flush(ctx); err != nil {
		return err
	}
	if err := o.oper.flush(ctx, o); err != nil {
		return err
	}
	o.report(ctx)
	return nil
}

// report writes what became of each row to STATE_DB, if that has changed.
func (o *Orch) report(ctx context.Context) {
	for _, table := range []string{
		schema.AppPort, schema.AppLAG, schema.AppLAGMember, schema.AppVLAN, schema.AppVLANMember,
	} {
		for _, key := range o.rows.keys(table) {
			k := rowKey{table, key}
			err := o.failed[k]
			if err == nil {
				err = o.outcome[k]
			}
			status, reason := o.daemon.Verdict(stateTables[table], err)
			if said := status + ": " + reason; o.said[k] != said {
				o.daemon.Report(ctx, stateTables[table], o.rows.stateKey(k), status, reason)
				o.said[k] = said
			}
		}
	}
}

// rolledBack undoes what was done before err, and says so if that failed.
func rolledBack(ctx context.Context, undo *orch.Undo, err error) error {
	if undoErr := undo.Rollback(ctx); undoErr != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undoErr)
	}
	return err
}

// Notify takes a notification of the ASIC.
func (o *Orch) Notify(ctx context.Context, n sai.Notification) error {
	state, ok := n.(sai.PortState)
	if !ok {
		return nil
	}
	name, ok := o.byOID[state.Port]
	if !ok || o.ports[name].oper == state.Oper {
		return nil
	}
	o.ports[name].oper = state.Oper
	o.operChanged(ctx, name)
	if state.Oper != sai.PortOperStatusUp {
		for _, n := range o.downWith(name) {
			o.downs.Publish(ctx, n)
		}
	}
	o.opers.Publish(ctx, struct{}{})
	return o.oper.flush(ctx, o)
}

// lagsUp returns whether any member of the LAG sends and receives on a port
// that is up.
func (o *Orch) lagUp(name string) bool {
	return slices.ContainsFunc(sortedMembers(o.lagMembers), func(m member) bool {
		return m.group == name && o.lagMembers[m].enabled && o.ports[m.port].oper == sai.PortOperStatusUp
	})
}
