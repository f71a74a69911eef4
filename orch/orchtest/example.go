package orchtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// An Agent is the environment of the orchs of an example: a chip in place of a client of sairedis, and a daemon.
type Agent struct {
	SAI    sai.API
	Daemon *orch.Daemon
	Redis  *swss.Redis
	// Applied are functions that the orchs register to be called when the view is applied, one step each.
	Applied []func(context.Context) error
}

// Example prints the outcomes of rows of APPL_DB. rows are lines "TABLE:key field=value ...", in addition to those of
// a port Ethernet0. begin creates the orchs. states are rows "TABLE|key" of STATE_DB.
func Example(chip sai.API, begin func(context.Context, *Agent) error, rows []string, states ...string) {
	if err := example(context.Background(), chip, begin, rows, states); err != nil {
		fmt.Println(err)
	}
}

func example(
	ctx context.Context, chip sai.API, begin func(context.Context, *Agent) error, rows, states []string,
) error {
	r, err := swss.OpenEmbedded()
	if err != nil {
		return err
	}
	defer r.Close()
	a := &Agent{SAI: chip, Daemon: orch.NewDaemon(orch.Orchagent, r, orch.Options{}), Redis: r}
	defer a.Daemon.Close()
	if err := begin(ctx, a); err != nil {
		return err
	}
	port := schema.AppPort + ":Ethernet0 lanes=1,2,3,4 speed=100000 admin_status=up"
	for _, line := range append([]string{port, schema.AppPort + ":" + schema.PortConfigDone + " count=1"}, rows...) {
		table, key, fields := parseLine(line)
		if err := swss.NewProducerState(r.DB(swss.ApplDB), table).Set(ctx, key, swss.Pairs(fields)); err != nil {
			return err
		}
	}
	for _, applied := range append(a.Applied, func(context.Context) error { return nil }) {
		if _, err := a.Daemon.Step(ctx, time.Unix(0, 0)); err != nil {
			return err
		}
		if err := applied(ctx); err != nil {
			return err
		}
	}
	for _, name := range states {
		table, key, _ := strings.Cut(name, "|")
		row, _, err := swss.NewTable(r.DB(swss.StateDB), table).Get(ctx, key)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s %q\n", key, row[schema.StatusField(table)], row["reason"])
	}
	return nil
}

// parseLine parses "TABLE:key field=value ...".
func parseLine(line string) (table, key string, fields swss.FieldValues) {
	row, rest, _ := strings.Cut(line, " ")
	table, key, _ = strings.Cut(row, ":")
	fields = swss.FieldValues{}
	for _, w := range strings.Fields(rest) {
		name, value, _ := strings.Cut(w, "=")
		fields[name] = value
	}
	return table, key, fields
}
