package feature

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/swss/schema"
)

// FlowGroup returns why a session cannot have its flow group, or nil if it can. If several sessions need a flow group
// exclusively, the first by name has it.
func (f *Feature[R, B]) FlowGroup(s *Session[R, B]) error {
	rule := f.Logic.(Grouped[R]).Rule(&s.Row)
	if f.OnePerRule != "" {
		first := slices.MinFunc(slices.Collect(maps.Values(f.byRule[rule])), (*Session[R, B]).Compare)
		if first != s {
			return orch.Wait("session", first.Name,
				"flow group %s has the session %s already: a flow group has one session of %s", rule.Rule, first.Name, f.OnePerRule)
		}
	}
	return f.Rules.Usable(rule)
}

// A Binder makes a feature use rules[i] for users[i]. It returns one error per rule.
type Binder func(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error

// Bind makes sessions whose InASIC is set use the rules of their rows, in one call. A session that fails leaves the
// ASIC.
func (f *Feature[R, B]) Bind(ctx context.Context, sessions []*Session[R, B], bind Binder) {
	if len(sessions) == 0 {
		return
	}
	for _, s := range sessions {
		s.RowInASIC = s.Row
	}
	rules, users := f.uses(sessions)
	for i, err := range bind(ctx, f.Name, rules, users) {
		if err != nil {
			f.Fail(sessions[i], err)
			f.Leave(sessions[i])
		}
	}
}

// Unbind ends the uses of sessions. A session whose use cannot be ended stays.
func (f *Feature[R, B]) Unbind(ctx context.Context, sessions []*Session[R, B]) {
	if len(sessions) == 0 {
		return
	}
	rules, users := f.uses(sessions)
	for i, err := range f.Rules.UnbindMany(ctx, f.Name, rules, users) {
		if err != nil {
			f.Fail(sessions[i], fmt.Errorf("detach from ACL rule %s: %w", rules[i], err))
			continue
		}
		f.Leave(sessions[i])
	}
}

func (f *Feature[R, B]) uses(sessions []*Session[R, B]) (rules []schema.ACLRuleKey, users []string) {
	g := f.Logic.(Grouped[R])
	for _, s := range sessions {
		rules, users = append(rules, g.Rule(&s.RowInASIC)), append(users, s.Name)
	}
	return rules, users
}

// Leave records that a session is no longer in the ASIC.
func (f *Feature[R, B]) Leave(s *Session[R, B]) {
	if l, ok := f.Logic.(Leaving[R, B]); ok {
		l.Left(s)
	}
	s.InASIC = nil
}

// Fail records the ASIC's error for a session.
func (f *Feature[R, B]) Fail(s *Session[R, B], err error) {
	s.Err = err
	f.Log.Error("TAM session", "feature", f.Name, "session", s.Name, "err", err)
}
