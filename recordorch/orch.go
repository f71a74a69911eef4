package recordorch

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

const featureName = schema.FeatureTableRecord

// Rules is the view of ACLs that table recording needs. aclorch implements it.
type Rules interface {
	feature.VariantRules
	// MatchOf returns the value that a rule requires in a field of an entry. It returns false if the rule accepts any
	// value.
	MatchOf(rule schema.ACLRuleKey, field sai.AttrID) (sai.Field, bool)
	// PreIngress announces that entries of a feature must match packets before the switch makes any decision about
	// them.
	PreIngress(feature string)
}

// Ports provides the ports and LAGs for table recording. portsorch implements it.
type Ports interface {
	// Port returns a port's object and the LAG that the port is a member of ("" if none).
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
	// Changes publishes the ports and LAGs that were added, that joined or left, or that will be removed. A port or LAG
	// that will be removed can no longer be found, and must be released at once.
	Changes() *orch.Topic[[]string]
}

// A Path describes how packets to a collector leave the switch.
type Path = orch.Path

// Config contains the configuration of an [Orch].
type Config struct {
	feature.Config
	Rules    Rules
	Ports    Ports
	Routes   orch.Paths
	Identity feature.Identity
}

// An Orch owns the plans and the sessions of table recording. All its methods run on the daemon's goroutine.
type Orch struct {
	*feature.Feature[schema.RecordFlow, binding]
	rules    Rules
	ports    Ports
	routes   orch.Paths
	identity feature.Identity
	plan     planner

	noUDP     bool     // true if the switch has no mirror sessions over UDP
	erspan    sai.Enum // encapsulation of mirror sessions over GRE
	graph     *record.Graph
	unlearned error     // reason why graph is nil
	pollAt    time.Time // time of the next poll of the chip

	schemes  map[schemeKey]*scheme
	plans    feature.Rows               // rows of TAM_TABLERECORD_PLANS
	counters feature.Rows               // rows of TAM_TABLERECORD_COUNTERS
	places   feature.Rows               // rows of STATE_DB with the bits of the plans
	former   map[schemeKey]formerScheme // plans of the previous run; used until the first view is applied
	planned  orch.Topic[Planned]
}

// Planned is the event that a session starts to record by a plan.
type Planned struct {
	Session string
	Plan    *record.Plan
}

// A session is a row of TAM_TABLERECORD_TABLE.
type session = feature.Session[schema.RecordFlow, binding]

// New asks the ASIC for its capabilities, records the answer for STATE_DB SWITCH_CAPABILITY, and registers the handlers
// at the daemon, after those of the rules.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		rules: cfg.Rules, ports: cfg.Ports, routes: cfg.Routes, identity: cfg.Identity, plan: makePlan,
		schemes: map[schemeKey]*scheme{}, plans: feature.Rows{Table: schema.CountersRecordPlan},
		counters: feature.Rows{Table: schema.CountersRecord, Clears: true},
		places:   feature.Rows{Table: schema.StateTAMTableRecordPlace, Places: true},
	}
	o.Feature = &feature.Feature[schema.RecordFlow, binding]{
		Kind: feature.Kind{
			Name: featureName, Table: schema.AppTAMTableRecord, State: schema.StateTAMTableRecord,
			What: "sessions", Again: orch.SomethingRemoved, OnePerRule: "table recording",
		},
		Logic: o,
		// Plans are written first, so that a reader of the counters also finds the meaning of the records.
		Rules: cfg.Rules, Counters: []*feature.Rows{&o.plans, &o.counters, &o.places},
	}
	if err := o.probe(ctx, cfg.SAI); err != nil {
		return nil, err
	}
	if err := o.Start(ctx, cfg.Config); err != nil {
		return nil, err
	}
	o.readFormer()
	cfg.Daemon.At(o.nextTimer, o.timers)
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, _ []string) { o.LookAgain(ctx) })
	cfg.Routes.Changes().Subscribe(func(ctx context.Context, _ struct{}) { o.LookAgain(ctx) })
	cfg.Identity.IDChanges().Subscribe(func(ctx context.Context, _ struct{}) { o.idChanged(ctx) })
	if o.Unsupported == "" {
		cfg.Rules.PreIngress(featureName)
		cfg.Rules.ReserveVariants(featureName, mirrorTo(sai.NullOID))
	}
	return o, nil
}

// Parse parses a row. It drops the names that are already resolved in the row, because a change of the names alone must
// not recreate the session.
func (o *Orch) Parse(key string, fields swss.FieldValues) (schema.RecordFlow, error) {
	row, err := schema.ParseRecordFlow(key, fields)
	row.CollectorName, row.SamplerName = "", ""
	return row, err
}

// Rule implements [feature.Grouped].
func (o *Orch) Rule(row *schema.RecordFlow) schema.ACLRuleKey { return row.Rule }

// Planned publishes the plans by which sessions record.
func (o *Orch) Planned() *orch.Topic[Planned] { return &o.planned }

// Done passes the addresses of the collectors to the routes.
func (o *Orch) Done(ctx context.Context) {
	var list []netip.Addr
	for _, s := range o.Sessions {
		if to := s.Row.Collector.Addr(); o.Running && o.Active && s.Configured && s.ParseErr == nil && to.IsValid() {
			list = append(list, to)
		}
	}
	slices.SortFunc(list, netip.Addr.Compare)
	o.routes.Want(ctx, slices.Compact(list))
}

// idChanged writes the new switch id to the plans.
func (o *Orch) idChanged(ctx context.Context) {
	if o.identity.InUse().HasSwitchID {
		for _, c := range o.sortedSchemes() {
			if !c.current() {
				continue
			}
			if err := o.write(ctx, c, c.labels); err != nil {
				o.Log.Error("table recording", "err", err)
			}
		}
	}
	o.LookAgain(ctx)
}

// Ready reads the graph for the plans of sessions, once there is a chip from which to read it.
func (o *Orch) Ready(ctx context.Context) bool {
	if o.graph == nil && o.unlearned == nil && o.asked() {
		o.learn(ctx)
	}
	o.fitMatches(ctx)
	return true
}

// asked reports whether the feature is active, the chip can record, and there are sessions.
func (o *Orch) asked() bool {
	return o.Asked && o.Active && o.Unsupported == "" && len(o.Sessions) > 0
}
