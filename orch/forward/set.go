package forward

import (
	"context"
	_ "embed" // the script
	"fmt"
	"slices"
	"strconv"

	"tamtam/swss"
)

//go:embed update.lua
var updateText string

var updateScript = swss.NewScript(updateText).Natively(updateNatively)

// updateBatch is the number of rows that one script updates.
const updateBatch = 128

// set hands rows to the table's consumer. Rows that only gain or change fields are sent as SONiC's producers do. Rows
// that lose fields need a script. New rows need the script too if other daemons write into the table, since another
// daemon's row may have the same key.
func (o *Output) set(ctx context.Context, table string, keys []string) error {
	db := o.r.DB(swss.ApplDB)
	shared := o.tableOf(table).Mark != ""
	var plain []swss.Row
	var losing []string
	for _, key := range keys {
		e := o.appl[Row{table, key}]
		if len(lost(e)) > 0 || shared && e.have == nil {
			losing = append(losing, key)
			continue
		}
		plain = append(plain, swss.Row{Key: key, Fields: e.want})
	}
	if len(plain) > 0 {
		if err := swss.NewProducerState(db, table).SetMany(ctx, plain); err != nil {
			return err
		}
	}
	if len(losing) == 0 {
		return nil
	}
	var calls []swss.Call
	for chunk := range slices.Chunk(losing, updateBatch) {
		c := swss.Call{
			Keys: []string{
				fmt.Sprintf("%s_CHANNEL@%d", table, db.ID()), table + "_KEY_SET", table + "_DEL_SET",
				table + db.Separator(), "_" + table + db.Separator(),
			},
			Args: []any{"G"},
		}
		for _, key := range chunk {
			c.Keys = append(c.Keys, key)
			c.Args = appendUpdate(c.Args, o.appl[Row{table, key}])
		}
		calls = append(calls, c)
	}
	_, err := db.RunMany(ctx, updateScript, calls)
	if err != nil {
		return &swss.Error{DB: db.Name(), Op: "update " + table, Err: err}
	}
	return nil
}

// lost returns the surplus fields of the row, sorted.
func lost(e *applRow) []string {
	var out []string
	for _, p := range e.have {
		if !slices.ContainsFunc(e.want, func(w swss.Pair) bool { return w.Field == p.Field }) {
			out = append(out, p.Field)
		}
	}
	return out
}

func appendUpdate(args []any, e *applRow) []any {
	gone := lost(e)
	if e.have == nil {
		args = append(args, "-1")
	} else {
		args = append(args, strconv.Itoa(len(gone)))
	}
	for _, f := range gone {
		args = append(args, f)
	}
	want := swss.OrNull(e.want)
	args = append(args, strconv.Itoa(len(want)))
	for _, p := range want {
		args = append(args, p.Field, p.Value)
	}
	return args
}
