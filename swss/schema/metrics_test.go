package schema

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each metric that a field names is declared, and each declared one has a field. All fields of a family have the same
// labels, and an outcome each if the family has a label for it. A family of a text has values of one field only.
func TestMetricsAreDeclared(t *testing.T) {
	declared, labels, outcomes := map[string]Metric{}, map[string][]string{}, map[string][]string{}
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for _, m := range Metrics() {
		if _, twice := declared[m.Name]; twice || !name.MatchString(m.Name) || m.Words == "" {
			t.Errorf("%s is declared twice, or is no name, or has no description", m.Name)
		}
		declared[m.Name] = m
	}
	check := func(where string, of []string, fields []Field) {
		for _, f := range fields {
			if f.Metric == "" {
				continue
			}
			m, known := declared[f.Metric]
			all := of
			if m.Label != "" {
				all = append(slices.Clone(of), m.Label)
			}
			if !known || len(of) == 0 || slices.ContainsFunc(all, func(l string) bool { return !name.MatchString(l) }) {
				t.Errorf("%s: field %s: metric %s is not declared, or has bad labels %q", where, f.Name, f.Metric, all)
			}
			if was := labels[f.Metric]; was != nil && !slices.Equal(was, all) {
				t.Errorf("%s: metric %s has labels %q and %q", where, f.Metric, was, all)
			}
			labels[f.Metric] = all
			text := f.Name == AnyName || f.kind == wordKind || f.Parts != ""
			if (f.Outcome == "") != (m.Label == "" || text) {
				t.Errorf("%s: field %s: metric %s has label %q, and the field outcome %q", where, f.Name, m.Name, m.Label,
					f.Outcome)
			}
			if text && strings.HasSuffix(f.Metric, "_total") != (f.Name == AnyName) {
				t.Errorf("%s: field %s: %s counts no words", where, f.Name, f.Metric)
			}
			if slices.Contains(outcomes[f.Metric], f.Outcome) {
				t.Errorf("%s: two fields are %s of %s", where, f.Outcome, f.Metric)
			}
			outcomes[f.Metric] = append(outcomes[f.Metric], f.Outcome)
		}
	}
	for _, table := range MeasuredTables() {
		check(table.Counters, table.Labels, table.Fields)
	}
	for _, o := range MeasuredObjects() {
		check(o.Map, o.Labels, o.Fields)
	}
	for name := range declared {
		if labels[name] == nil {
			t.Errorf("%s: no field has it", name)
		}
	}
}
