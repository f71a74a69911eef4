// Package copp makes COPP_TABLE of APPL_DB into host interface traps. A trap defines which packets the CPU receives,
// and whether they are forwarded too. Its group defines the CPU queue and, by a policer, the rate. Without a row, a
// trap follows the ASIC's own default. The group named default is the switch's own, for traps that are in no other
// group.
//
// What belongs here: traps, their groups, and the policers of groups.
package copp

import (
	"cmp"
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

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Switch sai.OID
	Poller orch.Poller // polls the policers' counters; nil means that they are not polled
}

// An Orch owns the traps of the ASIC. All its methods run on the daemon's
// goroutine.
type Orch struct {
	api     sai.API
	log     *slog.Logger
	ledger  *orch.Ledger
	applied bool // whether the view of the ASIC is complete

	own     sai.OID                  // the switch's default group; null if it has none
	queues  uint32                   // number of queues of the CPU port; 0 if unknown
	can     map[sai.AttrID]sai.Enums // supported values of policer attributes; no entry if unknown
	groups  map[string]*group
	traps   map[string]*object // by SONiC's name
	refused map[string]refusal // traps that the ASIC refused, by name
	garbage []sai.Key          // policers that are no longer in use
	counts  counters
	state   *swss.Table           // COPP_TRAP_TABLE
	told    map[string]trapStatus // content of that table, by trap; nil if it has not been read
}

// A trapStatus is what STATE_DB has of a trap: that it is in the ASIC, or why not. A trap without both is not
// requested, or waits.
type trapStatus struct{ status, err string }

// A refusal is SAI's error for a trap. It holds until the row of the trap's group changes, or the trap is in another
// group, or the error may be over.
type refusal struct {
	group string
	err   error
}

// An object is an object in the ASIC, with its attributes.
type object struct {
	key   sai.Key
	attrs []sai.Attr
}

// A group is a trap group, possibly with a policer.
type group struct {
	object
	policer *object // nil if the group has none
}

// trapTypes contains SAI's traps whose names are not SONiC's in capitals.
var trapTypes = map[string]sai.Enum{
	"arp_req": sai.HostifTrapTypeArpRequest, "arp_resp": sai.HostifTrapTypeArpResponse,
	"neigh_discovery": sai.HostifTrapTypeIPv6NeighborDiscovery, "sample_packet": sai.HostifTrapTypeSamplepacket,
}

// trapType returns SAI's trap for a name of SONiC.
func trapType(name string) (sai.Enum, bool) {
	if t, ok := trapTypes[name]; ok {
		return t, true
	}
	e, ok := sai.LookupEnum("sai_hostif_trap_type_t")
	if !ok {
		return 0, false
	}
	return e.Value("SAI_HOSTIF_TRAP_TYPE_" + strings.ToUpper(name))
}

var actions = map[string]sai.Enum{
	"trap": sai.PacketActionTrap, "copy": sai.PacketActionCopy,
	"drop": sai.PacketActionDrop, "forward": sai.PacketActionForward,
	"deny": sai.PacketActionDeny, "log": sai.PacketActionLog, "transit": sai.PacketActionTransit,
}

// New reads the capabilities of the ASIC, and registers the handler on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), can: map[sai.AttrID]sai.Enums{},
		groups: map[string]*group{}, traps: map[string]*object{}, refused: map[string]refusal{},
		state: swss.NewTable(cfg.Redis.DB(swss.StateDB), schema.StateCOPPTrap),
	}
	o.probe(ctx, cfg.Switch)
	if err := o.counts.open(ctx, cfg); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, orch.LedgerTable{Name: schema.AppCOPP})
	orch.ConsumeFlexGroups(cfg.Daemon, o.counts.flush, &o.counts.group)
	cfg.Daemon.OnFlush(func() { o.told = nil })
	cfg.Daemon.AfterRows(func() bool {
		return o.applied && (o.told == nil || !maps.Equal(o.told, o.trapStatuses()))
	}, o.tell)
	cfg.Daemon.AfterHold(o.counts.dropFormer)
	cfg.Daemon.Every(o.counts.retry, func(ctx context.Context, _ time.Time) error { return o.counts.flush(ctx) })
	return o, nil
}

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is created earlier, because an
// object that the ASIC does not support would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Reconcile(ctx)
}

func row(group string) orch.RowKey { return orch.Row(schema.AppCOPP, group) }

// A plan is the target state of the rows.
type plan struct {
	groups map[string]schema.COPPGroup
	owner  map[string]string  // group of each trap
	bad    map[string][]error // errors of the traps that a group lacks
}

func (o *Orch) plan() *plan {
	p := &plan{groups: map[string]schema.COPPGroup{}, owner: map[string]string{}, bad: map[string][]error{}}
	for _, key := range o.ledger.Keys(schema.AppCOPP) {
		k := row(key)
		if !o.applied {
			o.ledger.Why[k] = orch.WaitView()
			continue
		}
		if o.ledger.Refused(k) {
			continue
		}
		g, err := schema.ParseCOPPGroup(key, o.ledger.Rows[k])
		if known, ok := schema.WithKnownTraps(o.ledger.Rows[k]); ok {
			var rest error
			if g, rest = schema.ParseCOPPGroup(key, known); rest == nil {
				p.bad[key], err = append(p.bad[key], err), nil
			}
		}
		if err == nil {
			err = o.supported(&g)
		}
		if err != nil {
			delete(p.bad, key)
			o.ledger.Why[k] = err
			continue
		}
		p.groups[key] = g
		for _, t := range g.Traps {
			if other, taken := p.owner[t]; taken {
				p.bad[key] = append(p.bad[key], fmt.Errorf("trap %s is in group %s", t, other))
				continue
			}
			p.owner[t] = key
		}
	}
	return p
}

// reportTraps records for each group the traps that it lacks. As in SONiC, they do not keep its other traps out.
func (o *Orch) reportTraps(p *plan) {
	for key, bad := range p.bad {
		for name, group := range p.owner {
			if group == key && o.traps[name] != nil {
				bad = append(bad, errors.New("the group's other traps are in the ASIC"))
				break
			}
		}
		err := bad[0]
		for _, more := range bad[1:] {
			err = fmt.Errorf("%w; %w", err, more)
		}
		o.ledger.Why[row(key)] = err
	}
}

// pass brings the ASIC to the target state. A refusal changes the plan, and removals may have freed capacity, so there
// may be several rounds.
func (o *Orch) pass(ctx context.Context) error {
	maps.DeleteFunc(o.refused, func(_ string, r refusal) bool {
		return orch.Retryable(r.err) || slices.Contains(o.ledger.Changed, row(r.group))
	})
	for range o.ledger.Passes {
		p := o.plan()
		o.removeTraps(ctx, p)
		o.makeGroups(ctx, p)
		o.makeTraps(ctx, p)
		o.reportTraps(p)
		o.removeGroups(ctx, p)
		if o.collect(ctx) {
			o.ledger.Freed()
		}
	}
	return o.counts.flush(ctx)
}

// removeTraps removes traps without an owner.
func (o *Orch) removeTraps(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(o.traps)) {
		if _, ok := p.owner[name]; !ok && o.remove(ctx, o.traps[name].key, "trap "+name) {
			delete(o.traps, name)
		}
	}
}

// remove removes an object, and reports whether it no longer exists. If it does, another pass tries it again soon.
func (o *Orch) remove(ctx context.Context, k sai.Key, what string) bool {
	if err := o.api.Remove(ctx, k); err != nil && orch.Classify(err) != orch.Benign {
		o.log.Error("an object stays in the ASIC", "object", k.OID.String(), "what", what, "err", err)
		o.ledger.Again()
		return false
	}
	return true
}

func (o *Orch) makeTraps(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(p.owner)) {
		group := p.owner[name]
		g, own := p.groups[group], o.groups[group]
		typ, ok := trapType(name)
		if !ok || own == nil || o.ledger.Refused(row(group)) {
			continue
		}
		err := o.refused[name].err
		if o.refused[name].group != group {
			err = o.makeTrap(ctx, name, group, []sai.Attr{
				{ID: sai.HostifTrapAttrTrapType, Value: typ},
				{ID: sai.HostifTrapAttrPacketAction, Value: actions[g.Action]},
				{ID: sai.HostifTrapAttrTrapPriority, Value: sai.Uint(g.Priority)},
				{ID: sai.HostifTrapAttrTrapGroup, Value: own.key.OID},
			})
		}
		if err == nil {
			continue
		}
		p.bad[group] = append(p.bad[group], err)
		// what the trap was before is not what a row asks for
		if o.traps[name] != nil && o.remove(ctx, o.traps[name].key, "trap "+name) {
			delete(o.traps, name)
		}
	}
}

// makeTrap makes or changes a trap, and records whether the ASIC refused it.
func (o *Orch) makeTrap(ctx context.Context, name, group string, attrs []sai.Attr) error {
	err := o.make(ctx, o.traps, name, sai.ObjectTypeHostifTrap, attrs)
	if err == nil {
		delete(o.refused, name)
		return nil
	}
	err = fmt.Errorf("trap %s: %w", name, err)
	o.refused[name] = refusal{group, err}
	o.ledger.LogError("SAI failed", "row", row(group).String(), "err", err)
	if errors.Is(err, swss.ErrUnavailable) {
		o.ledger.Again()
	}
	return err
}

// make creates an object or sets the attributes that differ. If a step fails, nothing changes.
func (o *Orch) make(ctx context.Context, in map[string]*object, name string, t sai.ObjectType, attrs []sai.Attr) error {
	if have := in[name]; have != nil {
		var undo orch.Undo
		if err := o.change(ctx, &undo, have, attrs); err != nil {
			return orch.Undone(ctx, &undo, err)
		}
		return nil
	}
	made, err := o.create(ctx, t, attrs)
	if err == nil {
		in[name] = made
	}
	return err
}

// create creates an object. Attributes with SAI's default value are omitted.
func (o *Orch) create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (*object, error) {
	said := slices.DeleteFunc(slices.Clone(attrs), func(a sai.Attr) bool { return a.Value == sai.Meta(a.ID).Default })
	oid, err := o.api.Create(ctx, t, said)
	if err != nil {
		return nil, orch.AtAttr(err, t, said)
	}
	return &object{sai.Obj(t, oid), attrs}, nil
}

// change sets the attributes of an object that differ, step by step. undo reverts the steps.
func (o *Orch) change(ctx context.Context, undo *orch.Undo, have *object, attrs []sai.Attr) error {
	have.attrs = slices.Clone(have.attrs)
	for i, a := range attrs {
		was := have.attrs[i]
		if was.Value == a.Value {
			continue
		}
		if err := o.api.Set(ctx, have.key, a); err != nil {
			return fmt.Errorf("set %s: %w", a.ID, err)
		}
		have.attrs[i] = a
		undo.Push(a.ID.String(), func(ctx context.Context) error {
			err := o.api.Set(ctx, have.key, was)
			if err == nil {
				have.attrs[i] = was
			}
			return err
		})
	}
	return nil
}

// trapStatuses returns the statuses of the traps in the ASIC, and of those that the ASIC refused, alone or with their
// groups.
func (o *Orch) trapStatuses() map[string]trapStatus {
	all := map[string]trapStatus{}
	for _, key := range o.ledger.Keys(schema.AppCOPP) {
		fields, why := o.ledger.Rows[row(key)], cmp.Or(o.ledger.Failed[row(key)], o.ledger.Why[row(key)])
		if known, some := schema.WithKnownTraps(fields); some {
			fields = known
		}
		g, err := schema.ParseCOPPGroup(key, fields)
		var waits *orch.WaitError
		if err != nil || why == nil || errors.As(why, &waits) {
			continue
		}
		for _, name := range g.Traps {
			switch r, is := o.refused[name]; {
			case is && r.group == key:
				all[name] = trapStatus{err: orch.Explain(r.err)}
			case o.groups[key] == nil:
				all[name] = trapStatus{err: "trap group " + key + ": " + orch.Explain(why)}
			}
		}
	}
	for name := range o.traps {
		all[name] = trapStatus{status: schema.HWInstalled}
	}
	return all
}

// tell writes which traps are in the ASIC, where SONiC's show command reads it, and why others are not. Other fields of
// such a row belong to tammgrd: the row is also the status of the configured row of this name.
func (o *Orch) tell(ctx context.Context) error {
	if o.told == nil {
		rows, err := o.state.Dump(ctx)
		if err != nil {
			return err
		}
		o.told = map[string]trapStatus{}
		for name, row := range rows {
			if s := (trapStatus{row[schema.FieldHWStatus], row[schema.FieldHWError]}); s != (trapStatus{}) {
				o.told[name] = s
			}
		}
	}
	want := o.trapStatuses()
	names := slices.AppendSeq(slices.Collect(maps.Keys(o.told)), maps.Keys(want))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		is := want[name]
		if o.told[name] == is {
			continue
		}
		for field, text := range map[string]string{schema.FieldHWStatus: is.status, schema.FieldHWError: is.err} {
			err := error(nil)
			if text == "" {
				err = o.state.HDel(ctx, name, field)
			} else {
				err = o.state.Set(ctx, name, swss.FieldValues{field: text})
			}
			if err != nil {
				return err
			}
		}
		if o.told[name] = is; is == (trapStatus{}) {
			delete(o.told, name)
		}
	}
	return nil
}
