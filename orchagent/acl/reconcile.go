package acl

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/swss/schema"
)

// A change is an entry to be created or changed.
type change struct {
	rule *rule
	key  entryKey
	spec *spec
	have *entry // nil if there is no entry yet
}

// work holds the changes that one pass makes.
type work struct {
	drop   []*entry  // entries to be removed with their counters
	remake []*change // entries to be removed and created again with the same counter
	set    []*change
	create []*change
}

// markTable makes the next pass check a table and its rules again, even if SAI refused them before.
func (a *agenda) markTable(t *table) {
	a.dirtyTables[t.name] = t
	clear(t.failed)
	for _, r := range t.rules {
		a.markRule(r)
	}
}

func (a *agenda) markRule(r *rule) {
	a.dirtyRules[r.key] = r
	r.failed = nil
	delete(a.starved, starving{rule: r})
	delete(a.claims, r)
}

// reconcile brings dirty tables and rules to their target state. Objects refused for lack of capacity are tried again
// when something was removed, and rules of higher rank displace others. If not all variants of a rule fit, only rules
// without variants get the remaining capacity. Otherwise rules with variants would be created and removed forever.
func (o *Orch) reconcile(ctx context.Context) {
	for len(o.agenda.dirtyTables)+len(o.agenda.dirtyRules) > 0 {
		o.agenda.freed, o.agenda.spared = false, false
		o.pass(ctx)
		switch {
		case o.agenda.freed:
			o.agenda.forgetClaims()
			o.agenda.retryStarved(func(starving) bool { return true })
		case o.agenda.spared:
			o.agenda.retryStarved(func(s starving) bool { return s.rule != nil && !s.rule.varied(s.feature) })
		}
		if len(o.agenda.dirtyTables)+len(o.agenda.dirtyRules) == 0 {
			o.contest(ctx)
		}
	}
	if o.agenda.leftover { // may let entries of sessions fit, which rank below all rules
		for s := range o.agenda.starved {
			if s.feature != "" {
				o.agenda.news[s.rule.key] = true
			}
		}
	}
	o.agenda.leftover = false
	o.reportWaiting(ctx)
}

func (o *Orch) pass(ctx context.Context) {
	tables := sortedTables(o.agenda.dirtyTables)
	clear(o.agenda.dirtyTables)
	for _, t := range tables {
		before := t.standing()
		o.terms.judge(t)
		if t.standing() != before {
			for _, r := range t.rules {
				o.agenda.dirtyRules[r.key] = r
			}
		}
		for _, in := range t.sortedInstances() {
			in.doomed = t.err != nil || t.keptOut ||
				!in.def.equal(o.terms.definition(t, in.feature)) || t.tam() != (in.feature != "")
		}
	}
	maps.Copy(o.agenda.dirtyRules, o.agenda.left)
	o.agenda.left = orch.Emptied(o.agenda.left)
	rules := sortedRules(o.agenda.dirtyRules)
	o.agenda.dirtyRules = orch.Emptied(o.agenda.dirtyRules)
	w := &work{}
	for _, r := range rules {
		o.plan(w, r)
	}
	o.asic.removeOrphans(ctx)
	o.asic.sweepRanges(ctx)
	o.prog.removeEntries(ctx, w)
	o.removeInstances(ctx)
	for _, t := range tables {
		for _, in := range t.sortedInstances() {
			if !in.doomed {
				o.rebind(ctx, in)
			}
		}
	}
	o.createInstances(ctx, tables, w)
	o.prog.createEntries(ctx, w)
	o.prog.setEntries(ctx, w)
	o.removeIncomplete(ctx, rules)
	o.removeIdle(ctx)
	o.reportPass(ctx, tables, rules)
}

// plan determines the changes of a rule's entries.
func (o *Orch) plan(w *work, r *rule) {
	before, had, old := r.standing(), len(r.uses) > 0, r.spec
	o.terms.examine(r)
	defer func() { r.replace = false }()
	if r.spec == nil || !r.table.tam() {
		r.uses = nil // the former users of the flow group now wait for the rule
	}
	if before != r.standing() || had && len(r.uses) == 0 || r.table.tam() && !old.same(r.spec) {
		o.agenda.news[r.key] = true
	}
	wanted := r.wanted(o.terms.early)
	keys := slices.SortedFunc(maps.Keys(wanted), entryKey.compare)
	for _, s := range r.entryKeys() {
		if wanted[s] == nil {
			keys = append(keys, s)
		}
	}
	for _, s := range keys {
		o.planEntry(w, &change{rule: r, key: s, spec: wanted[s], have: r.entries.get(s)})
	}
}

// planEntry determines the change of one entry. If c.spec is nil, there should be no entry.
func (o *Orch) planEntry(w *work, c *change) {
	r, have, failed := c.rule, c.have, c.rule.failed.get(c.key.feature) != nil
	switch {
	case have != nil && (c.spec == nil || have.in.doomed):
		w.drop = append(w.drop, have)
		if c.spec == nil {
			return
		}
		w.create = append(w.create, &change{rule: r, key: c.key, spec: c.spec})
		if c.key.variant != "" {
			o.agenda.news[r.key] = true // notifies users that the counters begin at 0
		}
	case have == nil && !failed:
		w.create = append(w.create, c)
	case have != nil && !failed:
		o.planChange(w, c)
	}
}

func (o *Orch) planChange(w *work, c *change) {
	sets, ok := c.have.spec.diff(c.spec)
	switch {
	case !ok || c.rule.replace || c.have.unsure:
		w.remake = append(w.remake, c)
	case len(sets) > 0 || !slices.Equal(c.have.ranges, c.spec.ranges):
		w.set = append(w.set, c)
	}
}

// removeInstances removes the tables that must go, including those that could not be removed earlier.
func (o *Orch) removeInstances(ctx context.Context) {
	for _, t := range sortedTables(o.tables) {
		for _, in := range t.sortedInstances() {
			if !in.doomed || in.entries > 0 { // entries that could not be removed report the error
				continue
			}
			if err := o.asic.removeInstance(ctx, in); err != nil {
				t.failed[in.feature] = err
				o.asic.log.Error("ACL table stays in the ASIC", "table", t.name, "err", err)
				continue
			}
			delete(t.failed, in.feature)
			o.agenda.freed = true
		}
	}
}

// createInstances creates the missing tables: tables of rows, and tables that new entries of a TAM feature need.
func (o *Orch) createInstances(ctx context.Context, tables []*table, w *work) {
	var list []slot
	for _, t := range tables {
		if t.err == nil && !t.keptOut && !t.tam() {
			list = append(list, slot{t.name, ""})
		}
	}
	for _, c := range w.create {
		if s := (slot{c.rule.table.name, c.key.feature}); c.key.feature != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, slot.compare)
	for _, s := range list {
		t := o.tables[s.table]
		if t.instances[s.feature] != nil || t.failed[s.feature] != nil {
			continue
		}
		if _, err := o.createInstance(ctx, t, s.feature); err != nil {
			t.failed[s.feature] = err
			o.asic.log.Error("ACL table", "table", t.name, "err", err)
			if s.feature == "" {
				o.agenda.starve(err, starving{table: t})
			}
		}
	}
}

// removeIdle removes tables of TAM features that have no entries, because the last use ended or the first entry could
// not be created.
func (o *Orch) removeIdle(ctx context.Context) {
	for _, t := range sortedTables(o.tables) {
		for _, in := range t.sortedInstances() {
			if in.feature == "" || in.entries > 0 || in.doomed {
				continue
			}
			if err := o.asic.removeInstance(ctx, in); err != nil {
				o.asic.log.Error("ACL table stays in the ASIC", "table", t.name, "err", err)
			} else if !in.fresh {
				o.agenda.freed = true
			}
		}
		for f := range t.failed {
			if f != "" {
				delete(t.failed, f) // the next binding tries again
			}
		}
		for _, in := range t.instances {
			in.fresh = false
		}
	}
}

// starving identifies an object that SAI refused for lack of capacity.
type starving struct {
	table   *table
	rule    *rule
	feature string // the feature of the rule's entry
}

// starve records an object to try again when there may be capacity.
func (a *agenda) starve(err error, s starving) {
	if orch.Retryable(err) {
		a.starved[s] = true
	}
}

// retryStarved makes the next pass retry the objects refused for lack of capacity for which such returns true.
func (a *agenda) retryStarved(such func(starving) bool) {
	for s := range a.starved {
		if such(s) {
			a.tryAgain(s)
		}
	}
}

// tryAgain makes the next pass retry a refused object.
func (a *agenda) tryAgain(s starving) {
	delete(a.starved, s)
	if s.table != nil {
		a.markTable(s.table)
		return
	}
	a.dirtyRules[s.rule.key] = s.rule
	s.rule.failed.drop(s.feature)
	if s.rule.table.tam() {
		a.news[s.rule.key] = true
	}
}

// reportPass reports the outcome of a pass for its tables and rules, and forgets deleted ones. It skips rules that the
// next pass tries again.
func (o *Orch) reportPass(ctx context.Context, tables []*table, rules []*rule) {
	for _, r := range rules {
		if o.agenda.dirtyRules[r.key] != nil {
			continue
		}
		o.reportRule(ctx, r)
		if !r.configured && len(r.entries) == 0 {
			delete(r.table.rules, r.key.Rule)
			delete(o.rules, r.key)
			maps.DeleteFunc(o.agenda.starved, func(s starving, _ bool) bool { return s.rule == r })
			delete(o.agenda.claims, r)
			o.asic.setHolder(r, schema.ACLRuleKey{})
		}
	}
	for _, t := range tables {
		o.reportTable(ctx, t)
	}
	for _, t := range sortedTables(o.tables) {
		if t.tam() { // its status changes when entries are created or removed
			o.reportTable(ctx, t)
		}
		if !t.configured && len(t.rules) == 0 && len(t.instances) == 0 {
			delete(o.tables, t.name)
			delete(o.agenda.starved, starving{table: t})
		}
	}
}

// instance returns the table of the ASIC that an entry belongs to.
func (c *change) instance() (*instance, error) {
	t := c.rule.table
	if in := t.instances[c.key.feature]; in != nil && !in.doomed {
		return in, nil
	}
	if err := t.failed[c.key.feature]; err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("ACL table %s is not in the ASIC", t.name)
}

func sortedTables(m map[string]*table) []*table {
	return slices.SortedFunc(maps.Values(m), func(a, b *table) int { return schema.CompareNames(a.name, b.name) })
}

func sortedRules(m map[schema.ACLRuleKey]*rule) []*rule {
	return slices.SortedFunc(maps.Values(m), func(a, b *rule) int { return compareKeys(a.key, b.key) })
}

// leaves reports whether the ASIC still has a table or a binding of t that must go.
func (t *table) leaves() bool {
	for _, in := range t.instances {
		if in.doomed {
			return true
		}
		for name := range in.refused {
			if in.bound[name] != nil {
				return true
			}
		}
	}
	return false
}

func (t *table) sortedInstances() []*instance {
	var list []*instance
	for _, f := range slices.Sorted(maps.Keys(t.instances)) {
		list = append(list, t.instances[f])
	}
	return list
}
