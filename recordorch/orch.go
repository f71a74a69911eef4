package recordorch

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/record"
)

const feature = schema.FeatureTableRecord

// Rules is what table recording needs of ACLs; aclorch has it.
type Rules interface {
	// Usable says why a rule cannot be used as a flow group; nil if it can.
	Usable(rule schema.ACLRuleKey) error
	// ReserveVariants says beforehand what entries of a feature may match and do.
	ReserveVariants(feature string, samples []orch.ACLVariant)
	// BindVariants has the feature use rules[i] for users[i], with the entries
	// variants[i]. One error per rule.
	BindVariants(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string, variants [][]orch.ACLVariant) []error
	// UnbindMany ends such uses. Ending what is not there is no error.
	UnbindMany(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error
	// VariantCounter returns the counter of an entry; false if there is no entry.
	VariantCounter(rule schema.ACLRuleKey, feature, variant string) (oid sai.OID, label string, ok bool)
	// Watch names rules that came or went, whose entries were lost, or for which there
	// may be room now.
	Watch() *orch.Topic[[]schema.ACLRuleKey]
}

// Ports is what table recording needs to know of ports and LAGs; portsorch has it.
type Ports interface {
	// Port returns a port's object and the LAG that it is a member of ("" none).
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
	// Changes names ports and LAGs that came, joined or left, or are about to
	// go: these are not found any more and must be let go of at once.
	Changes() *orch.Topic[[]string]
}

// A Way is how packets to a collector leave the switch.
type Way struct {
	Port        string     // port or PortChannel
	Source, MAC sai.MAC    // the switch's and the neighbour's
	Address     netip.Addr // the switch's own that they come from
}

// Routes knows the ways; routeorch does, through device.
type Routes interface {
	// Way returns the way to an address; source is the address that packets are to come
	// from, if it is valid. The error says in words why there is none.
	Way(to, source netip.Addr) (Way, error)
	// Changes tells that ways may have changed.
	Changes() *orch.Topic[struct{}]
}

// Identity knows the switch id; tsorch does.
type Identity interface {
	// SwitchID returns the switch id in use; false: there is none.
	SwitchID() (uint32, bool)
	// IDChanges tells that it may have changed.
	IDChanges() *orch.Topic[struct{}]
}

// Config is what an [Orch] works with.
type Config struct {
	SAI      sai.API
	Daemon   *orch.Daemon
	Redis    *swss.Redis
	Rules    Rules
	Ports    Ports
	Routes   Routes
	Identity Identity
	// Features tells whether the feature is active.
	Features *orch.Features
}

// An Orch owns the plans of table recording and its sessions. All its methods run
// on the daemon's goroutine.
type Orch struct {
	api      sai.API
	daemon   *orch.Daemon
	log      *slog.Logger
	rules    Rules
	ports    Ports
	routes   Routes
	identity Identity
	plan     planner

	unsupported string
	noUDP       bool     // the switch has no mirror sessions over UDP
	erspan      sai.Enum // how copies are tunnelled otherwise
	running     bool     // the first view is applied: there is a chip to ask
	graph       *record.Graph
	unlearned   error     // why graph is nil
	pollAt      time.Time // when the chip is looked at again
	windows     []sai.OID // that are there: one while the chip is read, or such as stay

	active   bool
	sessions map[string]*session
	byRule   map[schema.ACLRuleKey]map[string]*session
	dirty    map[string]*session
	again    map[string]*session // those that may fare better when something changes
	schemes  map[schemeKey]*scheme
	bound    int // sessions with a binding
	busy     bool
	said     string // of the feature
	books    books
	planned  orch.Topic[Planned]
}

// Planned is that a session records by a plan from now on.
type Planned struct {
	Session string
	Plan    *record.Plan
}

// A session is a row of TAM_TABLERECORD_TABLE.
type session struct {
	name  string
	given bool // there is a row
	row   schema.RecordFlow
	bad   error // what is wrong with the row
	on    *binding
	err   error // why it is not bound, or not unbound
	said  string
}

// New asks the ASIC what it can do, notes the answer for APPL_DB SWITCH_TABLE,
// and registers the handlers on the daemon, after those of the rules.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{
		api: cfg.SAI, daemon: cfg.Daemon, log: cfg.Daemon.Logger(), rules: cfg.Rules, ports: cfg.Ports, routes: cfg.Routes, identity: cfg.Identity,
		plan: makePlan, sessions: map[string]*session{}, byRule: map[schema.ACLRuleKey]map[string]*session{}, dirty: map[string]*session{},
		again: map[string]*session{}, schemes: map[schemeKey]*scheme{},
	}
	if err := o.probe(ctx); err != nil {
		return nil, err
	}
	cfg.Features.Can(feature, o.unsupported)
	if err := o.books.open(ctx, cfg.Redis); err != nil {
		return nil, err
	}
	appl := cfg.Redis.DB(swss.ApplDB)
	source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, schema.AppTAMTableRecord) }
	cfg.Features.On(feature, o.featureRow)
	cfg.Daemon.Consume(source, schema.AppTAMTableRecord, orch.HandlerFunc(o.handle),
		orch.Reporting{StateTable: schema.StateTAMTableRecord, Words: orch.Words{Again: orch.SomethingRemoved}, None: true})
	cfg.Daemon.At(o.nextTimer, o.timers)
	cfg.Rules.Watch().Subscribe(o.rulesChanged)
	cfg.Ports.Changes().Subscribe(func(ctx context.Context, _ []string) { o.lookAgain(ctx) })
	cfg.Routes.Changes().Subscribe(func(ctx context.Context, _ struct{}) { o.lookAgain(ctx) })
	cfg.Identity.IDChanges().Subscribe(func(ctx context.Context, _ struct{}) { o.idChanged(ctx) })
	if o.unsupported == "" {
		cfg.Rules.ReserveVariants(feature, mirrorTo(sai.NullOID))
	}
	return o, nil
}

// Planned tells which plans sessions record by.
func (o *Orch) Planned() *orch.Topic[Planned] { return &o.planned }

// ViewApplied says that the ASIC is as the first view has it: from now on there is
// a chip to ask.
func (o *Orch) ViewApplied() {
	o.running = true
}

func (o *Orch) handle(ctx context.Context, tasks []orch.Task) []error {
	for _, t := range tasks {
		o.sessionRow(ctx, t)
	}
	errs := make([]error, len(tasks))
	if err := o.settleAll(ctx); err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

func (o *Orch) featureRow(ctx context.Context, active bool) {
	o.said = ""
	if active != o.active {
		o.active = active
		maps.Copy(o.dirty, o.sessions)
	}
	o.settleNow(ctx)
}

func (o *Orch) sessionRow(ctx context.Context, t orch.Task) {
	s := o.sessions[t.Key]
	if s == nil {
		if t.Op == orch.Del {
			o.daemon.Unreport(ctx, schema.StateTAMTableRecord, t.Key)
			return
		}
		s = &session{name: t.Key}
		o.sessions[t.Key] = s
	}
	o.index(s, false)
	s.given, s.said, s.bad, s.row = t.Op == orch.Set, "", nil, schema.RecordFlow{}
	if s.given {
		s.row, s.bad = schema.ParseRecordFlow(t.Key, t.Fields)
		s.row.CollectorName, s.row.SamplerName = "", "" // nothing is made of them, nor anew for them
		o.index(s, true)
	} else {
		o.daemon.Unreport(ctx, schema.StateTAMTableRecord, t.Key)
	}
	o.dirty[s.name] = s
}

// index enters a session in byRule, or takes it out. Others of its rule may have
// waited for it.
func (o *Orch) index(s *session, in bool) {
	users := o.byRule[s.row.Rule]
	switch {
	case in && users == nil:
		users = map[string]*session{s.name: s}
		o.byRule[s.row.Rule] = users
	case in:
		users[s.name] = s
	default:
		delete(users, s.name)
		if len(users) == 0 {
			delete(o.byRule, s.row.Rule)
		}
	}
	maps.Copy(o.dirty, users)
}

// rulesChanged looks at the sessions of these rules again.
func (o *Orch) rulesChanged(ctx context.Context, rules []schema.ACLRuleKey) {
	for _, k := range rules {
		maps.Copy(o.dirty, o.byRule[k])
	}
	maps.Copy(o.dirty, o.again)
	o.settleNow(ctx)
}

// lookAgain looks at all sessions again: ways, ports or the switch id may be others.
func (o *Orch) lookAgain(ctx context.Context) {
	maps.Copy(o.dirty, o.sessions)
	o.settleNow(ctx)
}

// idChanged has plans give the switch id as it is now.
func (o *Orch) idChanged(ctx context.Context) {
	if _, ok := o.identity.SwitchID(); ok {
		for _, c := range o.sortedSchemes() {
			if !c.current() {
				continue
			}
			if err := o.write(ctx, c, c.labels); err != nil {
				o.log.Error("table recording", "err", err)
			}
		}
	}
	o.lookAgain(ctx)
}

func (o *Orch) settleNow(ctx context.Context) {
	if err := o.settleAll(ctx); err != nil {
		o.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

// settleAll brings the dirty sessions to where they belong. What changes while it
// runs only marks sessions.
func (o *Orch) settleAll(ctx context.Context) error {
	if o.busy {
		return nil
	}
	o.busy = true
	defer func() { o.busy = false }()
	if o.graph == nil && o.unlearned == nil && o.asked() {
		o.learn(ctx)
	}
	for len(o.dirty) > 0 {
		sessions := slices.SortedFunc(maps.Values(o.dirty), byName)
		clear(o.dirty)
		o.pass(ctx, sessions)
	}
	o.reportFeature(ctx)
	return o.books.flush(ctx)
}

// asked says whether there is a chip that may have something to record.
func (o *Orch) asked() bool {
	return o.running && o.active && o.unsupported == "" && len(o.sessions) > 0
}

func byName(a, b *session) int { return schema.CompareNames(a.name, b.name) }
