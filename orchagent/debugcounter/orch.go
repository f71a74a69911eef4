// Package debugcounter makes DEBUG_COUNTER_TABLE and DEBUG_COUNTER_DROP_REASON_TABLE of APPL_DB into debug counters of
// the ASIC, and makes syncd poll them. It writes to COUNTERS_DB the statistic of each counter, and to STATE_DB the
// possible counters.
//
// What belongs here: debug counters. The reasons of drops belong to the ASIC.
package debugcounter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is the view of ports that the orch needs. portsorch implements it.
type Ports interface {
	// Names returns the names of all ports and LAGs.
	Names() []string
	// Port returns a port's object.
	Port(name string) (oid sai.OID, lag string, ok bool)
	// Changes publishes the names of ports that were created or are about to be removed. The latter are no longer found
	// and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Switch sai.OID
	Poller orch.Poller // polls the counters; nil means that they are not polled
}

// An Orch owns the debug counters of the ASIC. All its methods run on the daemon's goroutine.
type Orch struct {
	api      sai.API
	log      *slog.Logger
	ledger   *orch.Ledger
	applied  bool                    // whether the view of the ASIC is complete
	can      map[sai.AttrID][]string // drop reasons that a list attribute supports; no entry if unknown
	state    *swss.Table             // possible counters and reasons
	counters map[string]*counter
	polls    polls
	watch    watch
}

// A counter is a debug counter in the ASIC.
type counter struct {
	oid     sai.OID
	kind    *kind
	reasons []string // sorted
	stat    string   // SAI statistic of the counter; "" if not known yet
	id      sai.StatID
	watch   schema.DropWatch
}

// A kind is a type of debug counter.
type kind struct {
	name   string // name in CONFIG_DB
	typ    sai.Enum
	list   sai.AttrID // attribute with the list of reasons
	prefix string     // prefix of reasons in SAI
	base   sai.StatID
	port   bool
}

func kinds() map[string]*kind {
	const in, out = "SAI_IN_DROP_REASON_", "SAI_OUT_DROP_REASON_"
	const inList, outList = sai.DebugCounterAttrInDropReasonList, sai.DebugCounterAttrOutDropReasonList
	all := map[string]*kind{}
	for _, k := range []kind{
		{schema.PortIngressDrops, sai.DebugCounterTypePortInDropReasons, inList, in,
			sai.PortStatInConfiguredDropReasons0DroppedPkts, true},
		{schema.PortEgressDrops, sai.DebugCounterTypePortOutDropReasons, outList, out,
			sai.PortStatOutConfiguredDropReasons0DroppedPkts, true},
		{schema.SwitchIngressDrops, sai.DebugCounterTypeSwitchInDropReasons, inList, in,
			sai.SwitchStatInConfiguredDropReasons0DroppedPkts, false},
		{schema.SwitchEgressDrops, sai.DebugCounterTypeSwitchOutDropReasons, outList, out,
			sai.SwitchStatOutConfiguredDropReasons0DroppedPkts, false},
	} {
		all[k.name] = &k
	}
	return all
}

// New reads which reasons the ASIC can count, and registers the handler on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), can: map[sai.AttrID][]string{}, counters: map[string]*counter{},
		state: swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StateDebugCapabilities),
	}
	for _, k := range kinds() {
		values, err := o.api.EnumCapability(ctx, k.list)
		if err != nil || o.can[k.list] != nil {
			continue
		}
		for _, e := range values {
			if name, ok := strings.CutPrefix(sai.EnumName(k.list, e), k.prefix); ok {
				o.can[k.list] = append(o.can[k.list], name)
			}
		}
	}
	if err := errors.Join(o.polls.open(ctx, cfg), o.watch.open(ctx, cfg)); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass,
		orch.LedgerTable{Name: schema.AppDebugCounter}, orch.LedgerTable{Name: schema.AppDebugReason})
	orch.ConsumeFlexGroups(cfg.Daemon, o.flush, &o.polls.group)
	orch.ConsumeFlexGroups(cfg.Daemon, o.ledger.Reconcile, &o.watch.group)
	o.watch.consume(cfg.Daemon, cfg.Redis, o.ledger.Reconcile)
	cfg.Daemon.AfterHold(func(ctx context.Context) error {
		return errors.Join(o.polls.dropFormer(ctx, o.flush), o.watch.begin(ctx, o.counters))
	})
	cfg.Daemon.Every(func() time.Duration { return o.watch.period(o.counters) },
		func(ctx context.Context, now time.Time) error { return o.watch.look(ctx, now, o.counters) })
	cfg.Daemon.Every(o.retry, func(ctx context.Context, _ time.Time) error { return o.flush(ctx) })
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, changed []string) {
		for _, port := range changed {
			if _, _, there := cfg.Ports.Port(port); !there {
				for name := range o.counters {
					o.watch.forget(name, port)
				}
			}
		}
		if err := o.flush(ctx); err != nil {
			o.log.Error("counters of ports are behind", "err", err)
		}
	})
	return o, nil
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is created earlier, because an
// object that the ASIC does not support would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	if err := o.ledger.Reconcile(ctx); err != nil {
		return err
	}
	return o.publish(ctx)
}

// publish writes to STATE_DB which counters and reasons are possible. What the ASIC does not report is omitted.
func (o *Orch) publish(ctx context.Context) error {
	rows, gone := map[string]swss.FieldValues{}, []string{}
	for name, k := range kinds() {
		typ := sai.Attr{ID: sai.DebugCounterAttrType, Value: k.typ}
		n, err := o.api.Availability(ctx, sai.ObjectTypeDebugCounter, []sai.Attr{typ})
		for _, c := range o.counters {
			if c.kind.name == name {
				n++
			}
		}
		if err != nil || n == 0 || len(o.can[k.list]) == 0 {
			gone = append(gone, name)
			continue
		}
		rows[name] = swss.FieldValues{
			schema.FieldDebugCount: fmt.Sprint(n), schema.FieldDebugReasons: schema.DebugReasonList(o.can[k.list]),
		}
	}
	if err := o.state.DelMany(ctx, gone); err != nil {
		return err
	}
	return o.state.SetMany(ctx, rows)
}

// A wanted counter is one that the rows request.
type wanted struct {
	kind    *kind
	reasons []string
	watch   schema.DropWatch
}

// plan computes the wanted counters, and records the reason for each row that contributes to none.
func (o *Orch) plan() map[string]*wanted {
	all, list := kinds(), map[string]*wanted{}
	waits := orch.WaitView()
	for _, name := range o.ledger.Keys(schema.AppDebugCounter) {
		row := orch.Row(schema.AppDebugCounter, name)
		c, err := schema.ParseDebugCounter(name, o.ledger.Rows[row])
		switch {
		case err != nil:
			o.ledger.Why[row] = err
		case !o.applied:
			o.ledger.Why[row] = waits
		default:
			list[name] = &wanted{kind: all[c.Type], watch: c.Watch}
			if why := o.watch.why(); c.Watch.On && why != "" {
				o.ledger.Notes[row] = why
			}
		}
	}
	for _, key := range o.ledger.Keys(schema.AppDebugReason) {
		row := orch.Row(schema.AppDebugReason, key)
		d, err := schema.ParseDebugReason(schema.ConfigKey(key), o.ledger.Rows[row])
		w := list[d.Counter]
		switch {
		case err != nil:
		case !o.applied:
			err = waits
		case w == nil:
			err = orch.Wait(schema.CfgDebugCounter, d.Counter, "no counter %s", d.Counter)
		default:
			if err = o.countable(w.kind, d.Reason); err == nil {
				w.reasons = append(w.reasons, d.Reason)
			}
		}
		if err != nil {
			o.ledger.Why[row] = err
		}
	}
	for name, w := range list {
		if slices.Sort(w.reasons); len(w.reasons) == 0 {
			o.ledger.Why[orch.Row(schema.AppDebugCounter, name)] = orch.Wait(schema.CfgDebugReason, name,
				"none of its reasons can be counted")
			delete(list, name)
		}
	}
	return list
}

// countable returns an error if a reason cannot be counted.
func (o *Orch) countable(k *kind, reason string) error {
	can := o.can[k.list]
	_, named := sai.Meta(k.list).Enum.Value(k.prefix + reason)
	if named && (len(can) == 0 || slices.Contains(can, reason)) {
		return nil
	}
	if !named && len(can) == 0 {
		return fmt.Errorf("reason %s: SAI has no %s%s", reason, k.prefix, reason)
	}
	return fmt.Errorf("reason %s: the ASIC does not count it for %s, want one of %s", reason, k.name,
		strings.Join(can, ", "))
}

// pass brings the ASIC to the target state. Counters that are about to be removed are not polled.
func (o *Orch) pass(ctx context.Context) error {
	for range o.ledger.Passes {
		list := o.plan()
		if err := o.removeOthers(ctx, list); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if row := orch.Row(schema.AppDebugCounter, name); !o.ledger.Refused(row) {
				if err := o.make(ctx, name, list[name]); err != nil {
					o.ledger.Fail(row, "debug counter "+name, err)
				}
				if c := o.counters[name]; c != nil {
					c.watch = list[name].watch
				}
			}
		}
	}
	for key := range o.ledger.Rows { // a refused counter does not count its reasons either
		name, _, _ := strings.Cut(key.Key, ":")
		why := o.ledger.Failed[orch.Row(schema.AppDebugCounter, name)]
		if key.Table == schema.AppDebugReason && why != nil && o.ledger.Why[key] == nil {
			o.ledger.Why[key] = why
		}
	}
	return o.flush(ctx)
}

// removeOthers removes counters that are not wanted or have another type.
func (o *Orch) removeOthers(ctx context.Context, list map[string]*wanted) error {
	var leaving []string
	for name, c := range o.counters {
		if w := list[name]; w == nil || w.kind.name != c.kind.name {
			leaving = append(leaving, name)
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	slices.Sort(leaving)
	was := maps.Clone(o.counters)
	for _, name := range leaving {
		delete(o.counters, name)
	}
	if err := o.flush(ctx); err != nil { // stops polling before the counters are removed
		o.counters = was
		return err
	}
	for _, name := range leaving {
		c := was[name]
		err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeDebugCounter, c.oid))
		if err != nil && orch.Classify(err) != orch.Benign {
			o.counters[name] = c
			o.log.Error("a debug counter stays in the ASIC", "counter", name, "err", err)
			return fmt.Errorf("debug counter %s stays in the ASIC: %w", name, err)
		}
		o.watch.forgetCounter(name)
	}
	return nil
}

// make creates a counter, or changes its reasons.
func (o *Orch) make(ctx context.Context, name string, w *wanted) error {
	have := o.counters[name]
	if have != nil && slices.Equal(have.reasons, w.reasons) {
		return nil
	}
	enums := make(sai.Enums, len(w.reasons))
	for i, r := range w.reasons {
		enums[i], _ = sai.Meta(w.kind.list).Enum.Value(w.kind.prefix + r)
	}
	if have != nil {
		a := sai.Attr{ID: w.kind.list, Value: enums}
		if err := o.api.Set(ctx, sai.Obj(sai.ObjectTypeDebugCounter, have.oid), a); err != nil {
			return fmt.Errorf("set %s: %w", a.ID, err)
		}
		have.reasons = w.reasons
		return nil
	}
	attrs := []sai.Attr{{ID: sai.DebugCounterAttrType, Value: w.kind.typ}, {ID: w.kind.list, Value: enums}}
	oid, err := o.api.Create(ctx, sai.ObjectTypeDebugCounter, attrs)
	if err != nil {
		return orch.AtAttr(err, sai.ObjectTypeDebugCounter, attrs)
	}
	o.counters[name] = &counter{oid: oid, kind: w.kind, reasons: w.reasons}
	return nil
}

// number reads the SAI statistic of a counter. The statistic is unknown while a view is being made.
func (o *Orch) number(ctx context.Context, c *counter) {
	want := []sai.Attr{sai.Want(sai.DebugCounterAttrIndex, 0)}
	got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeDebugCounter, c.oid), want)
	if err != nil {
		return
	}
	if n, ok := got[0].Value.(sai.Uint); ok {
		c.id = c.kind.base + sai.StatID(n)
		c.stat = c.id.String()
	}
}

// retry returns the time until the next flush of changes that could not be written, or 0 if there are none.
func (o *Orch) retry() time.Duration {
	for _, c := range o.counters {
		if c.stat == "" {
			return time.Second
		}
	}
	if o.polls.waits() || len(o.watch.forgotten) > 0 {
		return time.Second
	}
	return 0
}

// flush makes syncd poll the existing counters, and writes which statistic each counter is.
func (o *Orch) flush(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(o.counters))
	for _, name := range names {
		if c := o.counters[name]; c.stat == "" {
			o.number(ctx, c)
		}
	}
	return errors.Join(o.polls.flush(ctx, names, o.counters), o.watch.settle(ctx, o.counters))
}
