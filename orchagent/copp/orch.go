// Package copp makes COPP_TABLE of APPL_DB into host interface traps: which
// packets the CPU gets, whether they are forwarded too, and in which queue they
// come. What a trap does without a row is the ASIC's own default.
//
// What belongs here: traps and their groups.
package copp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

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
}

// An Orch owns the traps of the ASIC. All its methods run on the daemon's
// goroutine.
type Orch struct {
	api     sai.API
	log     *slog.Logger
	ledger  *orch.Ledger
	applied bool // the view of the ASIC is complete

	groups map[string]*object
	traps  map[string]*object // by SONiC's name
}

// An object is in the ASIC, with the attributes that it has.
type object struct {
	key   sai.Key
	attrs []sai.Attr
}

// trapTypes has SAI's traps where their names are not SONiC's in capitals.
var trapTypes = map[string]sai.Enum{
	"arp_req": sai.HostifTrapTypeArpRequest, "arp_resp": sai.HostifTrapTypeArpResponse,
	"neigh_discovery": sai.HostifTrapTypeIPv6NeighborDiscovery,
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

// New registers the handler on the daemon.
func New(cfg Config) *Orch {
	o := &Orch{api: cfg.SAI, log: cfg.Daemon.Logger(), groups: map[string]*object{}, traps: map[string]*object{}}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, orch.LedgerTable{Name: schema.AppCOPP})
	return o
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
			o.ledger.Why[k] = orch.Wait("switch", "view", "waiting for the ASIC's view to be complete")
			continue
		}
		if o.ledger.Refused(k) {
			continue
		}
		g, err := schema.ParseCOPPGroup(key, o.ledger.Rows[k])
		if err != nil {
			o.ledger.Why[k] = err
			continue
		}
		if len(g.Ignored) > 0 {
			o.ledger.Notes[k] = "ignored: " + strings.Join(g.Ignored, ", ")
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
// plan.
func (o *Orch) pass(ctx context.Context) error {
	for refused := -1; refused != len(o.ledger.Failed); {
		refused = len(o.ledger.Failed)
		o.ledger.Restart(nil)
		p := o.plan()
		o.removeTraps(ctx, p)
		o.makeGroups(ctx, p)
		o.makeTraps(ctx, p)
		o.removeGroups(ctx, p)
	}
	return nil
}

func (o *Orch) removeTraps(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(o.traps)) {
		if _, ok := p.owner[name]; !ok {
			o.remove(ctx, o.traps, name)
		}
	}
}

// removeGroups comes last: traps may have moved.
func (o *Orch) removeGroups(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(o.groups)) {
		if _, ok := p.groups[name]; !ok {
			o.remove(ctx, o.groups, name)
		}
	}
}

// remove removes an object; what fails is tried again in the next pass.
func (o *Orch) remove(ctx context.Context, from map[string]*object, name string) {
	if err := o.api.Remove(ctx, from[name].key); err != nil && orch.Classify(err) != orch.Benign {
		o.log.Error("an object stays in the ASIC", "object", from[name].key.OID.String(), "name", name, "err", err)
		return
	}
	delete(from, name)
}

func (o *Orch) makeGroups(ctx context.Context, p *plan) {
	for _, name := range slices.Sorted(maps.Keys(p.groups)) {
		attrs := []sai.Attr{{ID: sai.HostifTrapGroupAttrQueue, Value: sai.Uint(p.groups[name].Queue)}}
		if err := o.make(ctx, o.groups, name, sai.ObjectTypeHostifTrapGroup, attrs); err != nil {
			o.ledger.Fail(row(name), "trap group", err)
		}
	}
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
	have := in[name]
	if have == nil {
		oid, err := o.api.Create(ctx, t, attrs)
		if err != nil {
			return orch.AtAttr(err, t, attrs)
		}
		in[name] = &object{sai.Obj(t, oid), attrs}
		return nil
	}
	var undo orch.Undo
	for i, a := range attrs {
		was := have.attrs[i]
		if reflect.DeepEqual(was.Value, a.Value) {
			continue
		}
		if err := o.api.Set(ctx, have.key, a); err != nil {
			return orch.Undone(ctx, &undo, fmt.Errorf("set %s: %w", a.ID, err))
		}
		undo.Push(a.ID.String(), func(ctx context.Context) error { return o.api.Set(ctx, have.key, was) })
	}
	have.attrs = attrs
	return nil
}
