package daemons

import (
	"context"
	"fmt"

	"tamtam/swss"
)

// Stranger returns the reason why a daemon's row cannot be from the process that owns the databases. It returns "" if
// the row seems to be from that process. A daemon's row expires, and is renewed by the process whose mark is in the
// databases. A row written by hand does not expire, or has another owner. If a row by hand copies both, it cannot be
// distinguished from the daemon's row.
func Stranger(ctx context.Context, r *swss.Redis, name string, state DaemonState) (string, error) {
	if why := state.lasting(); why != "" {
		return why, nil
	}
	return otherOwner(ctx, r, name, state)
}

// lasting returns why a row cannot be from a daemon, "" if it can.
func (s DaemonState) lasting() string {
	if s.Lasts {
		return "its row in STATE_DB does not end by itself: no daemon wrote it"
	}
	return ""
}

// otherOwner returns the reason why a ready process is not the owner of the databases, or "" if it is.
func otherOwner(ctx context.Context, r *swss.Redis, name string, state DaemonState) (string, error) {
	if state.State != StateReady {
		return "", nil // a daemon that starts has no mark yet
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
