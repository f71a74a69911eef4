package daemons

import (
	"cmp"
	"context"
	"fmt"

	"tamtam/swss"
)

// Stranger returns the reason why a daemon's row cannot be from the process that owns the databases. It returns "" if
// the row seems to be from that process. A daemon's row expires, and is renewed by the process whose mark is in the
// databases. A row written by hand does not expire, or has another owner. If a row by hand copies both, it cannot be
// distinguished from the daemon's row.
func Stranger(ctx context.Context, r *swss.Redis, name string, state DaemonState) (string, error) {
	p, err := r.Pulse(ctx, swss.StateDB, swss.CountersDB)
	if err != nil {
		return "", err
	}
	return stranger(p, name, state), nil
}

// stranger does the same as Stranger, by the marks of STATE_DB and COUNTERS_DB.
func stranger(p *swss.Pulse, name string, state DaemonState) string {
	return cmp.Or(state.lasting(), otherOwner(p, name, state))
}

// lasting returns why a row cannot be from a daemon, "" if it can.
func (s DaemonState) lasting() string {
	if s.Lasts {
		return "its row in STATE_DB does not end by itself: no daemon wrote it"
	}
	return ""
}

// otherOwner returns the reason why a ready process is not the owner of the databases, or "" if it is.
func otherOwner(p *swss.Pulse, name string, state DaemonState) string {
	if state.State != StateReady {
		return "" // a daemon that starts has no mark yet
	}
	marked := swss.StateDB
	if name == "syncd" {
		marked = swss.CountersDB
	}
	switch mark := p.DBs[marked].Marks[name]; mark {
	case state.Owner:
		return ""
	case "":
		return fmt.Sprintf("%s has no mark of it: it was emptied, or another wrote its row", marked)
	default:
		return fmt.Sprintf("the mark in %s is of process %.16q, its row of process %.16q", marked, mark, state.Owner)
	}
}
