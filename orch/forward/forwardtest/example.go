package forwardtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tamtam/orch"
	"tamtam/swss"
)

// Example prints the rows that managers derive from rows. rows are lines of [Bench.Do] that write rows. states are
// rows "TABLE|key" of STATE_DB.
func Example(managers func(*orch.Daemon, *swss.Redis), rows []string, states ...string) {
	if err := example(context.Background(), managers, rows, states); err != nil {
		fmt.Println(err)
	}
}

func example(
	ctx context.Context, managers func(*orch.Daemon, *swss.Redis), rows, states []string,
) error {
	r, err := swss.OpenEmbedded()
	if err != nil {
		return err
	}
	defer r.Close()
	d := orch.NewDaemon(orch.Manager, r, orch.Options{})
	defer d.Close()
	managers(d, r)
	for _, line := range rows {
		if err := write(ctx, r, line); err != nil {
			return err
		}
	}
	if _, err := d.Step(ctx, time.Unix(0, 0)); err != nil {
		return err
	}
	for _, name := range states {
		table, key, _ := strings.Cut(name, "|")
		row, _, err := swss.NewTable(r.DB(swss.StateDB), table).Get(ctx, key)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s, %s\n", key, row["status"], row["reason"])
	}
	return nil
}
