// Package ifa puts Inband Flow Analyzer into packets, adds to it and takes it out: sessions of TAM_IFA_SESSION_TABLE
// are initiators and terminators of their flow groups, by TAM INT objects of type IFA2 in ACL entries, or have the
// switch be transit, as TAM_TABLE:device does. A terminator's reports leave as those of the drop monitor do, who knows
// the collectors.
//
// What belongs here: the roles of the switch. What becomes of packets is the chip's business.
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

// Reports sends reports to collectors; the drop monitor does.
type Reports interface {
	SendTo(ctx context.Context, collectors map[string][]string)
	CollectorChanges() *orch.Topic[struct{}]
	Reachable(collectors []string) (note string, err error)
	Open(ctx context.Context, session string, collectors []string, templates uint32) (*dropmonitor.Sender, error)
	Follow(ctx context.Context, session string, x *dropmonitor.Sender) bool
	Close(ctx context.Context, x *dropmonitor.Sender) error
	Sent(ctx context.Context, x *dropmonitor.Sender) (map[string]uint64, error)
}

// Config is what an [Orch] works with.
type Config struct {
	feature.Config
	Identity feature.Identity
	Whole    *feature.SwitchTAM // what is bound to the switch
	Rules    feature.VariantRules
	Reports  Reports
	// Moved signal that ways to collectors, or ports, may have changed.
	Ways  *orch.Topic[struct{}]
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
	ledger   *orch.Ledger // of TAM_TABLE

	counts   bool // the switch tells what became of packets
	counters feature.Rows
	byDevice feature.Rows // of TAM_IFA_TRANSIT_COUNTERS
	wants    uint32       // the device id that sessions were settled with
}

// New asks what the ASIC can do, and registers the handlers on the daemon, after those of the rules and of the reports.
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
		Logic: o, Counters: []*feature.Rows{&o.counters, &o.byDevice},
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
	cfg.Identity.IDChanges().Subscribe(func(ctx context.Context, _ struct{}) { o.ledger.SettleNow(ctx) })
	cfg.Ports.Subscribe(func(ctx context.Context, _ []string) { o.LookAgain(ctx) })
	cfg.Ways.Subscribe(func(ctx context.Context, _ struct{}) { o.LookAgain(ctx) })
	cfg.Reports.CollectorChanges().Subscribe(func(ctx context.Context, _ struct{}) { o.LookAgain(ctx) })
	cfg.Rules.Watch().Subscribe(func(ctx context.Context, _ []schema.ACLRuleKey) { o.LookAgain(ctx) })
	if o.Unsupported == "" {
		cfg.Rules.ReserveVariants(featureName, append(entry(schema.IFAInitiator, sai.NullOID),
			entry(schema.IFATerminator, sai.NullOID)...))
	}
	return o, nil
}

// probe says why the chip cannot do IFA. What a chip does not say it can is not asked of it.
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

// The manager knows what a hop has room for.
const _ = uint(ifa.MaxDevice-schema.MaxIFADevice) + uint(schema.MaxIFADevice-ifa.MaxDevice)

func row() orch.RowKey { return orch.Row(schema.AppTAMDevice, schema.TAMDeviceKey) }

// device is the id in the switch's hops: that of TAM|device, else the switch id in use.
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

// wantedByRow says by which id TAM|device has the switch be a transit; false: it is to be none, or cannot, for the
// error.
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

// pass brings the ASIC to what the row asks for. A session has a longer name than nothing.
func (o *Orch) pass(ctx context.Context) error {
	o.ledger.Restart(nil)
	device, want, err := o.wantedByRow()
	if err != nil {
		o.ledger.Why[row()] = err
	}
	if !want {
		err = o.transit.drop(ctx, byRow)
	} else if !o.ledger.Refused(row()) {
		err = o.transit.take(ctx, byRow, device)
	}
	if err != nil && o.ledger.Why[row()] == nil {
		o.ledger.Fail(row(), "transit of IFA", err)
	}
	if now, _ := o.device(); now != o.wants {
		o.LookAgain(ctx)
	}
	return nil
}

// byRow is what TAM|device is called among the users of the transit.
const byRow = ""
