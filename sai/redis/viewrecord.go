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

// viewTable records in STATE_DB that a whole view was applied to the ASIC. Later changes are single requests, so
// ASIC_DB then describes the ASIC. ASIC_DB holds the same record among its marks, which disappear when any of its
// data is lost.
const (
	viewTable   = "TAMTAM_VIEW"
	fieldViewed = "view"
	viewBegun   = "begun"
	viewApplied = "applied"
)

// Fields of the row of STATE_DB, and values of the state. Without a row the state is unknown.
const (
	viewState   = "state"
	viewRefused = "refused" // APPLY_VIEW has failed
	viewFailed  = "failed"  // the number of consecutive failed adoptions
)

// maxAdoptions is the number of consecutive failures after which adoption is not tried any more.
const maxAdoptions = 2

// A viewRecord is the record in the databases of how the ASIC's view was applied, for the next process.
type viewRecord struct {
	state    *swss.Table
	asic     *swss.DB
	failed   int  // number of consecutive failed adoptions, including those of former processes
	cautious bool // true if the last view was not applied
}

// read reads the outcome of former views.
func (v *viewRecord) read(ctx context.Context) error {
	row, _, err := v.state.Get(ctx, "asic")
	if err != nil {
		return fmt.Errorf("sairedis: %w", err)
	}
	v.failed, _ = strconv.Atoi(row[viewFailed])
	v.cautious = row[viewState] == viewRefused
	return nil
}

// refused records, for the next process, that a view has failed and why.
func (v *viewRecord) refused(ctx context.Context, why error, row swss.FieldValues) error {
	if err := v.state.Set(ctx, "asic", row); err != nil {
		return errors.Join(why, fmt.Errorf("sairedis: %w", err))
	}
	return fmt.Errorf("%w: %w", ErrNotApplied, why)
}

// unsafe returns why ASIC_DB may not describe the ASIC, or "" if it does.
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

// begin records that a view is being made.
func (v *viewRecord) begin(ctx context.Context) error {
	if err := v.unmark(ctx); err != nil {
		return err
	}
	return sayView(ctx, v.asic, viewBegun)
}

// mark records that the view was applied. It fails if data of ASIC_DB has been lost since the view began.
func (v *viewRecord) mark(ctx context.Context) error {
	switch was, err := v.asic.Client().HGet(ctx, swss.KeyMark, fieldViewed).Result(); {
	case err != nil && !errors.Is(err, redis.Nil):
		return fmt.Errorf("sairedis: %w", err)
	case was != viewBegun:
		return fmt.Errorf("sairedis: something of ASIC_DB was lost while the view was made: %w", swss.ErrReset)
	}
	if err := sayView(ctx, v.asic, viewApplied); err != nil {
		return err
	}
	return v.fits(ctx)
}

// fits records that the ASIC has the target state.
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
