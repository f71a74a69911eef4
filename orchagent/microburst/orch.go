// Package microburst makes the thresholds of queues, MICROBURST_TABLE of APPL_DB, into SAI's TAM objects. It copies the
// records of bursts from the ASIC to COUNTERS_DB.
//
// Queues with the same thresholds share a threshold, an event and a TAM object, which is bound to each queue. Records
// are read once a second, after each change, and when a reader asks for counters. Each record is copied once. Bursts
// without a record are counted: those that the ASIC no longer had.
//
// What belongs here: these objects and records. What a burst is does not: the ASIC decides.
package microburst

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/burst"
)

// Ports is the view of ports that the orch needs. portsorch implements it.
type Ports interface {
	// Port returns a port's object.
	Port(name string) (oid sai.OID, lag string, ok bool)
	// Changes publishes the names of ports that were created or are about to be removed. The latter are no longer found
	// and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// Config is the configuration of an [Orch].
type Config struct {
	feature.Config
	Ports Ports
}

// limits are the thresholds of a queue, in bytes.
type limits struct{ high, low uint32 }

// A chain holds the objects of a pair of thresholds.
type chain struct{ threshold, event, tam sai.OID }

// An Orch owns the thresholds of queues. All its methods run on the daemon's goroutine.
type Orch struct {
	api     sai.API
	daemon  *orch.Daemon
	log     *slog.Logger
	ledger  *orch.Ledger
	ports   Ports
	windows *feature.Windows
	// unsupported is the reason why the switch cannot record bursts; "" if it can.
	unsupported string
	applied     bool // whether the view of the ASIC is complete
	chains      map[limits]*chain
	bound       map[string]binding // by key in APPL_DB
	readAt      time.Time          // time of the next reading; zero means as soon as a queue has thresholds
	records     *records
}

// A binding is what a queue has.
type binding struct {
	queue sai.OID
	limits
}

// New reads the capabilities of the ASIC, and registers the handlers on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), ports: cfg.Ports,
		windows: feature.NewWindows(cfg.Config), chains: map[limits]*chain{}, bound: map[string]binding{},
		records: newRecords(cfg.Redis, cfg.Daemon),
	}
	if err := o.probe(ctx); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, orch.LedgerTable{Name: schema.AppMicroburst})
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, _ []string) { o.ledger.ReconcileNow(ctx) })
	cfg.Daemon.At(o.due, func(ctx context.Context, now time.Time) error {
		if now.Before(o.readAt) {
			return nil
		}
		return o.PollCounters(ctx)
	})
	cfg.Daemon.OnFlush(o.records.forget)
	return o, nil
}

// probe reads whether the ASIC can record bursts.
func (o *Orch) probe(ctx context.Context) error {
	types, err := o.api.EnumCapability(ctx, sai.TAMEventAttrType)
	switch {
	case errors.Is(err, swss.ErrUnavailable):
		return err
	case err == nil && !slices.Contains(types, sai.TAMEventTypeQueueThreshold):
		o.unsupported = "the switch cannot record bursts: its SAI has no SAI_TAM_EVENT_TYPE_QUEUE_THRESHOLD"
		return nil
	}
	room, err := feature.Room(ctx, o.api, burst.Object)
	if err == nil && room == 0 {
		o.unsupported = "the switch cannot record bursts: it has no extension " + burst.Object
	}
	return err
}

// due returns the time of the next reading; zero if nothing has to be read.
func (o *Orch) due() time.Time {
	switch {
	case !o.applied || len(o.bound) == 0:
		return time.Time{}
	case o.readAt.IsZero():
		return o.daemon.Now()
	}
	return o.readAt
}

// ViewApplied notifies the orch that the ASIC can be asked. Nothing is created earlier, because an object that the ASIC
// does not support would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Reconcile(ctx)
}

// PollCounters reads the records now. Errors of the ASIC are logged.
func (o *Orch) PollCounters(ctx context.Context) error {
	o.readAt = o.daemon.Now().Add(feature.TryAgain)
	if !o.applied || len(o.bound) == 0 {
		return nil
	}
	return o.read(ctx)
}

func (o *Orch) read(ctx context.Context) error {
	err := o.records.copy(ctx, o.ask, maps.Keys(o.bound))
	if err == nil || errors.Is(err, swss.ErrUnavailable) {
		return err
	}
	o.log.Error("records of bursts cannot be read", "err", err)
	return nil
}

// ask reads records of the ASIC from a position on.
func (o *Orch) ask(ctx context.Context, from uint64) (burst.Reading, error) {
	const room = (burst.MaxRecords + burst.MaxOpen) * 4096
	defer o.windows.Close(ctx)
	values, err := o.windows.Ask(ctx, burst.Object, burst.AttrRead, burst.Request{From: from}, room)
	if err != nil {
		return burst.Reading{}, err
	}
	return feature.Value[burst.Reading](values, burst.AttrBursts)
}

// plan returns the wanted thresholds by the rows' keys, and records the reason for each row without them.
func (o *Orch) plan(ctx context.Context) map[string]binding {
	list := map[string]binding{}
	for _, key := range o.ledger.Keys(schema.AppMicroburst) {
		row := orch.Row(schema.AppMicroburst, key)
		b, err := o.want(ctx, key, o.ledger.Rows[row])
		if err != nil {
			o.ledger.Why[row] = err
			continue
		}
		list[key] = b
	}
	return list
}

func (o *Orch) want(ctx context.Context, key string, fields swss.FieldValues) (b binding, err error) {
	m, err := schema.ParseMicroburst(schema.ConfigKey(key), fields)
	if err == nil {
		err = m.Check()
	}
	switch {
	case err != nil:
		return b, err
	case o.unsupported != "":
		return b, errors.New(o.unsupported)
	case !o.applied:
		return b, orch.WaitView()
	}
	port, _, there := o.ports.Port(m.Port)
	if !there {
		return b, orch.Wait("port", m.Port, "")
	}
	got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypePort, port), []sai.Attr{sai.Want(sai.PortAttrQoSQueueList, 64)})
	if err != nil {
		return b, fmt.Errorf("queues of %s: %w", m.Port, err)
	}
	queues, _ := got[0].Value.(sai.OIDs)
	if int(m.Queue) >= len(queues) {
		return b, fmt.Errorf("%s: the port has %d queues", schema.ConfigKey(key), len(queues))
	}
	return binding{queues[m.Queue], limits{m.Threshold, m.Low()}}, nil
}

// pass brings the ASIC to the target state.
func (o *Orch) pass(ctx context.Context) error {
	changed := false
	for range o.ledger.Passes {
		list := o.plan(ctx)
		for _, key := range slices.Sorted(maps.Keys(o.bound)) {
			if list[key] == o.bound[key] {
				continue
			}
			changed = true
			if list[key].queue == o.bound[key].queue {
				continue // the new thresholds replace the old ones at once
			}
			if err := o.bind(ctx, o.bound[key].queue, sai.OIDs{}); err != nil && orch.Classify(err) != orch.Benign {
				return fmt.Errorf("the threshold of %s stays in the ASIC: %w", key, err)
			}
			delete(o.bound, key)
		}
		for _, key := range slices.Sorted(maps.Keys(list)) {
			row := orch.Row(schema.AppMicroburst, key)
			if list[key] == o.bound[key] || o.ledger.Refused(row) {
				continue
			}
			if err := o.bring(ctx, key, list[key]); err != nil {
				o.ledger.Fail(row, "the threshold of "+key, err)
			}
		}
		if err := o.dropUnused(ctx); err != nil {
			return err
		}
	}
	if changed && o.applied { // the ASIC has ended the bursts of queues whose thresholds have changed
		return o.read(ctx)
	}
	return nil
}

func (o *Orch) bind(ctx context.Context, queue sai.OID, tams sai.OIDs) error {
	return o.api.Set(ctx, sai.Obj(sai.ObjectTypeQueue, queue), sai.Attr{ID: sai.QueueAttrTAMObject, Value: tams})
}

// bring gives a queue its thresholds.
func (o *Orch) bring(ctx context.Context, key string, b binding) error {
	c, err := o.chainOf(ctx, b.limits)
	if err != nil {
		return err
	}
	if err := o.bind(ctx, b.queue, sai.OIDs{c.tam}); err != nil {
		return err
	}
	o.bound[key] = b
	return nil
}

// chainOf returns the objects of a pair of thresholds. Objects that a failure leaves are used by the next attempt, or
// removed.
func (o *Orch) chainOf(ctx context.Context, l limits) (*chain, error) {
	c := o.chains[l]
	if c == nil {
		c = new(chain)
		o.chains[l] = c
	}
	for _, x := range []struct {
		oid   *sai.OID
		t     sai.ObjectType
		attrs func() []sai.Attr
	}{
		{&c.threshold, sai.ObjectTypeTAMEventThreshold, func() []sai.Attr {
			return []sai.Attr{
				{ID: sai.TAMEventThresholdAttrHighWatermark, Value: sai.Uint(l.high)},
				{ID: sai.TAMEventThresholdAttrLowWatermark, Value: sai.Uint(l.low)},
				{ID: sai.TAMEventThresholdAttrUnit, Value: sai.TAMEventThresholdUnitBytes},
			}
		}},
		{&c.event, sai.ObjectTypeTAMEvent, func() []sai.Attr {
			return []sai.Attr{
				{ID: sai.TAMEventAttrType, Value: sai.TAMEventTypeQueueThreshold},
				{ID: sai.TAMEventAttrActionList, Value: sai.OIDs{}}, {ID: sai.TAMEventAttrCollectorList, Value: sai.OIDs{}},
				{ID: sai.TAMEventAttrThreshold, Value: c.threshold},
			}
		}},
		{&c.tam, sai.ObjectTypeTAM, func() []sai.Attr {
			return []sai.Attr{
				{ID: sai.TAMAttrEventObjectsList, Value: sai.OIDs{c.event}},
				{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeQueue}},
			}
		}},
	} {
		if *x.oid != sai.NullOID {
			continue
		}
		attrs := x.attrs()
		oid, err := o.api.Create(ctx, x.t, attrs)
		if err != nil {
			return nil, orch.AtAttr(err, x.t, attrs)
		}
		*x.oid = oid
	}
	return c, nil
}

// dropUnused removes the objects of thresholds that no queue has.
func (o *Orch) dropUnused(ctx context.Context) error {
	used := map[limits]bool{}
	for _, b := range o.bound {
		used[b.limits] = true
	}
	for l, c := range o.chains {
		if used[l] {
			continue
		}
		for _, x := range []struct {
			t   sai.ObjectType
			oid *sai.OID
		}{{sai.ObjectTypeTAM, &c.tam}, {sai.ObjectTypeTAMEvent, &c.event}, {sai.ObjectTypeTAMEventThreshold, &c.threshold}} {
			if *x.oid == sai.NullOID {
				continue
			}
			if err := o.api.Remove(ctx, sai.Obj(x.t, *x.oid)); err != nil && orch.Classify(err) != orch.Benign {
				return fmt.Errorf("an unused threshold stays in the ASIC: %w", err)
			}
			*x.oid = sai.NullOID
		}
		delete(o.chains, l)
		o.ledger.Freed()
	}
	return nil
}
