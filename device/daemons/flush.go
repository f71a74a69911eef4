package daemons

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Names of the row in STATE_DB by which SONiC requests a warm restart, which keeps the content of the databases.
const (
	warmTable = "WARM_RESTART_ENABLE_TABLE"
	warmField = "enable"
)

// warmNames are the keys that request a warm restart: for the whole switch, and for the service that contains SONiC's
// orchagent.
var warmNames = []string{"system", "swss"}

// derived lists the databases that contain only what daemons derive from CONFIG_DB.
var derived = []swss.DBName{swss.ApplDB, swss.ASICDB, swss.CountersDB, swss.FlexCounterDB}

// workers lists the daemons that work on these databases.
var workers = []string{"tammgrd", "orchagent", "syncd"}

// Flush deletes everything that daemons derive from CONFIG_DB, so that they start cold: APPL_DB, ASIC_DB, COUNTERS_DB,
// FLEX_COUNTER_DB, and those tables of STATE_DB that they write. It returns a text that describes what it did. If
// STATE_DB requests a warm restart, it deletes nothing. Unless now is set, it waits some seconds for beats of daemons,
// and deletes nothing if one runs. It does not notice a syncd without beats, such as SONiC's.
func Flush(ctx context.Context, r *swss.Redis, now bool) (string, error) {
	for _, name := range warmNames {
		row, _, err := swss.NewTable(r.DB(swss.StateDB), warmTable).Get(ctx, name)
		if err != nil && !swss.IsMisuse(err) {
			return "", err
		}
		if row[warmField] == "true" {
			return fmt.Sprintf("nothing is emptied: STATE_DB %s|%s asks for a warm restart", warmTable, name), nil
		}
	}
	if !now {
		name, err := heardOf(ctx, r)
		if err != nil {
			return "", err
		}
		if name != "" {
			return "nothing is emptied: " + name + " works", nil
		}
	}
	for _, name := range derived {
		if err := r.DB(name).Client().FlushDB(ctx).Err(); err != nil {
			return "", fmt.Errorf("empty %s: %s", name, swss.Why(err))
		}
	}
	n, err := flushState(ctx, r.DB(swss.StateDB))
	if err != nil {
		return "", fmt.Errorf("empty %s: %s", swss.StateDB, swss.Why(err))
	}
	return fmt.Sprintf("emptied %v, and %d rows of %s", derived, n, swss.StateDB), nil
}

// heardOf returns the name of a running daemon, "" if none runs. It waits until all older rows have expired. So a
// daemon also has time to reconnect to a Redis that has just started.
func heardOf(ctx context.Context, r *swss.Redis) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(beatTTL + beatPeriod):
	}
	for _, name := range workers {
		if _, heard, err := ReadState(ctx, r, name); err != nil || heard {
			return name, err
		}
	}
	return "", nil
}

// flushState deletes the rows of the tables that the daemons write, and leaves all others.
func flushState(ctx context.Context, db *swss.DB) (int, error) {
	tables := map[string]bool{}
	for _, t := range schema.Tables() {
		tables[t.State] = t.State != ""
	}
	keys, err := db.AllKeys(ctx)
	if err != nil {
		return 0, err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		table, _, _ := db.Split(key)
		return !tables[table] && !strings.HasPrefix(table, "TAMTAM_")
	})
	for batch := range slices.Chunk(keys, 1000) {
		if err := db.Client().Del(ctx, batch...).Err(); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}
