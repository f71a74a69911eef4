package amorch

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

const featureName = schema.FeatureAltMark

// Rules is the view of ACLs that alternate marking needs. aclorch implements it.
type Rules interface {
	feature.VariantRules
	// SetVariantActive enables or disables the matching of an entry, with a single SAI call.
	SetVariantActive(ctx context.Context, rule schema.ACLRuleKey, feature, variant string, on bool) error
	// MatchOf returns the value that a rule requires in a field of an entry. It returns false if the rule accepts any
	// value.
	MatchOf(rule schema.ACLRuleKey, field sai.AttrID) (sai.Field, bool)
	// InForce returns the matches of a rule's entries in the ASIC for a feature. It returns false if there are no
	// entries.
	InForce(rule schema.ACLRuleKey, feature string) (orch.ACLInForce, bool)
}

// Config contains the configuration of an [Orch].
type Config struct {
	feature.Config
	Rules  Rules
	Routes Routes
}

// Routes provides the switch's addresses and routes. routeorch implements it.
type Routes interface {
	// Owns reports whether an address is one of the switch's own addresses.
	Owns(a netip.Addr) bool
	// Exit returns the interface through which packets to an address leave, and its MTU. If there is none, the error
	// contains the reason.
	Exit(to netip.Addr) (name string, mtu uint32, err error)
	// Changes signals that routes or addresses may have changed.
	Changes() *orch.Topic[struct{}]
}

// An Orch owns the profiles and the sessions of alternate marking. All its methods run on the daemon's goroutine.
type Orch struct {
	*feature.Feature[schema.AltMarkFlow, binding]
	rules  Rules
	routes Routes

	engine  string     // the engine: schema.AltMarkByChip, schema.AltMarkByOrchestrator, or "" if unsupported
	lanes   []*profile // profiles by lane; nil if the lane is free
	indices indices
	matched matches
	matches bool   // true if the chip matches FlowMonIDs
	leaving []want // FlowMonID matches of removed sessions that must still be removed
	places  feature.Rows
	// reserved is true for the lanes that the previous run used, until the first view is applied.
	reserved []bool

	classes  map[altmark.Interval]*class
	skew     time.Duration // time by which the chip's time of day is ahead of the daemon's
	counters counters
}

// A session is a row of TAM_ALTMARK_TABLE.
type session = feature.Session[schema.AltMarkFlow, binding]

// A binding is a session in the ASIC.
type binding struct {
	profile *profile // nil if the orchestrator switches the colour
	index   uint32
	want    feature.Object // additional object that makes the chip match the FlowMonID, if the session has one
	meter   meter
	clock   clockStates
	flip    *flip   // nil if the chip switches the colour
	effect  *effect // packets that the session gets; nil if not determined yet
	// interfaces contains the interfaces of the flow group at the begin of the measurement.
	interfaces string
}

// New asks the ASIC for its capabilities, records the answer for APPL_DB SWITCH_TABLE, and registers the handlers at
// the daemon, after those of the rules.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	o := &Orch{rules: cfg.Rules, routes: cfg.Routes, classes: map[altmark.Interval]*class{}, counters: newCounters(),
		matched: newMatches(),
		places:  feature.Rows{Table: schema.StateTAMAltMarkPlace, Places: true}}
	o.Feature = &feature.Feature[schema.AltMarkFlow, binding]{
		Kind: feature.Kind{
			Name: featureName, Table: schema.AppTAMAltMark, State: schema.StateTAMAltMark,
			What: "sessions", Again: orch.SomethingRemoved, OnePerRule: "alternate marking",
		},
		Logic: o, Rules: cfg.Rules, Counters: []*feature.Rows{&o.counters.past, &o.counters.last, &o.places},
		Present: &o.places,
	}
	if err := o.probe(ctx, cfg.SAI, cfg.Switch); err != nil {
		return nil, err
	}
	if err := o.Start(ctx, cfg.Config); err != nil {
		return nil, err
	}
	o.reservePlaces()
	cfg.Daemon.At(o.nextTimer, o.timers)
	cfg.Routes.Changes().Subscribe(func(ctx context.Context, _ struct{}) { o.lookAgain(ctx) })
	if o.engine != "" {
		cfg.Rules.ReserveVariants(featureName, o.samples())
	}
	return o, nil
}

// Parse implements [feature.Logic].
func (o *Orch) Parse(key string, row swss.FieldValues) (schema.AltMarkFlow, error) {
	return schema.ParseAltMarkFlow(key, row)
}

// Rule implements [feature.Grouped].
func (o *Orch) Rule(row *schema.AltMarkFlow) schema.ACLRuleKey { return row.Rule }

// Handled marks a session as changed, so that Done updates its matches.
func (o *Orch) Handled(s *session) { o.matched.marked[s.Name] = s }

// Done updates the matches of sessions.
func (o *Orch) Done(context.Context) { o.refreshMatches() }

// Wanted returns nil if a session must be bound, and otherwise the reason why it must not.
func (o *Orch) Wanted(_ context.Context, s *session) error {
	if o.engine == schema.AltMarkByOrchestrator {
		if err := o.canSchedule(s.Row); err != nil {
			return err
		}
	} else if err := o.canMark(s.Row); err != nil {
		return err
	}
	if err := o.canEncap(s.Row.Session); err != nil {
		return err
	}
	return o.FlowGroup(s)
}

// canMark returns an error if the flow group of a session depends on the bits that the session changes. The next point
// would not match the packets that this point has marked.
func (o *Orch) canMark(row schema.AltMarkFlow) error {
	f, ok := o.rules.MatchOf(row.Rule, sai.ACLEntryAttrFieldDSCP)
	value, isValue := f.Data.(sai.Uint)
	mask, isMask := f.Mask.(sai.Uint)
	if !ok || !isValue || !isMask {
		return nil
	}
	marks := sai.Uint(row.Mark.DSCPBit() | row.Mark2.DSCPBit())
	for _, x := range []struct {
		field string
		altmark.Mark
	}{{"mark", row.Mark}, {"mark2", row.Mark2}} {
		if mask&sai.Uint(x.DSCPBit()) == 0 {
			continue
		}
		other := "no DSCP"
		if rest := mask &^ marks; rest != 0 {
			other = fmt.Sprintf("DSCP %d/%#x", value&rest, uint64(rest))
		}
		return fmt.Errorf("%s is %s, and DSCP %d/%#x of ACL rule %s matches that bit: marked packets would not match at "+
			"other switches, want %s there, or another %s", x.field, x.Mark, value, uint64(mask), row.Rule, other, x.field)
	}
	return nil
}
