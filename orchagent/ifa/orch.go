// Package ifa programs Inband Flow Analyzer (IFA): the switch inserts IFA headers into packets, adds its hop to them,
// or removes them. Sessions of TAM_IFA_SESSION_TABLE make it an initiator or terminator for their flow groups, by TAM
// INT objects of type IFA2 in ACL entries. Like TAM_TABLE:device, they can also make it a transit. A terminator's
// reports are sent like those of the drop monitor, which owns the collectors.
//
// What belongs here: the roles of the switch. The chip decides the fate of packets.
package ifa

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orchagent/dropmonitor"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/ifa"
)

const featureName = schema.FeatureIFA

// Reports sends reports to collectors. The drop monitor implements it.
type Reports interface {
	SendTo(ctx context.Context, collectors map[string][]string)
	CollectorChanges() *orch.Topic[struct{}]
	Reachable(collectors []string) (note string, err error)
	Open(ctx context.Context, session string, collectors []string, templates uint32) (*dropmonitor.Sender, error)
	Follow(ctx context.Context, session string, x *dropmonitor.Sender) bool
	Close(ctx context.Context, x *dropmonitor.Sender) error
	Sent(ctx context.Context, x *dropmonitor.Sender) (map[string]uint64, error)
}

// Config is the configuration of an [Orch].
type Config struct {
	feature.Config
	Identity feature.Identity
	Whole    *feature.SwitchTAM // TAM objects that are bound to the switch
	Rules    feature.VariantRules
	Reports  Reports
	// Paths and Ports publish that paths to collectors, or ports, may have changed.
	Paths *orch.Topic[struct{}]
	Ports *orch.Topic[[]string]
}

// A session is a row of TAM_IFA_SESSION_TABLE.
type session = feature.Session[schema.IFAFlow, binding]

// An Orch owns the objects of IFA. All its methods run on the daemon's goroutine.
type Orch struct {
	*feature.Feature[schema.IFAFlow, binding]
	identity feature.Identity
	rules    feature.VariantRules
	reports  Reports
	transit  transit
	ledger   *orch.Ledger // rows of TAM_TABLE

	counts   bool // whether the switch counts packets of IFA
	counters feature.Rows
	byDevice feature.Rows // rows of TAM_IFA_TRANSIT_COUNTERS
	wants    uint32       // the device id of the last reconciliation of sessions
}

// New reads the capabilities of the ASIC, and registers the handlers on the daemon, after those of the rules and of the
// reports.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		identity: cfg.Identity, rules: cfg.Rules, reports: cfg.Reports,
		transit:  transit{api: cfg.SAI, log: cfg.Daemon.Logger(), whole: cfg.Whole, users: map[string]bool{}},
		counters: feature.Rows{Table: schema.CountersIFA, Clears: true},
		byDevice: feature.Rows{Table: schema.CountersIFATransit, Clears: true},
	}
	o.byDevice.Keep = func(string) bool { return o.transit.there() }
	o.Feature = &feature.Feature[schema.IFAFlow, binding]{
		Kind: feature.Kind{Name: featureName, Table: schema.AppTAMIFA, State: schema.StateTAMIFA, What: "sessions",
			Again: orch.SomethingRemoved},
		Logic: o, Counters: []*feature.Rows{&o.counters, &o.byDevice}, Present: &o.counters,
	}
	if err := o.probe(ctx, cfg.SAI); err != nil {
		return nil, err
	}
	if err := o.Start(ctx, cfg.Config); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass,
		orch.LedgerTable{Name: schema.AppTAMDevice, State: schema.StateTAMDevice})
	o.ReadCounters(o.counted, o.read)
	cfg.Identity.IDChanges().Subscribe(func(ctx context.Context, _ struct{}) { o.ledger.ReconcileNow(ctx) })
	cfg.Ports.Subscribe(func(ctx context.Context, _ []string) { o.LookAgain(ctx) })
	cfg.Paths.Subscribe(func(ctx context.Context, _ struct{}) { o.LookAgain(ctx) })
	cfg.Reports.CollectorChanges().Subscribe(func(ctx context.Context, _ struct{}) { o.LookAgain(ctx) })
	cfg.Rules.Watch().Subscribe(func(ctx context.Context, _ []schema.ACLRuleKey) { o.LookAgain(ctx) })
	if o.Unsupported == "" {
		cfg.Rules.ReserveVariants(featureName, append(entry(schema.IFAInitiator, sai.NullOID),
			entry(schema.IFATerminator, sai.NullOID)...))
	}
	return o, nil
}

// probe determines whether the chip can do IFA. A feature that the chip does not report is not used.
func (o *Orch) probe(ctx context.Context, api sai.API) error {
	types, err := api.EnumCapability(ctx, sai.TAMIntAttrType)
	switch {
	case feature.Unanswered(err):
		o.Unsupported = "the switch does not report its capabilities"
		return nil
	case err != nil:
		return fmt.Errorf("ask for the kinds of TAM INT objects: %w", err)
	case !slices.Contains(types, sai.TAMIntTypeIfa2):
		o.Unsupported = "the switch does not implement " + sai.EnumName(sai.TAMIntAttrType, sai.TAMIntTypeIfa2)
		return nil
	}
	room, err := feature.Room(ctx, api, ifa.ObjectCounters)
	o.counts = room > 0
	return err
}

// The manager's limit of the device id equals that of a hop.
const _ = uint(ifa.MaxDevice-schema.MaxIFADevice) + uint(schema.MaxIFADevice-ifa.MaxDevice)

func row() orch.RowKey { return orch.Row(schema.AppTAMDevice, schema.TAMDeviceKey) }

// device returns the id in the switch's hops: that of TAM|device, or else the switch id in use.
func (o *Orch) device() (uint32, error) {
	d, err := schema.ParseTAMDevice(schema.TAMDeviceKey, o.ledger.Rows[row()])
	device, ids := d.DeviceID, o.identity.InUse()
	switch {
	case device == 0 || err != nil:
		if device = ids.SwitchID; !ids.HasSwitchID {
			return 0, orch.Wait("switch id", schema.TAMGlobalKey, "the switch has no switch-id, and device-id is not given")
		}
	}
	if device > ifa.MaxDevice {
		return 0, &schema.FieldError{
			Object: schema.CfgTAMDevice + "|" + schema.TAMDeviceKey, Field: "device-id", Value: strconv.Itoa(int(device)),
			Want: fmt.Sprintf("at most %d with IFA: a hop has 20 bits for it", ifa.MaxDevice),
		}
	}
	return device, nil
}

// wantedByRow returns the device id with which TAM|device makes the switch a transit. ok is false if it should not be
// one. It is also false with an error, which is the reason why it cannot be one.
func (o *Orch) wantedByRow() (device uint32, ok bool, err error) {
	fields, there := o.ledger.Rows[row()]
	if !there {
		return 0, false, nil
	}
	d, err := schema.ParseTAMDevice(schema.TAMDeviceKey, fields)
	switch {
	case err != nil || !d.IFA:
		return 0, false, err
	case o.Unsupported != "":
		return 0, false, errors.New("ifa: " + o.Unsupported)
	}
	device, err = o.device()
	return device, err == nil, err
}

// pass brings the ASIC to the target state of the row. Names of sessions are never empty, so they differ from byRow.
func (o *Orch) pass(ctx context.Context) error {
	o.ledger.Restart(nil)
	device, want, err := o.wantedByRow()
	if err != nil {
		o.ledger.Why[row()] = err
	}
	if !want {
		err = o.transit.drop(ctx, byRow)
	} else if !o.ledger.Refused(row()) {
		err = o.transit.addUser(ctx, byRow, device)
	}
	if err != nil && o.ledger.Why[row()] == nil {
		o.ledger.Fail(row(), "transit of IFA", err)
	}
	if now, _ := o.device(); now != o.wants {
		o.LookAgain(ctx)
	}
	return nil
}

// byRow is the name of TAM|device among the users of the transit.
const byRow = ""
