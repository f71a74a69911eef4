package orch

import (
	"context"
	"errors"
	"fmt"
)

// An Undo records how to undo the steps that succeeded. The zero Undo is ready to use.
type Undo struct{ steps []undoStep }

type undoStep struct {
	what string
	f    func(context.Context) error
}

// Push adds the function that undoes one step. what names the step in errors.
func (u *Undo) Push(what string, f func(context.Context) error) {
	u.steps = append(u.steps, undoStep{what, f})
}

// Rollback undoes all steps, the last first. It continues after failures, which are joined, and after the end of ctx.
// The Undo is then empty.
func (u *Undo) Rollback(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for i := len(u.steps) - 1; i >= 0; i-- {
		if err := u.steps[i].f(ctx); err != nil {
			errs = append(errs, fmt.Errorf("undo %s: %w", u.steps[i].what, err))
		}
	}
	u.steps = nil
	return errors.Join(errs...)
}
