// Package ifa makes the switch a transit of Inband Flow Analyzer while TAM_TABLE:device of APPL_DB says so: a TAM INT
// object of type IFA2, in a TAM object that is bound to the switch.
//
// What belongs here: the switch's transit. What a transit does with packets is the chip's business.
package ifa

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/ifa"
	"tamtam/tamorch"
)

// Identity knows the ids of the switch; tsorch does.
type Identity interface {
	// InUse returns the ids in use.
	InUse() schema.TAMSwitchInUse
	// IDChanges signals that they may have changed.
	IDChanges() *orch.Topic[struct{}]
}

// Config is what an [Orch] works with.
type Config struct {
	tamorch.Config
	Identity Identity
	Whole    *tamorch.SwitchTAM // what is bound to the switch
}

// An Orch owns the objects of the switch's transit. All its methods run on the daemon's goroutine.
type Orch struct {
	api         sai.API
	log         *slog.Logger
	identity    Identity
	whole       *tamorch.SwitchTAM
	ledger      *orch.Ledger
	unsupported string // why the chip cannot be a transit; "": it can

	// What is in the ASIC: both null, or both there.
	object, tam sai.OID
	device      uint32
	garbage     []sai.Key // what could not be removed
}

// New asks what the ASIC can do, and registers the handler on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{api: cfg.SAI, log: cfg.Daemon.Logger(), identity: cfg.Identity, whole: cfg.Whole}
	var err error
	if o.unsupported, err = probe(ctx, cfg.SAI); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass,
		orch.LedgerTable{Name: schema.AppTAMDevice, State: schema.StateTAMDevice})
	cfg.Identity.IDChanges().Subscribe(func(ctx context.Context, _ struct{}) {
		if err := o.ledger.Settle(ctx); err != nil {
			o.log.Error("transit of IFA", "err", err)
		}
	})
	return o, nil
}

// probe says why the chip cannot be a transit. What a chip does not say it can is not asked of it.
func probe(ctx context.Context, api sai.API) (reason string, err error) {
	types, err := api.EnumCapability(ctx, sai.TAMIntAttrType)
	switch {
	case tamorch.Unanswered(err):
		return "the switch does not say what it can do", nil
	case err != nil:
		return "", fmt.Errorf("ask for the kinds of TAM INT objects: %w", err)
	case !slices.Contains(types, sai.TAMIntTypeIfa2):
		return "the switch does not implement " + sai.EnumName(sai.TAMIntAttrType, sai.TAMIntTypeIfa2), nil
	}
	return "", nil
}

func row() orch.RowKey { return orch.Row(schema.AppTAMDevice, schema.TAMDeviceKey) }

// wanted says by which id the switch is to be a transit; false: it is to be none, or cannot, for the error.
func (o *Orch) wanted() (device uint32, ok bool, err error) {
	fields, there := o.ledger.Rows[row()]
	if !there {
		return 0, false, nil
	}
	d, err := schema.ParseTAMDevice(schema.TAMDeviceKey, fields)
	if err != nil || !d.IFA {
		return 0, false, err
	}
	ids := o.identity.InUse()
	switch device = d.DeviceID; {
	case o.unsupported != "":
		return 0, false, errors.New("ifa: " + o.unsupported)
	case device == 0 && !ids.HasSwitchID:
		return 0, false, orch.Wait("switch id", schema.TAMGlobalKey,
			"the switch has no switch-id, and device-id is not given")
	case device == 0:
		device = ids.SwitchID
	}
	if device > ifa.MaxDevice {
		return 0, false, &schema.FieldError{
			Object: schema.CfgTAMDevice + "|" + schema.TAMDeviceKey, Field: "device-id", Value: strconv.Itoa(int(device)),
			Want: fmt.Sprintf("at most %d while ifa is true: a hop has 20 bits for it", ifa.MaxDevice),
		}
	}
	return device, true, nil
}

// pass brings the ASIC to what the row asks for.
func (o *Orch) pass(ctx context.Context) error {
	o.ledger.Restart(nil)
	device, want, err := o.wanted()
	if err != nil {
		o.ledger.Why[row()] = err
	}
	if o.there() && (!want || device != o.device) {
		if err := o.leave(ctx); err != nil {
			o.ledger.Fail(row(), "transit of IFA", err)
			return nil
		}
	}
	o.collect(ctx)
	if want && !o.there() && !o.ledger.Refused(row()) {
		if err := o.enter(ctx, device); err != nil {
			o.ledger.Fail(row(), "transit of IFA", err)
		}
	}
	return nil
}

func (o *Orch) there() bool { return o.tam != sai.NullOID }

// enter makes the objects and binds them, or leaves nothing behind.
func (o *Orch) enter(ctx context.Context, device uint32) error {
	var undo orch.Undo
	object, err := o.make(ctx, &undo, sai.ObjectTypeTAMInt, []sai.Attr{
		{ID: sai.TAMIntAttrType, Value: sai.TAMIntTypeIfa2},
		{ID: sai.TAMIntAttrDeviceID, Value: sai.Uint(device)},
		{ID: sai.TAMIntAttrIntPresenceType, Value: sai.TAMIntPresenceTypeL3Protocol},
		{ID: sai.TAMIntAttrInline, Value: sai.Bool(true)},
		{ID: sai.TAMIntAttrIntPresenceL3Protocol, Value: sai.Uint(ifa.Protocol)},
	})
	if err != nil {
		return err
	}
	tam, err := o.make(ctx, &undo, sai.ObjectTypeTAM, []sai.Attr{
		{ID: sai.TAMAttrIntObjectsList, Value: sai.OIDs{object}},
		{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}},
	})
	if err == nil {
		err = o.whole.Add(ctx, tam)
	}
	if err != nil {
		return orch.Undone(ctx, &undo, err)
	}
	o.object, o.tam, o.device = object, tam, device
	return nil
}

// make creates an object; to undo that is to remove it, now or later.
func (o *Orch) make(ctx context.Context, undo *orch.Undo, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := o.api.Create(ctx, t, attrs)
	if err != nil {
		return sai.NullOID, fmt.Errorf("create the %s: %w", t, err)
	}
	undo.Push("remove "+t.String(), func(ctx context.Context) error {
		o.garbage = append(o.garbage, sai.Obj(t, oid))
		o.collect(ctx)
		return nil
	})
	return oid, nil
}

// leave takes the transit out of the ASIC.
func (o *Orch) leave(ctx context.Context) error {
	if err := o.whole.Remove(ctx, o.tam); err != nil {
		return err
	}
	o.garbage = append(o.garbage, sai.Obj(sai.ObjectTypeTAM, o.tam), sai.Obj(sai.ObjectTypeTAMInt, o.object))
	o.object, o.tam, o.device = sai.NullOID, sai.NullOID, 0
	return nil
}

// collect removes what nothing uses any more, in the order in which it was left; what stays is tried again.
func (o *Orch) collect(ctx context.Context) {
	o.garbage = slices.DeleteFunc(o.garbage, func(k sai.Key) bool {
		err := o.api.Remove(ctx, k)
		if err != nil && orch.Classify(err) != orch.Benign {
			o.log.Error("an object stays in the ASIC", "object", k.OID.String(), "err", err)
			return false
		}
		return true
	})
}
