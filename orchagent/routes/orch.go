package routes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
)

// Ports is what the orch needs of ports, PortChannels and VLANs.
type Ports interface {
	// RouterPort returns what a router interface of this name is made on, and its
	// MTU; the error says in words why there can be none.
	RouterPort(name string) (on sai.Key, mtu uint32, err error)
	Layout() *orch.Topic[struct{}] // tells that an answer of RouterPort or MAC changed
	Up(name string) bool           // whether packets can leave by an interface
	Opers() *orch.Topic[struct{}]  // tells that an answer of Up changed
	MAC() sai.MAC                  // the switch's own address
	CPU() sai.OID                  // the CPU port
}

// Config is what an [Orch] works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Switch sai.OID
}

// An Orch owns the router interfaces, neighbours, next hops, groups of next hops
// and routes. All its methods run on the daemon's goroutine.
type Orch struct {
	api      sai.API
	daemon   *orch.Daemon
	log      *slog.Logger
	ports    Ports
	switchID sai.OID
	router   sai.OID // default virtual router
	applied  bool    // the view of the ASIC is complete

	rows   store
	plan   *plan
	rifs   map[string]*rif
	hops   map[hop]*nextHop
	groups map[string]*group // by content
	routes map[netip.Prefix]target

	outcome map[rowKey]error  // of the last converge: rows that are not in the ASIC as they should be, and why
	failed  map[rowKey]error  // what SAI said to a row; stays until the row changes
	said    map[rowKey]string // what was last reported of a row

	changes orch.Topic[struct{}]
}

// tables are those of APPL_DB, in the order in which they are handled.
var tables = []string{schema.AppInterface, schema.AppNeigh, schema.AppRoute}

// stateTables are those of STATE_DB with the outcomes.
var stateTables = map[string]string{
	schema.AppInterface: schema.StateInterface, schema.AppNeigh: schema.StateNeigh,
	schema.AppRoute: schema.StateStaticRoute,
}

// New reads the default virtual router, makes the routes that are always there,
// and registers the handlers of the three tables on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), ports: cfg.Ports, switchID: cfg.Switch,
		rows: newStore(), rifs: map[string]*rif{}, hops: map[hop]*nextHop{}, groups: map[string]*group{},
		routes: map[netip.Prefix]target{}, failed: map[rowKey]error{}, said: map[rowKey]string{},
	}
	want := []sai.Attr{sai.Want(sai.SwitchAttrDefaultVirtualRouterID, 0)}
	got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, cfg.Switch), want)
	if err != nil {
		return nil, fmt.Errorf("read the default virtual router: %w", err)
	}
	o.router, _ = got[0].Value.(sai.OID)
	appl := cfg.Redis.DB(swss.ApplDB)
	for _, table := range tables {
		source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, table) }
		words := orch.Reporting{StateTable: stateTables[table], None: true}
		cfg.Daemon.Consume(source, table, orch.HandlerFunc(o.handle), words)
	}
	o.ports.Layout().Subscribe(o.layoutChanged)
	o.ports.Opers().Subscribe(o.layoutChanged)
	o.converge(ctx)
	return o, nil
}

// ViewApplied says that syncd has brought the ASIC to the view. Until then
// nothing is removed in bulk: SONiC's syncd forgets it.
func (o *Orch) ViewApplied() { o.applied = true }

// layoutChanged follows ports and VLANs: what is on one that goes, goes first,
// and groups of next hops do without those that are down.
func (o *Orch) layoutChanged(ctx context.Context, _ struct{}) {
	if o.plan != nil && o.sameLayout() {
		return
	}
	o.converge(ctx)
	o.report(ctx)
}

// handle takes a batch of rows of one table. Outcomes are reported by itself,
// because a row's outcome changes with others'.
func (o *Orch) handle(ctx context.Context, tasks []orch.Task) []error {
	for _, t := range tasks {
		k := rowKey{t.Table, t.Key}
		was := o.rows.state(k)
		if t.Op == orch.Del {
			o.rows.remove(k)
		} else {
			o.rows.put(k, t.Fields)
		}
		if is := o.rows.state(k); was != is && was.table != "" {
			o.daemon.Unreport(ctx, was.table, was.key)
		}
		delete(o.said, k)
		delete(o.failed, k)
	}
	o.converge(ctx)
	o.report(ctx)
	return make([]error, len(tasks))
}

// converge makes the ASIC what the rows ask for, going through it again while
// that removed what stood in the way, or a row was refused.
func (o *Orch) converge(ctx context.Context) {
	const rounds = 8
	again := true
	for range rounds {
		if again {
			maps.DeleteFunc(o.failed, func(_ rowKey, err error) bool { return orch.Classify(err) == orch.Retry })
		}
		refused := len(o.failed)
		if again = o.apply(ctx, o.makePlan()); !again && len(o.failed) == refused {
			return
		}
	}
}

// apply goes once through all that differs between the plan and the ASIC.
func (o *Orch) apply(ctx context.Context, p *plan) (again bool) {
	o.plan, o.outcome = p, p.why
	o.markLeaving(p)
	o.makeRIFs(ctx, p)
	o.makeNeighbors(ctx, p)
	short := o.makeRoutes(ctx, p)
	o.changes.Publish(ctx, struct{}{})
	freed := o.removeGroups(ctx)
	freed = o.removeNeighbors(ctx) || freed
	freed = o.removeRIFs(ctx) || freed
	return freed && (short || o.unfinished(p))
}

// unfinished says whether a router interface that is planned is not there: one
// on another port was in its place.
func (o *Orch) unfinished(p *plan) bool {
	for name := range p.rifs {
		if o.rifs[name] == nil && o.failed[rowKey{schema.AppInterface, name}] == nil {
			return true
		}
	}
	return false
}

// fail keeps what SAI said to a row until the row changes.
func (o *Orch) fail(k rowKey, what string, err error) {
	err = fmt.Errorf("%s: %w", what, err)
	o.failed[k] = err
	o.log.Error("SAI failed", "row", k.table+":"+k.key, "err", err)
}

// A partlyError is the outcome of a row that is in the ASIC, with less than it
// asks for.
type partlyError struct{ reason string }

func (e *partlyError) Error() string { return e.reason }

// report writes what became of each row to STATE_DB, if that has changed.
func (o *Orch) report(ctx context.Context) {
	var others []string
	for k := range o.rows.all {
		err := o.failed[k]
		if err == nil {
			err = o.outcome[k]
		}
		var partly *partlyError
		status, reason := "", ""
		if errors.As(err, &partly) {
			status, reason = schema.StatusActive, partly.reason
		} else {
			status, reason = o.daemon.Verdict(stateTables[k.table], err)
		}
		said := status + ": " + reason
		if o.said[k] == said {
			continue
		}
		o.said[k] = said
		if s := o.rows.state(k); s.table != "" {
			o.daemon.Report(ctx, s.table, s.key, status, reason)
		} else if err != nil {
			others = append(others, k.table+":"+k.key+": "+reason)
		}
	}
	slices.Sort(others)
	for _, line := range others {
		o.log.Info("a row of others is not in the ASIC as it should be", "row", line)
	}
}

// joined lists reasons, the first few of many.
func joined(reasons []string) string {
	const few = 4
	if len(reasons) > few {
		reasons = append(reasons[:few:few], fmt.Sprintf("and %d more", len(reasons)-few))
	}
	return strings.Join(reasons, "; ")
}
