package daemons

import (
	"context"
	"fmt"

	"tamtam/swss"
)

// Stranger says why what a daemon is said to say of itself is not by the process that has its databases; "": it is,
// as far as anybody can tell. A daemon's row ends by itself and is renewed by the process whose mark is in the
// databases. One that is written by hand lasts, or is another's; one that copies both cannot be told from the daemon's.
func Stranger(ctx context.Context, r *swss.Redis, name string, state DaemonState) (string, error) {
	if why, err := lasting(ctx, r, name); why != "" || err != nil {
		return why, err
	}
	return otherOwner(ctx, r, name, state)
}

// lasting says why no daemon wrote a row.
func lasting(ctx context.Context, r *swss.Redis, name string) (string, error) {
	db := r.DB(swss.StateDB)
	life, err := db.Client().PTTL(ctx, healthTable+db.Separator()+name).Result()
	switch {
	case err != nil:
		return "", err
	case life == -1: // Redis' word for a key that stays
		return "its row in STATE_DB does not end by itself: no daemon wrote it", nil
	}
	return "", nil
}

// otherOwner says why a process that is ready is not the one that has the databases.
func otherOwner(ctx context.Context, r *swss.Redis, name string, state DaemonState) (string, error) {
	if state.State != StateReady {
		return "", nil // one that begins has no mark yet
	}
	marked := swss.StateDB
	if name == "syncd" {
		marked = swss.CountersDB
	}
	marks, err := r.DB(marked).Client().HGetAll(ctx, swss.KeyMark).Result()
	switch {
	case err != nil && !swss.IsMisuse(err):
		return "", err
	case marks[name] == "":
		return fmt.Sprintf("%s has no mark of it: it was emptied, or another wrote its row", marked), nil
	case marks[name] != state.Owner:
		const two = "the mark in %s is of process %.16q, its row of process %.16q"
		return fmt.Sprintf(two, marked, marks[name], state.Owner), nil
	}
	return "", nil
}
