package orch

import (
	"context"
	_ "embed" // the scripts
	"slices"
	"strings"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// While the state of the ASIC is unknown, no row may report that it is in force.

//go:embed unknown.lua
var unknownText string

//go:embed oper.lua
var operText string

var unknownScript, operScript = swss.NewScript(unknownText), swss.NewScript(operText)

// An ASICMarker reports in STATE_DB, in the name of orchagent, whether the state of the ASIC is known.
type ASICMarker struct {
	Redis *swss.Redis
	// Owner is the process of orchagent that has claimed the databases; "" if it has ended. Rows of other processes
	// stay unchanged.
	Owner string
}

// MarkUnknown reports that the state of the ASIC is unknown, and why. It changes every row that orchagent reports as in
// force, and the state of every port, LAG and VLAN. It returns the number of rows that were in force. Rows that wait or
// were refused stay unchanged. So do the reports of managers, which are about the configuration.
func (d ASICMarker) MarkUnknown(ctx context.Context, why string, now time.Time) (rows int, err error) {
	if rows, err = d.turn(ctx, why, now); err != nil {
		return rows, err
	}
	for db, tables := range map[swss.DBName][]string{
		swss.ApplDB:  {schema.AppPort, schema.AppLAG, schema.AppVLAN},
		swss.StateDB: {schema.StatePort, schema.StateLAG},
	} {
		for _, table := range tables {
			keys, err := rowsOf(ctx, d.Redis.DB(db), table)
			if err != nil {
				return rows, err
			}
			_, err = d.run(ctx, db, operScript, keys, schema.FieldOperStatus, schema.OperUnknown, schema.FieldLastChange)
			if err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}

// Restore reports that the rows which MarkUnknown changed are in force again. It does not
// restore ports, LAGs and VLANs.
func (d ASICMarker) Restore(ctx context.Context, now time.Time) error {
	_, err := d.turn(ctx, "", now)
	return err
}

// turn marks the rows that are in force as unknown, for the reason why. If why is "", it restores them.
func (d ASICMarker) turn(ctx context.Context, why string, now time.Time) (rows int, err error) {
	db := d.Redis.DB(swss.StateDB)
	all, err := db.AllKeys(ctx)
	if err != nil {
		return 0, err
	}
	of := map[string][]string{}
	for _, key := range all {
		table, _, _ := db.Split(key)
		of[table] = append(of[table], key)
	}
	at, why := now.UTC().Format(time.RFC3339Nano), strings.ReplaceAll(why, "\n", "; ")
	for _, t := range schema.StatusTables() {
		is, becomes := t.Good, t.Unknown
		if why == "" {
			is, becomes = becomes, is
		}
		slices.Sort(of[t.State])
		n, err := d.run(ctx, swss.StateDB, unknownScript, of[t.State], at, why, t.Status, is, becomes,
			schema.SONiCStatus(t.State, becomes))
		rows += n
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func rowsOf(ctx context.Context, db *swss.DB, table string) ([]string, error) {
	keys, err := swss.NewTable(db, table).Keys(ctx)
	for i, key := range keys {
		keys[i] = table + db.Separator() + key
	}
	return keys, err
}

// run calls a script for rows in batches, and returns the sum of the results.
func (d ASICMarker) run(
	ctx context.Context, name swss.DBName, s swss.Script, keys []string, args ...any,
) (sum int, err error) {
	var calls []swss.Call
	for chunk := range slices.Chunk(keys, stateBatch) {
		calls = append(calls, swss.Call{
			Keys: append([]string{swss.KeyMark}, chunk...), Args: append([]any{Orchagent, d.Owner}, args...),
		})
	}
	results, err := d.Redis.DB(name).RunMany(ctx, s, calls)
	if err != nil {
		return 0, &swss.Error{DB: name, Op: "report what is known of the ASIC", Err: err}
	}
	for _, n := range results {
		if n, ok := n.(int64); ok {
			sum += int(n)
		}
	}
	return sum, nil
}
