package tsorch

import (
	"context"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/saisim/tailstamp"
	"tamtam/swss"
	"tamtam/swss/schema"
)

const featureName = schema.FeatureTailStamping

// Rules is the view of ACLs that tail-stamping needs. aclorch implements it.
type Rules interface {
	feature.Rules
	// BindMany makes the feature use rules[i] for users[i], with entries that have the actions. It may be called again
	// for the same rules. It returns one error per rule.
	BindMany(ctx context.Context, feature string, actions []sai.Attr, rules []schema.ACLRuleKey, users []string) []error
	// Counter returns the counter of the rule's entry for the feature, and its label. It returns false if there is no
	// entry.
	Counter(rule schema.ACLRuleKey, feature string) (oid sai.OID, label string, ok bool)
	// PublicID returns the id of a counter in COUNTERS_DB.
	PublicID(counter sai.OID) sai.OID
	// PollInterval returns the interval between reads of the ACL counters; 0 if they are not read.
	PollInterval() time.Duration
}

// Config contains the configuration of an [Orch].
type Config struct {
	feature.Config
	Rules Rules
}

// An Orch owns the TAM INT object and the sessions of tail-stamping. All its methods run on the daemon's goroutine.
type Orch struct {
	*feature.Feature[schema.TailStampFlow, binding]
	rules    Rules
	canClamp bool // true if the chip can lower the MSS

	inUse     schema.TAMSwitchInUse
	idChanges orch.Topic[struct{}]
	tamInt    *tamInt
	counters  counters
}

// A session is a row of TAM_TAILSTAMPING_TABLE. In the ASIC it uses the TAM INT object.
type session = feature.Session[schema.TailStampFlow, binding]

// tamInt is the object that entries refer to, with the number of sessions that use it.
type tamInt struct {
	oid      sai.OID
	switchID uint32
	sessions int
}

// New asks the ASIC whether it supports tail-stamping, records the answer for STATE_DB SWITCH_CAPABILITY, and registers
// the handlers at the daemon, after those of the rules.
func New(ctx context.Context, cfg Config) (*Orch, error) {
	unsupported, err := probe(ctx, cfg.SAI, cfg.Switch)
	if err != nil {
		return nil, err
	}
	o := &Orch{rules: cfg.Rules}
	o.Feature = &feature.Feature[schema.TailStampFlow, binding]{
		Kind: feature.Kind{
			Name: featureName, Table: schema.AppTAMTailStamp, State: schema.StateTAMTailStamp,
			What: "sessions", Again: orch.SomethingRemoved,
		},
		Logic: o, Rules: cfg.Rules, Counters: []*feature.Rows{&o.counters.rows}, Unsupported: unsupported,
	}
	if err := o.counters.open(ctx, cfg); err != nil {
		return nil, err
	}
	room, err := feature.Room(ctx, cfg.SAI, tailstamp.ObjectClamp)
	if err != nil {
		return nil, err
	}
	o.canClamp = room > 0
	o.Consume(cfg.Config, schema.AppTAMSwitch, "", o.switchRow)
	if err := o.Start(ctx, cfg.Config); err != nil {
		return nil, err
	}
	cfg.Daemon.Every(cfg.Rules.PollInterval, func(ctx context.Context, _ time.Time) error { return o.PollCounters(ctx) })
	return o, nil
}

// switchRow handles a row with the switch id in use. A change leads to a new TAM INT object.
func (o *Orch) switchRow(ctx context.Context, t orch.Task) {
	if t.Key != schema.TAMGlobalKey {
		return
	}
	inUse := schema.TAMSwitchInUse{}
	if t.Op == orch.Set {
		var err error
		if inUse, err = schema.ParseTAMSwitchInUse(t.Key, t.Fields); err != nil {
			o.Log.Error("switch id", "err", err)
			inUse = schema.TAMSwitchInUse{}
		}
	}
	was := o.inUse
	if o.inUse = inUse; was.SwitchID != inUse.SwitchID || was.HasSwitchID != inUse.HasSwitchID {
		o.MarkAll()
	}
	if was != inUse {
		o.idChanges.Publish(ctx, struct{}{})
	}
}

// InUse returns the ids in use.
func (o *Orch) InUse() schema.TAMSwitchInUse { return o.inUse }

// IDChanges signals that the ids in use have changed.
func (o *Orch) IDChanges() *orch.Topic[struct{}] { return &o.idChanges }

// Parse implements [feature.Logic].
func (o *Orch) Parse(key string, row swss.FieldValues) (schema.TailStampFlow, error) {
	return schema.ParseTailStampFlow(key, row)
}

// Rule implements [feature.Grouped].
func (o *Orch) Rule(row *schema.TailStampFlow) schema.ACLRuleKey { return row.Rule }

// Wanted returns the reason why a session must not be bound, and nil if it must be bound.
func (o *Orch) Wanted(_ context.Context, s *session) error {
	if !o.inUse.HasSwitchID {
		return orch.Wait("switch id", schema.TAMGlobalKey, "the switch has no switch-id")
	}
	if err := o.noClamp(s); err != nil {
		return err
	}
	return o.FlowGroup(s)
}
