package sairedis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"tamtam/sai/redis/protocol"
	"tamtam/swss"
)

// viewTable is where STATE_DB says that the ASIC's view was applied as a whole: what follows are single changes, so
// that ASIC_DB tells what the ASIC does. ASIC_DB says the same among the marks, which go when anything of it is lost.
const (
	viewTable   = "TAMTAM_VIEW"
	fieldViewed = "view"
	viewBegun   = "begun"
	viewApplied = "applied"
)

// Fields of the row of STATE_DB, and what the state may be. Without a row nothing is known.
const (
	viewState   = "state"
	viewRefused = "refused" // APPLY_VIEW has failed
	viewFailed  = "failed"  // how often in a row adoption has
)

// maxAdoptions is how often in a row adoption is tried.
const maxAdoptions = 2

// A viewRecord is what the databases say of how the ASIC's view was applied, for the next process.
type viewRecord struct {
	state    *swss.Table
	asic     *swss.DB
	failed   int  // how often in a row what was wished could not be adopted, by former processes, too
	cautious bool // the last view was not applied
}

// read reads how former views have fared.
func (v *viewRecord) read(ctx context.Context) error {
	row, _, err := v.state.Get(ctx, "asic")
	if err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	v.failed, _ = strconv.Atoi(row[viewFailed])
	v.cautious = row[viewState] == viewRefused
	return nil
}

// refused notes for the next process how a view has failed.
func (v *viewRecord) refused(ctx context.Context, why error, row swss.FieldValues) error {
	if err := v.state.Set(ctx, "asic", row); err != nil {
		return errors.Join(why, fmt.Errorf("sairedis: %w", err))
	}
	return fmt.Errorf("%w: %w", ErrNotApplied, why)
}

// unsafe says why ASIC_DB may not tell what the ASIC does.
func (v *viewRecord) unsafe(ctx context.Context) (string, error) {
	row, ok, err := v.state.Get(ctx, "asic")
	if err != nil {
		return "", fmt.Errorf("sairedis: %w", err)
	}
	if !ok || row[viewState] != viewApplied {
		return "STATE_DB does not report that a view was applied", nil
	}
	asic := v.asic.Client()
	switch view, err := asic.HGet(ctx, swss.KeyMark, fieldViewed).Result(); {
	case err != nil && !errors.Is(err, redis.Nil):
		return "", fmt.Errorf("sairedis: %w", err)
	case view != viewApplied:
		return "something of ASIC_DB was lost", nil
	}
	begun, err := asic.HExists(ctx, KeySyncd, fieldView).Result()
	if err != nil {
		return "", fmt.Errorf("sairedis: %w", err)
	}
	keys, err := asic.Keys(ctx, protocol.TempASICState+":*").Result()
	if err != nil {
		return "", fmt.Errorf("sairedis: %w", err)
	}
	if begun || len(keys) > 0 {
		return "a view was begun and not applied", nil
	}
	return "", nil
}

// begin says that a view is being made.
func (v *viewRecord) begin(ctx context.Context) error {
	if err := v.unmark(ctx); err != nil {
		return err
	}
	return sayView(ctx, v.asic, viewBegun)
}

// mark says that the view was applied, unless something of ASIC_DB has been lost since it began.
func (v *viewRecord) mark(ctx context.Context) error {
	switch was, err := v.asic.Client().HGet(ctx, swss.KeyMark, fieldViewed).Result(); {
	case err != nil && !errors.Is(err, redis.Nil):
		return fmt.Errorf("sairedis: %w", err)
	case was != viewBegun:
		return fmt.Errorf("sairedis: something of ASIC_DB was lost while the view was made: %w", swss.ErrAnew)
	}
	if err := sayView(ctx, v.asic, viewApplied); err != nil {
		return err
	}
	return v.fits(ctx)
}

// fits notes that what is configured is in the ASIC.
func (v *viewRecord) fits(ctx context.Context) error {
	v.failed = 0
	err := v.state.Set(ctx, "asic", swss.FieldValues{viewState: viewApplied})
	if err == nil {
		err = v.state.HDel(ctx, "asic", viewFailed)
	}
	if err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	return nil
}

func sayView(ctx context.Context, asic *swss.DB, word string) error {
	if err := asic.Client().HSet(ctx, swss.KeyMark, fieldViewed, word).Err(); err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	return nil
}

func (v *viewRecord) unmark(ctx context.Context) error {
	if err := v.state.Del(ctx, "asic"); err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	return nil
}
