package feature

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// Steps are what was made in the ASIC, in order, and how each step is undone. The zero Steps are none.
type Steps struct{ made []step }

type step struct {
	what string // in errors: what undoing it is
	undo func(context.Context) error
}

// Add notes a step; what says in errors what undoing it is.
func (x *Steps) Add(what string, undo func(context.Context) error) {
	x.made = append(x.made, step{what, undo})
}

// Create makes an object.
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

// Undo undoes the steps, the last first. What fails is tried again from there by the next Undo.
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

// BringUp makes a session in the ASIC, by steps that make notes in its Steps. If one fails, those before it are undone.
func (f *Feature[R, B]) BringUp(
	ctx context.Context, s *Session[R, B], b *B, steps func(context.Context, *Session[R, B]) error,
) error {
	s.RowInASIC, s.InASIC, s.Steps, s.stepwise = s.Row, b, Steps{}, true
	err := steps(ctx, s)
	if err == nil {
		return nil
	}
	f.Log.Error("TAM session", "feature", f.Name, "session", s.Name, "err", err)
	if undo := f.takeDown(ctx, s); undo != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undo)
	}
	return err
}

// takeDown takes a session out of the ASIC, the last step first. What fails is tried again from there.
func (f *Feature[R, B]) takeDown(ctx context.Context, s *Session[R, B]) error {
	s.Leaving = true
	if err := s.Steps.Undo(ctx); err != nil {
		return err
	}
	f.Leave(s)
	s.Leaving, s.stepwise = false, false
	return nil
}

// Attach is the step by which a session uses the rules of a flow group, each with the same entries.
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

// Attached reports whether there are entries of all rules.
func (f *Feature[R, B]) Attached(api VariantRules, rules []schema.ACLRuleKey) bool {
	for _, rule := range rules {
		if _, _, ok := api.VariantCounter(rule, f.Name, ""); !ok {
			return false
		}
	}
	return true
}

// Usable says why one of some rules cannot be used; nil if all can.
func Usable(api Rules, rules []schema.ACLRuleKey) error {
	for _, rule := range rules {
		if err := api.Usable(rule); err != nil {
			return err
		}
	}
	return nil
}
