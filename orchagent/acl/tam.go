package acl

import (
	"context"
	"fmt"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// BindMany makes a TAM feature use flow groups. User users[i] uses rule rules[i], and all entries have the given
// actions. Users of one rule share its entry. Binding a user again replaces its actions.
//
// It returns one error per rule. The error is a wait if the rule does not exist or is not usable, or else SAI's error.
// If binding failed, the user is not registered.
func (o *Orch) BindMany(
	ctx context.Context, feature string, actions []sai.Attr, rules []schema.ACLRuleKey, users []string,
) []error {
	one := []Variant{{Actions: actions}}
	o.terms.features[feature] = needsOf(one)
	variants := make([][]Variant, len(rules))
	for i := range rules {
		variants[i] = one
	}
	return o.bindAll(ctx, feature, rules, users, variants)
}

func (o *Orch) bindAll(
	ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string, variants [][]Variant,
) []error {
	errs := make([]error, len(rules))
	added := make([]bool, len(rules))
	for i, k := range rules {
		r := o.rules[k]
		if errs[i] = o.bindable(k, r); errs[i] == nil {
			errs[i] = o.checkRaise(r, variants[i])
		}
		if errs[i] != nil {
			continue
		}
		u := r.uses.get(feature)
		if u == nil {
			u = &use{}
			r.uses.set(feature, u)
		}
		added[i] = !u.users.Has(users[i])
		u.users = u.users.With(users[i])
		u.setVariants(variants[i])
		r.failed.drop(feature)
		o.agenda.dirtyRules[k] = r
	}
	o.reconcile(ctx)
	for i, k := range rules {
		if errs[i] != nil {
			continue
		}
		r := o.rules[k]
		errs[i] = r.failed.get(feature)
		if errs[i] == nil && !r.has(feature) {
			errs[i] = o.bindable(k, r)
		}
		if u := r.uses.get(feature); errs[i] != nil && u != nil && (r.varied(feature) || added[i] && !r.has(feature)) {
			if u.users = u.users.Without(users[i]); u.users.Empty() {
				r.uses.drop(feature)
			}
		}
	}
	o.finish(ctx)
	o.asic.flush(ctx)
	return errs
}

// bindable returns the reason why a rule cannot be used as a flow group, or nil if it can.
func (o *Orch) bindable(k schema.ACLRuleKey, r *rule) error {
	switch {
	case r == nil || !r.configured:
		return orch.Wait("ACL rule", k.Config(), "no ACL rule %s", k)
	case r.err != nil:
		return orch.Wait("ACL rule", k.Config(), "ACL rule %s: %s", k, orch.Explain(r.err))
	case !r.table.tam():
		return fmt.Errorf("ACL rule %s is in a table of type %s: flow groups are in tables of type %s",
			k, r.table.typ.Name, schema.ACLTypeTAM)
	}
	return nil
}

// Usable returns the reason why a rule cannot be used as a flow group, or nil if it can.
func (o *Orch) Usable(k schema.ACLRuleKey) error { return o.bindable(k, o.rules[k]) }

// UnbindMany ends uses of flow groups. The entry of a rule is removed with its last user. Unbinding a user that is not
// bound does nothing.
func (o *Orch) UnbindMany(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error {
	errs := make([]error, len(rules))
	for i, k := range rules {
		r := o.rules[k]
		if r == nil {
			continue
		}
		if u := r.uses.get(feature); u != nil {
			if u.users = u.users.Without(users[i]); !u.users.Empty() {
				continue
			}
			r.uses.drop(feature)
		}
		if r.has(feature) { // possibly from an earlier attempt
			o.agenda.markRule(r)
		}
	}
	o.reconcile(ctx)
	for i, k := range rules {
		if r := o.rules[k]; r != nil && !r.uses.has(feature) && r.has(feature) {
			errs[i] = r.failed.get(feature)
		}
	}
	o.finish(ctx)
	o.asic.flush(ctx)
	return errs
}

// Counter returns the ACL counter of a flow group's entry for a feature, and its label. ok is false if the ASIC has
// none.
func (o *Orch) Counter(k schema.ACLRuleKey, feature string) (oid sai.OID, label string, ok bool) {
	return o.VariantCounter(k, feature, "")
}

// PublicID returns the id of a counter in COUNTERS_DB.
func (o *Orch) PublicID(counter sai.OID) sai.OID {
	id, _ := orch.PublicID(o.asic.counters.poller, counter)
	return id
}

// Watch publishes the sorted keys of changed flow groups. They were created or removed, changed their match, lost
// bindings, or may fit now. Users then bind again the flow groups that they lack.
func (o *Orch) Watch() *orch.Topic[[]schema.ACLRuleKey] { return &o.watch }

// PollInterval returns the interval at which ACL counters are polled, or 0 if they are not polled.
func (o *Orch) PollInterval() time.Duration { return o.asic.counters.group.Interval() }
