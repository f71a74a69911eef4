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

// Ports is the view of ports and LAGs that ACLs need. portsorch implements it.
type Ports interface {
	// Port returns a port's object and the LAG that it is a member of, or "" if it is not a member.
	Port(name string) (oid sai.OID, lag string, ok bool)
	// LAG returns a LAG's object and the names of its members, sorted.
	LAG(name string) (oid sai.OID, members []string, ok bool)
	// Names returns the names of all ports and LAGs, sorted.
	Names() []string
	// Changes publishes the names of ports and LAGs that were created, changed their membership, or are about to be
	// removed. The latter are no longer found and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// Sessions is the view of mirror sessions that ACLs need. mirrororch implements it.
type Sessions interface {
	// Session returns the object of a session that is active.
	Session(name string) (oid sai.OID, ok bool)
	// Changes publishes the names of sessions that became active or are about to be removed. The latter are no longer
	// found and must be released immediately.
	Changes() *orch.Topic[[]string]
}

// NextHops is the view of routing that ACLs need. routeorch implements it.
type NextHops interface {
	// NextHop returns the object of a neighbour that packets can be sent to.
	NextHop(name string, addr netip.Addr) (sai.OID, bool)
	// Changes publishes that next hops were created or are about to be removed. The latter are no longer found and must
	// be released immediately.
	Changes() *orch.Topic[struct{}]
}

// Config is the configuration of an [Orch].
type Config struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	Ports  Ports
	Poller orch.Poller // polls the counters; nil means that they are not polled
	Switch sai.OID
	// Labels enables labels on the counters of all rules. Records of packets identify the rules by them. SONiC's
	// counters have no labels, so Labels is only for an ASIC that makes such records.
	Labels bool

	Sessions Sessions // nil means that there are no mirror sessions
	NextHops NextHops // nil means that there are no next hops
}

// An Orch owns the ACL objects of the ASIC. All its methods run on the daemon's
// goroutine.
type Orch struct {
	daemon *orch.Daemon
	terms  terms
	asic   *objects
	agenda *agenda
	prog   programmer // with pointers to agenda and asic

	tables map[string]*table
	rules  map[schema.ACLRuleKey]*rule
	watch  orch.Topic[[]schema.ACLRuleKey]
}

// terms translate rows to SAI. They hold the objects that rows can refer to, and the capabilities of the switch.
type terms struct {
	ports    Ports
	sessions Sessions
	nextHops NextHops
	types    map[string]schema.ACLTableType
	features map[string]needs // requirements of the tables of TAM features, by feature
	early    map[string]bool  // features whose tables are at the pre-ingress stage
	sw       sai.OID

	capability map[string]sai.ACLCapability // by stage
	priorities sai.Range                    // valid priorities of entries
}

// objects holds the objects in the ASIC that tables and entries share, or that stay after them, with their rows in
// COUNTERS_DB.
type objects struct {
	api    sai.API
	log    *slog.Logger
	groups map[groupKey]*group
	ranges map[rangeKey]*shared
	// mostRanges is the number of ranges that the ASIC had when it refused another one, or 0 if it has refused none.
	mostRanges int
	samplers   map[uint32]*shared // by rate
	labels     bool               // whether counters of all rules have labels
	orphans    []sai.OID          // counters that no entry uses and that could not be removed
	changes    uint64             // number of changes of entries so far
	counters   counters
	crm        crm
}

// An agenda holds the work of the next passes, and the findings of the current one.
type agenda struct {
	dirtyTables map[string]*table
	dirtyRules  map[schema.ACLRuleKey]*rule
	left        map[schema.ACLRuleKey]*rule // rules with entries that must be removed but could not be
	starved     map[starving]bool
	claims      map[*rule]*claim
	freed       bool // whether this pass removed something for another reason than a claim
	spared      bool // whether variants were removed because not all variants of their rule fitted
	leftover    bool // whether claims may have freed more capacity than they needed
	news        map[schema.ACLRuleKey]bool
	reporting   bool
}

// wordsOf are SONiC's status words of ACL tables and rules.
var wordsOf = orch.Words{
	Active: schema.ACLActive, Pending: schema.ACLPendingCreation, Removing: schema.ACLPendingRemoval,
	Failed: schema.ACLInactive, Invalid: schema.ACLInactive, Again: orch.SomethingRemoved,
}

// New reads the limits of the ASIC, publishes ACL_STAGE_CAPABILITY_TABLE, and registers the handlers on the daemon.
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
			return o.reconcileAll(ctx, len(tasks))
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
	cfg.Daemon.Every(o.leftPeriod, o.removeLeft)
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

// tryAgain is the time after which failed removals are repeated.
const tryAgain = time.Second

// leftPeriod returns the time until failed removals are repeated, or 0 if there are none.
func (o *Orch) leftPeriod() time.Duration {
	if len(o.agenda.left)+len(o.asic.orphans) > 0 {
		return tryAgain
	}
	for _, t := range o.tables {
		if t.leaves() {
			return tryAgain
		}
	}
	return 0
}

// removeLeft repeats failed removals.
func (o *Orch) removeLeft(ctx context.Context, _ time.Time) error {
	maps.Copy(o.agenda.dirtyRules, o.agenda.left)
	for _, t := range o.tables {
		if t.leaves() {
			o.agenda.dirtyTables[t.name] = t
		}
	}
	o.asic.removeOrphans(ctx)
	o.reconcile(ctx)
	o.finish(ctx)
	return o.asic.counters.flush(ctx)
}

// changed checks again all rules that have an action for which such returns true.
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

// reconcileAll brings the ASIC and the databases in line with the rows, for n tasks. A Redis error is returned for each
// task, so that the daemon tries again.
func (o *Orch) reconcileAll(ctx context.Context, n int) []error {
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

// finish notifies the users of flow groups of changes. They may bind and unbind in the meantime. The resulting changes
// are published afterwards.
func (o *Orch) finish(ctx context.Context) {
	if o.agenda.reporting {
		return
	}
	o.agenda.reporting = true
	defer func() { o.agenda.reporting = false }()
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
			o.agenda.news[k] = true // the same entries now match at other ports
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

func (o *Orch) ruleRow(ctx context.Context, t orch.Task) {
	k, ok := schema.ParseACLRuleKey(schema.ConfigKey(t.Key))
	if !ok {
		if t.Op == orch.Set {
			o.asic.log.Warn("a key of ACL_RULE_TABLE that names no rule", "key", t.Key)
			_, err := schema.ParseACLRule(schema.ACLTableType{Name: schema.ACLTypeTAM}, schema.ConfigKey(t.Key), nil)
			reportConfig(ctx, o.daemon, schema.StateACLRule, schema.ConfigKey(t.Key), err)
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

// Count makes CRM monitor the resources that another orch uses. The counts are keyed by the switch attribute that
// reports how many are left.
func (o *Orch) Count(used func() map[sai.AttrID]int) {
	o.asic.crm.others = append(o.asic.crm.others, used)
}

// portsChanged checks again all tables and rules that name one of these ports or LAGs, or are bound to all ports.
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

// flush writes to COUNTERS_DB outside the handling of a task. If it fails, a timer tries again.
func (b *objects) flush(ctx context.Context) {
	if err := b.counters.flush(ctx); err != nil {
		b.log.Error("COUNTERS_DB is behind", "err", err)
	}
}

// readLimits reads the priorities and actions that the ASIC supports, and publishes the actions.
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
	for _, stage := range slices.Sorted(maps.Keys(rows)) {
		if err := cfg.Daemon.Fix(ctx, schema.StateACLStageCap, stage, rows[stage]); err != nil {
			return err
		}
	}
	return cfg.Daemon.Fix(ctx, schema.StateSwitchCap, schema.SwitchKey, whole)
}

// packetWords returns, in order, the words of PACKET_ACTION that the switch implements. If the switch does not answer,
// all words of SONiC are assumed, as in SONiC's orchagent.
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

// actionList returns the actions of a stage by SONiC's names.
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

// capabilityRow returns a row of ACL_STAGE_CAPABILITY_TABLE.
func capabilityRow(c sai.ACLCapability) swss.FieldValues {
	return swss.FieldValues{
		"is_action_list_mandatory": fmt.Sprint(c.ActionListMandatory),
		"action_list":              actionList(c),
		"supported_L3V4V6":         "true",
	}
}
