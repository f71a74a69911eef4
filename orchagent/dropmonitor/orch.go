// Package dropmonitor makes the sessions of the drop monitor, TAM_SESSION_TABLE of APPL_DB, into SAI's TAM objects. A
// session has a transport and a collector for each collector that can be reached, a report, an action, an event, and a
// TAM object. The TAM object is bound to the switch, or to the ACL entries of a flow group at the pre-ingress stage.
// The chip makes the reports.
//
// A session is in the ASIC while at least one of its collectors can be reached. The path of reports follows the routes.
// As long as the set of collectors stays the same, changes are made in place. Otherwise the session is recreated, and
// its counters begin at zero.
//
// What belongs here: sessions and collectors of the drop monitor. The chip decides which packets it drops and reports.
package dropmonitor

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/dropreport"
)

const featureName = schema.FeatureDropMonitor

// Rules is the view of ACLs that the drop monitor needs. aclorch implements it.
type Rules interface {
	feature.VariantRules
	// PreIngress declares in advance that entries of a feature see packets before any decision about them.
	PreIngress(feature string)
}

// Ports is the view of ports that the drop monitor needs. portsorch implements it.
type Ports interface {
	orch.ExitPorts
	// Changes publishes ports and LAGs that were created, changed their membership, or are about to be removed.
	Changes() *orch.Topic[[]string]
}

// Config is the configuration of an [Orch].
type Config struct {
	feature.Config
	Rules    Rules
	Ports    Ports
	Routes   orch.Paths
	Identity feature.Identity
	Whole    *feature.SwitchTAM // TAM objects that are bound to the switch
}

// A session is a row of TAM_SESSION_TABLE.
type session = feature.Session[schema.DropFlow, binding]

// An Orch owns the TAM objects of the drop monitor. All its methods run on the daemon's goroutine.
type Orch struct {
	*feature.Feature[schema.DropFlow, binding]
	rules    Rules
	ports    Ports
	routes   orch.Paths
	identity feature.Identity
	whole    *feature.SwitchTAM

	counts   bool  // whether the switch counts drops and reports
	noGroups error // why sessions of flow groups are impossible; nil if they are possible

	destinations map[string]*destination // rows of TAM_COLLECTOR_TABLE
	collectors   map[string]*destination // rows of TAM_COLLECTORS_TABLE
	domain       domain                  // the object with the switch's id
	others       map[string][]string     // collectors of other features' sessions, by session
	changed      orch.Topic[struct{}]    // publishes changes of collectors' rows
	trap         hostTrap                // for reports that the host sends
	sent         *swss.Table             // rows with the counts of messages that the host has sent
	counters     feature.Rows            // rows of TAM_DROP_MONITOR_COUNTERS
}

// New reads the capabilities of the ASIC, records them for SWITCH_TABLE of APPL_DB, and registers the handlers on the
// daemon, after those of the rules.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		rules: cfg.Rules, ports: cfg.Ports, routes: cfg.Routes, identity: cfg.Identity, whole: cfg.Whole,
		destinations: map[string]*destination{}, collectors: map[string]*destination{},
		counters: feature.Rows{Table: schema.CountersDropMonitor, Clears: true},
		domain:   domain{},
		sent:     swss.NewTable(cfg.Redis.DB(swss.CountersDB), schema.CountersManagementReports),
	}
	o.Feature = &feature.Feature[schema.DropFlow, binding]{
		Kind: feature.Kind{
			Name: featureName, Table: schema.AppTAMSession, State: schema.StateTAMDropMonitor, What: "sessions",
			Again: orch.SomethingRemoved,
		},
		Logic: o, Counters: []*feature.Rows{&o.counters}, Present: &o.counters,
	}
	if err := o.probe(ctx, cfg.SAI); err != nil {
		return nil, err
	}
	o.Consume(cfg.Config, schema.AppTAMDestination, schema.StateTAMDestination, o.destinationRow)
	o.Consume(cfg.Config, schema.AppTAMCollector, "", o.collectorRow)
	if err := o.Start(ctx, cfg.Config); err != nil {
		return nil, err
	}
	o.ReadCounters(o.monitors, o.read)
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, _ []string) { o.lookAgain(ctx) })
	cfg.Routes.Changes().Subscribe(func(ctx context.Context, _ struct{}) { o.lookAgain(ctx) })
	cfg.Identity.IDChanges().Subscribe(func(ctx context.Context, _ struct{}) { o.lookAgain(ctx) })
	cfg.Rules.Watch().Subscribe(func(ctx context.Context, _ []schema.ACLRuleKey) { o.lookAgain(ctx) })
	if o.Unsupported == "" && o.noGroups == nil {
		cfg.Rules.PreIngress(featureName)
		cfg.Rules.ReserveVariants(featureName, monitored(sai.NullOID))
	}
	return o, nil
}

// probe reads whether the ASIC can report drops.
func (o *Orch) probe(ctx context.Context, api sai.API) error {
	types, err := api.EnumCapability(ctx, sai.TAMEventAttrType)
	switch {
	case errors.Is(err, swss.ErrUnavailable):
		return err
	case err == nil && !slices.Contains(types, sai.TAMEventTypePacketDrop):
		o.Unsupported = "the switch cannot report drops: its SAI has no SAI_TAM_EVENT_TYPE_PACKET_DROP"
	}
	switch can, err := api.AttrCapability(ctx, sai.SwitchAttrPreIngressACL); {
	case errors.Is(err, swss.ErrUnavailable):
		return err
	case err == nil && !can.Set:
		o.noGroups = errors.New("the switch cannot report drops of a flow group: its SAI cannot choose packets as they " +
			"come, it has no SAI_SWITCH_ATTR_PRE_INGRESS_ACL")
	}
	room, err := feature.Room(ctx, api, dropreport.ObjectReports)
	o.counts = room > 0
	return err
}

// lookAgain reconciles all sessions, since routes, ports or rules may have changed.
func (o *Orch) lookAgain(ctx context.Context) {
	if len(o.Sessions)+len(o.destinations) == 0 {
		return
	}
	o.MarkAll()
	o.ReconcileNow(ctx)
}

// UDP ports from which sessions send, so that each collector can distinguish the streams of sessions.
const (
	firstPort = 49152
	portCount = 1 << 14
)

// port returns the source port of a session. It depends only on the names of the sessions.
func (o *Orch) port(name string) uint16 {
	of := func(name string) uint32 {
		h := fnv.New32a()
		h.Write([]byte(name))
		return h.Sum32() % portCount
	}
	taken := map[uint32]string{}
	for _, n := range o.names() {
		p := of(n)
		for taken[p] != "" && len(taken) < portCount {
			p = (p + 1) % portCount
		}
		if taken[p] = n; n == name {
			return uint16(firstPort + p)
		}
	}
	return uint16(firstPort + of(name))
}

// names returns the names of all sessions that send reports.
func (o *Orch) names() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(o.Sessions)), maps.Keys(o.others))
	slices.SortFunc(names, schema.CompareNames)
	return slices.Compact(names)
}

// Done registers the addresses of the collectors at the routes, and reports the status of the collectors.
func (o *Orch) Done(ctx context.Context) {
	o.wantPaths(ctx)
	o.reportDestinations(ctx)
}
