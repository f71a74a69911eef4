package acl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/swss/schema"
)

// reportRule writes the status of a rule, if it has changed.
func (o *Orch) reportRule(ctx context.Context, r *rule) {
	if !r.configured || r.out {
		return
	}
	err := r.err
	if err == nil {
		err = r.failed.get("")
	}
	if waits := o.agenda.starved[starving{rule: r}]; !waits {
		o.asic.setHolder(r, schema.ACLRuleKey{})
	} else if h := o.rules[r.holder]; h != nil && h.spec != nil {
		err = fmt.Errorf("%w; ACL rule %s (priority %d) has its place", err, h.key, h.spec.priority)
	}
	status, reason := o.daemon.Verdict(schema.StateACLRule, err)
	if err != nil && r.entries.has(entryKey{}) && r.spec == nil {
		status = schema.ACLPendingRemoval
	}
	switch {
	case err != nil:
	case r.table.keptOut:
		reason = "kept out of the ASIC: the rules of " + r.table.name + " protect the control plane"
	case r.table.tam() && len(r.entries) == 0:
		reason = "not in the ASIC: no TAM session uses it"
	}
	if outcome := status + ": " + reason; r.reported != outcome {
		o.daemon.Report(ctx, schema.StateACLRule, r.key.Config(), status, reason)
		r.reported = outcome
	}
}

// reportTable writes the status of a table, if it has changed. A table is active when it exists. The reason lists ports
// to which it is not bound yet.
func (o *Orch) reportTable(ctx context.Context, t *table) {
	if !t.configured {
		return
	}
	err := t.err
	if err == nil {
		err = t.failed[""]
	}
	status, reason := o.daemon.Verdict(schema.StateACLTable, err)
	switch {
	case err != nil:
	case t.keptOut:
		reason = "kept out of the ASIC: it protects the control plane"
	case t.tam() && len(t.instances) == 0:
		reason = "not in the ASIC: no TAM session uses its rules"
	default:
		reason = o.unbound(t)
	}
	if outcome := status + ": " + reason; t.reported != outcome {
		o.daemon.Report(ctx, schema.StateACLTable, t.name, status, reason)
		t.reported = outcome
	}
}

// unbound returns a text with the ports and LAGs that a table is not bound to, and the reason.
func (o *Orch) unbound(t *table) string {
	var parts []string
	if names := o.terms.absent(t); len(names) > 0 {
		const most = 8
		text := "to be bound when they exist: " + strings.Join(names[:min(len(names), most)], ",")
		if more := len(names) - most; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	for _, in := range t.sortedInstances() {
		for _, name := range slices.SortedFunc(maps.Keys(in.refused), schema.CompareNames) {
			parts = append(parts, fmt.Sprintf("%s: %s", name, orch.Explain(in.refused[name])))
		}
	}
	return strings.Join(parts, "; ")
}

// reportConfig writes the status of a row that is valid or invalid.
func reportConfig(ctx context.Context, daemon *orch.Daemon, table, key string, err error) {
	status, reason := daemon.Verdict(table, err)
	daemon.Report(ctx, table, key, status, reason)
}
