package routes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is the view of ports, PortChannels and VLANs that the orch needs.
type Ports interface {
	// RouterPort returns the object for a router interface of this name, and its MTU. The error is the reason why there
	// is none.
	RouterPort(name string) (on sai.Key, mtu uint32, err error)
	Layout() *orch.Topic[struct{}] // publishes that an answer of RouterPort or MAC changed
	Up(name string) bool           // reports whether packets can leave by an interface
	Opers() *orch.Topic[struct{}]  // publishes that an answer of Up changed
	MAC() sai.MAC                  // the switch's own address
	CPU() sai.OID                  // the CPU port
}

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Switch sai.OID
	Poller orch.Poller // polls the counters of router interfaces; nil means that they are not polled
}

// An Orch owns the virtual routers, router interfaces, neighbours, next hops, groups of next hops
// and routes. All its methods run on the daemon's goroutine.
type Orch struct {
	api      sai.API
	log      *slog.Logger
	ports    Ports
	switchID sai.OID
	vrfs     map[string]sai.OID // virtual routers by name; "" is the default one
	loopback sai.OID            // the loopback router interface that always exists
	applied  bool               // whether the view of the ASIC is complete

	ledger *orch.Ledger
	rows   store
	plan   *plan
	rifs   map[string]*rif
	hops   map[hop]*nextHop
	groups map[string]*group // next-hop groups by content
	routes map[schema.Dest]target
	// behind is true if an unplanned object is still in the ASIC, or a planned object did not fit. The next pass then
	// looks at all rows.
	behind bool

	changes orch.Topic[struct{}]
	asks    *asker
	single  singles
	counts  counters
}

// New reads the default virtual router, creates the loopback interface and the routes that always exist, and registers
// the handlers of the four tables on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, log: cfg.Daemon.Logger(), ports: cfg.Ports, switchID: cfg.Switch,
		rows: newStore(), rifs: map[string]*rif{}, hops: map[hop]*nextHop{}, groups: map[string]*group{},
		routes: map[schema.Dest]target{}, vrfs: map[string]sai.OID{},
	}
	var err error
	if o.asks, err = newAsker(ctx, cfg.Redis.DB(swss.ApplDB), o.log); err != nil {
		return nil, fmt.Errorf("read which neighbours are asked for: %w", err)
	}
	if err := o.single.open(ctx, cfg.Redis.DB(swss.StateDB)); err != nil {
		return nil, fmt.Errorf("read which routes have one next hop of several: %w", err)
	}
	want := []sai.Attr{sai.Want(sai.SwitchAttrDefaultVirtualRouterID, 0)}
	got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, cfg.Switch), want)
	if err != nil {
		return nil, fmt.Errorf("read the default virtual router: %w", err)
	}
	o.vrfs[""], _ = got[0].Value.(sai.OID)
	loopback := []sai.Attr{{ID: sai.RouterInterfaceAttrVirtualRouterID, Value: o.vrfs[""]},
		{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypeLoopback}}
	if o.loopback, err = o.api.Create(ctx, sai.ObjectTypeRouterInterface, loopback); err != nil {
		return nil, fmt.Errorf("create the loopback router interface: %w",
			orch.AtAttr(err, sai.ObjectTypeRouterInterface, loopback))
	}
	if err := o.counts.open(ctx, cfg); err != nil {
		return nil, err
	}
	tables := []orch.LedgerTable{
		{Name: schema.AppVRF, State: schema.StateVRF},
		{Name: schema.AppInterface, State: schema.StateInterface}, {Name: schema.AppNeigh, State: schema.StateNeigh},
		{Name: schema.AppRoute, State: schema.StateStaticRoute, Others: schema.StateRoute, Responds: true},
	}
	for i := range tables[1:] { // rows of other programs have no key of CONFIG_DB
		tables[1+i].StateKey = func(_ string, fields swss.FieldValues) string { return fields[schema.FieldConfigKey] }
	}
	o.ledger = orch.NewLedger(cfg.Daemon, cfg.Redis.DB(swss.ApplDB), o.pass, tables...)
	o.ledger.Incremental = o.passRoutes
	orch.ConsumeFlexGroups(cfg.Daemon, o.counts.flush, &o.counts.group)
	cfg.Daemon.AfterHold(o.counts.dropFormer)
	cfg.Daemon.Every(o.counts.retry, func(ctx context.Context, _ time.Time) error { return o.counts.flush(ctx) })
	o.ports.Layout().Subscribe(o.layoutChanged)
	o.ports.Opers().Subscribe(o.layoutChanged)
	return o, o.ledger.Reconcile(ctx)
}

// Router returns the default virtual router and its loopback interface, as tunnels need them.
func (o *Orch) Router() (router, loopback sai.OID) { return o.vrfs[""], o.loopback }

// ViewApplied notifies the orch that syncd has applied the view to the ASIC. Nothing is removed in bulk earlier, since
// SONiC's syncd loses such removals.
func (o *Orch) ViewApplied(ctx context.Context) error {
	o.applied = true
	o.single.hash.DropFormer()
	if len(o.single.lacks) == 0 {
		return nil
	}
	return o.ledger.Reconcile(ctx)
}

// layoutChanged follows ports and VLANs. Objects on a port that is about to be removed are removed first. Groups omit
// next hops whose port is down.
func (o *Orch) layoutChanged(ctx context.Context, _ struct{}) {
	if o.plan != nil && o.sameLayout() {
		return
	}
	if err := o.ledger.Reconcile(ctx); err != nil {
		o.log.Error("routes are behind", "err", err)
	}
}

// pass brings the ASIC in line with the rows. It repeats this while an obstacle was removed or a row was refused.
func (o *Orch) pass(ctx context.Context) error {
	o.parseRows()
	const rounds = 8
	for range rounds {
		refused := len(o.ledger.Failed)
		again := o.apply(ctx, o.makePlan())
		if !again && len(o.ledger.Failed) == refused {
			break
		}
		if again {
			o.ledger.Retry()
		}
	}
	o.flushAsks(ctx)
	return errors.Join(o.counts.flush(ctx), o.single.hash.Flush(ctx))
}

// parseRows parses the rows that changed.
func (o *Orch) parseRows() {
	for _, k := range o.ledger.Changed {
		o.rows.remove(k)
		if fields, ok := o.ledger.Rows[k]; ok {
			o.rows.put(k, fields)
		} else {
			o.single.note(k.Key, "")
		}
	}
}

// passRoutes does the work of pass if only rows of routes changed, so that all other routes stay. If it returns false,
// pass must follow.
func (o *Orch) passRoutes(ctx context.Context) (touched []orch.RowKey, ok bool) {
	changed := o.ledger.Changed
	if o.plan == nil || o.behind {
		return nil, false
	}
	prefixes := map[schema.Dest]bool{}
	note := func(key string) {
		if row, ok := o.rows.routes[key]; ok && row.err == nil {
			prefixes[row.row.Dest] = true
		}
	}
	for _, k := range changed {
		if k.Table != schema.AppRoute {
			return nil, false
		}
		note(k.Key)
	}
	o.parseRows()
	for _, k := range changed {
		note(k.Key)
		o.replan(k)
		touched = append(touched, k)
	}
	for prefix := range prefixes {
		touched = append(touched, o.replanPrefix(prefix)...)
	}
	short := o.bring(ctx, o.plan, prefixes)
	o.changes.Publish(ctx, struct{}{})
	freed := o.removeGroups(ctx)
	freed = o.removeNeighbors(ctx) || freed
	o.flushAsks(ctx)
	o.behind = o.behind || short
	if err := o.single.hash.Flush(ctx); err != nil {
		return touched, false
	}
	return touched, !(freed && short) && len(o.ledger.Failed) == 0
}

// apply applies all differences between the plan and the ASIC, each once.
func (o *Orch) apply(ctx context.Context, p *plan) (again bool) {
	o.plan, o.behind = p, false
	o.ledger.Restart(p.why)
	o.markLeaving(p)
	o.makeVRFs(ctx, p)
	o.makeRIFs(ctx, p)
	o.makeNeighbors(ctx, p)
	short := o.makeRoutes(ctx, p)
	o.changes.Publish(ctx, struct{}{})
	freed := o.removeGroups(ctx)
	freed = o.removeNeighbors(ctx) || freed
	freed = o.removeRIFs(ctx) || freed
	freed = o.removeVRFs(ctx, p) || freed
	o.behind = o.behind || short
	return freed && (short || o.unfinished(p))
}

// stays records that an object could not be removed. Another pass tries it again soon.
func (o *Orch) stays(what, name string, err error) {
	o.behind = true
	o.ledger.Again()
	o.ledger.LogError(what+" stays in the ASIC", "name", name, "err", err)
}

// unfinished reports whether a planned router interface is missing, because a router interface on another port had its
// name.
func (o *Orch) unfinished(p *plan) bool {
	for name := range p.rifs {
		if o.rifs[name] == nil && !o.ledger.Refused(orch.Row(schema.AppInterface, name)) {
			return true
		}
	}
	return false
}

// joined joins reasons, at most the first four.
func joined(reasons []string) string {
	const few = 4
	if len(reasons) > few {
		reasons = append(reasons[:few:few], fmt.Sprintf("and %d more", len(reasons)-few))
	}
	return strings.Join(reasons, "; ")
}
