package acl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Ports is what ACLs need to know about ports and LAGs; portsorch implements it.
type Ports interface {
	// Port returns a port's object and the LAG that it is a member of ("" none).
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
	// Names returns the names of all ports and LAGs, sorted.
	Names() []string
	// Changes names ports and LAGs that came, joined or left, or are about to go: those are no
	// longer found and must be released at once.
	Changes() *orch.Topic[[]string]
}

// Sessions is what ACLs need to know about mirror sessions; mirrororch implements it.
type Sessions interface {
	// Session returns the object of a session that is active.
	Session(name string) (oid sai.OID, ok bool)
	// Changes names sessions that came or are about to go: those are no longer found and must be
	// released at once.
	Changes() *orch.Topic[[]string]
}

// NextHops is what ACLs need to know about routing; routeorch implements it.
type NextHops interface {
	// NextHop returns the object of a neighbour that packets can be sent to.
	NextHop(name string, addr netip.Addr) (sai.OID, bool)
	// Changes tells that next hops came or are about to go, as of sessions.
	Changes() *orch.Topic[struct{}]
}

// Config is what an [Orch] works with.
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Poller orch.Poller // polls the counters; nil: nobody does
	Switch sai.OID
	// Labels has the counters of all rules labelled, by which records of packets know the rules. SONiC's have no
	// labels: it is for an ASIC that makes such records.
	Labels bool

	Sessions Sessions // nil: there are no mirror sessions
	NextHops NextHops // nil: there are no next hops
}

// An Orch owns the ACL objects of the ASIC. All its methods run on the daemon's
// goroutine.
type Orch struct {
	daemon *orch.Daemon
	terms  terms
	asic   *objects
	agenda *agenda
	prog   programmer // with both of them

	tables map[string]*table
	rules  map[schema.ACLRuleKey]*rule
	watch  orch.Topic[[]schema.ACLRuleKey]
}

// terms translate rows to SAI: they know what rows may name, and what the switch can do.
type terms struct {
	ports    Ports
	sessions Sessions
	nextHops NextHops
	types    map[string]schema.ACLTableType
	features map[string]needs // of the tables of TAM features
	early    map[string]bool  // features whose tables are at the pre-ingress stage
	sw       sai.OID

	capability map[string]sai.ACLCapability // by stage
	priorities sai.Range                    // of entries
}

// objects are those in the ASIC that tables and entries share or leave behind, with what is
// told of them in COUNTERS_DB.
type objects struct {
	api    sai.API
	log    *slog.Logger
	groups map[groupKey]*group
	ranges map[rangeKey]*shared
	// mostRanges is how many ranges the ASIC had when it refused one more; 0: it has refused none.
	mostRanges int
	samplers   map[uint32]*shared // by rate
	labels     bool               // counters of all rules have labels
	orphans    []sai.OID          // counters that no entry has and that could not be removed
	changes    uint64             // of entries so far
	counters   counters
	crm        crm
}

// An agenda is what the next passes have to look at, and what this one has found.
type agenda struct {
	dirtyTables map[string]*table
	dirtyRules  map[schema.ACLRuleKey]*rule
	left        map[schema.ACLRuleKey]*rule // with entries that have to go and could not be removed
	starved     map[starving]bool
	claims      map[*rule]*claim
	freed       bool // something was removed in this pass, not for a claim
	spared      bool // of several variants that did not all fit, some were removed
	leftover    bool // what rules gave way for may be more than others needed
	news        map[schema.ACLRuleKey]bool
	telling     bool
}

// wordsOf are SONiC's status words of ACL tables and rules.
var wordsOf = orch.Words{
	Active: schema.ACLActive, Pending: schema.ACLPendingCreation, Removing: schema.ACLPendingRemoval,
	Failed: schema.ACLInactive, Invalid: schema.ACLInactive, Again: orch.SomethingRemoved,
}

// New asks the ASIC for its limits, publishes ACL_STAGE_CAPABILITY_TABLE, and
// registers the handlers on the daemon.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	log := cfg.Daemon.Logger()
	asic := &objects{
		api: cfg.SAI, log: log, labels: cfg.Labels, groups: map[groupKey]*group{}, ranges: map[rangeKey]*shared{},
		samplers: map[uint32]*shared{},
		counters: counters{poller: cfg.Poller, log: log}, crm: crm{api: cfg.SAI, log: log, switchID: cfg.Switch},
	}
	agenda := &agenda{
		dirtyTables: map[string]*table{}, dirtyRules: map[schema.ACLRuleKey]*rule{},
		left: map[schema.ACLRuleKey]*rule{}, starved: map[starving]bool{}, claims: map[*rule]*claim{},
		news: map[schema.ACLRuleKey]bool{},
	}
	o := &Orch{
		daemon: cfg.Daemon, asic: asic, agenda: agenda, prog: programmer{asic, agenda},
		tables: map[string]*table{}, rules: map[schema.ACLRuleKey]*rule{},
		terms: terms{
			ports: cfg.Ports, sessions: cfg.Sessions, nextHops: cfg.NextHops,
			types: map[string]schema.ACLTableType{}, features: map[string]needs{},
			early: map[string]bool{}, sw: cfg.Switch,
			capability: map[string]sai.ACLCapability{},
		},
	}
	if err := o.readLimits(ctx, cfg); err != nil {
		return nil, err
	}
	if err := o.asic.counters.open(ctx, cfg.Redis); err != nil {
		return nil, err
	}
	if err := o.asic.crm.open(ctx, cfg.Redis); err != nil {
		return nil, err
	}
	o.register(cfg)
	return o, nil
}

func (o *Orch) register(cfg Config) {
	appl, config := cfg.Redis.DB(swss.ApplDB), cfg.Redis.DB(swss.ConfigDB)
	consume := func(table, state string, words orch.Words, each func(context.Context, orch.Task)) {
		source := func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, appl, table) }
		handler := orch.HandlerFunc(func(ctx context.Context, tasks []orch.Task) []error {
			for _, t := range tasks {
				each(ctx, t)
				if t.Op == orch.Del {
					o.daemon.Unreport(ctx, state, schema.ConfigKey(t.Key))
				}
			}
			return o.settleAll(ctx, len(tasks))
		})
		cfg.Daemon.Consume(source, table, handler, orch.Reporting{StateTable: state, Words: words, None: true})
	}
	consume(schema.AppACLTableType, schema.StateACLTableType, orch.Words{}, o.typeRow)
	consume(schema.AppACLTable, schema.StateACLTable, wordsOf, o.tableRow)
	consume(schema.AppACLRule, schema.StateACLRule, wordsOf, o.ruleRow)

	orch.ConsumeFlexGroups(cfg.Daemon, o.asic.counters.flush, &o.asic.counters.group)
	crmSource := func(l *swss.Listener) swss.Source { return swss.NewSubscriber(l, config, schema.CfgCRM) }
	cfg.Daemon.Consume(crmSource, schema.CfgCRM, orch.Each(func(ctx context.Context, t orch.Task) error {
		o.asic.crm.row(ctx, o.daemon, t)
		return o.asic.counters.flush(ctx)
	}), orch.Reporting{StateTable: schema.StateCRM, None: true})
	cfg.Daemon.Every(o.asic.crm.interval, o.asic.crm.poll)
	cfg.Daemon.AfterHold(o.asic.counters.dropFormer)
	counters := &o.asic.counters
	cfg.Daemon.Every(counters.retry, func(ctx context.Context, _ time.Time) error { return counters.flush(ctx) })
	cfg.Ports.Changes().Subscribe(o.portsChanged)
	if cfg.Sessions != nil {
		cfg.Sessions.Changes().Subscribe(func(ctx context.Context, names []string) {
			o.changed(ctx, func(a schema.ACLAction) bool {
				mirrors := a.Field == schema.ActionMirrorIngress || a.Field == schema.ActionMirrorEgress
				return mirrors && slices.Contains(names, a.Name)
			})
		})
	}
	if cfg.NextHops != nil {
		cfg.NextHops.Changes().Subscribe(func(ctx context.Context, _ struct{}) {
			o.changed(ctx, func(a schema.ACLAction) bool { return len(a.Redirect.NextHops) > 0 })
		})
	}
}

// changed checks the rules with such an action again.
func (o *Orch) changed(ctx context.Context, such func(schema.ACLAction) bool) {
	for _, r := range o.rules {
		if slices.ContainsFunc(r.parsed.Actions, such) {
			o.agenda.markRule(r)
		}
	}
	o.agenda.rowsChanged()
	o.reconcile(ctx)
	o.finish(ctx)
	o.asic.flush(ctx)
}

// settleAll brings the ASIC and the databases in line with the rows, for n tasks. Redis errors are
// returned for each, so that the daemon tries again.
func (o *Orch) settleAll(ctx context.Context, n int) []error {
	o.agenda.rowsChanged()
	o.reconcile(ctx)
	o.finish(ctx)
	err := o.asic.counters.flush(ctx)
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// finish tells the users of flow groups what has happened. They may bind and unbind meanwhile; what
// follows from that is published afterwards.
func (o *Orch) finish(ctx context.Context) {
	if o.agenda.telling {
		return
	}
	o.agenda.telling = true
	defer func() { o.agenda.telling = false }()
	for len(o.agenda.news) > 0 {
		keys := slices.SortedFunc(maps.Keys(o.agenda.news), compareKeys)
		o.agenda.news = orch.Emptied(o.agenda.news)
		o.watch.Publish(ctx, keys)
	}
}

func (o *Orch) typeRow(ctx context.Context, t orch.Task) {
	delete(o.terms.types, t.Key)
	var err error
	if t.Op == orch.Set {
		var typ schema.ACLTableType
		if typ, err = schema.ParseACLTableType(t.Key, t.Fields); err == nil {
			o.terms.types[t.Key] = typ
		}
		reportConfig(ctx, o.daemon, schema.StateACLTableType, t.Key, err)
	}
	for _, tb := range o.tables {
		if tb.configured && tb.row.Type == t.Key {
			o.agenda.markTable(tb)
		}
	}
}

func (o *Orch) tableRow(_ context.Context, t orch.Task) {
	tb := o.tableOf(t.Key)
	ports := tb.row.Ports
	tb.configured, tb.reported = t.Op == orch.Set, ""
	tb.row, tb.parseErr = schema.ACLTable{Name: t.Key}, nil
	if tb.configured {
		tb.row, tb.parseErr = schema.ParseACLTable(t.Key, t.Fields)
	}
	for k, r := range o.rules {
		if r.table == tb && len(r.uses) > 0 && !slices.Equal(ports, tb.row.Ports) {
			o.agenda.news[k] = true // the same entries match at other ports
		}
	}
	o.agenda.markTable(tb)
}

func (o *Orch) tableOf(name string) *table {
	t := o.tables[name]
	if t == nil {
		t = &table{name: name, rules: map[string]*rule{}, instances: map[string]*instance{}, failed: map[string]error{}}
		o.terms.judge(t)
		o.tables[name] = t
	}
	return t
}

func (o *Orch) ruleRow(_ context.Context, t orch.Task) {
	k, ok := schema.ParseACLRuleKey(schema.ConfigKey(t.Key))
	if !ok {
		if t.Op == orch.Set {
			o.asic.log.Warn("a key of ACL_RULE_TABLE that names no rule", "key", t.Key)
		}
		return
	}
	r := o.rules[k]
	if r == nil {
		if t.Op == orch.Del {
			return
		}
		r = &rule{key: k, table: o.tableOf(k.Table)}
		o.rules[k] = r
		r.table.rules[k.Rule] = r
	}
	r.configured, r.fields, r.reported = t.Op == orch.Set, nil, ""
	if t.Fields != nil {
		r.fields = swss.Pairs(t.Fields)
	}
	r.parsedAs, r.parsed, r.parseErr = schema.ACLTableType{}, schema.ACLRule{}, nil
	o.agenda.markRule(r)
}

// Count makes CRM watch what another orch uses: counts by the attribute of the switch that says how
// many more there may be.
func (o *Orch) Count(used func() map[sai.AttrID]int) {
	o.asic.crm.others = append(o.asic.crm.others, used)
}

// portsChanged checks everything again that names one of these ports or LAGs, or is bound to all.
func (o *Orch) portsChanged(ctx context.Context, names []string) {
	for _, t := range o.tables {
		changed := func(p string) bool { return slices.Contains(names, p) }
		switch named := slices.ContainsFunc(t.row.Ports, changed); {
		case t.tam() && named:
			o.agenda.markTable(t) // entries may have the ports in their match
		case t.tam() && len(t.row.Ports) == 0, named:
			o.agenda.dirtyTables[t.name] = t
			clear(t.failed)
		}
	}
	for _, r := range o.rules {
		if slices.ContainsFunc(names, r.names) {
			o.agenda.markRule(r)
		}
	}
	o.agenda.rowsChanged()
	o.reconcile(ctx)
	o.finish(ctx)
	o.asic.flush(ctx)
}

// flush writes to COUNTERS_DB outside the handling of a task. If it fails, a
// timer tries again.
func (b *objects) flush(ctx context.Context) {
	if err := b.counters.flush(ctx); err != nil {
		b.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

// readLimits asks the ASIC for priorities and actions, and publishes the latter.
func (o *Orch) readLimits(ctx context.Context, cfg Config) error {
	k := sai.Obj(sai.ObjectTypeSwitch, cfg.Switch)
	got, err := o.asic.api.Get(ctx, k, []sai.Attr{
		sai.Want(sai.SwitchAttrACLEntryMinimumPriority, 0),
		sai.Want(sai.SwitchAttrACLEntryMaximumPriority, 0),
		sai.Want(sai.SwitchAttrMaxACLActionCount, 0),
	})
	if err != nil {
		return fmt.Errorf("read the ACL limits of the switch: %w", err)
	}
	var n [3]uint64
	for i := range n {
		v, _ := got[i].Value.(sai.Uint)
		n[i] = uint64(v)
	}
	o.terms.priorities = sai.Range{Min: n[0], Max: n[1]}
	rows, whole := map[string]swss.FieldValues{}, swss.FieldValues{}
	for _, s := range []struct {
		stage string
		id    sai.AttrID
	}{{schema.StageIngress, sai.SwitchAttrACLStageIngress}, {schema.StageEgress, sai.SwitchAttrACLStageEgress}} {
		c, err := readCapability(ctx, o.asic.api, k, s.id, int(n[2]))
		if err != nil {
			o.asic.log.Warn("the switch does not report its ACL actions", "stage", s.stage, "err", err)
		}
		o.terms.capability[s.stage] = c
		rows[s.stage] = capabilityRow(c)
		whole[schema.FieldACLActions+s.stage] = actionList(c)
	}
	whole[schema.FieldPacketActions] = strings.Join(o.packetWords(ctx), ",")
	state := cfg.Redis.DB(swss.StateDB)
	if err := swss.NewTable(state, schema.StateACLStageCap).SetMany(ctx, rows); err != nil {
		return err
	}
	return swss.NewTable(state, schema.StateSwitchCap).Set(ctx, "switch", whole)
}

// packetWords returns the words of PACKET_ACTION that the switch implements, in order. Where the switch does not
// answer, all that SONiC has are assumed, as SONiC's orchagent does.
func (o *Orch) packetWords(ctx context.Context) (words []string) {
	id := sai.ACLEntryAttrActionPacketAction
	kind, _ := actionType(id)
	if !slices.ContainsFunc([]string{schema.StageIngress, schema.StageEgress}, func(stage string) bool {
		return slices.Contains(o.terms.capability[stage].Actions, kind)
	}) {
		return nil
	}
	has, err := o.asic.api.EnumCapability(ctx, id)
	if err != nil {
		o.asic.log.Warn("the switch does not report its packet actions; all are assumed", "err", err)
	}
	for word, e := range packetActions {
		if err != nil || slices.Contains(has, e) {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return words
}

func readCapability(ctx context.Context, api sai.API, k sai.Key, id sai.AttrID, room int) (sai.ACLCapability, error) {
	got, err := api.Get(ctx, k, []sai.Attr{sai.Want(id, max(room, 1))})
	if errors.Is(err, sai.StatusBufferOverflow) && len(got) == 1 {
		if n, ok := sai.ListLen(got[0].Value); ok {
			got, err = api.Get(ctx, k, []sai.Attr{sai.Want(id, n)})
		}
	}
	if err != nil {
		return sai.ACLCapability{}, err
	}
	c, _ := got[0].Value.(sai.ACLCapability)
	return c, nil
}

// actionList lists the actions of a stage by SONiC's names.
func actionList(c sai.ACLCapability) string {
	var actions []string
	var all schema.ActionSet
	for a, id := range actionIDs {
		if e, ok := actionType(id); ok && slices.Contains(c.Actions, e) {
			all |= schema.Actions(a)
		}
	}
	for _, a := range all.Fields() {
		actions = append(actions, a.String())
	}
	return strings.Join(actions, ",")
}

// capabilityRow is a row of ACL_STAGE_CAPABILITY_TABLE.
func capabilityRow(c sai.ACLCapability) swss.FieldValues {
	return swss.FieldValues{
		"is_action_list_mandatory": fmt.Sprint(c.ActionListMandatory),
		"action_list":              actionList(c),
		"supported_L3V4V6":         "true",
	}
}
