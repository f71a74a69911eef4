package feature

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// Steps holds the steps made in the ASIC, in order, and how each is undone. The zero Steps is empty.
type Steps struct{ made []step }

type step struct {
	what string // description of the undo step, for errors
	undo func(context.Context) error
}

// Add records a step. what describes its undoing in errors.
func (x *Steps) Add(what string, undo func(context.Context) error) {
	x.made = append(x.made, step{what, undo})
}

// Create creates an object and records the step.
func (x *Steps) Create(
	ctx context.Context, api sai.API, what string, t sai.ObjectType, attrs ...sai.Attr,
) (sai.OID, error) {
	oid, err := api.Create(ctx, t, attrs)
	if err != nil {
		return sai.NullOID, fmt.Errorf("create the %s: %w", what, orch.AtAttr(err, t, attrs))
	}
	x.Add("remove the "+what, func(ctx context.Context) error { return Remove(ctx, api, sai.Obj(t, oid)) })
	return oid, nil
}

// Undo undoes the steps, the last first. If one fails, the next Undo continues there.
func (x *Steps) Undo(ctx context.Context) error {
	for len(x.made) > 0 {
		last := x.made[len(x.made)-1]
		if err := last.undo(ctx); err != nil {
			return fmt.Errorf("%s: %w", last.what, err)
		}
		x.made = x.made[:len(x.made)-1]
	}
	return nil
}

// BringUp creates a session in the ASIC, by steps that are recorded in its Steps. If one fails, those before it are
// undone.
func (f *Feature[R, B]) BringUp(
	ctx context.Context, s *Session[R, B], b *B, steps func(context.Context, *Session[R, B]) error,
) error {
	s.RowInASIC, s.InASIC, s.Steps, s.stepwise = s.Row, b, Steps{}, true
	err := steps(ctx, s)
	if err == nil {
		return nil
	}
	f.Log.Error("TAM session", "feature", f.Name, "session", s.Name, "err", err)
	if undo := f.tearDown(ctx, s); undo != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undo)
	}
	return err
}

// tearDown removes a session from the ASIC, the last step first. If one fails, the next attempt continues there.
func (f *Feature[R, B]) tearDown(ctx context.Context, s *Session[R, B]) error {
	s.Leaving = true
	if err := s.Steps.Undo(ctx); err != nil {
		return err
	}
	f.Leave(s)
	s.Leaving, s.stepwise = false, false
	return nil
}

// Attach makes a session use the rules of a flow group, each with the same entries. It is one step.
func (f *Feature[R, B]) Attach(
	ctx context.Context, s *Session[R, B], api VariantRules, rules []schema.ACLRuleKey, entries []orch.ACLVariant,
) error {
	users, variants := make([]string, len(rules)), make([][]orch.ACLVariant, len(rules))
	for i := range rules {
		users[i], variants[i] = s.Name, entries
	}
	s.Steps.Add("detach from the flow group", func(ctx context.Context) error {
		return first(api.UnbindMany(ctx, f.Name, rules, users))
	})
	return first(api.BindVariants(ctx, f.Name, rules, users, variants))
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Attached reports whether all rules have entries.
func (f *Feature[R, B]) Attached(api VariantRules, rules []schema.ACLRuleKey) bool {
	for _, rule := range rules {
		if _, _, ok := api.VariantCounter(rule, f.Name, ""); !ok {
			return false
		}
	}
	return true
}

// Usable returns why one of the rules cannot be used, or nil if all can.
func Usable(api Rules, rules []schema.ACLRuleKey) error {
	for _, rule := range rules {
		if err := api.Usable(rule); err != nil {
			return err
		}
	}
	return nil
}
