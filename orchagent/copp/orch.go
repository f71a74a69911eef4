// Package copp makes COPP_TABLE of APPL_DB into host interface traps: which
// packets the CPU gets, whether they are forwarded too, in which queue they
// come, and by policers how many. What a trap does without a row is the ASIC's own default;
// the group named default is the switch's own, for what has no trap in another.
//
// What belongs here: traps, their groups, and the policers of groups.
package copp

import (
	"context"
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

// Config is what an [Orch] works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Switch sai.OID
	Poller orch.Poller // polls the policers' counters; nil: nobody does
}

// An Orch owns the traps of the ASIC. All its methods run on the daemon's
// goroutine.
type Orch struct {
	api     sai.API
	log     *slog.Logger
	ledger  *orch.Ledger
	applied bool // the view of the ASIC is complete

	own     sai.OID                  // the switch's default group; null: it has none
	queues  uint32                   // of the CPU port; 0: not known
	can     map[sai.AttrID]sai.Enums // what attributes of policers may be; none: not known
	groups  map[string]*group
	traps   map[string]*object // by SONiC's name
	garbage []sai.Key          // policers that nothing has any more
	counts  counters
}

// An object is in the ASIC, with the attributes that it has.
type object struct {
	key   sai.Key
	attrs []sai.Attr
}

// A group is a trap group, maybe with a policer.
type group struct {
	object
	policer *object // nil: none
}

// trapTypes has SAI's traps where their names are not SONiC's in capitals.
var trapTypes = map[string]sai.Enum{
	"arp_req": sai.HostifTrapTypeArpRequest, "arp_resp": sai.HostifTrapTypeArpResponse,
	"neigh_discovery": sai.HostifTrapTypeIPv6NeighborDiscovery, "sample_packet": sai.HostifTrapTypeSamplepacket,
}

// trapType returns SAI's trap of a name.
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

// New asks what the ASIC can do, and registers the handler on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), can: map[sai.AttrID]sai.Enums{},
		groups: map[string]*group{}, traps: map[string]*object{},
	}
	o.probe(ctx, cfg.Switch)
	if err := o.counts.open(ctx, cfg); err != nil {
		return nil, err
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, orch.LedgerTable{Name: schema.AppCOPP})
	orch.ConsumeFlexGroups(cfg.Daemon, o.counts.flush, &o.counts.group)
	cfg.Daemon.AfterHold(o.counts.dropFormer)
	cfg.Daemon.Every(o.counts.retry, func(ctx context.Context, _ time.Time) error { return o.counts.flush(ctx) })
	return o, nil
}

// ViewApplied says that syncd has applied the view to the ASIC. Until then nothing is created:
// anything that the ASIC does not support would fail the whole view.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	return o.ledger.Settle(ctx)
}

func row(group string) orch.RowKey { return orch.Row(schema.AppCOPP, group) }

// A plan is what the rows ask for.
type plan struct {
	groups map[string]schema.COPPGroup
	owner  map[string]string // group of a trap
}

func (o *Orch) plan() *plan {
	p := &plan{groups: map[string]schema.COPPGroup{}, owner: map[string]string{}}
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
		if err == nil {
			err = o.supported(&g)
		}
		if err != nil {
			o.ledger.Why[k] = err
			continue
		}
		p.groups[key] = g
		for _, t := range g.Traps {
			if other, taken := p.owner[t]; taken {
				o.ledger.Why[k] = fmt.Errorf("trap %s is in group %s", t, other)
				continue
			}
			p.owner[t] = key
		}
	}
	return p
}

// pass brings the ASIC to what the rows ask for. What it refuses changes the
// plan, and what was removed may have made room.
func (o *Orch) pass(ctx context.Context) error {
	for range o.ledger.Passes {
		p := o.plan()
		o.removeTraps(ctx, p)
		o.makeGroups(ctx, p)
		o.makeTraps(ctx, p)
		o.removeGroups(ctx, p)
		if o.collect(ctx) {
			o.ledger.Freed()
		}
	}
	return o.counts.flush(ctx)
}

// removeTraps removes traps; what fails is tried again in the next pass.
func (o *Orch) removeTraps(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(o.traps)) {
		if _, ok := p.owner[name]; !ok && o.remove(ctx, o.traps[name].key, "trap "+name) {
			delete(o.traps, name)
		}
	}
}

// remove removes an object, and reports whether it is gone.
func (o *Orch) remove(ctx context.Context, k sai.Key, what string) bool {
	if err := o.api.Remove(ctx, k); err != nil && orch.Classify(err) != orch.Benign {
		o.log.Error("an object stays in the ASIC", "object", k.OID.String(), "what", what, "err", err)
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
		attrs := []sai.Attr{
			{ID: sai.HostifTrapAttrTrapType, Value: typ},
			{ID: sai.HostifTrapAttrPacketAction, Value: actions[g.Action]},
			{ID: sai.HostifTrapAttrTrapPriority, Value: sai.Uint(g.Priority)},
			{ID: sai.HostifTrapAttrTrapGroup, Value: own.key.OID},
		}
		if err := o.make(ctx, o.traps, name, sai.ObjectTypeHostifTrap, attrs); err != nil {
			o.ledger.Fail(row(group), "trap "+name, err)
		}
	}
}

// make creates an object, or sets what differs, all or nothing.
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

// create creates an object. Of attributes that are SAI's defaults nothing is said.
func (o *Orch) create(ctx context.Context, t sai.ObjectType, attrs []sai.Attr) (*object, error) {
	said := slices.DeleteFunc(slices.Clone(attrs), func(a sai.Attr) bool { return a.Value == sai.Meta(a.ID).Default })
	oid, err := o.api.Create(ctx, t, said)
	if err != nil {
		return nil, orch.AtAttr(err, t, said)
	}
	return &object{sai.Obj(t, oid), attrs}, nil
}

// change sets what differs of an object's attributes, step by step; undo takes the steps back.
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
