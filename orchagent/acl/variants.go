package acl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A Variant is one of several entries of a TAM feature for one flow group, each with its own counter: see
// [Orch.BindVariants].
type Variant = orch.ACLVariant

// needs holds what the table of a TAM feature must support when it is created.
type needs struct {
	matches schema.MatchSet // in addition to those of the table type
	actions []sai.Enum      // sorted
}

// needsOf returns the matches and actions of the entries of variants.
func needsOf(variants []Variant) needs {
	n := needs{actions: []sai.Enum{sai.ACLActionTypeCounter}}
	for _, v := range variants {
		for field, id := range fieldIDs {
			if _, ok := sai.Find(v.Match, id.entry); ok {
				n.matches |= schema.Matches(field)
			}
		}
		for _, a := range v.Actions {
			if e, ok := actionType(a.ID); ok {
				n.actions = append(n.actions, e)
			}
		}
	}
	slices.Sort(n.actions)
	n.actions = slices.Compact(n.actions)
	return n
}

func (n needs) and(m needs) needs {
	all := slices.Sorted(slices.Values(slices.Concat(n.actions, m.actions)))
	return needs{n.matches | m.matches, slices.Compact(all)}
}

func (n needs) equal(m needs) bool {
	return n.matches == m.matches && slices.Equal(n.actions, m.actions)
}

// ReserveVariants declares in advance what variants of a feature may match and do. If variants are bound that its table
// does not support, the table is recreated, and counters begin at 0.
func (o *Orch) ReserveVariants(feature string, samples []Variant) {
	want := o.terms.features[feature].and(needsOf(samples))
	if want.equal(o.terms.features[feature]) {
		return
	}
	o.terms.features[feature] = want
	for _, t := range o.tables {
		if t.instances[feature] == nil {
			continue
		}
		o.agenda.dirtyTables[t.name] = t
		for _, r := range t.rules {
			if r.has(feature) {
				o.agenda.dirtyRules[r.key] = r
			}
		}
	}
}

// PreIngress declares in advance that the tables of a feature are at the pre-ingress stage, where its entries see
// packets before any decision about them. These tables are bound to the switch, and the ports in the table's row are
// part of the match of each entry.
func (o *Orch) PreIngress(feature string) { o.terms.early[feature] = true }

// BindVariants makes a TAM feature use flow groups with several entries each. User users[i] uses rule rules[i] with
// variants[i]. The ASIC has either all entries of a rule or none. The matches of a variant replace the rule's matches
// of the same field. Variants have distinct, short names, since labels of counters are short.
//
// Like [Orch.BindMany] it returns one error per rule, and binding a user again replaces its variants. Entries stay
// active or inactive as set by [Orch.SetVariantActive].
func (o *Orch) BindVariants(
	ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string, variants [][]Variant,
) []error {
	o.ReserveVariants(feature, slices.Concat(variants...))
	sorted := make([][]Variant, len(variants))
	for i, list := range variants {
		sorted[i] = slices.SortedFunc(slices.Values(list),
			func(a, b Variant) int { return schema.CompareNames(a.Name, b.Name) })
	}
	return o.bindAll(ctx, feature, rules, users, sorted)
}

// checkRaise returns an error if the priority of a variant exceeds the maximum of the switch.
func (o *Orch) checkRaise(r *rule, variants []Variant) error {
	for _, v := range variants {
		if r.spec == nil { // not examined yet
			break
		}
		if p := uint64(r.spec.priority) + uint64(v.Raise); p > o.terms.priorities.Max {
			return &schema.FieldError{
				Object: schema.CfgACLRule + "|" + r.key.Config(), Field: "PRIORITY", Value: fmt.Sprint(r.spec.priority),
				Want: fmt.Sprintf("at most %d: there must be room for an entry %d above it",
					o.terms.priorities.Max-uint64(v.Raise), v.Raise),
			}
		}
	}
	return nil
}

// setVariants replaces the variants of a use. The Inactive field of a new variant gives its initial state.
func (u *use) setVariants(variants []Variant) {
	off := make(assoc[string, bool], len(variants))
	for i, v := range variants {
		off[i] = assigned[string, bool]{v.Name, v.Inactive}
		if u.off.has(v.Name) {
			off[i].value = u.off.get(v.Name)
		}
	}
	u.variants, u.off = variants, off
}

// varied reports whether a feature uses the rule with variants.
func (r *rule) varied(feature string) bool {
	u := r.uses.get(feature)
	return u != nil && (len(u.variants) != 1 || u.variants[0].Name != "")
}

// same reports whether two specs are equal. nil is equal only to nil.
func (s *spec) same(t *spec) bool {
	if s == nil || t == nil {
		return s == t
	}
	sets, ok := s.diff(t)
	return ok && len(sets) == 0 && slices.Equal(s.ranges, t.ranges)
}

// SetVariantActive enables or disables the entry of a variant, with one SAI call, or none if the state is the same. The
// state is kept until the flow group is unbound, also for an entry that is recreated. If SAI fails, nothing changes.
//
// It returns an error if the feature does not use the rule with such a variant.
func (o *Orch) SetVariantActive(ctx context.Context, k schema.ACLRuleKey, feature, variant string, on bool) error {
	r := o.rules[k]
	if r == nil || !r.uses.has(feature) {
		return orch.Wait("ACL rule", k.Config(), "ACL rule %s is not in use for %s", k, feature)
	}
	u := r.uses.get(feature)
	if !u.off.has(variant) {
		return fmt.Errorf("ACL rule %s has no variant %q for %s", k, variant, feature)
	}
	e := r.entries.get(entryKey{feature, variant})
	if e != nil && e.spec.off == on {
		a := sai.Attr{ID: sai.ACLEntryAttrAdminState, Value: sai.Bool(on)}
		if err := o.asic.api.Set(ctx, sai.Obj(sai.ObjectTypeACLEntry, e.oid), a); err != nil {
			return fmt.Errorf("set %s of variant %s of ACL rule %s: %w", a.ID, variant, k, err)
		}
		spec := *e.spec
		spec.off = !on
		e.spec = &spec
	}
	u.off.set(variant, !on)
	return nil
}

// VariantCounter returns the ACL counter of the entry of a variant, and its label. ok is false if the ASIC has none.
func (o *Orch) VariantCounter(k schema.ACLRuleKey, feature, variant string) (oid sai.OID, label string, ok bool) {
	r := o.rules[k]
	if r == nil || !r.entries.has(entryKey{feature, variant}) {
		return 0, "", false
	}
	c := r.entries.get(entryKey{feature, variant}).counter
	return c.oid, c.label, true
}

// MatchOf returns the match of a usable flow group in a field of an entry. It returns false if the rule does not match
// on the field.
func (o *Orch) MatchOf(k schema.ACLRuleKey, field sai.AttrID) (sai.Field, bool) {
	r := o.rules[k]
	if r == nil || r.spec == nil {
		return sai.Field{}, false
	}
	v, ok := sai.Find(r.spec.attrs, field)
	f, _ := v.(sai.Field)
	return f, ok
}

// InForce returns the matches of the ASIC's entries of a rule for a feature. ok is false if there are none.
func (o *Orch) InForce(k schema.ACLRuleKey, feature string) (in orch.ACLInForce, ok bool) {
	r := o.rules[k]
	if r == nil {
		return in, false
	}
	for _, x := range r.entries {
		e := x.value
		if x.key.feature != feature {
			continue
		}
		if !ok || e.spec.priority < in.Lowest {
			in.Lowest = e.spec.priority
		}
		in.Highest, in.Changed, ok = max(in.Highest, e.spec.priority), max(in.Changed, e.changed), true
		here := o.terms.within(e.spec, r.table.row.Ports)
		in.Matches, in.Ports = e.spec.matches, nil
		if v, found := sai.Find(here.attrs, sai.ACLEntryAttrFieldInPorts); found {
			f, _ := v.(sai.Field)
			ports, _ := f.Data.(sai.OIDs)
			in.Ports = append([]sai.OID{}, ports...)
		}
		if here.never {
			in.Ports = []sai.OID{}
		}
	}
	for _, m := range in.Matches {
		if m.Field == schema.MatchInPorts {
			in.Interfaces = strings.Join(m.Ports, ",")
		}
	}
	if ports := r.table.row.Ports; len(ports) > 0 {
		in.Interfaces += "@" + strings.Join(ports, ",")
	}
	return in, ok
}

// removeIncomplete removes the entries of rules whose variants are not all in the ASIC as intended. Entries that cannot
// be removed are tried again in later passes.
func (o *Orch) removeIncomplete(ctx context.Context, rules []*rule) {
	w := &work{}
	for _, r := range rules {
		for _, s := range r.entryKeys() {
			e := r.entries.get(s)
			if r.failed.get(s.feature) != nil && r.varied(s.feature) {
				w.drop = append(w.drop, e)
				o.agenda.spared = o.agenda.spared || e.fresh
			} else {
				e.fresh = false
			}
		}
	}
	if len(w.drop) == 0 {
		return
	}
	why := make([]error, len(w.drop))
	for i, e := range w.drop {
		why[i] = e.rule.failed.get(e.key.feature)
		if !e.fresh {
			o.agenda.news[e.rule.key] = true // a user that is binding now receives the error anyway
		}
	}
	o.prog.removeEntries(ctx, w)
	for i, e := range w.drop {
		e.rule.failed.set(e.key.feature, why[i]) // replaces the error of the removal
	}
}
