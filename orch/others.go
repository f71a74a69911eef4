package orch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// mostOthers is the maximum number of rows that a table of [LedgerTable.Others] lists.
const mostOthers = 1000

// others are the rows of a table of APPL_DB that have no row in CONFIG_DB and are not in force.
type others struct {
	state   string             // the table of STATE_DB that lists such rows
	lacking map[string]outcome // all such rows, by key
	listed  map[string]outcome // the rows that the table lists, by key; zero for a row listed by a former process
	more    int                // number of unlisted rows; -1 if a former process may have left the row MoreRows
	read    bool               // true if listed contains the rows of a former process
	changed bool               // true if lacking has changed since it was last listed
}

// An outcome is the status of a row and its reason.
type outcome struct{ status, reason string }

// note records that a row is not in force, and reports whether that is new.
func (o *others) note(key, status, reason string) bool {
	now := outcome{status, reason}
	if o.lacking[key] == now {
		return false
	}
	o.lacking[key], o.changed = now, true
	return true
}

// drop forgets a row that is now in force, deleted, or a row of CONFIG_DB.
func (o *others) drop(key string) {
	if _, is := o.lacking[key]; is {
		delete(o.lacking, key)
		o.changed = true
	}
}

// list brings the table of STATE_DB in line with the rows that are not in force. A listed row stays listed. If the list
// has capacity left, the first unlisted rows by key are added.
func (o *others) list(ctx context.Context, d *Daemon) error {
	if err := o.readFormer(ctx, d); err != nil {
		return err
	}
	for key, was := range o.listed {
		switch now, is := o.lacking[key]; {
		case !is:
			d.Unreport(ctx, o.state, key)
			delete(o.listed, key)
		case now != was:
			o.report(ctx, d, key, now)
		}
	}
	if len(o.listed) < min(mostOthers, len(o.lacking)) {
		for _, key := range slices.SortedFunc(maps.Keys(o.lacking), schema.CompareNames) {
			if _, is := o.listed[key]; !is && len(o.listed) < mostOthers {
				o.report(ctx, d, key, o.lacking[key])
			}
		}
	}
	switch more := len(o.lacking) - len(o.listed); {
	case more == o.more:
	case more == 0:
		d.Unreport(ctx, o.state, schema.MoreRows)
		o.more = 0
	default:
		d.Report(ctx, o.state, schema.MoreRows, schema.StatusPending, schema.MoreReason(more))
		o.more = more
	}
	o.changed = false
	return nil
}

func (o *others) report(ctx context.Context, d *Daemon, key string, now outcome) {
	d.Report(ctx, o.state, key, now.status, now.reason)
	o.listed[key] = now
}

// readFormer adopts the rows that a former process has listed.
func (o *others) readFormer(ctx context.Context, d *Daemon) error {
	if o.read {
		return nil
	}
	keys, err := swss.NewTable(d.redis.DB(swss.StateDB), o.state).Keys(ctx)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.state, err)
	}
	for _, key := range keys {
		if key != schema.MoreRows {
			o.listed[key] = outcome{}
		} else {
			o.more = -1
		}
	}
	o.read, o.changed = true, true
	return nil
}
